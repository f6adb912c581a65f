// SPDX-License-Identifier: MIT
#include "app/window/status_line.hpp"

#include <algorithm>
#include <cmath>

#include <QAction>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QProgressBar>
#include <QStatusBar>
#include <QStyle>
#include <QToolButton>

#include "app/window/document.hpp"
#include "app/window/language_text.hpp"
#include "app/window/option_text.hpp"
#include "app/window/pair/pair_models.hpp"
#include "core/base/infinity.hpp"
#include "core/base/units.hpp"
#include "core/job/remedies.hpp"
#include "core/job/token_rate.hpp"
#include "core/sim/cpu_load.hpp"
#include "widgets/plain_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// "Recompute cheap ops, Plain SGD": the options of a remedy that are not those of now.
QString changesText(const Remedy& remedy, const JobOptions& now) {
    QStringList changes = changedOptions(remedy.options);
    for (const QString& same : changedOptions(now)) changes.removeAll(same);
    // The default optimizer has no phrase.
    if (remedy.options.problem.optimizer_states != now.problem.optimizer_states) {
        const QString optimizer = optimizerTitle(remedy.options.problem.optimizer_states);
        if (!changes.contains(optimizer)) changes << optimizer;
    }
    return changes.join(QStringLiteral(", "));
}

/// Share of the budget that a run has used up; negative: it has none.
double doneShare(const Run& run) {
    const Budget& budget = run.request().budget;
    double share = -1;
    if (budget.is_counted())
        share = static_cast<double>(run.progress().evaluations) / static_cast<double>(budget.evaluations);
    if (budget.is_timed()) share = std::max(share, run.progress().elapsed_s / budget.seconds);
    return std::min(share, 1.0);
}

}  // namespace

/// A line of text that grows with its text only, and ends in "…" where there is no room for all of it.
class StatusLabel : public QLabel {
public:
    /// `least`: the width, in pixels, down to which the text may shrink.
    StatusLabel(const QString& name, int least) : m_least(least) {
        setAccessibleName(name);
        setTextFormat(Qt::PlainText);  // it may name networks
        setTextInteractionFlags(Qt::TextSelectableByMouse);
        setContentsMargins(6, 0, 10, 0);
    }

    QSize minimumSizeHint() const override {
        return {std::min(sizeHint().width(), m_least), QLabel::minimumSizeHint().height()};
    }

    /// `help`: HTML, which the tooltip shows below the whole text.
    void say(const QString& text, const QString& help = {}) {
        setText(text);
        QString tip = QStringLiteral("<b>%1</b>").arg(text.toHtmlEscaped());
        if (!help.isEmpty()) tip += QStringLiteral("<br>") + help;
        setToolTip(text.isEmpty() ? QString() : QStringLiteral("<qt>%1</qt>").arg(tip));
    }

protected:
    void paintEvent(QPaintEvent* event) override {
        const QRect place = contentsRect();
        const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, place.width());
        if (shown == text()) return QLabel::paintEvent(event);
        QPainter painter(this);
        style()->drawItemText(&painter, place, Qt::AlignVCenter | Qt::AlignLeft, palette(), isEnabled(),
                              shown, foregroundRole());
    }

private:
    const int m_least;
};

StatusLine::StatusLine(const Document* document, QStatusBar* bar, const QAction* proof, QAction* follow)
    : QObject(bar), m_document(document), m_proof(proof) {
    m_figure = new StatusLabel(tr("Step time"), 400);
    m_pinned = new StatusLabel(tr("Difference from A"), 120);
    m_pinned->hide();
    m_bound = new StatusLabel(tr("Lower bound"), 160);
    m_search = new StatusLabel(tr("Search"), 60);
    m_progress = new QProgressBar;
    m_progress->setMinimumWidth(60);  // pixels; it shrinks that far in a narrow window
    m_progress->setAccessibleName(tr("Progress"));
    m_progress->hide();
    m_cancel = new QToolButton;
    m_cancel->setObjectName(QStringLiteral("cancelLoading"));
    m_cancel->setText(tr("Cancel loading"));
    m_cancel->setToolTip(tr("Stop loading; the open network stays open"));
    m_cancel->hide();
    m_stopMeasuring = new QToolButton;
    m_stopMeasuring->setObjectName(QStringLiteral("stopMeasuring"));
    m_stopMeasuring->setText(tr("Stop measuring"));
    m_stopMeasuring->hide();
    m_remedies = new QToolButton;
    m_remedies->setObjectName(QStringLiteral("remedies"));
    m_remedies->setText(tr("Make it fit"));
    m_remedies->setPopupMode(QToolButton::InstantPopup);
    m_remedies->setMenu(new QMenu(m_remedies));
    m_remedies->hide();
    bar->addWidget(m_figure);
    bar->addWidget(m_remedies);
    bar->addWidget(m_pinned);
    bar->addWidget(m_bound);
    bar->addWidget(m_search, 1);
    m_follow = new QToolButton;
    m_follow->setObjectName(QStringLiteral("followAgain"));
    m_follow->setDefaultAction(follow);
    m_follow->hide();
    bar->addPermanentWidget(m_follow);
    bar->addPermanentWidget(m_progress);
    bar->addPermanentWidget(m_cancel);
    bar->addPermanentWidget(m_stopMeasuring);
    connect(m_stopMeasuring, &QToolButton::clicked, this, &StatusLine::stopMeasuringRequested);
    connect(m_cancel, &QToolButton::clicked, this, &StatusLine::cancelRequested);
}

