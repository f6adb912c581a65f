// SPDX-License-Identifier: MIT
#include "core/measure/nvidia_gpus.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <dlfcn.h>
#include <map>
#include <utility>

#include "core/base/text.hpp"

namespace placewright {
namespace nvml {
namespace {

/// Sets the function; returns whether the library has it.
template <class Function>
bool find(void* library, const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    return function != nullptr;
}

}  // namespace

std::optional<Functions> load(const std::string& name) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {};
    Functions all;
    const bool has_needed = find(library, "nvmlInit_v2", all.init_v2) &&
                            find(library, "nvmlShutdown", all.shutdown) &&
                            find(library, "nvmlErrorString", all.error_string) &&
                            find(library, "nvmlDeviceGetCount_v2", all.device_count_v2) &&
                            find(library, "nvmlDeviceGetHandleByIndex_v2", all.device_by_index_v2) &&
                            find(library, "nvmlDeviceGetMemoryInfo", all.memory_info) &&
                            find(library, "nvmlDeviceGetPciInfo_v3", all.pci_info_v3) &&
                            find(library, "nvmlDeviceGetName", all.name);
    if (!has_needed) return {};
    find(library, "nvmlDeviceGetMaxPcieLinkGeneration", all.max_pcie_generation);
    find(library, "nvmlDeviceGetMaxPcieLinkWidth", all.max_pcie_width);
    find(library, "nvmlDeviceGetMemoryAffinity", all.memory_affinity);
    find(library, "nvmlDeviceGetNvLinkState", all.nvlink_state);
    find(library, "nvmlDeviceGetNvLinkVersion", all.nvlink_version);
    find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", all.nvlink_remote_type);
    find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", all.nvlink_remote_pci_v2);
    find(library, "nvmlDeviceGetNumGpuCores", all.core_count);
    find(library, "nvmlDeviceGetMaxClockInfo", all.max_clock);
    find(library, "nvmlDeviceGetMemoryBusWidth", all.memory_bus_width);
    return all;
}

}  // namespace nvml

namespace {

using nvml::Functions;
using nvml::Handle;

/// The value that a function gives about a device; 0 if the driver lacks the function or does not answer.
unsigned ask(nvml::Return (*function)(Handle, unsigned*), Handle device) {
    unsigned value = 0;
    return function != nullptr && function(device, &value) == nvml::kSuccess ? value : 0;
}

/// The same of a function that is told which link or clock.
template <class Which>
unsigned ask(nvml::Return (*function)(Handle, Which, unsigned*), Handle device, Which which) {
    unsigned value = 0;
    return function != nullptr && function(device, which, &value) == nvml::kSuccess ? value : 0;
}

PciAddress address_of(const nvml::PciInfo& pci) {
    return {pci.domain, pci.bus, pci.device, 0};
}

/// 3 of NVML's number for NVLink 3.1; 0 for one that is not known.
unsigned nvlink_generation(unsigned version) {
    // Enumerators: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0.
    constexpr std::array<unsigned, 8> kGenerations{0, 1, 2, 2, 3, 3, 4, 5};
    return version < kGenerations.size() ? kGenerations[version] : 0;
}

std::vector<DirectLink> nvlinks_of(const Functions& library, Handle device) {
    std::map<std::pair<std::optional<PciAddress>, unsigned>, unsigned> counts;
    for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
        if (ask(library.nvlink_state, device, link) == 0) continue;
        nvml::PciInfo peer;
        unsigned type = nvml::kLinkToGpu;
        if (library.nvlink_remote_type != nullptr &&
            library.nvlink_remote_type(device, link, &type) != nvml::kSuccess)
            continue;
        const unsigned generation = nvlink_generation(ask(library.nvlink_version, device, link));
        if (type == nvml::kLinkToSwitch) {
            ++counts[{std::nullopt, generation}];
        } else if (type == nvml::kLinkToGpu && library.nvlink_remote_pci_v2 != nullptr &&
                   library.nvlink_remote_pci_v2(device, link, &peer) == nvml::kSuccess) {
            ++counts[{address_of(peer), generation}];
        }
    }
    std::vector<DirectLink> links;
    for (const auto& [end, count] : counts) links.push_back({end.first, "NVLink", end.second, count});
    return links;
}

