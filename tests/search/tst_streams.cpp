// SPDX-License-Identifier: MIT
// Searches whose placements threads take one by one.
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>

#include <QtTest>

#include "core/algorithms.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"

using namespace placewright;
using test::make;
using test::ProblemPtr;
using test::text;

namespace {

/// An optimizer without its stream.
class InBatches final : public Optimizer {
public:
    explicit InBatches(std::unique_ptr<Optimizer> inner) : inner_(std::move(inner)) {}
    std::span<const Placement> ask(std::size_t limit) override {
        inner_->stop_on(stop());
        inner_->work_with(workers());
        return inner_->ask(limit);
    }
    const Placement* base(std::size_t i) const override { return inner_->base(i); }
    void tell(std::span<const Score> scores) override { inner_->tell(scores); }
    bool proposes_ahead() const override { return inner_->proposes_ahead(); }
    std::span<const Scored> counted() const override { return inner_->counted(); }
    std::vector<Scored> uncounted() const override { return inner_->uncounted(); }

private:
    std::unique_ptr<Optimizer> inner_;
};

/// Calls a function before an item is made.
class Watched final : public ForwardedStream {
public:
    Watched(PlacementStream& stream, std::function<void()> before)
        : ForwardedStream(stream), before_(std::move(before)) {}
    void fill(StreamItem& item) override {
        before_();
        ForwardedStream::fill(item);
    }

private:
    std::function<void()> before_;
};

/// Passes batches on, and no streams.
class BatchesOnly final : public Evaluator {
public:
    explicit BatchesOnly(std::unique_ptr<Evaluator> evaluator) : evaluator_(std::move(evaluator)) {}
    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        return evaluator_->evaluate(placements, scores, std::move(stop), bases);
    }
    std::uint64_t runs() const override { return evaluator_->runs(); }
    Workers* workers() override { return evaluator_->workers(); }

private:
    std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace

class TestStreams : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Steps count in their order, whichever is scored first, and none that follows an accepted one.
    void steps_are_scored_in_any_order() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        const auto optimizer = make("simulated-annealing", problem,
                                    {{"start_temperature_ms", 1e-6}, {"start", text("single-device")}});
        const StreamLimits limits{.threads = 4};
        const auto take = [&](PlacementStream& stream) {
            StreamItem* const item = stream.next();
            if (item != nullptr) stream.fill(*item);
            return item;
        };
        PlacementStream& stream = *optimizer->stream(limits);
        StreamItem* const start = take(stream);
        QVERIFY(stream.next() == nullptr);  // before the start is scored
        stream.scored(*start, {5, 5, true});
        QCOMPARE(stream.counted().size(), std::size_t{1});
        QVERIFY(stream.is_next_certain());
        const std::array items{take(stream), take(stream), take(stream), take(stream)};
        QCOMPARE(stream.open(), std::size_t{4});
        QVERIFY(!stream.is_next_certain());
        for (const StreamItem* item : items) {
            QCOMPARE(*item->base, *optimizer->base(0));
            QVERIFY(item->key == key_of(*item->placement));
        }
        const Placement first = *items[0]->placement, second = *items[1]->placement;
        stream.scored(*items[2], {1, 1, true});
        stream.scored(*items[1], {4, 4, true});
        QCOMPARE(stream.counted().size(), std::size_t{1});
        stream.scored(*items[0], {6, 6, true});
        // The first is rejected, the second accepted, the third one was scored in vain, the fourth is under
        // way.
        QCOMPARE(stream.counted().size(), std::size_t{3});
        QCOMPARE(*stream.counted()[1].placement, first);
        QCOMPARE(*stream.counted()[2].placement, second);
        QCOMPARE(*optimizer->base(0), second);
        QCOMPARE(stream.open(), std::size_t{0});
        StreamItem* const next = take(stream);
        QCOMPARE(*next->base, second);
        stream.scored(*items[3], {1, 1, true});
        QCOMPARE(stream.counted().size(), std::size_t{3});
        stream.scored(*next, {3, 3, true});
        QCOMPARE(stream.counted().size(), std::size_t{4});
        QCOMPARE(*optimizer->base(0), *stream.counted()[3].placement);

