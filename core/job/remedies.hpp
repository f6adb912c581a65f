// SPDX-License-Identifier: MIT
// What makes a placement fit the memory, or a network a machine, tried before it is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// Other options under which a placement was simulated again.
struct Remedy {
    std::string arguments;  ///< "--recompute cheap --optimizer sgd"
    JobOptions options;     ///< the job's options with them
    bool fits = false;
    double value_s = 0;  ///< objective's value
    /// Time a sample (of other objectives: value), relative to that before.
    double times_as_long = 1;
    /// The device that is closest to its limit, or furthest over it.
    DeviceId device = 0;
    double device_bytes = 0, limit_bytes = 0;
    double lacking_bytes = 0;  ///< sum over all devices; 0 if it fits
};

struct Remedies {
    std::vector<Remedy> fitting;         ///< the least slow first
    std::optional<Remedy> closest;       ///< if none fits: the one that lacks least
    std::size_t tried = 0, untried = 0;  ///< untried: since the network is too large for more
    /// An accelerator that all of the network was tried on, in place of a placement.
    struct Whole {
        DeviceId device = 0;
        double lacking_bytes = 0;  ///< without remedies
    };
    std::optional<Whole> whole{};

    /// Whether anything was there to try.
    bool any() const { return tried + untried > 0; }
};

/// Simulates a placement that does not fit with recomputation, less optimizer state, updates in the backward
/// pass, fewer batches in flight, fewer samples at a time, the longest context with which a language model
/// fits, half precision, and weights of a language model in 8 or 4 bits, as far as these apply; if no single
/// one makes it fit, in pairs, then all that lack least of each kind together. The number of trials depends
/// on the size of the job, not on the clock: all together take about a second. `options`: those that the job
/// was made with. `network`: file to read with other batch sizes; empty if the batch cannot be changed.
Remedies find_remedies(const Job& job, const JobOptions& options, std::span<const DeviceId> placement,
                       const Path& network, const std::stop_token& stop = {});

/// Tries the same options with all of the network on one accelerator, the one that lacks the least memory.
/// For a placement that fits only because CPUs run a part of the network; times are relative to its time.
/// Returns nothing if the network fits on an accelerator, or the machine has none.
std::optional<Remedies> find_accelerator_remedies(const Job& job, const JobOptions& options,
                                                  std::span<const DeviceId> placement, const Path& network,
                                                  const std::stop_token& stop = {});

/// "1.31 times as long", "0.042 times as long", "as long as now".
std::string duration_text(const Remedy& remedy);
/// "gpu:0 22.1 GB of 24.0 GB".
std::string fullest_text(const Remedy& remedy, const Problem& problem);
/// A sentence, without a capital and a full stop, on how close the closest comes, called `closest`, and what
/// else there is to do; empty if something fits. `what` does not fit.
std::string shortage_text(const Remedies& remedies, const Problem& problem, const std::string& closest,
                          const std::string& what = "this placement");

}  // namespace placewright
