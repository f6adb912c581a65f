// SPDX-License-Identifier: MIT
#pragma once

#include <QDialog>

#include "app/window/best_measuring.hpp"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QSpinBox;

namespace placewright {

class Document;
class MeasurePlanView;
class Run;

/// Asks which placements of which run to measure, says where they run and how long it may take, and starts
/// the measurement. If nothing can be measured it says why and starts nothing.
class BestDialog : public QDialog {
    Q_OBJECT
public:
    /// `run`: the id of the run that is proposed; of the latest one if it has nothing to measure.
    BestDialog(Document* document, int run, QWidget* parent = nullptr);
    void accept() override;

private:
    QWidget* makeForm();
    /// Lists the runs of the open scenario that have placements.
    void fillRuns(int proposed);
    const Run* chosenRun() const;
    /// What would be measured; the devices are those of the plan.
    BestRequest request() const;
    /// Shows what is known of the chosen run, and what can be chosen.
    void showChoice();

    Document* m_document;
    MeasurePlanView* m_plan = nullptr;
    QComboBox* m_runs = nullptr;
    QLabel* m_kept = nullptr;
    QSpinBox *m_count = nullptr, *m_steps = nullptr, *m_evaluations = nullptr;
    QCheckBox *m_throttles = nullptr, *m_goOn = nullptr;
    QLabel* m_estimate = nullptr;
    QPushButton* m_start = nullptr;
};

}  // namespace placewright
