// SPDX-License-Identifier: MIT
// Measures the ops of networks, and transfers, as profiles for the archive (core/cost/profile_archive.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/profile_archive.hpp"
#include "core/measure/measurement.hpp"

namespace placewright {

/// Returns the times of all ops of a problem's network from a measurement of it: of ops with the same
/// signature the median. A device gets times for the ops that ran on it; devices of one model share a
/// profile, whose overhead is that of the measurement. Throws std::invalid_argument for a problem with
/// recomputation or with a device without a model.
ProfileArchive profile_of(const Problem& problem, const Measurement& measurement, const std::string& source);

/// Runs the whole network on one device of each model, and returns the times of its ops. `devices`: [device].
/// Nothing if `stop` was requested. Throws what measure() throws.
std::optional<ProfileArchive> profile_network(const std::shared_ptr<const Problem>& problem,
                                              std::span<const PhysicalDevice> devices,
                                              const MeasureOptions& options, std::stop_token stop = {},
                                              const MeasureProgress& progress = {});

/// Sizes of messages from 10^3 to at most 10^9 bytes, three a decade, which is about even in the logarithm.
std::vector<double> message_sizes(double most_bytes = 1e9);

/// A size with the quartiles of the times of its transfers.
struct TransferTimes {
    double bytes = 0;
    Spread time;
};
/// Sends messages of these sizes from one device to another, `repeats` times each. Nothing if `stop` was
/// requested.
std::optional<std::vector<TransferTimes>> measure_transfers(
    const std::shared_ptr<const Machine>& machine, DeviceId from, DeviceId to,
    std::span<const PhysicalDevice> devices, std::span<const double> sizes, std::uint32_t repeats,
    bool throttles = false, std::stop_token stop = {}, const MeasureProgress& progress = {});

/// measure_transfers() between one pair of devices for each ordered pair of models that has a route.
std::optional<ProfileArchive> profile_transfers(const std::shared_ptr<const Machine>& machine,
                                                std::span<const PhysicalDevice> devices,
                                                std::span<const double> sizes, std::uint32_t repeats,
                                                bool throttles = false, std::stop_token stop = {},
                                                const MeasureProgress& progress = {});

}  // namespace placewright
