// SPDX-License-Identifier: MIT
// A library in place of NVIDIA's, with the GPUs that the environment variable FAKE_NVML describes as
// "key=value;...":
//   gpus     number of GPUs, at 0000:01:00.0, 0000:02:00.0, ... (default 0)
//   name     of all (default "NVIDIA A100-SXM4-80GB")
//   nvlink   "none", "pairs" (0 with 1, 2 with 3), "all" (every two) or "switch"
//   links    of NVLink to each peer or to the switch (default 4); version as NVML counts it (default 4: 3.0)
//   pcie     generation (default 4; 0: not supported), lanes 16
//   figures  "no": cores, clocks and bus are not supported
//   error    what nvmlInit returns
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/measure/nvidia_gpus.hpp"

using namespace placewright::nvml;

namespace {

constexpr unsigned kPciDomain = 0;
constexpr unsigned long long kMemoryBytes = 85'899'345'920, kFreeBytes = 80'000'000'000;

std::string text(std::string_view key, const char* fallback) {
    const char* const variable = std::getenv("FAKE_NVML");
    std::string_view rest = variable != nullptr ? variable : "";
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(rest.size(), item.size() + 1));
        if (item.size() > key.size() && item.starts_with(key) && item[key.size()] == '=')
            return std::string(item.substr(key.size() + 1));
    }
    return fallback;
}

unsigned number(std::string_view key, const char* fallback) {
    return static_cast<unsigned>(std::stoul(text(key, fallback)));
}

/// Handles are 1 and up.
unsigned index_of(Handle device) {
    return static_cast<unsigned>(reinterpret_cast<std::size_t>(device)) - 1;
}

PciInfo pci_of(unsigned index) {
    PciInfo pci;
    pci.domain = kPciDomain;
    pci.bus = index + 1;
    return pci;
}

/// The GPU at the other end of a link; -1 for a switch, -2 for nothing.
int peer_of(unsigned index, unsigned link) {
    const std::string kind = text("nvlink", "none");
    const unsigned links = number("links", "4"), count = number("gpus", "0");
    if (kind == "switch") return link < links ? -1 : -2;
    if (kind == "pairs") return link < links && (index ^ 1U) < count ? static_cast<int>(index ^ 1U) : -2;
    if (kind == "all") {
        const unsigned which = link / links;
        const unsigned peer = which < index ? which : which + 1;
        return peer < count ? static_cast<int>(peer) : -2;
    }
    return -2;
}

Return give(unsigned value, unsigned* result) {
    if (value == 0) return kNotSupported;
    *result = value;
    return kSuccess;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
    return static_cast<Return>(number("error", "0"));
}
Return nvmlShutdown() {
    return kSuccess;
}
const char* nvmlErrorString(Return error) {
    return error == 18 ? "Driver/library version mismatch" : "Not Supported";
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
    *count = number("gpus", "0");
    return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
    if (index >= number("gpus", "0")) return 2;
    *device = reinterpret_cast<Handle>(static_cast<std::size_t>(index) + 1);
    return kSuccess;
}
Return nvmlDeviceGetMemoryInfo(Handle device, Memory* memory) {
    memory->total = kMemoryBytes;
    memory->free = kFreeBytes - index_of(device);
    memory->used = memory->total - memory->free;
    return kSuccess;
}
Return nvmlDeviceGetPciInfo_v3(Handle device, PciInfo* pci) {
    *pci = pci_of(index_of(device));
    return kSuccess;
}
Return nvmlDeviceGetName(Handle, char* name, unsigned length) {
    const std::string given = text("name", "NVIDIA A100-SXM4-80GB");
    if (given.size() >= length) return 7;
    std::strcpy(name, given.c_str());
    return kSuccess;
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Handle, unsigned* generation) {
    return give(number("pcie", "4"), generation);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Handle, unsigned* lanes) {
    return give(number("pcie", "4") > 0 ? 16 : 0, lanes);
}
Return nvmlDeviceGetNvLinkState(Handle device, unsigned link, unsigned* active) {
    *active = peer_of(index_of(device), link) > -2 ? 1 : 0;
    return kSuccess;
}
Return nvmlDeviceGetNvLinkVersion(Handle, unsigned, unsigned* version) {
    return give(number("version", "4"), version);
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Handle device, unsigned link, unsigned* type) {
    *type = peer_of(index_of(device), link) == -1 ? kLinkToSwitch : kLinkToGpu;
    return kSuccess;
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle device, unsigned link, PciInfo* pci) {
    const int peer = peer_of(index_of(device), link);
    if (peer < 0) return kNotSupported;
    *pci = pci_of(static_cast<unsigned>(peer));
    return kSuccess;
}
Return nvmlDeviceGetNumGpuCores(Handle, unsigned* cores) {
    return give(text("figures", "yes") == "yes" ? 6912 : 0, cores);
}
Return nvmlDeviceGetMaxClockInfo(Handle, int clock, unsigned* mhz) {
    return give(text("figures", "yes") == "yes" ? (clock == kClockMemory ? 1215 : 1410) : 0, mhz);
}
Return nvmlDeviceGetMemoryBusWidth(Handle, unsigned* bits) {
    return give(text("figures", "yes") == "yes" ? 5120 : 0, bits);
}

}  // extern "C"
