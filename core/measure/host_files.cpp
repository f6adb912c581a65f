// SPDX-License-Identifier: MIT
#include "core/measure/host_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr double kUsualClockHz = 2.5e9;

/// The members of the first CPU in proc/cpuinfo, and the highest "cpu MHz" of all.
std::map<std::string, std::string, std::less<>> read_cpuinfo(const Path& root) {
    std::map<std::string, std::string, std::less<>> members;
    std::ifstream file(root / "proc/cpuinfo");
    std::string line;
    double clock_mhz = 0;
    while (std::getline(file, line)) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string key(trimmed(std::string_view(line).substr(0, colon)));
        const std::string value(trimmed(std::string_view(line).substr(colon + 1)));
        if (key == "cpu MHz") clock_mhz = std::max(clock_mhz, std::strtod(value.c_str(), nullptr));
        members.emplace(key, value);
    }
    if (clock_mhz > 0) members["cpu MHz"] = short_number(clock_mhz);
    return members;
}

/// The clock in "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz"; 0 if there is none.
double clock_in_name(const std::string& model) {
    const std::size_t at = model.rfind('@');
    if (at == std::string::npos) return 0;
    char* end = nullptr;
    const double number = std::strtod(model.c_str() + at + 1, &end);
    const std::string_view unit = trimmed(end);
    return unit == "GHz" ? number * 1e9 : unit == "MHz" ? number * 1e6 : 0;
}

void find_clock(CpuFacts& facts, const Path& root, const std::string& cpuinfo_mhz) {
    const auto take = [&facts](double hz, const char* source) {
        if (facts.clock_hz > 0 || !(hz > 0)) return;
        facts.clock_hz = hz;
        facts.clock_source = source;
    };
    const Path cpu = root / "sys/devices/system/cpu/cpu0";
    take(1e3 * number_in(cpu / "cpufreq/base_frequency").value_or(0), "base clock");
    take(1e6 * number_in(cpu / "acpi_cppc/nominal_freq").value_or(0), "base clock");
    take(clock_in_name(facts.model), "base clock in the name");
    // Where the kernel changes the clock, cpuinfo has that of the moment.
    take(1e3 * number_in(cpu / "cpufreq/cpuinfo_max_freq").value_or(0), "highest clock");
    take(1e6 * std::strtod(cpuinfo_mhz.c_str(), nullptr), "clock in /proc/cpuinfo");
    take(kUsualClockHz, "usual clock, since the kernel says none");
}

void find_units(CpuFacts& facts, const std::string& features, bool is_amd, long family) {
    std::istringstream words(features);
    std::set<std::string, std::less<>> has;
    for (std::string word; words >> word;) has.insert(word);
    constexpr long kZen5 = 26;
    const bool half_width = is_amd && family < kZen5;  // Zen 4 computes 512 bits in two cycles
    const auto take = [&facts](double flops, const char* units) {
        facts.flops_per_cycle = flops;
        facts.units = units;
    };
    if (has.contains("avx512f") && !half_width) return take(64, "two units of AVX-512");
    if (has.contains("avx512f") || (has.contains("avx2") && has.contains("fma")))
        return take(32, "two units of 256 bits with FMA");
    if (has.contains("avx")) return take(16, "units of 256 bits");
    if (has.contains("sve")) return take(32, "units of SVE, taken as two of 256 bits");
    if (has.contains("asimd")) return take(16, "two units of 128 bits with FMA");
    take(8, "units of 128 bits");
}

/// 4 of "16.0 GT/s PCIe"; 0 for other texts.
unsigned generation_in(const std::string& speed) {
    constexpr std::array<double, 6> kGigatransfers{2.5, 5, 8, 16, 32, 64};
    const double value = std::strtod(speed.c_str(), nullptr);
    for (std::size_t i = kGigatransfers.size(); i > 0; --i) {
        if (value >= kGigatransfers[i - 1] * 0.99) return static_cast<unsigned>(i);
    }
    return 0;
}

Path folder_of(const Path& root, const PciAddress& address) {
    return root / "sys/bus/pci/devices" / to_string(address);
}

/// A number of proc/meminfo, which is in KiB there.
std::optional<double> meminfo_bytes(const Path& root, std::string_view key) {
    std::ifstream file(root / "proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) return std::strtod(line.c_str() + key.size(), nullptr) * 1024;
    }
    return {};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpaces = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kSpaces);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::string first_line(const Path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return std::string(trimmed(line));
}

std::optional<double> number_in(const Path& file) {
    const std::string text = first_line(file);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || end == text.c_str()) return {};
    return number;
}

CpuFacts read_cpu_facts(const Path& root) {
    const auto members = read_cpuinfo(root);
    const auto text = [&members](const char* key) {
        const auto found = members.find(key);
        return found == members.end() ? std::string() : found->second;
    };
    CpuFacts facts;
    facts.model = text("model name");
    find_clock(facts, root, text("cpu MHz"));
    find_units(facts, text("flags") + ' ' + text("Features"), text("vendor_id") == "AuthenticAMD",
               std::strtol(text("cpu family").c_str(), nullptr, 10));
    return facts;
}

std::string thread_siblings(int thread, const Path& root) {
    return first_line(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(thread)) /
                      "topology/thread_siblings_list");
}

std::vector<int> by_physical_core(std::span<const int> threads, const Path& root) {
    std::map<std::string, std::size_t> seen;
    std::vector<std::pair<std::size_t, int>> ranked;  // (number of siblings before it, thread)
    for (const int thread : threads) {
        const std::string siblings = thread_siblings(thread, root);
        ranked.emplace_back(siblings.empty() ? 0 : seen[siblings]++, thread);
    }
    std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, int>::first);
    std::vector<int> result;
    for (const auto& [rank, thread] : ranked) result.push_back(thread);
    return result;
}

std::optional<double> available_memory_bytes(const Path& root) {
    return meminfo_bytes(root, "MemAvailable:");
}

std::optional<double> memory_limit_bytes(const Path& root) {
    // Version 2 of control groups, then version 1; there, no limit is a number beyond all memory.
    for (const char* file : {"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        if (const auto bytes = number_in(root / file)) return bytes;
    }
    return {};
}

PcieLink pcie_link_of(const Path& root, const PciAddress& address) {
    const Path folder = folder_of(root, address);
    PcieLink link;
    link.generation = generation_in(first_line(folder / "max_link_speed"));
    if (link.generation == 0) link.generation = generation_in(first_line(folder / "current_link_speed"));
    for (const char* file : {"current_link_width", "max_link_width"}) {
        const double lanes = number_in(folder / file).value_or(0);
        // 255: the kernel does not know.
        if (link.lanes == 0 && lanes >= 1 && lanes <= 32) link.lanes = static_cast<unsigned>(lanes);
    }
    return link;
}

void read_memory(HostTopology& host, const Path& root) {
    const bool is_known =
        std::ranges::any_of(host.sockets, [](const Socket& socket) { return socket.memory_bytes > 0; });
    if (is_known || host.sockets.empty()) return;
    host.sockets.front().memory_bytes = meminfo_bytes(root, "MemTotal:").value_or(0);
}

void read_bridge_links(HostTopology& host, const Path& root) {
    for (auto& [address, bridge] : host.bridges) bridge.link = pcie_link_of(root, address);
}

std::optional<unsigned> numa_node_of(const Path& root, const PciAddress& address) {
    const double node = number_in(folder_of(root, address) / "numa_node").value_or(-1);
    if (!(node >= 0)) return {};
    return static_cast<unsigned>(node);
}

}  // namespace placewright
