// SPDX-License-Identifier: MIT
// Experiments of Lagostra's thesis on Exprimo (2020) that run networks on hardware: E1, bandwidth against
// message size; E2, stability of step times; E4, from the simulator to the hardware; E5, simulated against
// measured step times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/job/job.hpp"
#include "core/measure/measured_search.hpp"
#include "core/measure/profiler.hpp"

namespace placewright {

struct HardwareNetwork {
    std::string name;
    std::int64_t batch = 1;
    std::function<Graph(std::int64_t batch)> build;
};
/// The networks of the experiments with these names, or without names the default ones, with batches for
/// which a step takes 0.1 to 2 s on a core. Throws UsageError for an unknown name.
std::vector<HardwareNetwork> hardware_networks(const std::vector<std::string>& names);

struct HardwareOptions {
    std::vector<HardwareNetwork> networks;
    std::uint32_t steps = 0;        ///< measured steps of a placement; 0: default of the experiment
    std::uint64_t evaluations = 0;  ///< of each search; 0: default of the experiment
    std::uint32_t placements = 16;  ///< that are measured (E5), or at most (E4)
    std::uint64_t seed = 1;
};

/// The computer as the experiments use it: its GPUs and CPU, or without CUDA two logical devices, "gpu:0" and
/// "gpu:1", each a core of the CPU. Copies between these are slowed down to the speed of a link of 1 GB/s
/// in each direction, so that where ops are matters.
struct Laboratory {
    std::shared_ptr<const Machine> machine;
    std::vector<PhysicalDevice> devices;
    bool throttles = false;
    /// All devices are cores of one model: what one of them does slows the others down.
    bool shares_memory = false;
    std::vector<std::string> notes;  ///< what it is, one line each
};
/// `given`: a machine to use instead; null: the above.
Laboratory laboratory(std::shared_ptr<const Machine> given);

using HardwareProgress = std::function<void(const std::string&)>;

// --- E1 ---

struct BandwidthCase {
    std::string from, to;  ///< devices
    double nominal = 0;    ///< bytes per second of the route's slowest channel
    std::vector<TransferTimes> times;
};
/// Each pair of devices of different models, or the first two devices. The thesis: 17 % of PCIe 3.0 x16 on a
/// V100 in the mean of 10^3 to 10^9 bytes, 28 % on a P100.
std::vector<BandwidthCase> run_e1(const Laboratory& laboratory, const HardwareOptions& options,
                                  std::stop_token stop, const HardwareProgress& progress);

// --- E2 ---

struct StabilityCase {
    std::string network;
    std::int64_t batch = 0;
    std::string placement;  ///< "gpu:0 alone", "layers over 2 devices"
    double first_s = 0;     ///< of the first step
    Spread step;            ///< of the others
    double deviation = 0;   ///< standard deviation over the mean of the others
    double disturbed = 0;   ///< Measurement::disturbed
    std::vector<double> steps_s{};
};
/// The thesis: less than 1.5 % after the first batch.
std::vector<StabilityCase> run_e2(const Laboratory& laboratory, const HardwareOptions& options,
                                  std::stop_token stop, const HardwareProgress& progress);

// --- E5 ---

struct CorrelationPoint {
    std::uint64_t evaluation = 0;  ///< number of the placement in the search, from 1
    double simulated_s = 0;
    Spread measured;
};
struct CorrelationCase {
    std::string network;
    std::int64_t batch = 0;
    std::vector<CorrelationPoint> points{};
    std::optional<double> pearson{}, spearman{};
    double median_error = 0;     ///< of simulated against measured, as a share of the measured time
    double picked_s = 0;         ///< measured time of the placement that is best in the simulation
    double best_measured_s = 0;  ///< of all that were measured
    double overhead_s = 0;       ///< of the executor for an op
    double noise = 0;            ///< median over the placements of Spread::relative()
};
/// Of each network: profiles its ops (on cores: while the other ones run the same), searches with the genetic
/// algorithm in the simulator with these costs, and runs some of the placements that the search visited, from
/// the slowest to the best, at even distances in the logarithm of the simulated time. The thesis ran
/// checkpoints of its searches, at other distances: Pearson 0.672 for AlexNet, 0.939 for ResNet-50, 0.804 for
/// Inception-V3.
std::vector<CorrelationCase> run_e5(const Laboratory& laboratory, const HardwareOptions& options,
                                    std::stop_token stop, const HardwareProgress& progress);

// --- E4 ---

struct TransferCase {
    std::string network;
    std::int64_t batch = 0;
    double load = 0;  ///< share of the second device's core that the load generator takes
    // Measured step times; nothing where the memory was exceeded. A placement that was chosen because its
    // measured time was the least is run once more for its figure here: the least of many is too low.
    std::optional<double> single_device_s;   ///< everything on the first device
    std::optional<double> best_simulated_s;  ///< the placement that is best in the simulation
    std::optional<double> elites_s;          ///< the best of the elites of MAP-Elites that were run
    std::size_t elites_run = 0;
    std::optional<double> genetic_s;  ///< the best of the genetic algorithm that goes on with measurements
    std::size_t genetic_run = 0;
};
/// A program loads the core of the second device, which the simulator does not know. The thesis: the best of
/// 50 elites is good on a busy server; the genetic algorithm with 150 measurements is worse.
std::vector<TransferCase> run_e4(const Laboratory& laboratory, const HardwareOptions& options,
                                 std::stop_token stop, const HardwareProgress& progress);

}  // namespace placewright
