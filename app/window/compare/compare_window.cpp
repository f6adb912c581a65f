// SPDX-License-Identifier: MIT
#include "app/window/compare/compare_window.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QScreen>
#include <QScrollBar>
#include <QShortcut>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/document.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/algorithms.hpp"
#include "core/base/sorted.hpp"
#include "core/graph/networks.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/search_table.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"
#include "widgets/seed_curves.hpp"
#include "widgets/standing_plot.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kCaseRole = Qt::UserRole;  ///< role in the table's first column: index of the case
constexpr int kContestantRole = Qt::UserRole + 1;

enum Column { Name, Mean, Interval, Best, Near, Speedup, Chance, Gap, ColumnCount };

/// "5/5 seeds · median 446 evaluations, 14.2 ms", followed by the remarks in `text` of standing_rows().
QString nearText(const Standing& standing, const QString& text) {
    if (standing.fitting == 0) return text;
    QString near = CompareWindow::tr("%1/%2 seeds").arg(standing.near).arg(standing.runs.size());
    if (standing.half_near)
        near += (standing.half_near->evaluations == 1 ? CompareWindow::tr(" · median %L1 evaluation, %2")
                                                      : CompareWindow::tr(" · median %L1 evaluations, %2"))
                    .arg(standing.half_near->evaluations)
                    .arg(secondsText(standing.half_near->seconds));
    const qsizetype remarks = text.indexOf(QLatin1String("; "));
    return remarks < 0 ? near : near + text.sliced(remarks);
}

}  // namespace

CompareWindow::CompareWindow(Document* document, const std::map<std::string, OptionValues>& options,
                             const Gallery& gallery, QWidget* parent)
    : QWidget(parent, Qt::Window), m_document(document), m_gallery(gallery), m_options(options) {
    setObjectName(QStringLiteral("compareWindow"));
    setWindowTitle(tr("Compare algorithms — Placewright"));
    auto* splitter = new QSplitter;
    splitter->addWidget(makeForm());
    splitter->addWidget(makeResults());
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(splitter);
    resize(QSize(1240, 760).boundedTo(screen()->availableSize() * 0.9));
    auto* close = new QShortcut(QKeySequence::Close, this);
    connect(close, &QShortcut::activated, this, &QWidget::close);
    connect(m_document, &Document::boundChanged, this, [this] {
        const auto isOpenHere = [this](const auto& item) { return isOpen(*item); };
        if (m_run && std::ranges::any_of(m_run->cases(), isOpenHere)) showRows();
    });
    showRequest();
    showProgress();
    showRows();
}

CompareWindow::~CompareWindow() = default;

QWidget* CompareWindow::makeResults() {
    m_status = new QLabel;
    m_status->setObjectName(QStringLiteral("status"));
    m_status->setAccessibleName(tr("Comparison progress"));
    m_status->setWordWrap(true);
    m_progress = makeProgressBar(tr("Progress"));

    auto* bottom = new QWidget;
    auto* bottomLayout = new QVBoxLayout(bottom);
    bottomLayout->setContentsMargins(0, 0, 0, 0);
    bottomLayout->addWidget(makePlots(), 1);
    bottomLayout->addLayout(makeButtons());
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(makeTable());
    splitter->addWidget(bottom);
    splitter->setChildrenCollapsible(false);
    auto* results = new QWidget;
    auto* layout = new QVBoxLayout(results);
    layout->setContentsMargins(6, 0, 0, 0);
    layout->addWidget(m_status);
    layout->addWidget(m_progress);
    layout->addWidget(splitter, 1);
    return results;
}

