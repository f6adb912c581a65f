// SPDX-License-Identifier: MIT
#include "app/window/run.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/algorithms.hpp"
#include "core/graph/blocks.hpp"
#include "core/job/bound_tightening.hpp"
#include "core/job/saved_search.hpp"
#include "core/job/whole_modules.hpp"
#include "core/search/headroom.hpp"
#include "core/search/parts/proposals.hpp"
#include "core/search/relabelling.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

/// The picture is redrawn at most this often while a search runs.
constexpr auto kTimelineInterval = std::chrono::milliseconds(100);
/// The list of the best placements is copied at most this often.
constexpr auto kListInterval = std::chrono::milliseconds(200);
/// The distribution of the scores is copied at most this often.
constexpr auto kSketchInterval = std::chrono::milliseconds(100);
/// Longest time that freeing memory takes after a search, and its largest share of a budget in time.
constexpr double kHeadroomSeconds = 3, kHeadroomShare = 0.05;

/// Maximum number of scores recorded per run (about 100 MB). A resumed search simulates later placements
/// again.
constexpr std::size_t kMostRecorded = 1'000'000;

/// Counts the scores of all placements of a search in `sketch`.
class SketchedEvaluator : public Evaluator {
public:
    SketchedEvaluator(std::unique_ptr<Evaluator> evaluator, QuantileSketch& sketch)
        : m_evaluator(std::move(evaluator)), m_sketch(sketch) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        if (!m_evaluator->evaluate(placements, scores, std::move(stop), bases)) return false;
        for (const Score& score : scores.first(placements.size())) add(score);
        return true;
    }
    bool evaluate_stream(PlacementStream& stream, std::stop_token stop) override {
        CountingStream counted(stream, [this](const Scored& scored) { add(scored.score); });
        return m_evaluator->evaluate_stream(counted, std::move(stop));
    }
    bool streams_in_batches() const override { return m_evaluator->streams_in_batches(); }
    std::uint64_t runs() const override { return m_evaluator->runs(); }
    DeltaUse delta_use() const override { return m_evaluator->delta_use(); }
    Workers* workers() override { return m_evaluator->workers(); }

private:
    void add(const Score& score) {
        if (score.fits) {
            m_sketch.add(score.value_s);
        } else {
            m_sketch.add_unknown();
        }
    }

    std::unique_ptr<Evaluator> m_evaluator;
    QuantileSketch& m_sketch;
};

}  // namespace

void ScoreRecord::append(std::span<const RecordedScore> scores) {
    const std::scoped_lock lock(m_mutex);
    m_added.insert(m_added.end(), scores.begin(), scores.end());
}

std::size_t ScoreRecord::size() const {
    const std::scoped_lock lock(m_mutex);
    return (m_known ? m_known->size() : 0) + m_added.size();
}

std::vector<RecordedScore> ScoreRecord::scores(std::size_t most) const {
    std::vector<RecordedScore> first;
    const auto add = [&](const std::vector<RecordedScore>& scores) {
        const std::size_t count = std::min(scores.size(), most - first.size());
        first.insert(first.end(), scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(count));
    };
    if (m_known) add(*m_known);
    const std::scoped_lock lock(m_mutex);
    add(m_added);
    return first;
}

Run::Run(int id, Job job, RunRequest request, QObject* parent)
    : QObject(parent),
      m_id(id),
      m_job(std::move(job)),
      m_request(std::move(request)),
      m_record(std::make_shared<ScoreRecord>(m_request.known)),
      m_scores(m_record) {}

Run::Run(int id, Job job, RunRequest request, Past past) : Run(id, std::move(job), std::move(request)) {
    m_state = past.state;
    m_failure = std::move(past.failure);
    m_start_s = past.start_s;
    m_progress = std::move(past.progress);
    m_name = std::move(past.name);
    m_exhausted = past.exhausted;
    m_sketch = std::move(past.sketch);
    m_simulated = std::move(past.simulated);
    m_splitting = std::move(past.splitting);
}

Run::~Run() {
    cancel();
    if (m_thread.joinable()) m_thread.join();
}

void Run::start(double start_s) {
    m_start_s = start_s;
    try {
        m_thread = std::thread([this] {
            give_way();
            search(m_stop.get_token());
        });
    } catch (const std::system_error& error) {
        Update last;
        last.end = State::failed;
        last.failure = tr("no thread could be started: %1").arg(QString::fromUtf8(error.what()));
        publish(std::move(last));
    }
}

std::optional<SavedSearch> Run::saved() const {
    if (m_request.predicted) return {};
    const Budget& budget = m_request.budget;
    return SavedSearch{m_request.algorithm, m_request.options, m_request.seed,
                       budget.is_counted() ? std::optional(budget.evaluations) : std::nullopt,
                       m_request.starts};
}

