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

#include "app/window/background.hpp"
#include "app/window/compare/comparison_run.hpp"

class QComboBox;
class QLabel;
class QLayout;
class QListWidget;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTreeWidget;

namespace placewright {

struct CdfData;
class CdfPlot;
class Document;
class Gallery;
class SeedCurves;
class StandingPlot;

/// Window that compares algorithms on networks and machines: settings on the left, results so far on the
/// right. Networks are simulated with the document's options; algorithms have the options that the user chose
/// for them. The comparison continues after the window is closed.
class CompareWindow : public QWidget {
    Q_OBJECT
public:
    CompareWindow(Document* document, const std::map<std::string, OptionValues>& options,
                  const Gallery& gallery, QWidget* parent = nullptr);
    ~CompareWindow() override;

    /// Checks the document's network and machine, unless a comparison was started before. The evaluations are
    /// those of the last comparison.
    void prepare();
    /// Shows the searches of a table (of a sweep, or exported) in place of the last comparison, if the user
    /// does not want to keep that. Not while a comparison runs.
    void openTable(const QString& file);
    const ComparisonRun* run() const { return m_run.get(); }
    bool isRunning() const;
    /// The best placement of a comparison, for the open network and machine.
    struct Found {
        Placement placement;
        Score score;
        QString by;  ///< "Genetic, seed 3"
    };
    /// Returns the best placement of all algorithms; nothing if they were not compared on the open network
    /// and machine.
    std::optional<Found> bestOfOpen() const;
    /// Asks, before the window is destroyed, whether to export or discard unsaved results and to stop a
    /// comparison; false if the user cancels.
    bool mayClose();
    /// Number of finished searches that have not been exported.
    std::size_t unsavedSearches() const;
    /// Returns the distribution of each algorithm over networks, machines and seeds, of the searches that
    /// have ended.
    CdfData cdf() const;

Q_SIGNALS:
    /// Searches have ended, or a new comparison has started.
    void resultsChanged();
    /// A comparison went on or ended, or the window was opened or closed.
    void stateChanged();
    /// The user chose the best placement of an algorithm on the open network and machine.
    void placementChosen(const placewright::Placement& placement, const QString& title);

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    /// A row of the table.
    struct Entry {
        std::size_t of = 0;  ///< index of the case
        std::size_t contestant = 0;
    };

    /// Shows the titles of the machines that ship, as far as they are known.
    void showMachineTitles();
    QWidget* makeForm();
    QWidget* makeResults();
    QWidget* makeTable();
    /// The plots, with the test of two algorithms.
    QWidget* makePlots();
    QLayout* makeButtons();
    /// Returns what the form asks for.
    ComparisonRequest request() const;
    /// Updates the form: what is enabled, the start button and the number of searches.
    void showRequest();
    void startOrStop();
    void openTableDialog();
    /// Begins to show a comparison in place of the last one.
    void showRun(std::unique_ptr<ComparisonRun> run);
    /// Headings of ComparedCase::labels.
    std::vector<std::string> labelNames() const;
    /// Asks whether to export them; false if the user cancels.
    bool mayDrop(const QString& consequence);
    /// Colour of an algorithm in all plots.
    QColor colorOf(std::size_t contestant) const;
    /// Updates the progress bar and the status line.
    void showProgress();
    void showRows();
    void showCase();
    void fillChoice(QComboBox* box, const std::vector<std::size_t>& contestants, const QVariant& chosen,
                    int otherwise);
    /// Shows Welch's t-test between the two chosen algorithms.
    void showTest();
    /// Shows the current row's best placement in the main window.
    void showBest();
    /// Writes a CSV table with one line per search; false if it was not written.
    bool exportRuns();
    /// Asks for a file and writes the table; returns the number of searches that it has, nothing if it was
    /// not written.
    std::optional<std::size_t> exportTable(
        const QString& suggestion, const std::function<std::string(const std::vector<ComparedCase>&)>& write);
    std::optional<Entry> currentEntry() const;
    /// The case of the current row, else the first with results; nullptr if there is none.
    const CaseOnItsWay* currentCase() const;
    /// The best run of the current row; nullptr unless its case is open in the document.
    const ComparedRun* showable() const;
    /// Whether the case is that of the document: same problem, same options.
    bool isOpen(const CaseOnItsWay& item) const;
    /// The case, with the bound that was proven since of what is open.
    ComparedCase withProvenBound(const CaseOnItsWay& item) const;
    /// Title of the algorithm, with the options that tell it apart: "Auto (policy=false)".
    QString contestantTitle(std::size_t contestant) const;
    /// "Genetic, seed 3".
    QString titleOf(const ComparedRun& run) const;

    Document* m_document;
    const Gallery& m_gallery;
    const std::map<std::string, OptionValues>& m_options;
    std::unique_ptr<ComparisonRun> m_run;
    Background m_reading{1};
    Background::Lane m_tableLane;

    QListWidget *m_algorithms = nullptr, *m_networks = nullptr, *m_machines = nullptr;
    QSpinBox *m_seeds = nullptr, *m_evaluations = nullptr;
    QLabel* m_size = nullptr;
    QPushButton* m_start = nullptr;
    QProgressBar* m_progress = nullptr;
    QLabel* m_status = nullptr;
    QTreeWidget* m_table = nullptr;
    StandingPlot* m_plot = nullptr;
    CdfPlot* m_cdf = nullptr;
    SeedCurves* m_curves = nullptr;
    QComboBox *m_first = nullptr, *m_second = nullptr;
    std::vector<std::shared_ptr<const CaseOnItsWay>> m_shownCases;  ///< cases that the table shows
    QVariant m_firstChosen,
        m_secondChosen;  ///< contestants that the user chose for the test; invalid: the first and the last
    std::size_t m_savedSearches = 0;  ///< number of finished searches when a table was last written
    QLabel* m_test = nullptr;
    QWidget* m_testRow = nullptr;
    QPushButton *m_open = nullptr, *m_show = nullptr, *m_exportRuns = nullptr, *m_exportCurves = nullptr;
};

}  // namespace placewright