QWidget* CompareWindow::makeTable() {
    m_table = new QTreeWidget;
    m_table->setObjectName(QStringLiteral("standings"));
    m_table->setAccessibleName(tr("Results of the algorithms"));
    m_table->setToolTip(tr("Double-click or press Enter to show the best placement in the main window."));
    m_table->setColumnCount(ColumnCount);
    m_table->setHeaderLabels({tr("Algorithm"), tr("Mean"), tr("± 95 %"), tr("Best"),
                              tr("Within 5 % of the best"), tr("Speed-up"), tr("p"), tr("Above bound")});
    const std::array<QString, ColumnCount> help{
        tr("Networks and machines, and the algorithms on them"),
        tr("Mean objective value over the seeds, if all placements fit the memory"),
        tr("Half-width of Student's 95 % confidence interval of the mean"),
        tr("Lowest value of all seeds"),
        tr("Number of searches that came within 5 % of the best of all, and the median effort until then"),
        tr("Value of the best single device divided by the mean"),
        tr("Probability of such a difference from the algorithm with the lowest mean if both were equally "
           "good (Welch's t-test)"),
        tr("How far the best is above the optimum at most, by a proven lower bound for all placements")};
    m_table->header()->setTextElideMode(Qt::ElideRight);
    for (int column = 0; column < ColumnCount; ++column) {
        m_table->headerItem()->setToolTip(column, help[static_cast<std::size_t>(column)]);
        if (column != Name && column != Near)
            m_table->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
    m_table->setUniformRowHeights(true);
    m_table->setAlternatingRowColors(true);
    m_table->header()->setStretchLastSection(false);
    m_table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->header()->setSectionResizeMode(Near, QHeaderView::Stretch);
    connect(m_table, &QTreeWidget::currentItemChanged, this, &CompareWindow::showCase);
    connect(m_table, &QTreeWidget::itemDoubleClicked, this, &CompareWindow::showBest);
    for (const Qt::Key key : {Qt::Key_Return, Qt::Key_Enter}) {
        auto* shortcut = new QShortcut(key, m_table);
        shortcut->setContext(Qt::WidgetShortcut);
        connect(shortcut, &QShortcut::activated, this, &CompareWindow::showBest);
    }
    return m_table;
}

QWidget* CompareWindow::makePlots() {
    m_plot = new StandingPlot;
    m_cdf = new CdfPlot;
    m_first = new QComboBox;
    m_second = new QComboBox;
    m_first->setObjectName(QStringLiteral("first"));
    m_second->setObjectName(QStringLiteral("second"));
    for (QComboBox* box : {m_first, m_second}) box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_first->setAccessibleName(tr("First algorithm of the test"));
    m_first->setToolTip(tr("Algorithm whose mean is tested against that of the other"));
    m_second->setToolTip(m_first->toolTip());
    m_second->setAccessibleName(tr("Second algorithm of the test"));
    m_test = new QLabel;
    m_test->setObjectName(QStringLiteral("test"));
    m_test->setAccessibleName(tr("Welch's t-test"));
    m_test->setToolTip(tr("Two-sided Welch's t-test of equal means, with unequal variances"));
    m_test->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_testRow = new QWidget;
    auto* test = new QHBoxLayout(m_testRow);
    test->setContentsMargins(0, 0, 0, 0);
    test->addWidget(m_first);
    test->addWidget(new QLabel(tr("against")));
    test->addWidget(m_second);
    test->addWidget(m_test, 1);
    m_testRow->hide();
    const auto note = [this](QComboBox* box, QVariant& chosen) {
        connect(box, &QComboBox::activated, this, [this, box, &chosen] {
            chosen = box->currentData();
            showTest();
        });
    };
    note(m_first, m_firstChosen);
    note(m_second, m_secondChosen);
    auto* means = new QWidget;
    auto* meansLayout = new QVBoxLayout(means);
    meansLayout->addWidget(m_plot, 1);
    meansLayout->addWidget(m_testRow);
    auto* tabs = new QTabWidget;
    tabs->setObjectName(QStringLiteral("plots"));
    tabs->addTab(means, tr("&Means"));
    tabs->setTabToolTip(0, tr("Means on the network and machine of the selected row"));
    tabs->addTab(m_cdf, tr("C&DF"));
    tabs->setTabToolTip(1,
                        tr("Distribution of each algorithm's results over all networks, machines and seeds"));
    m_curves = new SeedCurves;
    tabs->addTab(m_curves, tr("C&urves"));
    tabs->setTabToolTip(2,
                        tr("Median over the seeds of the best value so far, in a band from the best to the "
                           "worst seed, on the network and machine of the selected row"));
    return tabs;
}

QLayout* CompareWindow::makeButtons() {
    m_open = new QPushButton(tr("&Open searches…"));
    m_open->setObjectName(QStringLiteral("openSearches"));
    m_open->setToolTip(
        tr("Show the table of a sweep (placewright-cli sweep), or of searches that were exported"));
    m_show = new QPushButton(tr("Show &placement"));
    m_show->setObjectName(QStringLiteral("showPlacement"));
    m_exportRuns = new QPushButton(tr("Export &searches…"));
    m_exportRuns->setToolTip(tr("Write a CSV table with one line per search"));
    m_exportCurves = new QPushButton(tr("Export &curves…"));
    m_exportCurves->setToolTip(tr("Write all learning curves as a CSV table"));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_show);
    buttons->addStretch(1);
    buttons->addWidget(m_open);
    buttons->addWidget(m_exportRuns);
    buttons->addWidget(m_exportCurves);
    auto* close = new QPushButton(tr("C&lose"));
    close->setObjectName(QStringLiteral("close"));
    close->setToolTip(tr("Close the window; a running comparison continues"));
    connect(close, &QPushButton::clicked, this, &QWidget::close);
    buttons->addWidget(close);
    connect(m_open, &QPushButton::clicked, this, &CompareWindow::openTableDialog);
    connect(m_show, &QPushButton::clicked, this, &CompareWindow::showBest);
    connect(m_exportRuns, &QPushButton::clicked, this, &CompareWindow::exportRuns);
    connect(m_exportCurves, &QPushButton::clicked, this, [this] {
        exportTable(QStringLiteral("curves.csv"),
                    [this](const auto& cases) { return curves_csv(labelNames(), cases); });
    });
    return buttons;
}

