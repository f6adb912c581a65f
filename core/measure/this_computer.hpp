// SPDX-License-Identifier: MIT
// The computer that the program runs on, as a machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/machine/device_model.hpp"
#include "core/measure/found_gpu.hpp"
#include "core/measure/host_files.hpp"
#include "core/measure/host_topology.hpp"

namespace placewright {

/// Where the speeds of a device are from.
enum class SpeedSource : std::uint8_t {
    data_sheet,  ///< of the catalogue of devices
    share,       ///< of the catalogue, as far as cores of the CPU may be used
    estimate     ///< the catalogue does not know the device
};
/// "data sheet", "part of data sheet", "estimate".
std::string_view to_string(SpeedSource source);

struct ThisComputer {
    struct Found {
        SpeedSource speeds = SpeedSource::estimate;
        std::optional<double> free_bytes;  ///< memory that is free now, if it is known
    };
    Machine machine;
    std::vector<Found> devices;  ///< by device of the machine
    /// Sentences: where each figure is from, what was left out, and what to do about an estimate.
    std::vector<std::string> notes;
};

/// What was found, before it is a machine.
struct Findings {
    HostTopology topology;
    CpuFacts cpu;
    std::optional<double> available_bytes;  ///< free memory of the host now
    std::optional<double> limit_bytes;      ///< of the memory that this process may use
    FoundGpus gpus;                         ///< NVIDIA's first, each vendor's by PCI address
};

/// The machine: a CPU for each socket with memory of its own ("cpu:0", ...) and the GPUs ("gpu:0", ...).
/// Every GPU has a PCIe link, "pcie0/up" and "pcie0/down"; GPUs below one switch share the links of the
/// switch to the host ("switch0/up"), and between each other use their own alone. NVLink and xGMI join pairs
/// ("nvlink0-1") or lead to a switch ("nvlink0/up"). Sockets are joined by "socket0-1". Transfers cut
/// through. Models of devices and links are those of the catalogue, where it knows them.
/// A device that it does not know has an estimate of its speeds, with a note.
ThisComputer computer_of(const Findings& findings, const DeviceCatalogue& catalogue);

/// What tests replace to look at another computer than theirs.
struct DetectionSources {
    Path root = "/";
    std::string nvml = "libnvidia-ml.so.1";
};

/// Looks at this computer; takes up to a second, of which most is the start of NVIDIA's driver. Throws
/// TopologyError.
ThisComputer this_computer(const DeviceCatalogue& catalogue, const DetectionSources& sources = {});

}  // namespace placewright
