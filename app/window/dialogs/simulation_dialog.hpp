// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include <QDialog>
#include <QTimer>

#include "app/window/document.hpp"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QGroupBox;
class QLabel;
class QPushButton;
class QScrollArea;
class QSpinBox;
class QVBoxLayout;

namespace placewright {

class FileLabel;
class TraceRow;

/// Form of the simulation options. A preview shows their effect on the current placement while they change;
/// OK passes them to the document. Controls without effect are disabled and then count as left at their
/// defaults.
class SimulationDialog : public QDialog {
    Q_OBJECT
public:
    explicit SimulationDialog(Document* document, QWidget* parent = nullptr);

    JobOptions options() const;
    /// Adds a trace as the user would; the cost model is Measured while there is one.
    void addTrace(const QString& file);
    void setParameters(const QString& file);
    /// Uses an archive of measured times, read anew, as the user would; the cost model is then Measured.
    void setProfile(const QString& file);
    void accept() override;
    void done(int result) override;

private:
    /// Data of the entry that stands for JobOptions::pipeline_order.
    static constexpr int kAutomaticOrder = -1;

    QString batchOfFile() const;
    bool networkTrains() const;
    bool hasBackwardPass() const;
    /// The value of a cost model in the list of cost models.
    static int entryOf(const CostModel* model) { return static_cast<int>(model - cost_models().data()); }
    QWidget* makeStep();
    QWidget* makeBatches();
    QWidget* makeFramework();
    QWidget* makeObjective();
    QWidget* makeMemory();
    QWidget* makeGroups();
    QGroupBox* makeFiles();
    void appendRow(const Supplements::Times& times);
    void removeRow(TraceRow* row);
    void chooseTraces();
    void chooseParameters();
    void chooseProfile();
    /// Sets the cost model to Measured while there are measured times, and back to that of before.
    void showCost(bool measuredBefore);
    bool hasTimes() const;
    void show(const JobOptions& options);
    void enableControls();
    void change();
    void showPreview(const OptionsPreview& preview);

    Document* m_document;
    bool m_filling = false;
    QTimer m_wait;  ///< delays the preview until the user stops changing values

    QComboBox* m_pass = nullptr;
    QSpinBox* m_batch = nullptr;
    QComboBox* m_precision = nullptr;
    QComboBox* m_cost = nullptr;
    QSpinBox* m_computeEfficiency = nullptr;
    QSpinBox* m_channelEfficiency = nullptr;
    QComboBox* m_crossing = nullptr;
    QSpinBox* m_batches = nullptr;
    QSpinBox* m_inFlight = nullptr;
    QComboBox* m_order = nullptr;
    QComboBox* m_runtime = nullptr;
    QComboBox* m_offload = nullptr;
    QDoubleSpinBox* m_hostTime = nullptr;
    QCheckBox* m_accumulate = nullptr;
    QCheckBox* m_updateInBackward = nullptr;
    QComboBox* m_memory = nullptr;
    QComboBox* m_optimizer = nullptr;
    QComboBox* m_recomputation = nullptr;
    QCheckBox* m_inPlace = nullptr;
    QSpinBox* m_workspace = nullptr;
    QComboBox* m_framework = nullptr;
    QSpinBox* m_context = nullptr;
    QComboBox* m_allocator = nullptr;
    QSpinBox* m_usable = nullptr;
    QComboBox* m_objective = nullptr;
    QComboBox* m_rule = nullptr;
    QComboBox* m_grouping = nullptr;
    QSpinBox* m_scopeDepth = nullptr;
    QSpinBox* m_mergeGroups = nullptr;
    QScrollArea* m_area = nullptr;
    QGroupBox* m_files = nullptr;
    QVBoxLayout* m_traceRows = nullptr;
    std::vector<TraceRow*> m_traces;
    int m_costBefore = 0;  ///< index of the cost model to return to when no file gives times any more
    QPushButton* m_addTrace = nullptr;
    FileLabel* m_parameters = nullptr;
    QPushButton* m_clearParameters = nullptr;
    FileLabel* m_profile = nullptr;
    QPushButton* m_clearProfile = nullptr;
    /// The archive in m_profile as it was read; null: it is to be read.
    std::shared_ptr<const ProfileArchive> m_archive;
    QLabel* m_notes = nullptr;
    QLabel* m_preview = nullptr;
    QPushButton* m_ok = nullptr;
};

}  // namespace placewright