void Run::search(const std::stop_token& stop) {
    Update last;
    try {
        const AlgorithmInfo* algorithm = find_algorithm(m_request.algorithm);
        if (algorithm == nullptr) throw std::runtime_error("there is no algorithm " + m_request.algorithm);
        const auto optimizer =
            m_request.predicted
                ? propose_in_turn({*m_request.predicted})
                : algorithm->make({m_job.problem, m_request.seed, all_starts(m_job, m_request.starts),
                                   planned_evaluations(m_request.budget), m_job.objective, m_job.simulation},
                                  m_request.options);
        // Outside of the record, so that a resumed search sees its first placements again.
        QuantileSketch sketch;
        BestPlacements evaluator(
            std::make_unique<SketchedEvaluator>(
                recorded_evaluator(
                    evaluator_of(m_job), m_record->scores(),
                    [this](std::span<const RecordedScore> added) { m_record->append(added); }, kMostRecorded),
                sketch),
            kMostKept);

        Simulator simulator(m_job.problem, m_job.simulation);
        Clock::time_point drawn, listed, sketched;
        // Alike devices keep their names from one best placement to the next, so that colours do not change
        // where nothing else does. Every improvement is named, drawn or not: the result does not depend on
        // the clock.
        const auto named = [&](const Placement& placement, const Placement* before) {
            if (before == nullptr && !m_request.starts.empty()) before = &m_request.starts.back();
            return m_request.predicted || before == nullptr
                       ? placement
                       : relabelled(*m_job.problem, simulator, placement, *before);
        };
        std::shared_ptr<const Placement> shown;
        const auto draw = [&](const SearchProgress& progress) {
            last.progress = progress;
            if (!progress.best_placement) return;
            if (progress.best_placement == shown) return;
            shown = progress.best_placement;
            last.simulated = Simulated::make(m_job, simulator, shown);
            drawn = Clock::now();
        };
        const auto report = [&](const SearchProgress& progress) {
            last.progress = progress;
            if (Clock::now() - drawn >= kTimelineInterval) draw(progress);
            if (Clock::now() - listed >= kListInterval) {
                last.best = std::make_shared<const std::vector<ScoredPlacement>>(evaluator.best());
                listed = Clock::now();
            }
            if (Clock::now() - sketched >= kSketchInterval) {
                last.sketch = std::make_shared<const QuantileSketch>(sketch);
                sketched = Clock::now();
            }
            publish(last);
        };
        SearchResult result = run_search(*optimizer, evaluator, m_request.budget, stop, report,
                                         std::chrono::milliseconds(33), &m_pause, named);
        last.splitting = comparedWithWholeModules(result, *algorithm, stop);
        const std::shared_ptr<const Placement> found = result.progress.best_placement;
        // After the default algorithm alone, so that the results of the others are their own.
        if (result.end != SearchEnd::cancelled && algorithm->id == "auto" && !m_request.predicted)
            gain_headroom(result, m_job.problem, *m_job.objective, m_job.simulation, m_job.penalty,
                          {kHeadroomCost, headroom_simulations(result.progress.evaluations),
                           std::min(kHeadroomSeconds, kHeadroomShare * m_request.budget.seconds), &m_pause},
                          stop);
        const bool of_layers = !m_request.predicted && has_blocks(*m_job.problem->graph);
        const bool in_order = m_request.unasked || (of_layers && algorithm->id == "auto");
        if (found && in_order && result.end != SearchEnd::cancelled) {
            // The stages of a model, and the first placement that is seen of any network, read from the first
            // to the last device.
            result.progress.best_placement = std::make_shared<const Placement>(
                numbered_by_first_use(*m_job.problem, simulator, *result.progress.best_placement));
        } else if (found && result.progress.best_placement != found) {
            result.progress.best_placement =
                std::make_shared<const Placement>(named(*result.progress.best_placement, found.get()));
        }
        draw(result.progress);
        last.best = std::make_shared<const std::vector<ScoredPlacement>>(evaluator.best());
        last.sketch = std::make_shared<const QuantileSketch>(sketch);
        last.end = result.end == SearchEnd::cancelled ? State::cancelled : State::finished;
        last.exhausted = result.end == SearchEnd::exhausted;
    } catch (const std::exception& error) {
        last.end = State::failed;
        last.failure = QString::fromUtf8(error.what());
    }
    publish(std::move(last));
}

/// Searches for a placement of whole modules, too, where the framework moves those; it becomes the result if
/// it is better.
QString Run::comparedWithWholeModules(SearchResult& result, const AlgorithmInfo& algorithm,
                                      const std::stop_token& stop) {
    if (m_request.predicted || result.end == SearchEnd::cancelled || !result.progress.best_placement)
        return {};
    const auto grouping = modules_to_keep_whole(m_job);
    if (!grouping) return {};
    const auto whole = place_whole_modules(m_job, *grouping, algorithm, m_request.options, m_request.seed,
                                           m_request.budget, 0, stop, &m_pause);
    if (!whole) return {};
    if (whole->score.penalised_s < result.progress.best.penalised_s) {
        result.progress.best = whole->score;
        result.progress.best_placement = std::make_shared<const Placement>(whole->placement);
    }
    const Placement& best = *result.progress.best_placement;
    const Outcome outcome = Simulator(m_job.problem, m_job.simulation).run(best);
    return toQString(
        splitting_text(*whole, placewright::splitting(m_job, *whole, best, outcome),
                       tr("grouped by module, depth %1").arg(grouping->scope_depth).toStdString()));
}

std::vector<ScoredPlacement> Run::bestPlacements(std::size_t most) const {
    if (!m_progress.best_placement) return {};
    const ScoredPlacement result{m_progress.best, *m_progress.best_placement};
    return candidates(m_progress.archive.get(),
                      m_best ? std::span<const ScoredPlacement>(*m_best) : std::span<const ScoredPlacement>(),
                      &result, most);
}

void Run::publish(Update update) {
    if (m_update.put(std::move(update))) QMetaObject::invokeMethod(this, &Run::receive, Qt::QueuedConnection);
}

void Run::receive() {
    Update update = m_update.take();
    m_progress = std::move(update.progress);
    m_simulated = std::move(update.simulated);
    m_best = std::move(update.best);
    m_sketch = std::move(update.sketch);
    if (update.end) {
        m_state = *update.end;
        m_exhausted = update.exhausted;
        m_failure = update.failure;
        m_splitting = update.splitting;
    }
    Q_EMIT progressed();
    if (update.end) Q_EMIT ended();
}

}  // namespace placewright