bool CompareWindow::isRunning() const {
    return m_run && m_run->state() == ComparisonRun::State::running;
}

void CompareWindow::startOrStop() {
    if (isRunning()) {
        m_run->cancel();
        m_start->setEnabled(false);
        return;
    }
    if (const QString reason = m_document->measuredNow(); !reason.isEmpty()) return m_status->setText(reason);
    if (!mayDrop(tr("A new comparison replaces them; otherwise they will be lost."))) return;
    settings::comparedEvaluations.set(m_evaluations->value());
    m_tableLane.cancel();
    showRun(std::make_unique<ComparisonRun>(request()));
    m_run->start();
    showRequest();
    showProgress();
}

void CompareWindow::showRun(std::unique_ptr<ComparisonRun> run) {
    m_run = std::move(run);
    m_savedSearches = 0;
    connect(m_run.get(), &ComparisonRun::progressed, this, [this] {
        showProgress();
        // Else the table would lose its scroll position several times a second.
        if (m_run->cases() != m_shownCases) showRows();
    });
    connect(m_run.get(), &ComparisonRun::ended, this, [this] {
        m_start->setEnabled(true);
        showRequest();
        showProgress();
    });
    showRequest();
    showProgress();
    showRows();
}

void CompareWindow::openTableDialog() {
    const QString file =
        QFileDialog::getOpenFileName(this, tr("Open the table of a sweep, or of exported searches"),
                                     settings::exportFolder.get(), tr("Tables (*.csv);;All files (*)"));
    if (file.isEmpty()) return;
    rememberFolderOf(file, settings::exportFolder);
    openTable(file);
}

void CompareWindow::openTable(const QString& file) {
    m_status->setText(tr("Reading %1…").arg(QFileInfo(file).fileName()));
    m_reading.run(
        m_tableLane,
        [file](std::stop_token) {
            const SearchTable table = read_search_table(file.toStdString());
            return std::tuple(table.objective, compared_cases(table), table.searches.size());
        },
        [this, file](const std::tuple<const Objective*, std::vector<ComparedCase>, std::size_t>& table) {
            if (isRunning() || !mayDrop(tr("The table replaces them; otherwise they will be lost.")))
                return showProgress();
            const auto& [objective, cases, searches] = table;
            showRun(std::make_unique<ComparisonRun>(*objective, cases, QFileInfo(file).fileName(), searches));
            m_savedSearches = m_run->finishedSearches();
            showProgress();
        },
        [this](const QString& error) {
            showProgress();
            QMessageBox::warning(this, tr("Open searches"), error);
        });
}

void CompareWindow::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    Q_EMIT stateChanged();
}

void CompareWindow::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    Q_EMIT stateChanged();
}