        // A section counts and gives out no more than its limits.
        PlacementStream& few = *optimizer->stream({.counted = 2, .given = 3, .threads = 4});
        QVERIFY(few.counted().empty());
        for (int i = 0; i < 2; ++i) QVERIFY(take(few) != nullptr);
        QVERIFY(few.next() == nullptr);
        const auto other = make("mcmc", problem);
        PlacementStream& given = *other->stream({.given = 1, .threads = 4});
        QVERIFY(given.next() != nullptr);
        QVERIFY(given.next() == nullptr);
    }

    /// Whether the evaluator takes single placements or batches, and with one thread or two.
    void streams_change_nothing() {
        const ProblemPtr problem =
            test::problem(test::random_graph(7, 60, 3, Training::implicit), test::uniform_machine(4));
        for (const char* id : {"simulated-annealing", "mcmc", "auto"}) {
            std::optional<SearchResult> first;
            for (const unsigned threads : {1U, 2U}) {
                for (const bool in_batches : {false, true}) {
                    auto evaluator = simulation_evaluator(problem, {}, {}, threads);
                    if (in_batches) evaluator = std::make_unique<BatchesOnly>(std::move(evaluator));
                    const SearchResult result =
                        run_search(*find_algorithm(id)->make({problem, 3, {}, 2000}, {}), *evaluator, {2000});
                    if (!first) first = result;
                    QCOMPARE(result.progress.evaluations, first->progress.evaluations);
                    QCOMPARE(*result.progress.best_placement, *first->progress.best_placement);
                    QCOMPARE(result.progress.curve->size(), first->progress.curve->size());
                    for (std::size_t i = 0; i < first->progress.curve->size(); ++i) {
                        const CurvePoint &own = (*result.progress.curve)[i],
                                         &other = (*first->progress.curve)[i];
                        QCOMPARE(own.evaluations, other.evaluations);
                        QCOMPARE(own.best_s, other.best_s);
                    }
                }
            }
        }
    }

    /// Auto with and without its stream, where lanes repeat themselves until all is found.
    void batches_count_what_streams_count() {
        const ProblemPtr problem =
            test::problem(test::random_graph(4, 12, 2, Training::implicit), test::uniform_machine(2));
        for (const char* id : {"auto", "simulated-annealing"}) {
            for (const unsigned threads : {1U, 2U}) {
                const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
                const SearchContext context{problem, 3, {}, 20'000};
                const auto streamed = find_algorithm(id)->make(context, {});
                InBatches batched(find_algorithm(id)->make(context, {}));
                const SearchResult one = run_search(*streamed, *evaluator, {20'000});
                const SearchResult other = run_search(batched, *evaluator, {20'000});
                QCOMPARE(other.end, one.end);
                QCOMPARE(other.progress.evaluations, one.progress.evaluations);
                QCOMPARE(other.progress.best, one.progress.best);
                QCOMPARE(*other.progress.best_placement, *one.progress.best_placement);
            }
        }
    }

    /// A thread that throws ends the others, and its exception comes through. So does a stop.
    void streams_end_early() {
        const ProblemPtr problem = test::problem(test::chain(12), test::uniform_machine(3));
        for (const unsigned threads : {1U, 2U}) {
            for (int at = 0; at < 60; at += 7) {
                const auto evaluator = simulation_evaluator(problem, {}, {}, threads);
                const auto walk = make("simulated-annealing", problem);
                const StreamLimits limits{.counted = 200, .threads = threads};
                std::atomic<int> made = 0;
                Watched failing(*walk->stream(limits), [&] {
                    if (made++ == at) throw std::runtime_error("cannot be made");
                });
                QVERIFY_THROWS_EXCEPTION(std::runtime_error, evaluator->evaluate_stream(failing, {}));
                const auto again = make("simulated-annealing", problem);
                std::stop_source stop;
                made = 0;
                Watched stopping(*again->stream(limits), [&] {
                    if (made++ == at) stop.request_stop();
                });
                QVERIFY(!evaluator->evaluate_stream(stopping, stop.get_token()));
                QVERIFY(again->counted().size() <= static_cast<std::size_t>(at) + threads);
                const auto whole = make("simulated-annealing", problem);
                QVERIFY(evaluator->evaluate_stream(*whole->stream(limits), {}));
                QCOMPARE(whole->counted().size(), std::size_t{200});
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestStreams)
#include "tst_streams.moc"
