// SPDX-License-Identifier: MIT
#pragma once

#include <QDialog>

class QCheckBox;
class QLabel;
class QPushButton;
class QSpinBox;

namespace placewright {

class Document;
class MeasurePlanView;

/// Says which device of this computer runs which device of the machine, and starts a benchmark of the
/// placement on screen. If ops cannot be run it lists them and starts nothing.
class BenchmarkDialog : public QDialog {
    Q_OBJECT
public:
    explicit BenchmarkDialog(Document* document, QWidget* parent = nullptr);
    void accept() override;

private:
    void showNetwork();
    /// Shows what the plan allows, and what hinders the start.
    void showPlan();

    Document* m_document;
    MeasurePlanView* m_plan = nullptr;
    QLabel *m_what = nullptr, *m_hindrance = nullptr;
    QSpinBox* m_steps = nullptr;
    QCheckBox* m_throttles = nullptr;
    QPushButton* m_start = nullptr;
};

}  // namespace placewright
