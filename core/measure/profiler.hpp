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
/// profile, whose overhead is that of the measurement, if it saw one. Throws std::invalid_argument for a
/// problem with recomputation or with a device without a model.
ProfileArchive profile_of(const Problem& problem, const Measurement& measurement, const std::string& source);

/// Why times of the ops may not be kept: a device of the machine that is no CPU would be measured on a core,
/// and its times, kept under the name of its model, would be wrong wherever they are used. Empty if they may.
/// `devices`: [device].
std::string foreign_device_text(const Machine& machine, std::span<const PhysicalDevice> devices);

/// Times of the ops of a network.
struct NetworkProfile {
    ProfileArchive archive;
    /// Why times may be wrong, by the name of the device (Measurement::noise_warning()); empty if nothing
    /// speaks against them.
    std::vector<std::string> warnings;
};

/// Runs the whole network on one device of each model, and returns the times of its ops. `devices`: [device].
/// If `stop` was requested: nothing, or with MeasureOptions::keeps_steps what was measured, if anything was.
/// Throws what profile_of() throws, before anything runs, and what measure() throws.
std::optional<NetworkProfile> profile_network(const std::shared_ptr<const Problem>& problem,
                                              std::span<const PhysicalDevice> devices,
                                              const MeasureOptions& options, std::stop_token stop = {},
                                              const MeasureProgress& progress = {});

inline constexpr double kLargestMessageBytes = 1e9;
/// The largest message worth sending: kLargestMessageBytes, but at most a quarter of the memory that is free
/// now or that the control group allows, since both devices hold the message, and other programs go on.
/// `root`: as in host_files.hpp.
double largest_message_bytes(const Path& root = "/");

/// Sizes of messages from 10^3 to at most `most_bytes`, three a decade, which is about even in the logarithm.
std::vector<double> message_sizes(double most_bytes = largest_message_bytes());

/// A size with the quartiles of the times of its transfers.
struct TransferTimes {
    double bytes = 0;
    Spread time;
};
/// Sends messages of these sizes from one device to another, `repeats` times each. Nothing if `stop` was
/// requested. Throws what measure() throws.
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
