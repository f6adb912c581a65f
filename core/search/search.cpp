// SPDX-License-Identifier: MIT
#include "core/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "core/search/series.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

/// Maximum number of placements per ask, however large the budget, so that optimizers need not hold more.
constexpr std::uint64_t kLargestBatch = 1024;

/// Batches are scored in slices of about this length, for the time limit and progress reports. Slices change
/// no score.
constexpr double kSliceSeconds = 0.02;
constexpr std::size_t kSmallestSlice = 16;

double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

/// Stops an ask when the search is to stop or when the ask exceeds the time limit.
class AskLimit {
public:
    AskLimit(std::stop_token stop, bool is_timed)
        : forward_(std::move(stop), [this] { source_.request_stop(); }) {
        if (is_timed) watcher_ = std::jthread([this](const std::stop_token& done) { watch(done); });
    }

    std::stop_token token() const { return source_.get_token(); }

    /// Nothing: no ask is running.
    void set_end(std::optional<Clock::time_point> end) {
        const std::scoped_lock lock(mutex_);
        end_ = end;
    }

private:
    static constexpr auto kLook = std::chrono::milliseconds(10);

    void watch(const std::stop_token& done) {
        std::unique_lock lock(mutex_);
        while (!done.stop_requested()) {
            if (end_ && Clock::now() >= *end_) {
                source_.request_stop();
                return;
            }
            changed_.wait_for(lock, done, kLook, [] { return false; });
        }
    }

    std::stop_source source_;
    std::stop_callback<std::function<void()>> forward_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Clock::time_point> end_;  ///< guarded by mutex_
    std::jthread watcher_;                  ///< last: it is joined before the other members are destroyed
};

