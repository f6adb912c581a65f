// SPDX-License-Identifier: MIT
// Catalogues of parts with prices, and the machines built from them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/machine/machine.hpp"

namespace placewright {

/// The parts that machines are built from. Prices are in any one currency.
struct Catalogue {
    struct Host {
        Device device;             ///< the CPU
        std::uint32_t places = 1;  ///< largest number of accelerators
        double price = 0;
    };
    struct Accelerator {
        Device device;
        double price = 0;
    };
    /// Connects an accelerator to the host, with a channel in each direction.
    struct HostLink {
        Channel channel;
        double price = 0;  ///< per accelerator
    };
    /// Connects accelerators to each other. Without a fabric they use the host's bridge, over both host links
    /// at the same time.
    struct Fabric {
        enum class Topology : std::uint8_t {
            none,
            pairs,    ///< a channel in each direction between every two accelerators
            switched  ///< a channel in each direction from every accelerator to a switch
        };
        std::string name;
        Topology topology = Topology::none;
        Channel channel;
        double price = 0;  ///< per pair, or per accelerator on the switch
    };

    std::string name;
    std::string currency;
    std::vector<Host> hosts;
    std::vector<Accelerator> accelerators;
    std::vector<HostLink> host_links;
    std::vector<Fabric> fabrics;
};

/// A machine as indices into a catalogue.
struct Design {
    std::size_t host = 0, host_link = 0, fabric = 0;
    std::vector<std::size_t> accelerators;  ///< ascending

    auto operator<=>(const Design&) const = default;
};

/// The sum of the prices of its parts, to twelve digits, so that it can be compared with a budget.
double price_of(const Design& design, const Catalogue& catalogue);
/// "2x NVIDIA V100, PCIe 3, NVLink".
std::string title_of(const Design& design, const Catalogue& catalogue);
/// The host's CPU is "cpu:0"; the accelerators are "gpu:0", "gpu:1", ... in the order of the design. All
/// transfers cut through.
Machine build_machine(const Design& design, const Catalogue& catalogue);

}  // namespace placewright
