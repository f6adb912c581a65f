// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <QVariant>
#include <QWidget>

#include "app/comparison_run.hpp"

class QComboBox;
class QLabel;
class QListWidget;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTreeWidget;

namespace placewright {

struct CdfData;
class CdfPlot;
class Document;
class StandingPlot;

/// Algorithms against each other on networks and machines: what shall be compared on the left, how they have done so far on the right.
/// Networks are simulated as the document's is, algorithms have the options that were chosen for them. A closed window goes on comparing.
class CompareWindow : public QWidget {
    Q_OBJECT
public:
    CompareWindow(Document* document, const std::map<std::string, OptionValues>& options, QWidget* parent = nullptr);
    ~CompareWindow() override;

    /// Checks what is open in the document; a comparison that runs, or has, stays as it is.
    void prepare(int evaluations);
    const ComparisonRun* run() const { return m_run.get(); }
    /// The best placement of all algorithms on the network and machine that are open; nothing if they were not compared on these.
    struct Found {
        Placement placement;
        Score score;
        QString by;  ///< "Genetic, seed 3"
    };
    std::optional<Found> bestOfOpen() const;
    /// Asks, before the window goes, what shall become of results that are in no file; of the searches on what is open the placements alone
    /// count, which bestOfOpen() tells.
    bool mayClose();
    /// Of each algorithm, over networks, machines and seeds, as far as searches have ended.
    CdfData cdf() const;

Q_SIGNALS:
    /// Searches have ended, or a new comparison begins.
    void resultsChanged();
    /// The best placement of an algorithm on the network and machine that are open.
    void placementChosen(const placewright::Placement& placement, const QString& title);

private:
    /// A row of the table.
    struct Entry {
        std::size_t of = 0;  ///< index of the case
        std::size_t contestant = 0;
    };

    QWidget* makeForm();
    QWidget* makeResults();
    ComparisonRequest request() const;
    void showRequest();
    void startOrStop();
    void showProgress();
    void showRows();
    void showCase();
    void fillChoice(QComboBox* box, const std::vector<std::size_t>& contestants, const QVariant& chosen, int otherwise);
    void showTest();
    void showBest();
    bool exportRuns();
    bool exportTable(const QString& suggestion, const std::function<std::string(const std::vector<ComparedCase>&)>& write);
    std::optional<Entry> currentEntry() const;
    /// The case of the current row; nullptr for none, or one without a finished search.
    const CaseOnItsWay* currentCase() const;
    /// The best run of the current row, if what is open in the document can show it.
    const ComparedRun* showable() const;
    /// Whether the case is about what is open in the document.
    bool isOpen(const CaseOnItsWay& item) const;
    QString titleOf(const CaseOnItsWay& item, const ComparedRun& run) const;

    Document* m_document;
    const std::map<std::string, OptionValues>& m_options;
    std::unique_ptr<ComparisonRun> m_run;

    QListWidget *m_algorithms = nullptr, *m_networks = nullptr, *m_machines = nullptr;
    QSpinBox *m_seeds = nullptr, *m_evaluations = nullptr;
    QLabel* m_size = nullptr;
    QPushButton* m_start = nullptr;
    QProgressBar* m_progress = nullptr;
    QLabel* m_status = nullptr;
    QTreeWidget* m_table = nullptr;
    StandingPlot* m_plot = nullptr;
    CdfPlot* m_cdf = nullptr;
    QComboBox *m_first = nullptr, *m_second = nullptr;
    std::vector<std::shared_ptr<const CaseOnItsWay>> m_shownCases;  ///< that the table shows
    QVariant m_firstChosen, m_secondChosen;                         ///< by the person; the first and the last algorithm until then
    std::size_t m_savedSearches = 0;  ///< that had ended when a table was written last
    QLabel* m_test = nullptr;
    QPushButton *m_show = nullptr, *m_exportRuns = nullptr, *m_exportCurves = nullptr;
};

}  // namespace placewright