void StatusLine::show() {
    const auto& timeline = m_document->timeline();
    if (!m_document->isOpen() || !timeline) {
        m_figure->say(m_document->isOpen() ? QString() : tr("Open a network to begin."));
        m_bound->say({});
        m_search->say({});
        m_remedies->hide();
        return;
    }
    showFigure();
    showRemedies();
    showBound();
    const bool measuring = m_document->measuring().running() != Measuring::Kind::none;
    m_stopMeasuring->setVisible(measuring);
    measuring ? showMeasuring() : showSearches();
}

void StatusLine::showMeasuring() {
    const Measuring& measuring = m_document->measuring();
    const Measuring::Progress& progress = measuring.progress();
    m_stopMeasuring->setToolTip(measuring.running() == Measuring::Kind::best
                                    ? tr("Stop measuring; what was measured is kept")
                                    : tr("Stop measuring; nothing is kept of it"));
    QStringList parts{measuring.running() == Measuring::Kind::profile ? tr("profile") : tr("benchmark")};
    if (measuring.running() == Measuring::Kind::best) {
        parts.front() =
            tr("placement %1 of %2").arg(std::min(progress.done + 1, progress.all)).arg(progress.all);
        const auto placements = m_document->measuredPlacements();
        if (const auto fastest = placements ? placements->fastest() : std::nullopt)
            parts << tr("fastest %1").arg(secondsText(placements->all[*fastest].measured.value_s));
        if (progress.left_s) parts << tr("%1 left").arg(toQString(format_clock(*progress.left_s)));
    } else if (progress.transfers) {
        parts.front() += tr(": transfers: %1 of %2").arg(progress.done).arg(progress.all);
    } else if (progress.done == 0) {
        parts << tr("first step, which shows how long all take");
    } else {
        parts.front() += tr(": step %1 of %2").arg(progress.done).arg(progress.all);
        if (measuring.running() == Measuring::Kind::benchmark && progress.median_s)
            parts << tr("median %1").arg(secondsText(*progress.median_s));
        if (progress.left_s) parts << tr("%1 left").arg(toQString(format_clock(*progress.left_s)));
    }
    m_search->say(parts.join(QStringLiteral(" · ")));
    if (m_document->isLoading()) return;
    m_progress->show();
    // Moves by itself before the first step.
    m_progress->setRange(0, progress.done > 0 ? static_cast<int>(progress.all) : 0);
    m_progress->setValue(static_cast<int>(progress.done));
}

void StatusLine::showSearches() {
    std::vector<const Run*> running;
    for (const auto& run : m_document->runs()) {
        if (run->state() == Run::State::running) running.push_back(run.get());
    }
    m_follow->setVisible(m_document->isOptimizing() && !m_document->isFollowing());
    if (!m_document->isLoading()) m_progress->setVisible(!running.empty());
    if (running.empty()) return m_search->say({});

    std::uint64_t evaluations = 0, simulations = 0;
    double elapsed_s = 0, left_s = 0, done = 1;
    bool paused = true;
    for (const Run* run : running) {
        const SearchProgress& progress = run->progress();
        evaluations += progress.evaluations;
        simulations += progress.simulations;
        elapsed_s = std::max(elapsed_s, progress.elapsed_s);
        left_s = std::max(left_s, progress.evaluations > 0 ? progress.eta_s : kInfinity);
        done = std::min(done, doneShare(*run));
        paused = paused && run->isPaused();
    }
    QStringList parts{followText(running)};
    const Budget& budget = running.front()->request().budget;
    parts << (running.size() == 1 && budget.is_counted()
                  ? tr("%L1 / %L2 evaluations").arg(evaluations).arg(budget.evaluations)
                  : (evaluations == 1 ? tr("%L1 evaluation") : tr("%L1 evaluations")).arg(evaluations));
    if (paused) {
        parts << tr("paused");
    } else {
        // Nothing is said of a speed before there is one.
        if (simulations > 0)
            parts << tr("%1 simulations/s")
                         .arg(countText(static_cast<double>(simulations) / std::max(elapsed_s, 1e-3)));
        if (std::isfinite(left_s)) parts << tr("%1 left").arg(toQString(format_clock(left_s)));
    }
    parts.removeAll(QString());
    m_search->say(parts.join(QStringLiteral(" · ")));
    if (m_document->isLoading()) return;
    // Moves by itself where nothing says how much is done.
    m_progress->setRange(0, done < 0 ? 0 : 1000);
    m_progress->setValue(static_cast<int>(1000 * std::max(done, 0.0)));
}

