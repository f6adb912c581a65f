// SPDX-License-Identifier: MIT
#include "core/measure/amd_gpus.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/measure/host_files.hpp"

namespace placewright {
namespace {

constexpr unsigned kAmd = 0x1002;
constexpr int kLinkIsXgmi = 11;  // of amdkfd's types of links
constexpr double kMegabyte = 1e6;

std::string lower(std::string_view given) {
    std::string text(given);
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

/// "0x73bf" as 0x73bf; 0 if it cannot be read.
unsigned hex_in(const Path& file) {
    return static_cast<unsigned>(std::strtoul(first_line(file).c_str(), nullptr, 16));
}

/// "73bf", with as many digits.
std::string hex(unsigned value, int digits) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%0*x", digits, value);
    return text.data();
}

/// The name in libdrm's list: lines of "73BF,	C0,	AMD Radeon RX 6900 XT".
std::string name_by_libdrm(const Path& root, const std::string& device, const std::string& revision) {
    std::ifstream file(root / "usr/share/libdrm/amdgpu.ids");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(','),
                          second = first == std::string::npos ? first : line.find(',', first + 1);
        if (second == std::string::npos || line.starts_with('#')) continue;
        if (lower(trimmed(std::string_view(line).substr(0, first))) == device &&
            lower(trimmed(std::string_view(line).substr(first + 1, second - first - 1))) == revision)
            return std::string(trimmed(std::string_view(line).substr(second + 1)));
    }
    return {};
}

/// The name in the list of PCI ids: "1002  Advanced Micro Devices" and below it "\t73bf  Navi 21 [...]".
std::string name_by_pci_ids(const Path& root, const std::string& device) {
    for (const char* list : {"usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"}) {
        std::ifstream file(root / list);
        bool is_amd = false;
        for (std::string line; std::getline(file, line);) {
            if (line.empty() || line.starts_with('#')) continue;
            if (line.front() != '\t') is_amd = line.starts_with("1002 ");
            const bool is_device = is_amd && line.starts_with('\t') && !line.starts_with("\t\t");
            if (!is_device || line.compare(1, device.size(), device) != 0) continue;
            const std::string name(trimmed(std::string_view(line).substr(1 + device.size())));
            // The name to buy it by is in brackets, if it is one.
            const std::size_t open = name.find('['), close = name.rfind(']');
            const bool has_one = open != std::string::npos && close != std::string::npos && close > open;
            const std::string inner = has_one ? name.substr(open + 1, close - open - 1) : name;
            return "AMD " + inner;
        }
    }
    return {};
}

using Properties = std::map<std::string, double>;

Properties properties_in(const Path& path) {
    Properties properties;
    std::ifstream file(path);
    std::string key;
    double value = 0;
    while (file >> key >> value) properties[key] = value;
    return properties;
}

double get(const Properties& properties, const char* key) {
    const auto found = properties.find(key);
    return found == properties.end() ? 0 : found->second;
}

/// What the compute driver says of a GPU.
struct ComputeNode {
    Path folder;
    Properties properties;
    PciAddress address;
};

PciAddress address_of(const Properties& properties) {
    const auto place = static_cast<unsigned>(get(properties, "location_id"));
    return {static_cast<unsigned>(get(properties, "domain")), place >> 8 & 0xff, place >> 3 & 0x1f,
            place & 0x7};
}

std::map<int, ComputeNode> compute_nodes(const Path& root) {
    std::map<int, ComputeNode> nodes;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(root / "sys/class/kfd/kfd/topology/nodes", error)) {
        ComputeNode node{entry.path(), properties_in(entry.path() / "properties"), {}};
        if (get(node.properties, "simd_count") == 0) continue;  // a CPU
        node.address = address_of(node.properties);
        nodes[std::atoi(entry.path().filename().c_str())] = std::move(node);
    }
    return nodes;
}