void CompareWindow::showProgress() {
    Q_EMIT stateChanged();
    m_progress->setVisible(isRunning());
    m_open->setEnabled(!isRunning());
    if (!m_run) {
        m_status->setText(
            tr("Make your choice on the left and press Compare: every algorithm runs once per seed, with "
               "equal evaluations."));
        return;
    }
    if (!m_run->file().isEmpty()) {
        QString status = tr("%L1 searches from %2").arg(m_run->finishedSearches()).arg(m_run->file());
        if (const std::size_t others = m_run->replacedSearches(); others > 0)
            status +=
                tr(" · %L1 more not shown, because a later one has the same algorithm, options and seed")
                    .arg(others);
        m_status->setText(status);
        return;
    }
    const auto searches = static_cast<int>(m_run->request().searches());
    const auto finished = static_cast<int>(m_run->finishedSearches());
    m_progress->setRange(0, searches);
    m_progress->setValue(finished);
    QString status = tr("%L1 of %L2 searches").arg(finished).arg(searches);
    switch (m_run->state()) {
        case ComparisonRun::State::running:
            if (m_run->remaining_s() > 0)
                status += tr(" · %1 left").arg(QString::fromStdString(format_clock(m_run->remaining_s())));
            break;
        case ComparisonRun::State::finished:
            break;
        case ComparisonRun::State::cancelled:
            status += tr(" · stopped");
            break;
        case ComparisonRun::State::failed:
            status = tr("The comparison failed: %1").arg(m_run->failure());
            break;
    }
    m_status->setText(status);
}

/// Rebuilds the table; keeps the current row, the folded cases and the scroll position.
void CompareWindow::showRows() {
    m_shownCases = m_run ? m_run->cases() : std::vector<std::shared_ptr<const CaseOnItsWay>>();
    const int scrolled = m_table->verticalScrollBar()->value();
    const auto current = currentEntry();
    const QSignalBlocker blocker(m_table);
    const bool same =
        m_run && static_cast<std::size_t>(m_table->topLevelItemCount()) <= m_run->cases().size();
    std::vector<bool> folded;
    for (int i = 0; same && i < m_table->topLevelItemCount(); ++i)
        folded.push_back(!m_table->topLevelItem(i)->isExpanded());
    m_table->clear();
    QTreeWidgetItem* chosen = nullptr;
    const std::size_t cases = m_run ? m_run->cases().size() : 0;
    bool exportable = false;
    for (std::size_t of = 0; of < cases; ++of) {
        const CaseOnItsWay& item = *m_run->cases()[of];
        auto* head = new QTreeWidgetItem(m_table);
        head->setFirstColumnSpanned(true);
        QFont bold = head->font(Name);
        bold.setBold(true);
        head->setFont(Name, bold);
        head->setText(Name, toQString(item.compared.title));
        head->setFlags(Qt::ItemIsEnabled);
        if (!item.failure.isEmpty()) {
            auto* failure = new QTreeWidgetItem(head, {item.failure});
            failure->setFirstColumnSpanned(true);
            failure->setToolTip(Name, plainToolTip(item.failure));
            failure->setFlags(Qt::ItemIsEnabled);
        }
        const std::vector<Standing> all = item.compared.all_standings();
        const auto rows = standing_rows(withProvenBound(item));
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto* row = new QTreeWidgetItem(head);
            const std::vector<std::string>& texts = rows[i + 1];  // without the gap, where there is no bound
            for (int column = 0; column < ColumnCount; ++column) {
                const auto at = static_cast<std::size_t>(column);
                row->setText(column, at < texts.size() ? toQString(texts[at]) : QStringLiteral("-"));
                if (column != Name && column != Near)
                    row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
            }
            row->setText(Name, contestantTitle(all[i].contestant));
            row->setText(Near, nearText(all[i], row->text(Near)));
            row->setToolTip(Near, row->text(Near));
            row->setData(Name, kCaseRole, static_cast<qulonglong>(of));
            row->setData(Name, kContestantRole, static_cast<qulonglong>(all[i].contestant));
            if (current && current->of == of && current->contestant == all[i].contestant) chosen = row;
            exportable = true;
        }
        head->setExpanded(of >= folded.size() || !folded[of]);
    }
    if (chosen != nullptr) m_table->setCurrentItem(chosen);
    m_table->verticalScrollBar()->setValue(scrolled);
    m_exportRuns->setEnabled(exportable);
    m_exportCurves->setEnabled(exportable);
    m_cdf->setData(cdf());
    showCase();
    Q_EMIT resultsChanged();
}

