// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <QDialog>

#include "app/window/background.hpp"
#include "app/window/calibrating.hpp"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QToolButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace placewright {

class CalibrationPlot;
class FileLabel;

/// Fits the costs of the machine's devices to measured times, shows how far predictions were off before and
/// are off after, and puts the result on the document or into a file. The window can be used meanwhile.
/// Closing the dialog cancels the fit; its last result is there when it is opened again.
class CalibrationDialog : public QDialog {
    Q_OBJECT
public:
    explicit CalibrationDialog(Document* document, QWidget* parent = nullptr);
    ~CalibrationDialog() override;

    bool isFitting() const { return m_lane.busy(); }
    /// What the last fit found; null before it.
    const std::shared_ptr<const CalibrationReport>& report() const { return m_report; }
    void reject() override;

Q_SIGNALS:
    /// The network is to be profiled, to have times to fit to.
    void profileWanted();
    /// The fit under way got so far.
    void staged(const QString& stage);

private:
    QWidget* makeForm();
    QWidget* makeResults();
    void chooseTimes();
    void addNetwork(const QString& title, const QString& file);
    void removeNetwork();
    void fitOrCancel();
    void cancel();
    void useCosts();
    void tellUsed();
    void saveMachine();
    /// The request that the form describes.
    CalibrationRequest request() const;
    /// Why nothing can be fitted now; empty if it can.
    QString hindrance() const;
    void showProblem();
    void showControls();
    void showResult(CalibrationReport report);
    void showShownModel();
    void showCounts();
    void tell(const QString& text, bool isError = false);

    Document* m_document;
    QString m_network;  ///< file of the open network
    std::shared_ptr<const CalibrationReport> m_report;
    QString m_machineName;  ///< of the machine that the report began with
    QString m_using;        ///< file whose machine the document is to take; empty: none
    QString m_saved;        ///< file that the machine of the report was saved to; empty: none

    FileLabel* m_file = nullptr;
    QPushButton* m_choose = nullptr;
    QPushButton* m_profile = nullptr;
    QTreeWidget* m_networks = nullptr;
    QToolButton* m_add = nullptr;
    QPushButton* m_remove = nullptr;
    QLabel* m_modelTitle = nullptr;
    QComboBox* m_model = nullptr;
    QSpinBox* m_heldOut = nullptr;
    QPushButton* m_fit = nullptr;  ///< cancels what runs
    QProgressBar* m_progress = nullptr;
    QLabel* m_state = nullptr;

    QStackedWidget* m_pages = nullptr;
    QLabel* m_empty = nullptr;
    QComboBox* m_shown = nullptr;  ///< the model whose fit is shown
    QLabel* m_summary = nullptr;
    QTreeWidget* m_classes = nullptr;
    CalibrationPlot* m_plot = nullptr;
    QTreeWidget* m_parameters = nullptr;
    QLabel* m_notMeasured = nullptr;
    QPushButton* m_use = nullptr;
    QPushButton* m_save = nullptr;

    int m_fits = 0;  ///< number of fits, cancelled ones counted twice
    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
