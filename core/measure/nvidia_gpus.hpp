// SPDX-License-Identifier: MIT
// NVIDIA's GPUs, by the library that comes with the driver (NVML). It is loaded when it is asked, so that
// programs run without it. Names, structs and numbers are those of NVIDIA's documentation of its binary
// interface: https://docs.nvidia.com/deploy/nvml-api.
#pragma once

#include <optional>
#include <string>

#include "core/measure/found_gpu.hpp"

namespace placewright {

namespace nvml {

struct Device;
using Handle = Device*;
using Return = int;
inline constexpr Return kSuccess = 0, kNotSupported = 3;
inline constexpr unsigned kLinkToGpu = 0, kLinkToSwitch = 2;  ///< types of what is at the end of a link
inline constexpr unsigned kMostLinks = 18;
inline constexpr int kClockSm = 1, kClockMemory = 2, kScopeNode = 0;

struct Memory {
    unsigned long long total = 0, free = 0, used = 0;
};

struct PciInfo {
    char legacy_bus_id[16] = {};
    unsigned domain = 0, bus = 0, device = 0;
    unsigned device_and_vendor = 0, subsystem = 0;
    char bus_id[32] = {};
};
static_assert(sizeof(PciInfo) == 68);

/// Functions of the library by the names that it exports them under, without "nvml". Those below `name` are
/// null in older drivers.
struct Functions {
    Return (*init_v2)() = nullptr;
    Return (*shutdown)() = nullptr;
    const char* (*error_string)(Return) = nullptr;
    Return (*device_count_v2)(unsigned*) = nullptr;
    Return (*device_by_index_v2)(unsigned, Handle*) = nullptr;
    Return (*memory_info)(Handle, Memory*) = nullptr;
    Return (*pci_info_v3)(Handle, PciInfo*) = nullptr;
    Return (*name)(Handle, char*, unsigned) = nullptr;

    Return (*max_pcie_generation)(Handle, unsigned*) = nullptr;
    Return (*max_pcie_width)(Handle, unsigned*) = nullptr;
    Return (*memory_affinity)(Handle, unsigned, unsigned long*, int) = nullptr;
    Return (*nvlink_state)(Handle, unsigned, unsigned*) = nullptr;
    Return (*nvlink_version)(Handle, unsigned, unsigned*) = nullptr;
    Return (*nvlink_remote_type)(Handle, unsigned, unsigned*) = nullptr;
    Return (*nvlink_remote_pci_v2)(Handle, unsigned, PciInfo*) = nullptr;
    Return (*core_count)(Handle, unsigned*) = nullptr;
    Return (*max_clock)(Handle, int, unsigned*) = nullptr;
    Return (*memory_bus_width)(Handle, unsigned*) = nullptr;
};

/// Loads the library, which then stays loaded. Nothing if it is not there or lacks a function that every
/// driver since 2017 has.
std::optional<Functions> load(const std::string& library = "libnvidia-ml.so.1");

}  // namespace nvml

/// The GPUs in the order of their PCI addresses, which is NVML's. A driver that does not answer is a note.
FoundGpus nvidia_gpus(const nvml::Functions& library);

}  // namespace placewright
