// SPDX-License-Identifier: MIT
#include "core/search/single_moves.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/sim/delta.hpp"

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kReportInterval{33};

/// A simulator of one thread with the placement to try moves on.
class Trial {
public:
    Trial(std::shared_ptr<const Problem> problem, const SimulationOptions& options, std::span<const DeviceId> placement)
        : simulator_(std::move(problem), options), placement_(placement.begin(), placement.end()) {
        simulator_.rebase(placement);
    }

    Score score(const Objective& objective, GroupId group, DeviceId device) {
        const DeviceId before = std::exchange(placement_[group], device);
        const Score score = objective.score(simulator_.problem(), simulator_.run(placement_));
        placement_[group] = before;
        return score;
    }

private:
    DeltaSimulator simulator_;
    Placement placement_;
};

std::vector<SingleMove> all_moves(const Problem& problem, std::span<const DeviceId> placement) {
    std::vector<SingleMove> moves;
    for (GroupId group = 0; group < problem.groups; ++group) {
        for (const DeviceId device : problem.allowed_devices(group)) {
            if (device != placement[group]) moves.push_back({group, device, {}, 0});
        }
    }
    return moves;
}

}  // namespace

std::optional<SingleMoves> single_moves(std::shared_ptr<const Problem> problem, const SimulationOptions& options,
                                        const Objective& objective, std::span<const DeviceId> placement, unsigned threads,
                                        std::stop_token stop, const MovesCallback& report) {
    const auto cores = static_cast<unsigned>(tbb::info::default_concurrency());
    threads = threads == 0 ? cores : std::min(threads, cores);
    SingleMoves result;
    result.now = objective.score(*problem, Simulator(problem, options).run(placement));
    result.moves = all_moves(*problem, placement);

    std::vector<std::optional<Trial>> trials(threads);
    std::atomic<std::size_t> done = 0;
    const std::thread::id here = std::this_thread::get_id();
    Clock::time_point reported = Clock::now();
    tbb::task_arena arena(static_cast<int>(threads));
    arena.execute([&] {
        tbb::parallel_for(std::size_t{0}, result.moves.size(), [&](std::size_t i) {
            if (stop.stop_requested()) return;
            std::optional<Trial>& trial = trials[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())];
            if (!trial) trial.emplace(problem, options, placement);
            SingleMove& move = result.moves[i];
            move.score = trial->score(objective, move.group, move.device);
            move.delta_s = move.score.step_time_s - result.now.step_time_s;
            ++done;
            if (!report || std::this_thread::get_id() != here || Clock::now() - reported < kReportInterval) return;
            report(done, result.moves.size());
            reported = Clock::now();
        });
    });
    if (done < result.moves.size()) return {};
    if (report) report(done, result.moves.size());
    std::ranges::sort(result.moves, {}, [](const SingleMove& move) { return std::tuple(move.score.seconds, move.group, move.device); });
    return result;
}

}  // namespace placewright
