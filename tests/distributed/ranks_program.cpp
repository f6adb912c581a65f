// SPDX-License-Identifier: MIT
// What tst_distributed starts with mpirun: a search's evaluator on several ranks, with scores and failures
// that are known.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <numeric>
#include <thread>

#include "core/distributed/launch.hpp"
#include "core/distributed/ranks.hpp"

namespace placewright {
namespace {

/// The sum of a placement, and of its base in place of the step time, so that what arrives can be told. Takes
/// a millisecond each.
class Sum final : public Evaluator {
public:
    explicit Sum(bool fails = false) : fails_(fails) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        if (fails_) throw std::runtime_error("it is broken");
        for (std::size_t i = 0; i < placements.size() && !stop.stop_requested(); ++i, ++runs_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            scores[i] = {sum(placements[i]), bases.empty() ? -1 : sum(*bases[i]), placements[i][0] % 2 == 0};
        }
        return !stop.stop_requested();
    }
    std::uint64_t runs() const override { return runs_; }

    static double sum(const Placement& placement) {
        return std::accumulate(placement.begin(), placement.end(), 0.0);
    }

private:
    bool fails_;
    std::uint64_t runs_ = 0;
};

/// Scores until it is stopped, or stops its process.
class Endless final : public Evaluator {
public:
    explicit Endless(bool stops_process = false) : stops_process_(stops_process) {}

    bool evaluate(std::span<const Placement>, std::span<Score>, std::stop_token stop, Bases) override {
        if (stops_process_) raise(SIGSTOP);
        while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return false;
    }
    std::uint64_t runs() const override { return 0; }

private:
    bool stops_process_;
};

/// Gives rank 1 work, and then a message that makes no sense, which ends it and, by MPI, this rank.
void garble() {
    constexpr int kWork = 3;  // as in ranks.cpp
    Mailbox mailbox;
    for (int seen = 0; seen < 2; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        seen += mailbox.next() ? 1 : 0;  // it is there, and it is ready
    mailbox.post(1, kWork, std::vector<std::byte>(2 * sizeof(std::uint64_t)));
    for (int passed_ms = 0;; ++passed_ms) {
        constexpr int kUntilItWorks_ms = 300;
        if (passed_ms == kUntilItWorks_ms) mailbox.post(1, kWork);
        mailbox.sent();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

std::vector<Placement> batch(std::size_t from, std::size_t to) {
    std::vector<Placement> placements;
    for (std::size_t i = from; i < to; ++i)
        placements.push_back({static_cast<DeviceId>(i), 7, static_cast<DeviceId>(3 * i)});
    return placements;
}

void expect(bool holds, const char* what) {
    if (holds) return;
    std::cout << "wrong: " << what << std::endl;
    std::exit(5);
}

void check_scores(Evaluator& evaluator, const std::vector<Placement>& placements, const Placement* base) {
    std::vector<Score> scores(placements.size());
    const std::vector<const Placement*> bases(base == nullptr ? 0 : placements.size(), base);
    expect(evaluator.evaluate(placements, scores, {}, bases), "a batch is scored to its end");
    for (std::size_t i = 0; i < placements.size(); ++i) {
        expect(scores[i] == Score{Sum::sum(placements[i]), base == nullptr ? -1 : Sum::sum(*base),
                                  placements[i][0] % 2 == 0},
               "every placement has its score, made with the base");
    }
}

void spread(LeadingRank& ranks) {
    auto sum = std::make_unique<Sum>();
    const Sum& own = *sum;
    const auto evaluator = ranks.evaluator({std::move(sum), "same"});
    const Placement base{1, 2, 3}, other{4, 5, 6};
    // The first tells how long a placement takes; what follows is worth messages.
    check_scores(*evaluator, batch(0, 1), nullptr);
    check_scores(*evaluator, batch(1, 61), nullptr);
    check_scores(*evaluator, batch(61, 121), &base);
    check_scores(*evaluator, batch(121, 181), &other);
    check_scores(*evaluator, batch(181, 241), nullptr);
    // On a busy computer a chunk may be late, so that another rank scores it, too.
    expect(evaluator->runs() >= 241, "all simulations are counted");
    expect(own.runs() > 4 && own.runs() < 241, "every rank has a share");

    // What was scored once, here or elsewhere, is not scored again, nor is a repetition.
    std::vector<Placement> repeats = batch(181, 301);
    std::ranges::copy(batch(181, 301), std::back_inserter(repeats));
    const std::uint64_t before = evaluator->runs();
    check_scores(*evaluator, repeats, nullptr);
    const std::uint64_t runs = evaluator->runs() - before;
    expect(runs >= 60 && runs < 120, "a placement is scored once");

    std::stop_source stop;
    stop.request_stop();
    std::vector<Score> scores(60);
    expect(!evaluator->evaluate(batch(301, 361), scores, stop.get_token()), "a stop ends a batch");
    expect(!ranks.end(), "all ranks end well");
    std::cout << "done" << std::endl;
}

/// Scores batches beside a rank that does not do its part. Prints what is known of it in the end.
void outrun(LeadingRank& ranks) {
    const auto evaluator = ranks.evaluator({std::make_unique<Sum>(), "same"});
    check_scores(*evaluator, batch(0, 60), nullptr);
    check_scores(*evaluator, batch(60, 120), nullptr);
    const auto& lost = ranks.end();
    std::cout << (lost ? lost->rank() + ": " + lost->what() : "done") << std::endl;
}

/// Scores batches with all ranks. Prints how many times as fast as one rank they are.
void measure(LeadingRank& ranks) {
    const auto evaluator = ranks.evaluator({std::make_unique<Sum>(), "same"});
    check_scores(*evaluator, batch(0, 1), nullptr);
    const auto begin = std::chrono::steady_clock::now();
    constexpr std::size_t kBatches = 10, kEach = 200;
    for (std::size_t i = 0; i < kBatches; ++i)
        check_scores(*evaluator, batch(1 + i * kEach, 1 + (i + 1) * kEach), nullptr);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    Sum alone;
    std::vector<Score> scores(kEach);
    const auto second = std::chrono::steady_clock::now();
    alone.evaluate(batch(0, kEach), scores, {}, {});
    const std::chrono::duration<double> one = std::chrono::steady_clock::now() - second;
    expect(!ranks.end(), "all ranks end well");
    std::cout << kBatches * one.count() / taken.count() << std::endl;
}

int run(const std::string& mode) {
    const std::optional<Launch> launched = launch();
    expect(launched.has_value(), "started by mpirun");
    if (launched->rank > 0) {
        serve_rank([&] {
            if (mode == "unprepared" && launched->rank == 1) throw std::runtime_error("no file");
            if (mode == "garbled") return RankWork{std::make_unique<Endless>(), "same"};
            if ((mode == "slow" || mode == "stopped") && launched->rank == 1)
                return RankWork{std::make_unique<Endless>(mode == "stopped"), "same"};
            const bool fails = mode == "broken" && launched->rank == 1;
            return RankWork{std::make_unique<Sum>(fails), mode == "different" ? "other" : "same"};
        });
        return 0;
    }
    if (mode == "garbled") garble();
    std::stop_source stop;
    LeadingRank ranks(stop);
    try {
        if (mode == "spread") {
            spread(ranks);
            return 0;
        }
        if (mode == "scaling") {
            measure(ranks);
            return 0;
        }
        outrun(ranks);
    } catch (const RankError& error) {
        std::cout << error.rank() << ": " << error.what() << std::endl;
    }
    return 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    try {
        return placewright::run(argc > 1 ? argv[1] : "");
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
