// SPDX-License-Identifier: MIT
// Which machine to buy for a network: machines from a priced catalogue evolve together with the placements on them. Lagostra's thesis on
// Exprimo (2020) names this as future work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/search/search.hpp"

namespace placewright {

/// What machines are built from. Prices are in any one currency.
struct Catalogue {
    struct Host {
        Device device;            ///< the CPU
        std::uint32_t places = 1;  ///< accelerators that it takes at most
        double price = 0;
    };
    struct Accelerator {
        Device device;
        double price = 0;
    };
    /// Connects an accelerator to the host, with a channel in each direction.
    struct HostLink {
        Channel channel;
        double price = 0;  ///< for each accelerator
    };
    /// What accelerators reach each other by; without one through the host's bridge, over both host links at the same time.
    struct Fabric {
        enum class Topology : std::uint8_t {
            none,
            pairs,    ///< a channel in each direction between every two accelerators
            switched  ///< a channel in each direction from every accelerator to a switch
        };
        std::string name;
        Topology topology = Topology::none;
        Channel channel;
        double price = 0;  ///< for each pair, or for each accelerator on the switch
    };

    std::string name;
    std::string currency;
    std::vector<Host> hosts;
    std::vector<Accelerator> accelerators;
    std::vector<HostLink> host_links;
    std::vector<Fabric> fabrics;
};

/// A machine as positions in a catalogue.
struct Design {
    std::size_t host = 0, host_link = 0, fabric = 0;
    std::vector<std::size_t> accelerators;  ///< ascending

    auto operator<=>(const Design&) const = default;
};

double price_of(const Design& design, const Catalogue& catalogue);
/// "2x NVIDIA V100, PCIe 3, NVLink".
std::string title_of(const Design& design, const Catalogue& catalogue);
/// "cpu:0", then "gpu:0" and so on in the order of the design. All transfers cut through.
Machine build_machine(const Design& design, const Catalogue& catalogue);

struct CodesignTask {
    std::shared_ptr<const Graph> graph;
    ProblemOptions problem;
    SimulationOptions simulation;
    Objective objective;
    Catalogue catalogue;
    double budget = 0;                         ///< no machine costs more
    const AlgorithmInfo* algorithm = nullptr;  ///< that places the network on each machine
    OptionValues options;
    std::uint64_t evaluations = 2'000;  ///< of each search for a placement
    std::uint64_t designs = 100;        ///< machines that are tried at most
    std::uint64_t seed = 1;
    unsigned threads = 0;  ///< machines at a time, at most one a core (0: all cores); the result is the same
};

struct DesignPoint {
    Design design;
    double price = 0;
    Score score;
    std::shared_ptr<const Machine> machine;
    std::shared_ptr<const Problem> problem;
    Placement placement;
};

struct CodesignResult {
    /// The Pareto front: by ascending price, and so by falling step time. Only machines that the network fits on.
    std::vector<DesignPoint> front;
    std::uint64_t designs = 0;  ///< that were tried
    bool all = false;           ///< every machine that the budget allows was tried
    bool cancelled = false;
};

/// Called after every generation with what there is so far.
using CodesignCallback = std::function<void(const CodesignResult&)>;

/// Tries every machine where there are no more than `designs`. Else an evolution: a generation changes machines of the front (a part is
/// added, taken away or exchanged) and places the network on each, starting from the placement of the machine that it came from.
/// Throws std::invalid_argument for a catalogue without hosts or accelerators, or a budget that buys no machine; what make_problem and the
/// algorithm throw.
CodesignResult codesign(const CodesignTask& task, std::stop_token stop = {}, const CodesignCallback& report = {});

}  // namespace placewright