/// Says which of the running searches the screen follows.
QString StatusLine::followText(const std::vector<const Run*>& running) const {
    if (!m_document->isFollowing())
        return running.size() == 1 ? tr("%1, not followed").arg(runTitle(*running.front()))
                                   : tr("%1 searches, not followed").arg(running.size());
    if (const Run* pinned = m_document->pinnedRun()) return tr("follows %1 alone").arg(runTitle(*pinned));
    const Run* shown = m_document->shownRun();
    if (shown != nullptr && !m_document->follows(*shown)) shown = nullptr;
    const QString searches =
        running.size() == 1 ? runTitle(*running.front()) : tr("%1 searches").arg(running.size());
    // One that has ended may still be the best.
    if (shown != nullptr && shown->state() != Run::State::running)
        return tr("%1, still behind %2").arg(searches, runTitle(*shown));
    if (running.size() == 1) return searches;
    return shown != nullptr ? tr("follows %1, the best of %2").arg(runTitle(*shown)).arg(running.size())
                            : tr("follows the best of %1").arg(running.size());
}

void StatusLine::showPinned(const Pair* pair) {
    m_pinned->setVisible(pair != nullptr);
    if (pair == nullptr) return;
    const PairFigure& step = pair->differences.figures.front();
    if (const QString& other = pair->differences.other_network; !other.isEmpty())
        return m_pinned->say(tr("A %1, %2").arg(secondsText(step.a), other),
                             tr("Placement A, %1, is of another network, %2; Ctrl+Shift+B shows both")
                                 .arg(pair->a.title, other)
                                 .toHtmlEscaped());
    m_pinned->say(step.differs()
                      ? tr("A %1 (%2)").arg(secondsText(step.a), changeText(step.a, step.b, step.unit))
                      : tr("A %1 (no change)").arg(secondsText(step.a)),
                  tr("Step time of placement A, %1, and how much the one on screen differs "
                     "from it; Ctrl+Shift+B shows both")
                      .arg(pair->a.title)
                      .toHtmlEscaped());
}

void StatusLine::showFigure() {
    const Job& job = m_document->job();
    const Objective& objective = *job.objective;
    const Outcome& outcome = m_document->timeline()->outcome;
    const Assessment& assessment = *m_document->assessment();
    m_figure->setAccessibleName(objectiveTitle(objective));
    QString tip;
    if (objective.is_step_time()) {
        tip = outcome.steady_step_time_s
                  ? tr("Time per batch over the whole run; steady: time per batch while the pipeline is full")
                  : tr("Simulated time of one step");
    } else {
        tip =
            tr("%1: %2 The timeline shows the simulated step, which takes %3.")
                .arg(objectiveTitle(objective), toQString(objective.help), secondsText(outcome.step_time_s));
    }
    const QString name = !objective.is_step_time()    ? objectiveName(objective)
                         : job.simulation.batches > 1 ? tr("time per batch")
                                                      : tr("step");
    if (!assessment.is_defined()) {
        return m_figure->say(tr("%1 not defined").arg(name),
                             QStringLiteral("%1<br>%2")
                                 .arg(tip.toHtmlEscaped(), toQString(assessment.undefined).toHtmlEscaped()));
    }
    const double now_s = assessment.score.value_s;
    QString now = secondsText(now_s);
    if (const StepError* error = m_document->stepError(); error != nullptr && objective.is_step_time()) {
        now = tr("%1 ± %2 %").arg(now).arg(error->half_width() * 100, 0, 'f', 0);
        tip +=
            tr("; the real step time is within this interval in 8 of 10 cases, from what was measured on "
               "real devices");
    }
    if (const auto before = m_document->valueBefore()) now = beforeAndNowText(*before, now_s, now);
    QString status = tr("%1 %2").arg(name, now);
    if (objective.is_step_time() && outcome.steady_step_time_s)
        status += tr(", steady %1").arg(secondsText(*outcome.steady_step_time_s));
    if (const auto& language = job.language) {
        status += QStringLiteral(" · ") +
                  tokenRateText(tokens_per_s(*language, job.problem->network->batch(), outcome));
        if (job.simulation.batches_in_flight() > 1 && language->phase == LanguagePhase::training) {
            status += tr(", filling and draining included");
        } else if (job.simulation.batches_in_flight() > 1 && !outcome.steady_step_time_s) {
            status += tr(" while the pipeline fills and drains");
        }
        // Of several batches the timeline shows when each ends.
        if (language->phase == LanguagePhase::prefill && job.simulation.batches == 1)
            status += tr(", first token after %1").arg(secondsText(outcome.step_time_s));
        tip += tr(". %1").arg(phaseHelp(language->phase));
    }
    status += assessment.score.fits ? tr(" · fits") : tr(" · %1").arg(misfit(*job.problem, assessment).text);
    tip = tip.toHtmlEscaped();
    if (const CpuLoad* load = m_document->cpuLoad()) {
        status += tr(" · the CPU takes %1 %").arg(load->share * 100, 0, 'f', 0);
        tip += QStringLiteral("<br>%1.").arg(toQString(to_text(*load, *job.problem)).toHtmlEscaped());
    }
    m_figure->say(status, tip);
}