class Search {
public:
    Search(Optimizer& optimizer, Evaluator& evaluator, const Budget& budget, std::stop_token stop,
           const ProgressCallback& report, std::chrono::milliseconds interval, Pause* pause,
           const NamingCallback& naming)
        : optimizer_(optimizer),
          evaluator_(evaluator),
          budget_(budget),
          stop_(std::move(stop)),
          report_(report),
          interval_(interval),
          pause_(pause),
          naming_(naming),
          runs_before_(evaluator.runs()),
          delta_before_(evaluator.delta_use()),
          ask_limit_(stop_, budget.is_timed()) {
        optimizer_.stop_on(ask_limit_.token());
        optimizer_.work_with(evaluator_.workers());
    }
    ~Search() {
        optimizer_.stop_on({});
        optimizer_.work_with(nullptr);
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    SearchResult run() {
        SearchEnd end = SearchEnd::budget;
        while (true) {
            if (stop_.stop_requested()) {
                end = SearchEnd::cancelled;
                break;
            }
            if (used_up()) break;
            const std::uint64_t limit = std::min(budget_.evaluations - evaluations_, kLargestBatch);
            if (budget_.is_timed()) optimizer_.used(std::clamp(elapsed_s() / budget_.seconds, 0.0, 1.0));
            if (PlacementStream* const stream = begin_section(static_cast<std::size_t>(limit))) {
                if (pause_ != nullptr) paused_s_ += pause_->wait(stop_);
                score(*stream);
                absorb(optimizer_.counted());
                report_if_due();
                if (!stream->is_exhausted()) continue;
                if (!ask_limit_.token().stop_requested()) end = SearchEnd::exhausted;
                if (stop_.stop_requested()) end = SearchEnd::cancelled;
                break;
            }
            const std::span<const Placement> batch = ask(static_cast<std::size_t>(limit));
            if (batch.empty()) {
                if (optimizer_.proposes_ahead()) absorb(optimizer_.counted());
                // An optimizer that was stopped may have more to propose.
                if (!ask_limit_.token().stop_requested()) end = SearchEnd::exhausted;
                if (stop_.stop_requested()) end = SearchEnd::cancelled;
                break;
            }
            if (batch.size() > limit)
                throw std::logic_error("an optimizer proposed more placements than it was asked for");
            const std::size_t scored = score(batch);
            learn(batch, scored);
            report_if_due();
        }
        if (end == SearchEnd::cancelled || used_up()) absorb(optimizer_.uncounted());
        if (best_placement_ && curve_.back().evaluations != evaluations_) {
            curve_.push_back({evaluations_, elapsed_s(), best_.penalised_s, latest_.mean(), best_.fits});
        }
        return {snapshot(), end};
    }

private:
    double elapsed_s() const { return seconds_between(start_, Clock::now()) - paused_s_; }

    bool used_up() const { return evaluations_ >= budget_.evaluations || elapsed_s() >= budget_.seconds; }

    PlacementStream* begin_section(std::size_t limit) {
        return optimizer_.stream(
            {limit, std::max(section_, threads()), threads(), false, evaluator_.streams_in_batches()});
    }

    std::size_t threads() const {
        const Workers* const workers = evaluator_.workers();
        return workers == nullptr ? 1 : workers->threads();
    }

    /// Scores a section of a stream.
    void score(PlacementStream& stream) {
        const auto before = Clock::now();
        const std::uint64_t runs = evaluator_.runs();
        evaluator_.evaluate_stream(stream, stop_);
        const auto scored = static_cast<double>(std::max<std::uint64_t>(evaluator_.runs() - runs, 1));
        const double each_s = seconds_between(before, Clock::now()) / scored;
        section_ = static_cast<std::size_t>(kSliceSeconds / std::max(each_s, 1e-9));
    }

    std::span<const Placement> ask(std::size_t limit) {
        if (!budget_.is_timed()) return optimizer_.ask(limit);
        constexpr double kLongest = 1e9;  // largest number of seconds that a clock can hold
        const std::chrono::duration<double> left(std::min(budget_.seconds - elapsed_s(), kLongest));
        ask_limit_.set_end(Clock::now() + std::chrono::duration_cast<Clock::duration>(left));
        const std::span<const Placement> batch = optimizer_.ask(limit);
        ask_limit_.set_end({});
        return batch;
    }

    /// Scores the batch, slice by slice, until it is complete, cancelled or out of time. Returns the number
    /// of scores.
    std::size_t score(std::span<const Placement> batch) {
        scores_.resize(batch.size());
        bases_.clear();
        for (std::size_t i = 0; i < batch.size(); ++i) bases_.push_back(optimizer_.base(i));
        std::size_t scored = 0;
        while (scored < batch.size()) {
            if (pause_ != nullptr) paused_s_ += pause_->wait(stop_);
            const std::size_t count = std::min(slice_, batch.size() - scored);
            const auto before = Clock::now();
            if (!evaluator_.evaluate(batch.subspan(scored, count), std::span(scores_).subspan(scored, count),
                                     stop_, std::span(bases_).subspan(scored, count)))
                break;
            scored += count;
            const double each_s = seconds_between(before, Clock::now()) / static_cast<double>(count);
            slice_ =
                std::max(kSmallestSlice,
                         static_cast<std::size_t>(std::min(kSliceSeconds / std::max(each_s, 1e-9), 1e6)));
            if (scored < batch.size()) {
                if (elapsed_s() >= budget_.seconds) break;
                report_if_due();
            }
        }
        return scored;
    }

    /// Tells the optimizer the scores, if all are known, and adds what counts.
    void learn(std::span<const Placement> batch, std::size_t scored) {
        scored_.clear();
        for (std::size_t i = 0; i < scored; ++i) scored_.push_back({&batch[i], scores_[i]});
        if (scored < batch.size()) {
            // The search ends here, so nothing has been proposed in vain.
            absorb(scored_);
            return;
        }
        const bool some_count = optimizer_.proposes_ahead();
        // An optimizer may reuse the memory of what it proposed.
        if (!some_count) absorb(scored_);
        optimizer_.tell(scores_);
        if (some_count) absorb(optimizer_.counted());
    }

    /// Adds scores to the best score, the curve and the mean.
    void absorb(std::span<const Scored> scored) {
        if (scored.empty()) return;
        const double now_s = elapsed_s();
        for (std::size_t i = 0; i < scored.size(); ++i) {
            const auto& [placement, score] = scored[i];
            ++without_mean_;
            if (score != kUndefinedScore) {
                latest_.add(score.value_s);
                means_.add(std::exchange(without_mean_, 0), score.value_s);
                if (samples_.wants(evaluations_ + i + 1))
                    samples_.add({evaluations_ + i + 1, now_s, score.value_s, score.fits});
            }
            if (best_placement_ && !(score.penalised_s < best_.penalised_s)) continue;
            best_ = score;
            best_placement_ = std::make_shared<const Placement>(
                naming_ ? naming_(*placement, best_placement_.get()) : *placement);
            curve_.push_back({evaluations_ + i + 1, now_s, best_.penalised_s, latest_.mean(), best_.fits});
        }
        evaluations_ += scored.size();
    }

    double eta_s(double elapsed) const {
        if (evaluations_ == budget_.evaluations) return 0;
        double left_s = budget_.seconds - elapsed;
        if (evaluations_ > 0 && budget_.is_counted()) {
            const auto left = static_cast<double>(budget_.evaluations - evaluations_);
            left_s = std::min(left_s, left * elapsed / static_cast<double>(evaluations_));
        }
        return std::max(left_s, 0.0);
    }

    SearchProgress snapshot() {
        if (!shared_curve_ || shared_curve_->size() != curve_.size()) {
            shared_curve_ = std::make_shared<const std::vector<CurvePoint>>(curve_);
        }
        SearchProgress progress;
        progress.evaluations = evaluations_;
        progress.simulations = evaluator_.runs() - runs_before_;
        progress.delta = evaluator_.delta_use() - delta_before_;
        progress.elapsed_s = elapsed_s();
        progress.eta_s = eta_s(progress.elapsed_s);
        progress.latest_mean_s = latest_.mean();
        progress.lower_bound_s = optimizer_.lower_bound_s();
        progress.best = best_;
        progress.best_placement = best_placement_;
        progress.curve = shared_curve_;
        progress.means = means_.points();
        progress.samples = samples_.points();
        progress.archive = optimizer_.archive();
        progress.distribution = optimizer_.distribution();
        progress.training = optimizer_.training();
        return progress;
    }

    void report_if_due() {
        if (!report_) return;
        const auto before = Clock::now();
        if (before < next_report_) return;
        report_(snapshot());
        // Snapshots that are slow to make or to process are made less often: reports cost at most a tenth of
        // the time.
        const auto after = Clock::now();
        next_report_ = std::max(before + std::chrono::duration_cast<Clock::duration>(interval_),
                                after + 9 * (after - before));
    }

    Optimizer& optimizer_;
    Evaluator& evaluator_;
    const Budget budget_;
    const std::stop_token stop_;
    const ProgressCallback& report_;
    const std::chrono::milliseconds interval_;
    Pause* const pause_;
    const NamingCallback& naming_;
    const std::uint64_t runs_before_;
    const DeltaUse delta_before_;
    AskLimit ask_limit_;
    const Clock::time_point start_ = Clock::now();
    Clock::time_point next_report_ = start_;

    double paused_s_ = 0;
    std::uint64_t evaluations_ = 0;
    std::size_t slice_ = kSmallestSlice;
    std::size_t section_ = 1;  ///< most items of the next section of a stream
    std::vector<Score> scores_;
    std::vector<const Placement*> bases_;  ///< of the current batch
    std::vector<Scored> scored_;
    LatestMean latest_;
    std::uint64_t without_mean_ = 0;  ///< evaluations since the last one for which the objective is defined
    Series means_;
    Samples samples_;
    Score best_;
    std::shared_ptr<const Placement> best_placement_;
    std::vector<CurvePoint> curve_;
    std::shared_ptr<const std::vector<CurvePoint>> shared_curve_;
};

}  // namespace

void Pause::set(bool paused) {
    {
        const std::scoped_lock lock(mutex_);
        paused_ = paused;
    }
    changed_.notify_all();
}

bool Pause::paused() const {
    const std::scoped_lock lock(mutex_);
    return paused_;
}

double Pause::wait(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (!paused_) return 0;
    const auto begin = Clock::now();
    changed_.wait(lock, std::move(stop), [this] { return !paused_; });
    return seconds_between(begin, Clock::now());
}

std::optional<std::uint64_t> planned_evaluations(const Budget& budget) {
    if (budget.is_timed() || !budget.is_counted()) return {};
    return budget.evaluations;
}

SearchResult run_search(Optimizer& optimizer, Evaluator& evaluator, const Budget& budget,
                        std::stop_token stop, const ProgressCallback& report,
                        std::chrono::milliseconds interval, Pause* pause, const NamingCallback& naming) {
    return Search(optimizer, evaluator, budget, std::move(stop), report, interval, pause, naming).run();
}

}  // namespace placewright
