// SPDX-License-Identifier: MIT
// What the kernel says in files of /proc and /sys. `root` is the folder that they are below: "/" on a
// computer, another one in tests.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"
#include "core/measure/found_gpu.hpp"

namespace placewright {

/// `text` without spaces round it.
std::string_view trimmed(std::string_view text);
/// The first line of a file without spaces round it; empty if it cannot be read.
std::string first_line(const Path& file);
/// The number that a file begins with.
std::optional<double> number_in(const Path& file);

/// What is needed to estimate the speed of a CPU that the catalogue does not know.
struct CpuFacts {
    std::string model;  ///< may be empty
    double clock_hz = 0;
    std::string clock_source;    ///< where the clock is from, for people
    double flops_per_cycle = 0;  ///< of float32, in a core
    std::string units;           ///< what does these FLOPs: "two units of AVX2"
};
/// Reads proc/cpuinfo and the base frequency in sys/devices/system/cpu. The base clock counts, as in the
/// catalogue: the kernel's, else the one in the model's name; else the highest clock, else that of cpuinfo,
/// else 2.5 GHz.
CpuFacts read_cpu_facts(const Path& root);

/// The hardware threads that share a physical core with `thread`, itself included, as the kernel lists them
/// ("0,64"); empty if it does not say.
std::string thread_siblings(int thread, const Path& root);
/// The same hardware threads, the first of each physical core first, then the second of each, and so on; in
/// the given order otherwise. Threads of which the kernel says nothing count as cores.
std::vector<int> by_physical_core(std::span<const int> threads, const Path& root);

/// Bytes that new programs can get now without swapping (MemAvailable of proc/meminfo).
std::optional<double> available_memory_bytes(const Path& root);

/// The limit of memory of this process's control group, such as that of a container (sys/fs/cgroup).
std::optional<double> memory_limit_bytes(const Path& root);

/// The fastest link that a PCI device and its slot can do, by sys/bus/pci/devices. The lanes are those in use
/// now: a link saves power by its speed, but seldom by its lanes.
PcieLink pcie_link_of(const Path& root, const PciAddress& address);

/// Fills in the memory of the computer (MemTotal of proc/meminfo) if no socket has any, because hwloc cannot
/// read sys/devices, as in some containers.
void read_memory(HostTopology& host, const Path& root);

/// Fills in the links of all bridges of `host` that are known.
void read_bridge_links(HostTopology& host, const Path& root);

/// The NUMA node that a PCI device is closest to.
std::optional<unsigned> numa_node_of(const Path& root, const PciAddress& address);

}  // namespace placewright
