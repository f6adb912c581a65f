// SPDX-License-Identifier: MIT
// GPUs as drivers report them, before the catalogue of devices says how fast they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/host_topology.hpp"

namespace placewright {

/// Links of a GPU that lead past PCIe, all to the same place.
struct DirectLink {
    std::optional<PciAddress> peer;  ///< another GPU; nothing: a switch that joins all GPUs on it
    std::string family;              ///< "NVLink" or "xGMI"
    unsigned version = 0;            ///< 0: not known
    unsigned count = 0;
    double bandwidth = 0;  ///< bytes per second in one direction, of all together; 0: the catalogue knows
};

struct FoundGpu {
    std::string name;  ///< as the driver or a list of PCI ids says
    std::string vendor;
    PciAddress address;
    double memory_bytes = 0;
    std::optional<double> free_bytes = {};   ///< now
    PcieLink pcie = {};                      ///< the best that GPU and slot can do
    bool pcie_to_host = false;               ///< `pcie` is the slowest link on the way to the host
    std::optional<unsigned> numa_node = {};  ///< of the host, that is closest
    std::vector<DirectLink> links = {};
    // What the driver's figures give for a GPU that the catalogue does not know; 0: not known.
    double peak_flops = 0;        ///< per second, of float32
    double memory_bandwidth = 0;  ///< bytes per second
    std::string figures = {};     ///< what the two come from, for people
};

struct FoundGpus {
    std::vector<FoundGpu> gpus;
    std::vector<std::string> notes;  ///< sentences on what was left out, or could not be asked
};

}  // namespace placewright