ComparedCase CompareWindow::withProvenBound(const CaseOnItsWay& item) const {
    ComparedCase compared = item.compared;
    if (!isOpen(item) || !m_document->bound()) return compared;
    if (const Bound& proven = *m_document->bound();
        compared.bound && proven.value_s > compared.bound->value_s)
        compared.bound = proven;
    return compared;
}

CdfData CompareWindow::cdf() const {
    CdfData family;
    if (!m_run) return family;
    family.objective = objectiveTitle(*m_run->request().options.objective);
    family.members = tr("searches");
    for (std::size_t i = 0; i < m_run->request().contestants.size(); ++i)
        family.schemes.push_back({contestantTitle(i), {}, 0, colorOf(i)});
    for (const auto& item : m_run->cases()) {
        // Each network on a machine with each seed is a graph of the family, even before all algorithms have
        // finished it.
        std::vector<std::uint64_t> seeds;
        if (m_run->file().isEmpty()) {
            for (std::uint64_t seed = 1; seed <= m_run->request().seeds; ++seed) seeds.push_back(seed);
        } else {
            for (const ComparedRun& run : item->compared.runs) seeds.push_back(run.seed);
            std::ranges::sort(seeds);
            erase_repeats(seeds);
        }
        const std::size_t first = family.graphs.size();
        for (const std::uint64_t seed : seeds)
            family.graphs.push_back({tr("%1, seed %2").arg(toQString(item->compared.title)).arg(seed),
                                     item->compared.one_device_s.value_or(0)});
        for (const ComparedRun& run : item->compared.runs) {
            const Score& best = run.progress.best;
            const auto seed = std::ranges::lower_bound(seeds, run.seed) - seeds.begin();
            family.schemes[run.contestant].values.push_back(
                {first + static_cast<std::size_t>(seed), best.value_s, best.fits});
        }
    }
    return family;
}

std::optional<CompareWindow::Entry> CompareWindow::currentEntry() const {
    const QTreeWidgetItem* item = m_table->currentItem();
    if (item == nullptr || !item->data(Name, kContestantRole).isValid()) return {};
    return Entry{item->data(Name, kCaseRole).toULongLong(), item->data(Name, kContestantRole).toULongLong()};
}

const CaseOnItsWay* CompareWindow::currentCase() const {
    if (!m_run) return nullptr;
    const auto& cases = m_run->cases();
    if (const auto entry = currentEntry()) return entry->of < cases.size() ? cases[entry->of].get() : nullptr;
    const auto first =
        std::ranges::find_if(cases, [](const auto& item) { return !item->compared.runs.empty(); });
    return first == cases.end() ? nullptr : first->get();
}

const ComparedRun* CompareWindow::showable() const {
    const CaseOnItsWay* item = currentCase();
    if (item == nullptr || !currentEntry() || !isOpen(*item)) return nullptr;
    const ComparedRun* best = nullptr;
    for (const ComparedRun& run : item->compared.runs) {
        if (run.contestant != currentEntry()->contestant) continue;
        if (best == nullptr || run.progress.best.penalised_s < best->progress.best.penalised_s) best = &run;
    }
    return best;
}

bool CompareWindow::isOpen(const CaseOnItsWay& item) const {
    return m_document->isOpen() && m_run->request().options == m_document->options() &&
           item.fingerprint == m_document->fingerprint();
}

QString CompareWindow::contestantTitle(std::size_t contestant) const {
    const std::vector<Contestant>& all = m_run->request().contestants;
    const QString title = toQString(all[contestant].algorithm->title);
    const std::string options = distinct_options(all, contestant);
    return options.empty() ? title : tr("%1 (%2)").arg(title, toQString(options));
}

QString CompareWindow::titleOf(const ComparedRun& run) const {
    return tr("%1, seed %2").arg(contestantTitle(run.contestant)).arg(run.seed);
}

std::optional<CompareWindow::Found> CompareWindow::bestOfOpen() const {
    std::optional<Found> best;
    if (!m_run) return best;
    for (const auto& item : m_run->cases()) {
        if (!isOpen(*item)) continue;
        for (const ComparedRun& run : item->compared.runs) {
            const SearchProgress& end = run.progress;
            if (!end.best_placement || (best && end.best.penalised_s >= best->score.penalised_s)) continue;
            best = Found{*end.best_placement, end.best, titleOf(run)};
        }
    }
    return best;
}

