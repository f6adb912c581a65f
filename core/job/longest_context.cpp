// SPDX-License-Identifier: MIT
#include "core/job/longest_context.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/io/networks/network_file.hpp"

namespace placewright {
namespace {

/// A length at which the placement was simulated.
struct Length {
    std::int64_t tokens = 0;
    double room_bytes = 0;  ///< on the device that has least; negative: so much is missing
    DeviceId device = 0;    ///< that device

    bool fits() const { return room_bytes >= 0; }
};

class Lengths {
public:
    Lengths(const Job& job, const JobOptions& options, std::span<const DeviceId> placement,
            const Path& network)
        : job_(job), options_(options), placement_(placement), network_(network) {}

    /// The longest sequence that the model allows, or that is read.
    std::int64_t limit() const { return limit_; }

    /// Throws std::runtime_error where the reader refuses the length, or the ops are others.
    Length at(std::int64_t tokens) {
        if (tokens == job_.language->sequence) return length(tokens, job_.problem);
        JobOptions changed = options_;
        changed.reading.language.sequence = tokens;
        NetworkFile read = read_network(network_, changed.reading);
        if (read.longest_sequence > 0) limit_ = std::min(read.longest_sequence, kMostSequence);
        if (changed.supplements != Supplements()) supplement(read, changed.supplements, *job_.machine);
        changed.problem.grouping = job_.grouping;  // a refined placement has single ops
        return length(tokens, make_problem(std::make_shared<const Graph>(std::move(read.graph)), job_.machine,
                                           problem_options(changed, job_.language)));
    }

private:
    Length length(std::int64_t tokens, const std::shared_ptr<const Problem>& problem) const {
        Job trial = job_;
        trial.problem = problem;
        const std::optional<Placement> placement = by_op_names(placement_, *job_.problem, *problem);
        if (!placement) throw PlacementError("other ops at another length");
        const Assessment assessment =
            assess(trial, *placement, Simulator(problem, job_.simulation).run(*placement));
        if (!assessment.is_defined()) throw PlacementError(assessment.undefined);
        Length result{tokens, 0, 0};
        for (DeviceId device = 0; device < problem->devices; ++device) {
            const double room = problem->memory_limit_bytes[device] - assessment.device_bytes[device];
            if (device == 0 || room < result.room_bytes) result = {tokens, room, device};
        }
        return result;
    }

    const Job& job_;
    const JobOptions& options_;
    std::span<const DeviceId> placement_;
    const Path& network_;
    std::int64_t limit_ = kMostSequence;
};

/// Where a straight line through both has no room left, strictly between them.
std::int64_t between(const Length& fits, const Length& fails) {
    const double share = fits.room_bytes / (fits.room_bytes - fails.room_bytes);
    const auto step = static_cast<std::int64_t>(share * static_cast<double>(fails.tokens - fits.tokens));
    return fits.tokens + std::clamp<std::int64_t>(step, 1, fails.tokens - fits.tokens - 1);
}

}  // namespace

std::optional<LongestContext> longest_context(const Job& job, const JobOptions& options,
                                              std::span<const DeviceId> placement, const Path& network,
                                              const std::stop_token& stop) {
    if (!job.language || !job.language->sequence) return {};
    Lengths lengths(job, options, placement, network);
    try {
        std::optional<Length> fits, fails;
        const auto learn = [&](std::int64_t tokens) {
            const Length found = lengths.at(tokens);
            (found.fits() ? fits : fails) = found;
        };
        learn(*job.language->sequence);
        if (!fits) learn(1);
        if (!fits) return LongestContext{0, fails->device};
        while (!fails && !stop.stop_requested()) {
            if (fits->tokens >= lengths.limit()) return LongestContext{lengths.limit(), std::nullopt};
            learn(std::min(4 * fits->tokens, lengths.limit()));
        }
        // The straight line is exact where only a cache grows; halves guard against steps and curves.
        for (bool line = true; !stop.stop_requested(); line = !line) {
            const std::int64_t apart = fails->tokens - fits->tokens;
            if (fits->tokens >= lengths.limit()) return LongestContext{lengths.limit(), std::nullopt};
            if (apart == 1) return LongestContext{fits->tokens, fails->device};
            const std::int64_t guess = line ? between(*fits, *fails) : fits->tokens + apart / 2;
            learn(guess);
            // Where the line hits, the next token fits no more.
            if (line && fits->tokens == guess && fails->tokens > guess + 1) learn(guess + 1);
        }
    } catch (const std::runtime_error&) {
        // Such as a file that is gone: nothing is known then.
    }
    return {};
}

}  // namespace placewright