/// Speeds by compute units, clocks and memory bus.
void add_figures(FoundGpu& gpu, const ComputeNode& node) {
    constexpr double kLanes = 64, kBitsPerCycleOfGddr6 = 16, kBitsPerCycleOfHbm = 2, kNarrowestHbm = 1024;
    const double per_unit = std::max(1.0, get(node.properties, "simd_per_cu"));
    const double units = get(node.properties, "simd_count") / per_unit;
    const double clock_mhz = get(node.properties, "max_engine_clk_fcompute");
    if (units > 0 && clock_mhz > 0) {
        gpu.peak_flops = units * kLanes * 2 * clock_mhz * 1e6;
        gpu.figures = short_number(units) + " compute units x 64 lanes x " +
                      decimals("%.2f", clock_mhz * 1e-3) + " GHz x 2 FLOPs a cycle";
    }
    const Properties memory = properties_in(node.folder / "mem_banks/0/properties");
    const double bits = get(memory, "width"), memory_mhz = get(memory, "mem_clk_max");
    if (bits > 0 && memory_mhz > 0) {
        const double per_cycle = bits >= kNarrowestHbm ? kBitsPerCycleOfHbm : kBitsPerCycleOfGddr6;
        gpu.memory_bandwidth = bits / 8 * memory_mhz * 1e6 * per_cycle;
        gpu.figures += (gpu.figures.empty() ? "" : ", ") + short_number(bits) + " bits of memory at " +
                       decimals("%.2f", memory_mhz * 1e-3) + " GHz, " + short_number(per_cycle) +
                       " times a cycle";
    }
}

void add_links(FoundGpu& gpu, const ComputeNode& node, const std::map<int, ComputeNode>& nodes) {
    std::error_code error;
    for (const char* folder : {"io_links", "p2p_links"}) {
        for (const auto& entry : std::filesystem::directory_iterator(node.folder / folder, error)) {
            const Properties link = properties_in(entry.path() / "properties");
            const auto peer = nodes.find(static_cast<int>(get(link, "node_to")));
            if (static_cast<int>(get(link, "type")) != kLinkIsXgmi || peer == nodes.end()) continue;
            gpu.links.push_back({peer->second.address, "xGMI", 0, 1, get(link, "max_bandwidth") * kMegabyte});
        }
    }
    std::ranges::sort(gpu.links, {}, &DirectLink::peer);
}

}  // namespace

FoundGpus amd_gpus(const Path& root) {
    FoundGpus found;
    const std::map<int, ComputeNode> nodes = compute_nodes(root);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root / "sys/class/drm", error)) {
        const std::string card = entry.path().filename().string();
        // "card0", not the connector "card0-DP-1" or the render node.
        if (!card.starts_with("card") || card.find('-') != std::string::npos) continue;
        const Path device = entry.path() / "device";
        if (hex_in(device / "vendor") != kAmd) continue;
        std::error_code unreadable;
        const auto address =
            pci_address_from(std::filesystem::canonical(device, unreadable).filename().string());
        if (!address) continue;
        FoundGpu gpu;
        gpu.vendor = "AMD";
        gpu.address = *address;
        const std::string id = hex(hex_in(device / "device"), 4),
                          revision = hex(hex_in(device / "revision"), 2);
        gpu.name = first_line(device / "product_name");
        if (gpu.name.empty()) gpu.name = name_by_libdrm(root, id, revision);
        if (gpu.name.empty()) gpu.name = name_by_pci_ids(root, id);
        if (gpu.name.empty()) gpu.name = "AMD GPU 1002:" + id;
        const std::string called = in_quotes(gpu.name) + " at " + to_string(*address);
        const auto memory = number_in(device / "mem_info_vram_total");
        if (!memory) {
            found.notes.push_back(called +
                                  " is left out: its driver does not say how much memory it has; the driver "
                                  "amdgpu does");
            continue;
        }
        if (*memory < kLeastGpuMemoryBytes) {
            found.notes.push_back(called + " is left out: it has only " + format_bytes(*memory) +
                                  " of memory of its own, as GPUs within CPUs have");
            continue;
        }
        gpu.memory_bytes = *memory;
        if (const auto used = number_in(device / "mem_info_vram_used"))
            gpu.free_bytes = std::max(0.0, *memory - *used);
        gpu.pcie = pcie_link_of(root, *address);
        gpu.numa_node = numa_node_of(root, *address);
        const auto node = std::ranges::find_if(
            nodes, [&](const auto& entry_of) { return entry_of.second.address == *address; });
        if (node != nodes.end()) {
            add_figures(gpu, node->second);
            add_links(gpu, node->second, nodes);
        }
        found.gpus.push_back(std::move(gpu));
    }
    std::ranges::sort(found.gpus, {}, &FoundGpu::address);
    std::ranges::sort(found.notes);
    return found;
}

}  // namespace placewright
