// SPDX-License-Identifier: MIT
// Experiment E3 of Lagostra's thesis on Exprimo (2020), section 4.3.3: hill climbing, annealing, the genetic algorithm and MAP-Elites on
// three networks and three settings, with 20 000 evaluations each; and what the thesis found, to be held against what is found here.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/compared_case.hpp"
#include "app/job.hpp"

namespace placewright::e3 {

enum class Setting : std::uint8_t {
    normal,     ///< two GPUs with room for everything
    limited,    ///< four GPUs, none with room for everything
    pipelined,  ///< four GPUs, ten batches, four of them in flight
};
inline constexpr std::array kSettings{Setting::normal, Setting::limited, Setting::pipelined};
std::string_view to_string(Setting setting);

/// A network of the experiment.
struct Network {
    std::string_view name;      ///< of known_networks()
    double thesis_limit_bytes;  ///< memory of a GPU in the limited setting
    /// Peak on one GPU of the network that the thesis has, by Exprimo. The limit here is the same share of the peak here: these networks
    /// have batch normalisations and activations as ops of their own, which that memory model counts.
    double thesis_peak_bytes;
};
inline constexpr std::array kNetworks{Network{"alexnet", 200e6, 564.3e6}, Network{"resnet50", 2.5e9, 8.4027e9},
                                      Network{"inception_v3", 2.5e9, 7.5209e9}};

/// The server Malvik: two Xeon Gold 6132 as one device and V100s, each on a PCIe 3 x16 of its own that both directions share, as the
/// thesis models it. Memory bandwidths and clocks are those of Exprimo's description of it.
Machine malvik(unsigned gpus, double gpu_memory_bytes);

/// The algorithms with the parameters of the thesis (tables 4.3 and 4.4); annealing only if it is among algorithms().
std::vector<Contestant> contestants();

/// Repetitions in the thesis.
std::size_t thesis_repeats(Setting setting);

struct Case {
    Setting setting = Setting::normal;
    std::string network;
    Job job;
    double gpu_memory_bytes = 0;
    double one_gpu_s = 0;  ///< step time of everything on one GPU, whether it fits or not
    bool one_gpu_fits = true;
    ComparedCase compared;
};

/// Without runs. `files`: networks to read in place of the generated ones, by name. Throws InputError.
std::vector<Case> cases(const std::map<std::string, std::string>& files);

enum class Verdict : std::uint8_t { holds, differs, not_run };
std::string_view to_string(Verdict verdict);

/// Something that the thesis says of its results, and whether it is so here.
struct Finding {
    Setting setting = Setting::normal;
    std::string claim;
    Verdict verdict = Verdict::not_run;  ///< differs if it does on one network
    std::string data;                    ///< the figures, by network
};
std::vector<Finding> findings(const std::vector<Case>& cases);

}  // namespace placewright::e3