std::size_t CompareWindow::unsavedSearches() const {
    return m_run ? m_run->finishedSearches() - m_savedSearches : 0;
}

bool CompareWindow::mayDrop(const QString& consequence) {
    const std::size_t unsaved = unsavedSearches();
    if (unsaved == 0) return true;
    QMessageBox question(
        QMessageBox::Question, windowTitle(),
        unsaved == 1 ? tr("Export 1 unsaved search?") : tr("Export %L1 unsaved searches?").arg(unsaved),
        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    question.setInformativeText(consequence);
    question.button(QMessageBox::Save)->setText(tr("&Export searches…"));
    question.button(QMessageBox::Discard)->setText(tr("&Discard"));
    question.setDefaultButton(QMessageBox::Save);
    const int answer = question.exec();
    return answer == QMessageBox::Discard || (answer == QMessageBox::Save && exportRuns());
}

bool CompareWindow::mayClose() {
    if (!m_run) return true;
    if (isRunning() && unsavedSearches() == 0) {
        QMessageBox question(QMessageBox::Question, windowTitle(), tr("Stop the comparison?"),
                             QMessageBox::Discard | QMessageBox::Cancel, this);
        question.setInformativeText(tr("%L1 of %L2 searches have finished; the others will be stopped.")
                                        .arg(m_run->finishedSearches())
                                        .arg(m_run->request().searches()));
        question.button(QMessageBox::Discard)->setText(tr("&Stop"));
        return question.exec() == QMessageBox::Discard;
    }
    return mayDrop(isRunning() ? tr("Closing stops the comparison; unsaved searches will be lost.")
                               : tr("Otherwise they will be lost."));
}

QColor CompareWindow::colorOf(std::size_t contestant) const {
    const std::vector<Contestant>& all = m_run->request().contestants;
    const AlgorithmInfo* algorithm = all[contestant].algorithm;
    const auto nth = std::ranges::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(contestant),
                                        algorithm, &Contestant::algorithm);
    return runColor(RunStyle{algorithm->id, static_cast<int>(nth)}, palette().color(QPalette::Base));
}

/// Shows the plot and the test of the case that the current row belongs to.
void CompareWindow::showCase() {
    m_show->setEnabled(showable() != nullptr);
    m_show->setToolTip(
        m_run && !m_run->file().isEmpty()
            ? tr("The table has no placements. placewright-cli sweep --placements FOLDER writes "
                 "them; File ▸ Open shows one of its files.")
            : tr("Show the best placement of the selected algorithm in the main window (Enter); "
                 "Ctrl+Z there undoes this"));
    const CaseOnItsWay* item = currentCase();
    std::vector<StandingBar> bars;
    std::vector<SeedCurve> curves;
    std::vector<std::size_t> choices;
    if (item != nullptr) {
        for (const Standing& standing : item->compared.all_standings()) {
            const QString title = contestantTitle(standing.contestant);
            StandingBar bar{
                title, standing.score_s.mean, standing.score_s.half_width_95, {}, standing.runs.size()};
            for (const ComparedRun* run : standing.runs) {
                if (run->progress.best.fits) bar.scores_s.push_back(run->progress.best.penalised_s);
            }
            bar.color = colorOf(standing.contestant);
            SeedCurve curve{title, bar.color, {}};
            for (const ComparedRun* run : standing.runs) {
                if (run->progress.curve) curve.seeds.push_back(run->progress.curve);
            }
            curves.push_back(std::move(curve));
            bars.push_back(std::move(bar));
            choices.push_back(standing.contestant);
        }
    }
    fillChoice(m_first, choices, m_firstChosen, 0);
    fillChoice(m_second, choices, m_secondChosen, static_cast<int>(choices.size()) - 1);
    m_testRow->setVisible(choices.size() > 1);
    const QString title = objectiveTitle(m_run ? *m_run->request().options.objective : objectives().front());
    m_plot->setBars(std::move(bars), item != nullptr ? item->compared.one_device_s : std::nullopt, title);
    m_curves->setCurves(curves, title);
    showTest();
}