std::optional<unsigned> node_of(const Functions& library, Handle device) {
    constexpr std::size_t kWords = 16, kBits = sizeof(unsigned long) * 8;
    std::array<unsigned long, kWords> nodes{};
    if (library.memory_affinity == nullptr ||
        library.memory_affinity(device, kWords, nodes.data(), nvml::kScopeNode) != nvml::kSuccess)
        return {};
    std::optional<unsigned> found;
    for (std::size_t word = 0; word < kWords; ++word) {
        if (nodes[word] == 0) continue;
        if (found || std::popcount(nodes[word]) > 1) return {};  // close to several
        found = static_cast<unsigned>(word * kBits + static_cast<std::size_t>(std::countr_zero(nodes[word])));
    }
    return found;
}

/// Speeds by cores, clocks and memory bus. Both directions of the memory's clock carry data.
void add_figures(FoundGpu& gpu, const Functions& library, Handle device) {
    const unsigned cores = ask(library.core_count, device);
    const unsigned clock_mhz = ask(library.max_clock, device, nvml::kClockSm);
    const unsigned memory_mhz = ask(library.max_clock, device, nvml::kClockMemory);
    const unsigned bus_bits = ask(library.memory_bus_width, device);
    if (cores > 0 && clock_mhz > 0) {
        gpu.peak_flops = 2.0 * cores * clock_mhz * 1e6;
        gpu.figures = std::to_string(cores) + " cores x " + decimals("%.2f", clock_mhz * 1e-3) +
                      " GHz x 2 FLOPs a cycle";
    }
    if (memory_mhz > 0 && bus_bits > 0) {
        gpu.memory_bandwidth = 2.0 * memory_mhz * 1e6 * bus_bits / 8;
        gpu.figures += (gpu.figures.empty() ? "" : ", ") + std::to_string(bus_bits) + " bits of memory at " +
                       decimals("%.2f", memory_mhz * 1e-3) + " GHz, twice a cycle";
    }
}

std::optional<FoundGpu> gpu_of(const Functions& library, Handle device) {
    FoundGpu gpu;
    gpu.vendor = "NVIDIA";
    std::array<char, 96> name{};
    nvml::Memory memory;
    nvml::PciInfo pci;
    if (library.name(device, name.data(), name.size()) != nvml::kSuccess ||
        library.memory_info(device, &memory) != nvml::kSuccess || memory.total == 0 ||
        library.pci_info_v3(device, &pci) != nvml::kSuccess)
        return {};
    gpu.name = name.data();
    gpu.memory_bytes = static_cast<double>(memory.total);
    gpu.free_bytes = static_cast<double>(memory.free);
    gpu.address = address_of(pci);
    gpu.pcie = {ask(library.max_pcie_generation, device), ask(library.max_pcie_width, device)};
    gpu.pcie_to_host = gpu.pcie.is_known();
    gpu.numa_node = node_of(library, device);
    gpu.links = nvlinks_of(library, device);
    add_figures(gpu, library, device);
    return gpu;
}

}  // namespace

FoundGpus nvidia_gpus(const Functions& library) {
    FoundGpus found;
    const auto complain = [&](const std::string& what, nvml::Return error) {
        const char* reason = library.error_string(error);
        found.notes.push_back(what + " (" + printable(reason != nullptr ? reason : "no reason given", 200) +
                              "); see what nvidia-smi says");
    };
    if (const nvml::Return error = library.init_v2(); error != nvml::kSuccess) {
        complain("NVIDIA's driver is installed, but does not answer", error);
        return found;
    }
    unsigned count = 0;
    if (const nvml::Return error = library.device_count_v2(&count); error != nvml::kSuccess)
        complain("NVIDIA's driver does not say how many GPUs there are", error);
    for (unsigned i = 0; i < count; ++i) {
        Handle device = nullptr;
        const nvml::Return error = library.device_by_index_v2(i, &device);
        if (error != nvml::kSuccess) {
            complain("NVIDIA's GPU " + std::to_string(i) + " is left out: the driver does not give it",
                     error);
        } else if (auto gpu = gpu_of(library, device)) {
            found.gpus.push_back(*std::move(gpu));
        } else {
            complain("NVIDIA's GPU " + std::to_string(i) +
                         " is left out: the driver does not say its name, memory or place",
                     nvml::kNotSupported);
        }
    }
    library.shutdown();
    return found;
}

}  // namespace placewright
