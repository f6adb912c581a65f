// SPDX-License-Identifier: MIT
// Sockets, caches, memory and the PCIe tree of a computer, as hwloc finds them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

struct PciAddress {
    unsigned domain = 0, bus = 0, device = 0, function = 0;

    auto operator<=>(const PciAddress&) const = default;
};
/// "0000:65:00.0", as the kernel writes it.
std::string to_string(const PciAddress& address);
/// Reads "0000:65:00.0" and "00000000:65:00.0"; nothing for other texts.
std::optional<PciAddress> pci_address_from(std::string_view text);

/// A PCIe link: 4 and 16 for PCIe 4.0 x16; 0 for what is not known.
struct PcieLink {
    unsigned generation = 0, lanes = 0;

    bool is_known() const { return generation > 0 && lanes > 0; }

    bool operator==(const PcieLink&) const = default;
};

/// CPUs with memory of their own.
struct Socket {
    std::string model;  ///< of the CPU; may be empty
    std::size_t cores = 0, threads = 0;
    double memory_bytes = 0;  ///< of its NUMA nodes
    double cache_bytes = 0;   ///< of all its caches of the last level; 0: not known
    std::vector<unsigned> numa_nodes;
};

/// A display or compute device on PCIe.
struct PciDevice {
    PciAddress address;
    unsigned vendor_id = 0;
    std::size_t socket = 0;
    std::vector<PciAddress> bridges;  ///< between it and the host, the outermost first
};

/// A bridge between PCI buses: a port of the host or of a switch. Its link is the one to the host's side, or,
/// of a port of the host, the one to what is below.
struct PciBridge {
    PcieLink link = {};
    double bandwidth = 0;  ///< bytes per second as hwloc found it; 0: not known. `link` wins
};

struct HostTopology {
    std::vector<Socket> sockets;  ///< at least one
    std::vector<PciDevice> devices;
    std::map<PciAddress, PciBridge> bridges;

    const PciDevice* find(const PciAddress& address) const;
    /// The socket of a NUMA node; nothing if no socket has it.
    std::optional<std::size_t> socket_of_node(unsigned node) const;
};

class TopologyError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What this process may use of the computer that it runs on. Throws TopologyError.
HostTopology host_topology();
/// The computer that an XML file of hwloc describes (`lstopo --of xml`), given as text. Throws TopologyError.
HostTopology host_topology_of_xml(const std::string& xml);
/// A computer in hwloc's short notation, such as "pack:2 [numa(memory=64GB)] core:8 pu:2". Throws
/// TopologyError.
HostTopology host_topology_of_synthetic(const std::string& description);

}  // namespace placewright