/// Fills the box with `contestants` of the current case and selects `chosen`, else the index `otherwise`. An
/// unchanged list is not refilled, because the user may have it open.
void CompareWindow::fillChoice(QComboBox* box, const std::vector<std::size_t>& contestants,
                               const QVariant& chosen, int otherwise) {
    bool same = box->count() == static_cast<int>(contestants.size());
    for (int i = 0; same && i < box->count(); ++i)
        same = box->itemText(i) == contestantTitle(contestants[static_cast<std::size_t>(i)]) &&
               box->itemData(i).toULongLong() == contestants[static_cast<std::size_t>(i)];
    if (!same) {
        box->clear();
        for (const std::size_t contestant : contestants)
            box->addItem(contestantTitle(contestant), static_cast<qulonglong>(contestant));
    }
    const int index = chosen.isValid() ? box->findData(chosen) : -1;
    box->setCurrentIndex(index >= 0 ? index : otherwise);
}

void CompareWindow::showTest() {
    m_test->clear();
    const CaseOnItsWay* item = currentCase();
    if (item == nullptr || m_first->currentData() == m_second->currentData()) return;
    const std::vector<Standing> all = item->compared.all_standings();
    const auto of = [&](const QComboBox* box) -> const Standing& {
        return *std::ranges::find(all, box->currentData().toULongLong(), &Standing::contestant);
    };
    const Standing &first = of(m_first), &second = of(m_second);
    for (const Standing* each : {&first, &second}) {
        if (each->fitting == each->runs.size()) continue;
        const QString title = contestantTitle(each->contestant);
        const std::size_t unfit = each->runs.size() - each->fitting;
        m_test->setText((unfit == 1 ? tr("no test: 1 search of %1 found nothing that fits the memory")
                                    : tr("no test: %L2 searches of %1 found nothing that fits the memory"))
                            .arg(title)
                            .arg(unfit));
        return;
    }
    const double difference_s = first.score_s.mean - second.score_s.mean;
    const QChar minus(u'\u2212');
    const QString difference = (difference_s > 0 ? QChar(u'+') : minus) + secondsText(std::abs(difference_s));
    if (const auto test = welch_test(first.score_s, second.score_s)) {
        const QString t = QString::number(test->t, 'f', 2).replace(u'-', minus);
        m_test->setText(tr("%1 · t = %2 · p = %3: %4")
                            .arg(difference, t, toQString(p_text(test->p)),
                                 test->p < 0.05 ? tr("significant") : tr("not significant")));
    } else if (difference_s == 0) {
        m_test->setText(tr("no difference"));
    } else {
        m_test->setText(tr("%1 · too few searches, or no variance, for a test").arg(difference));
    }
}

void CompareWindow::showBest() {
    const ComparedRun* best = showable();
    if (best == nullptr) return;
    Q_EMIT placementChosen(*best->progress.best_placement, tr("Show %1").arg(titleOf(*best)));
}

std::vector<std::string> CompareWindow::labelNames() const {
    std::vector<std::string> names{"network", "machine"};
    if (!m_run->file().isEmpty()) names.emplace_back("options");
    return names;
}

bool CompareWindow::exportRuns() {
    const auto searches = exportTable(QStringLiteral("searches.csv"),
                                      [this](const auto& cases) { return runs_csv(labelNames(), cases); });
    if (searches) m_savedSearches = *searches;
    return searches.has_value();
}

std::optional<std::size_t> CompareWindow::exportTable(
    const QString& suggestion, const std::function<std::string(const std::vector<ComparedCase>&)>& write) {
    const QString file = askSaveFile(this, tr("Export"), exportFolderFor(), suggestion, tr("Table (*.csv)"),
                                     QStringLiteral(".csv"), settings::exportFolder);
    if (file.isEmpty()) return {};
    const std::size_t searches = m_run->finishedSearches();
    std::vector<ComparedCase> cases;
    for (const auto& item : m_run->cases()) {
        if (!item->compared.runs.empty()) cases.push_back(item->compared);
    }
    try {
        write_file(file.toStdString(), write(cases));
        m_status->setText(tr("Written to %1").arg(file));
        return searches;
    } catch (const InputError& error) {
        QMessageBox::warning(this, tr("Export"), toQString(error.what()));
        return {};
    }
}

}  // namespace placewright
