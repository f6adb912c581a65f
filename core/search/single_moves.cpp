// SPDX-License-Identifier: MIT
#include "core/search/single_moves.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kReportInterval{33};

/// Large enough to use all cores, small enough for frequent reports.
constexpr std::size_t kBatch = 128;

std::vector<SingleMove> all_moves(const Problem& problem, const Placement& placement) {
    std::vector<SingleMove> moves;
    Placement moved = placement;
    for (GroupId group = 0; group < problem.groups; ++group) {
        for (const DeviceId device : problem.allowed_devices(group)) {
            if (device == placement[group]) continue;
            moved[group] = device;
            if (broken_rule(problem, moved).empty()) moves.push_back({group, device, {}, 0});
        }
        moved[group] = placement[group];
    }
    return moves;
}

}  // namespace

std::optional<SingleMoves> single_moves(Evaluator& evaluator, const Problem& problem,
                                        const Placement& placement, std::stop_token stop,
                                        const MovesCallback& report) {
    SingleMoves result;
    if (!evaluator.evaluate({&placement, 1}, {&result.now, 1}, stop)) return {};
    result.moves = all_moves(problem, placement);

    std::vector<Placement> moved;
    std::vector<Score> scores;
    std::vector<const Placement*> bases;
    Clock::time_point reported = Clock::now();
    for (std::size_t done = 0; done < result.moves.size();) {
        const auto batch =
            std::span(result.moves).subspan(done, std::min(kBatch, result.moves.size() - done));
        moved.assign(batch.size(), placement);
        scores.resize(batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i) moved[i][batch[i].group] = batch[i].device;
        bases.assign(batch.size(), &placement);
        if (!evaluator.evaluate(moved, scores, stop, bases)) return {};
        for (std::size_t i = 0; i < batch.size(); ++i) {
            batch[i].score = scores[i];
            batch[i].delta_s = scores[i].value_s - result.now.value_s;
        }
        done += batch.size();
        if (!report || (done < result.moves.size() && Clock::now() - reported < kReportInterval)) continue;
        report(done, result.moves.size());
        reported = Clock::now();
    }
    std::ranges::sort(result.moves, {}, [](const SingleMove& move) {
        return std::tuple(move.score.penalised_s, move.group, move.device);
    });
    return result;
}

}  // namespace placewright