void StatusLine::showRemedies() {
    const auto& remedies = m_document->remedies();
    m_remedies->setVisible(remedies && !remedies->fitting.empty());
    m_remedies->menu()->clear();
    if (!remedies) return;
    const Problem& problem = *m_document->problem();
    const auto& whole = remedies->whole;
    const QString device =
        whole ? QString::fromStdString(problem.machine->device(whole->device).name) : QString();
    const QString label = whole ? tr("Make it fit on %1").arg(device) : tr("Make it fit");
    m_remedies->setText(QString(label).replace(QLatin1Char('&'), QStringLiteral("&&")));
    const QString help = whole
                             ? tr("%1 lacks %2 for the whole network, so that a CPU runs part of it. Options "
                                  "with which %1 holds it, "
                                  "the least slow first; a click moves all ops there.")
                                   .arg(device, bytesText(whole->lacking_bytes))
                             : tr("Options with which this placement fits the memory, the least slow first");
    m_remedies->setToolTip(QStringLiteral("<qt>%1</qt>").arg(help.toHtmlEscaped()));
    if (remedies->fitting.empty()) {
        if (m_document->assessment()->score.fits) return;
        const QString closest =
            remedies->closest ? changesText(*remedies->closest, m_document->options()) : QString();
        m_figure->setToolTip(
            QStringLiteral("<qt>%1<br>%2.</qt>")
                .arg(m_figure->toolTip(),
                     toQString(shortage_text(*remedies, problem, closest.toStdString())).toHtmlEscaped()));
        return;
    }
    for (const Remedy& remedy : remedies->fitting) {
        QString text = tr("%1: a %2 takes %3, %4")
                           .arg(changesText(remedy, m_document->options()),
                                toQString(sample_name(m_document->job().language)),
                                toQString(duration_text(remedy)), toQString(fullest_text(remedy, problem)));
        const QAction* action =
            m_remedies->menu()->addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")));
        connect(action, &QAction::triggered, this,
                [this, options = remedy.options, to = whole ? std::optional(whole->device) : std::nullopt] {
                    Q_EMIT optionsChosen(options, to);
                });
    }
}

void StatusLine::showBound() {
    const Score& score = m_document->assessment()->score;
    const auto& bound = m_document->bound();
    if (!bound || bound->value_s <= 0) return m_bound->say({});
    QString tip =
        tr("Proven by %1: %2.").arg(toQString(bound->name), toQString(bound->proof)).toHtmlEscaped();
    if (!std::isfinite(bound->value_s)) {
        m_bound->say(tr("no placement fits"), tip);
    } else {
        QString status = tr("bound %1").arg(secondsText(bound->value_s));
        if (m_document->isProving()) {
            status += QStringLiteral(" ↑");  // little room is left beside a search
            tip += tr("<br>↑ The bound is being tightened for up to a minute; Run ▸ %1 stops this.")
                       .arg(m_proof->text().remove(QLatin1Char('&')));
        }
        // The bound says nothing about placements that do not fit.
        if (!score.fits) {
            status += tr(" (of placements that fit)");
        } else {
            const double percent = whole_percent(score.value_s / bound->value_s - 1);
            const bool grouped = m_document->job().grouping.rule != GroupingRule::none;
            if (!grouped && contradicts(bound->value_s, score.value_s)) {
                status += tr(" (wrong, as this placement is faster: please report it)");
            } else if (percent > 0) {
                status += (grouped ? tr(" (at most %1 % above the best of these groups)")
                                   : tr(" (at most %1 % above optimal)"))
                              .arg(percent, 0, 'f', 0);
            } else {
                status += grouped ? tr(" (optimal for these groups)") : tr(" (optimal)");
            }
        }
        m_bound->say(status, tip);
    }
}

void StatusLine::showLoading() {
    const bool loading = m_document->isLoading();
    m_cancel->setVisible(loading);
    m_progress->setVisible(loading || m_document->isSearching() ||
                           m_document->measuring().running() != Measuring::Kind::none);
    if (loading) m_progress->setRange(0, 0);
}

}  // namespace placewright
