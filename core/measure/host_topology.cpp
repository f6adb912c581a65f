// SPDX-License-Identifier: MIT
#include "core/measure/host_topology.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <hwloc.h>
#include <memory>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr unsigned kDisplayClass = 0x03, kCoprocessorClass = 0x0b, kAcceleratorClass = 0x12;
constexpr double kGigabyte = 1e9;
/// Components of hwloc that ask drivers of GPUs. They may start an X server's or an OpenCL runtime, and what
/// they find is asked for elsewhere.
constexpr std::array kLeftOut{"cuda", "gl", "levelzero", "nvml", "opencl", "rsmi"};

PciAddress address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
    return {pci.domain, pci.bus, pci.dev, pci.func};
}

bool is_pci_bridge(hwloc_obj_t object) {
    return object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/// The caches of the last level that data goes through.
double last_cache_bytes(hwloc_topology_t topology, hwloc_const_cpuset_t cpus) {
    for (const hwloc_obj_type_t type :
         {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE}) {
        double bytes = 0;
        hwloc_obj_t cache = nullptr;
        while ((cache = hwloc_get_next_obj_inside_cpuset_by_type(topology, cpus, type, cache)) != nullptr)
            bytes += static_cast<double>(cache->attr->cache.size);
        if (bytes > 0) return bytes;
    }
    return 0;
}

Socket socket_of(hwloc_topology_t topology, hwloc_obj_t object) {
    Socket socket;
    const auto count = [&](hwloc_obj_type_t type) {
        return static_cast<std::size_t>(
            std::max(0, hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, type)));
    };
    if (const char* model = hwloc_obj_get_info_by_name(object, "CPUModel")) socket.model = model;
    socket.threads = count(HWLOC_OBJ_PU);
    socket.cores = count(HWLOC_OBJ_CORE);
    // Without permission to read them, or in some containers, there are threads alone.
    if (socket.cores == 0) socket.cores = socket.threads;
    socket.cache_bytes = last_cache_bytes(topology, object->cpuset);
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
        // A node without CPUs of this socket, such as the memory of a GPU, is nobody's.
        if (hwloc_bitmap_iszero(node->cpuset) || !hwloc_bitmap_isincluded(node->cpuset, object->cpuset))
            continue;
        socket.numa_nodes.push_back(node->os_index);
        socket.memory_bytes += static_cast<double>(node->attr->numanode.local_memory);
    }
    return socket;
}

std::size_t socket_of_device(hwloc_topology_t topology, hwloc_obj_t device,
                             const std::vector<hwloc_obj_t>& sockets) {
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
    if (near == nullptr || near->cpuset == nullptr) return 0;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
        // A device of the whole computer counts to its first socket.
        if (hwloc_bitmap_intersects(near->cpuset, sockets[i]->cpuset)) return i;
    }
    return 0;
}

HostTopology read_topology(hwloc_topology_t topology) {
    HostTopology host;
    std::vector<hwloc_obj_t> sockets;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object)) != nullptr)
        sockets.push_back(object);
    if (sockets.empty()) sockets.push_back(hwloc_get_root_obj(topology));
    for (const hwloc_obj_t socket : sockets) host.sockets.push_back(socket_of(topology, socket));
    // Where no socket has memory of its own, as in virtual machines that call every CPU a socket, they are
    // one.
    double known_bytes = 0;
    for (const Socket& socket : host.sockets) known_bytes += socket.memory_bytes;
    if (known_bytes == 0) {
        sockets = {hwloc_get_root_obj(topology)};
        Socket all = socket_of(topology, sockets.front());
        if (all.model.empty()) all.model = host.sockets.front().model;
        all.memory_bytes = static_cast<double>(sockets.front()->total_memory);
        host.sockets = {std::move(all)};
    }

    object = nullptr;
    while ((object = hwloc_get_next_pcidev(topology, object)) != nullptr) {
        const auto& pci = object->attr->pcidev;
        const unsigned base_class = pci.class_id >> 8;
        if (base_class != kDisplayClass && base_class != kCoprocessorClass && base_class != kAcceleratorClass)
            continue;
        PciDevice device;
        device.address = address_of(pci);
        device.vendor_id = pci.vendor_id;
        device.socket = socket_of_device(topology, object, sockets);
        for (hwloc_obj_t parent = object->parent; parent != nullptr; parent = parent->parent) {
            if (!is_pci_bridge(parent)) continue;
            const auto& upstream = parent->attr->bridge.upstream.pci;
            device.bridges.push_back(address_of(upstream));
            host.bridges[address_of(upstream)].bandwidth =
                std::max(0.0, static_cast<double>(upstream.linkspeed) * kGigabyte);
        }
        std::ranges::reverse(device.bridges);
        host.devices.push_back(std::move(device));
    }
    return host;
}

/// `source` tells hwloc what to read; `what` names it in an error.
HostTopology load_topology(const std::string& what, const std::function<int(hwloc_topology_t)>& source) {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) throw TopologyError("hwloc cannot start: " + what);
    const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owner(topology,
                                                                                   &hwloc_topology_destroy);
    for (const char* component : kLeftOut)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    errno = 0;
    if (source(topology) != 0 || hwloc_topology_load(topology) != 0) {
        const std::string reason = errno != 0 ? std::strerror(errno) : "it is not valid";
        throw TopologyError("hwloc cannot read " + what + ": " + reason);
    }
    return read_topology(topology);
}

}  // namespace

std::string to_string(const PciAddress& address) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", address.domain, address.bus, address.device,
                  address.function);
    return text.data();
}

std::optional<PciAddress> pci_address_from(std::string_view text) {
    PciAddress address;
    int used = 0;
    const std::string whole(text);
    // sscanf would take "0x" and spaces.
    if (text.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos ||
        std::sscanf(whole.c_str(), "%x:%x:%x.%x%n", &address.domain, &address.bus, &address.device,
                    &address.function, &used) != 4 ||
        static_cast<std::size_t>(used) != whole.size())
        return {};
    return address;
}

const PciDevice* HostTopology::find(const PciAddress& address) const {
    const auto found = std::ranges::find(devices, address, &PciDevice::address);
    return found == devices.end() ? nullptr : &*found;
}

std::optional<std::size_t> HostTopology::socket_of_node(unsigned node) const {
    for (std::size_t i = 0; i < sockets.size(); ++i) {
        if (std::ranges::find(sockets[i].numa_nodes, node) != sockets[i].numa_nodes.end()) return i;
    }
    return {};
}

HostTopology host_topology() {
    return load_topology("the topology of this computer", [](hwloc_topology_t) { return 0; });
}

HostTopology host_topology_of_xml(const std::string& xml) {
    return load_topology("the topology in XML", [&xml](hwloc_topology_t topology) {
        // The size counts the zero at the end.
        return hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size() + 1));
    });
}

HostTopology host_topology_of_synthetic(const std::string& description) {
    return load_topology("the topology " + in_quotes(description), [&description](hwloc_topology_t topology) {
        return hwloc_topology_set_synthetic(topology, description.c_str());
    });
}

}  // namespace placewright
