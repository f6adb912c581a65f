// SPDX-License-Identifier: MIT
#include "core/measure/this_computer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/measure/amd_gpus.hpp"
#include "core/measure/nvidia_gpus.hpp"

namespace placewright {
namespace {

// Where nothing is known. All of them are named in a note where they are used.
constexpr double kMemoryBandwidthOfCore = 12e9, kMostMemoryBandwidthOfSocket = 200e9;
constexpr double kUsualGpuFlops = 10e12, kUsualGpuMemoryBandwidth = 400e9;
constexpr double kSocketBandwidth = 40e9, kSocketLatency = 1e-6;
constexpr double kLinkBandwidth = 25e9, kLinkLatency = 3e-6;
constexpr auto kUsualPcie = "PCIe 3.0 x16";
constexpr unsigned kNvidiaVendor = 0x10de;

const std::string kRemedy =
    "measure it with placewright-cli calibrate, or give peak_flops, memory_bandwidth and efficiency in the "
    "machine file";

Channel plain_channel(double bandwidth, double latency_s) {
    Channel channel;
    channel.bandwidth = bandwidth;
    channel.latency_s = latency_s;
    return channel;
}

/// The link that `prefix` ("PCIe 4.0 x") and the count of its lanes name, or one with the same speed of a
/// lane. Nothing if the catalogue has none with this prefix.
std::optional<Channel> counted_link(const DeviceCatalogue& catalogue, const std::string& prefix,
                                    unsigned count) {
    const std::string wanted = prefix + std::to_string(count);
    if (const LinkModel* link = catalogue.find_link(wanted)) return channel_of(*link);
    for (const LinkModel& link : catalogue.links()) {
        if (!link.model.starts_with(prefix)) continue;
        unsigned other = 0;
        std::from_chars(link.model.data() + prefix.size(), link.model.data() + link.model.size(), other);
        if (other == 0) continue;
        Channel channel = channel_of(link);
        channel.bandwidth *= static_cast<double>(count) / other;
        channel.model = wanted;
        return channel;
    }
    return {};
}

std::optional<Channel> pcie_channel(const PcieLink& link, const DeviceCatalogue& catalogue) {
    if (!link.is_known()) return {};
    return counted_link(catalogue, "PCIe " + std::to_string(link.generation) + ".0 x", link.lanes);
}

/// The link of a family whose bandwidth is nearly this, or one of the family with just this bandwidth.
std::optional<Channel> channel_by_bandwidth(double bandwidth, const std::string& family,
                                            const DeviceCatalogue& catalogue) {
    constexpr double kNearly = 0.03;
    const LinkModel* some = nullptr;
    for (const LinkModel& link : catalogue.links()) {
        if (!link.model.starts_with(family)) continue;
        if (std::abs(link.bandwidth - bandwidth) <= kNearly * bandwidth) return channel_of(link);
        some = &link;
    }
    if (some == nullptr) return {};
    Channel channel = channel_of(*some);
    channel.bandwidth = bandwidth;
    channel.model = family;
    return channel;
}

/// Assembles the machine of what was found.
class Assembly {
public:
    Assembly(const Findings& findings, const DeviceCatalogue& catalogue)
        : topology_(findings.topology), findings_(findings), catalogue_(catalogue) {}

    ThisComputer build() {
        add_cpus();
        add_gpus();
        find_switches();
        add_pcie_channels();
        add_direct_links();
        add_socket_links();
        add_routes();
        for (const std::string& note : findings_.gpus.notes) say(note);
        note_missing_drivers();
        if (gpus().empty()) say("No GPU was found: the machine has the CPU alone");
        std::string name = machine_name();
        return {Machine(std::move(name), std::move(devices_), std::move(channels_), std::move(routes_),
                        Crossing::cut_through),
                std::move(found_), written_notes()};
    }

private:
    /// GPUs that share the links of bridges.
    struct Switch {
        std::vector<std::size_t> gpus;
        std::optional<Channel> link;  ///< to the host; the slowest that is known
        PciAddress address;
        ChannelId up = 0, down = 0;
    };
    struct Note {
        std::vector<std::string> subjects;  ///< devices; none: the text says what it is about
        std::string text;
    };
    struct Ways {
        ChannelId up = 0, down = 0;
    };

    const std::vector<FoundGpu>& gpus() const { return findings_.gpus.gpus; }
    std::size_t cpus() const { return topology_.sockets.size(); }
    DeviceId cpu_id(std::size_t socket) const { return static_cast<DeviceId>(socket); }
    DeviceId gpu_id(std::size_t gpu) const { return static_cast<DeviceId>(cpus() + gpu); }
    void say(const std::string& text) { notes_.push_back({{}, text}); }
    /// The same of several subjects becomes one note.
    void say_of(const std::string& subject, const std::string& text) {
        auto note = std::ranges::find_if(
            notes_, [&](const Note& other) { return !other.subjects.empty() && other.text == text; });
        if (note == notes_.end()) note = notes_.insert(note, {{}, text});
        if (std::ranges::find(note->subjects, subject) == note->subjects.end())
            note->subjects.push_back(subject);
    }
    std::vector<std::string> written_notes() const {
        std::vector<std::string> written;
        for (const Note& note : notes_) {
            std::string subjects;
            for (const std::string& subject : note.subjects)
                subjects += (subjects.empty() ? "" : ", ") + subject;
            written.push_back(printable(subjects + (subjects.empty() ? "" : ": ") + note.text, 8192));
        }
        return written;
    }

    ChannelId add_channel(Channel channel, std::string name) {
        channel.name = std::move(name);
        channels_.push_back(std::move(channel));
        return static_cast<ChannelId>(channels_.size() - 1);
    }
    Ways add_both_ways(const Channel& channel, const std::string& name) {
        return {add_channel(channel, name + "/up"), add_channel(channel, name + "/down")};
    }

    void add_device(Device device, std::string name, SpeedSource source, std::optional<double> free_bytes) {
        device.name = std::move(name);
        devices_.push_back(std::move(device));
        found_.push_back({source, free_bytes});
    }

    /// A device that the catalogue does not know reaches the share of its peaks that those like it do.
    Device unknown_device(DeviceKind kind, const std::string& vendor, const std::string& model) const {
        const DeviceModel* like = catalogue_.find_like(kind, vendor);
        const Efficiencies shares = like != nullptr ? *like->efficiencies : Efficiencies();
        Device device;
        device.kind = kind;
        device.model = model;
        device.efficiency = std::min(shares.product_vector, shares.elementwise);
        device.launch_overhead_s = shares.launch_s;
        return device;
    }

    /// `"EPYC 1" is not in the catalogue of devices (similar: "EPYC 2")`.
    std::string not_known(const std::string& model) const {
        return in_quotes(model) + " is not in the catalogue of devices" +
               similar_text(catalogue_.similar_devices(model));
    }

    void add_cpus() {
        double all_bytes = 0;
        for (const Socket& socket : topology_.sockets) all_bytes += socket.memory_bytes;
        const double limit = findings_.limit_bytes.value_or(all_bytes);
        const double share = limit > 0 && limit < all_bytes ? limit / all_bytes : 1;
        if (share < 1)
            say("The memory of the CPU is limited to " + format_bytes(limit) + " of " +
                format_bytes(all_bytes) + " by the control group of this process");
        for (std::size_t i = 0; i < cpus(); ++i) {
            const Socket& socket = topology_.sockets[i];
            const std::string name = "cpu:" + std::to_string(i);
            auto [device, source] = cpu_device(socket, name);
            // A socket whose own memory is not filled uses that of the others.
            device.memory_bytes = share * (socket.memory_bytes > 0 ? socket.memory_bytes
                                                                   : all_bytes / static_cast<double>(cpus()));
            std::optional<double> free_bytes;
            if (cpus() == 1 && findings_.available_bytes)
                free_bytes = std::min(*findings_.available_bytes, device.memory_bytes);
            add_device(std::move(device), name, source, free_bytes);
        }
        if (cpus() > 1 && findings_.available_bytes)
            say("All sockets together have " + format_bytes(*findings_.available_bytes) +
                " of free memory now");
    }

    std::pair<Device, SpeedSource> cpu_device(const Socket& socket, const std::string& name) {
        std::string model = socket.model.empty() ? findings_.cpu.model : socket.model;
        if (model.empty()) model = "CPU";
        const auto cores = static_cast<double>(socket.cores);
        const std::string cores_text =
            std::to_string(socket.cores) + (socket.cores == 1 ? " core" : " cores");
        std::string cache;
        if (socket.cache_bytes > 0) cache = " with " + format_bytes(socket.cache_bytes) + " of last cache";
        const double per_core = cores * kMemoryBandwidthOfCore;
        const auto known = catalogue_.find_device(model);
        if (known && known->kind == DeviceKind::cpu) {
            Device device = device_of(known);
            if (known->cores <= 0 || socket.cores >= static_cast<std::size_t>(known->cores)) {
                say_of(name, cores_text + cache + "; speeds of the data sheet of " + known->model);
                return {std::move(device), SpeedSource::data_sheet};
            }
            device.peak_flops *= cores / static_cast<double>(known->cores);
            device.memory_bandwidth = std::min(device.memory_bandwidth, per_core);
            say_of(name, cores_text + " of the " + std::to_string(known->cores) + " of " + known->model +
                             " may be used here" + cache +
                             "; peak: that share of the data sheet's; memory bandwidth: " +
                             format_bytes(kMemoryBandwidthOfCore) + "/s a core, at most the data sheet's; " +
                             kRemedy);
            return {std::move(device), SpeedSource::share};
        }
        const CpuFacts& facts = findings_.cpu;
        Device device = unknown_device(DeviceKind::cpu, "", model);
        device.clock_hz = facts.clock_hz;
        device.peak_flops = cores * facts.clock_hz * facts.flops_per_cycle;
        device.memory_bandwidth = std::min(per_core, kMostMemoryBandwidthOfSocket);
        say_of(name, not_known(model) + ", so its speeds are an estimate for " + cores_text + cache + ": " +
                         short_number(cores) + " x " + decimals("%.2f", facts.clock_hz * 1e-9) + " GHz (" +
                         facts.clock_source + ") x " + short_number(facts.flops_per_cycle) +
                         " FLOPs a cycle (" + facts.units + ") = " + format_flops(device.peak_flops) +
                         "/s; memory bandwidth: " + format_bytes(kMemoryBandwidthOfCore) +
                         "/s a core, at most " + format_bytes(kMostMemoryBandwidthOfSocket) +
                         "/s; ops reach " + short_number(device.efficiency) + " of both; " + kRemedy);
        return {std::move(device), SpeedSource::estimate};
    }

    void add_gpus() {
        for (std::size_t i = 0; i < gpus().size(); ++i) {
            const FoundGpu& gpu = gpus()[i];
            const std::string name = "gpu:" + std::to_string(i);
            socket_.push_back(socket_of(gpu));
            const std::string place = " at " + to_string(gpu.address);
            const auto known = catalogue_.find_device(gpu.name);
            if (known && known->kind != DeviceKind::cpu) {
                Device device = device_of(known);
                device.memory_bytes = gpu.memory_bytes;
                say_of(name + place,
                       "speeds of the data sheet of " + known->model + "; memory by the driver");
                add_device(std::move(device), name, SpeedSource::data_sheet, gpu.free_bytes);
                continue;
            }
            Device device = unknown_device(DeviceKind::gpu, gpu.vendor, gpu.name);
            device.memory_bytes = gpu.memory_bytes;
            device.peak_flops = gpu.peak_flops > 0 ? gpu.peak_flops : kUsualGpuFlops;
            device.memory_bandwidth =
                gpu.memory_bandwidth > 0 ? gpu.memory_bandwidth : kUsualGpuMemoryBandwidth;
            std::string guessed;
            if (!(gpu.peak_flops > 0)) guessed += "; peak: a guess, the driver does not say";
            if (!(gpu.memory_bandwidth > 0))
                guessed += "; memory bandwidth: a guess, the driver does not say";
            say_of(name + place, not_known(gpu.name) +
                                     ", so its speeds are an estimate: " + format_flops(device.peak_flops) +
                                     "/s of float32 and " + format_bytes(device.memory_bandwidth) + "/s" +
                                     (gpu.figures.empty() ? "" : " (" + gpu.figures + ")") + guessed +
                                     "; ops reach " + short_number(device.efficiency) +
                                     " of both, 16 bits are as fast as 32; " + kRemedy);
            add_device(std::move(device), name, SpeedSource::estimate, gpu.free_bytes);
        }
        const bool differ =
            std::ranges::any_of(gpus(), [&](const FoundGpu& gpu) { return gpu.name != gpus().front().name; });
        if (differ)
            say("GPUs are numbered by their place on PCIe, NVIDIA's first; frameworks number NVIDIA's the "
                "same way with CUDA_DEVICE_ORDER=PCI_BUS_ID");
    }

    std::size_t socket_of(const FoundGpu& gpu) const {
        if (gpu.numa_node) {
            if (const auto socket = topology_.socket_of_node(*gpu.numa_node)) return *socket;
        }
        const PciDevice* device = topology_.find(gpu.address);
        return device != nullptr ? device->socket : 0;
    }

    std::optional<Channel> channel_of_bridge(const PciAddress& address) const {
        const auto bridge = topology_.bridges.find(address);
        if (bridge == topology_.bridges.end()) return {};
        if (bridge->second.link.is_known()) return pcie_channel(bridge->second.link, catalogue_);
        if (bridge->second.bandwidth <= 0) return {};
        return channel_by_bandwidth(bridge->second.bandwidth, "PCIe", catalogue_);
    }

    static void keep_slower(std::optional<Channel>& slowest, const std::optional<Channel>& other) {
        if (other && (!slowest || other->bandwidth < slowest->bandwidth)) slowest = other;
    }

    /// Bridges above the same GPUs are one switch; its link is the slowest of theirs.
    void find_switches() {
        std::map<PciAddress, std::vector<std::size_t>> below;
        const auto bridges_of = [&](std::size_t gpu) -> std::vector<PciAddress> {
            const PciDevice* device = topology_.find(gpus()[gpu].address);
            return device != nullptr ? device->bridges : std::vector<PciAddress>();
        };
        for (std::size_t i = 0; i < gpus().size(); ++i) {
            for (const PciAddress& bridge : bridges_of(i)) below[bridge].push_back(i);
        }
        std::map<std::vector<std::size_t>, std::size_t> switch_of;
        for (std::size_t i = 0; i < gpus().size(); ++i) {
            std::vector<std::size_t> path;
            std::optional<Channel> own = pcie_channel(gpus()[i].pcie, catalogue_);
            for (const PciAddress& bridge : bridges_of(i)) {
                const std::vector<std::size_t>& sharing = below[bridge];
                if (sharing.size() < 2) {
                    if (!gpus()[i].pcie_to_host) keep_slower(own, channel_of_bridge(bridge));
                    continue;
                }
                const auto [entry, is_new] = switch_of.emplace(sharing, switches_.size());
                if (is_new) switches_.push_back({sharing, {}, bridge});
                keep_slower(switches_[entry->second].link, channel_of_bridge(bridge));
                if (path.empty() || path.back() != entry->second) path.push_back(entry->second);
            }
            paths_.push_back(std::move(path));
            own_.push_back(own ? *own : usual_pcie(i));
        }
    }

    /// The PCIe link of the data sheet, where the computer does not say.
    Channel usual_pcie(std::size_t gpu) {
        const Device& device = devices_[gpu_id(gpu)];
        const LinkModel* usual = catalogue_.find_link(kUsualPcie);
        if (device.known) {
            for (const std::string& name : device.known->links) {
                if (name.starts_with("PCIe") && catalogue_.find_link(name) != nullptr) {
                    usual = catalogue_.find_link(name);
                    break;
                }
            }
        }
        Channel channel = usual != nullptr ? channel_of(*usual) : plain_channel(kLinkBandwidth, kLinkLatency);
        say_of(device.name,
               "this computer does not say how fast its PCIe link is; it is taken as " +
                   (channel.model.empty() ? format_bytes(channel.bandwidth) + "/s" : channel.model));
        return channel;
    }

    void add_pcie_channels() {
        for (std::size_t i = 0; i < gpus().size(); ++i)
            pcie_.push_back(add_both_ways(own_[i], "pcie" + std::to_string(i)));
        for (std::size_t s = 0; s < switches_.size(); ++s) {
            Switch& shared = switches_[s];
            std::string names;
            for (const std::size_t gpu : shared.gpus) {
                names += (names.empty() ? "" : ", ") + devices_[gpu_id(gpu)].name;
                if (!shared.link || (!is_known(shared) && own_[gpu].bandwidth > shared.link->bandwidth))
                    shared.link = own_[gpu];
            }
            const Ways ways = add_both_ways(*shared.link, "switch" + std::to_string(s));
            shared.up = ways.up;
            shared.down = ways.down;
            say(names + " share the link to the host below the PCIe bridge " + to_string(shared.address) +
                " (switch" + std::to_string(s) + ": " + shared.link->model + ")");
        }
    }

    bool is_known(const Switch& shared) const { return channel_of_bridge(shared.address).has_value(); }

    /// The channel of links past PCIe, in one direction.
    Channel direct_channel(const DirectLink& link, std::size_t gpu) {
        if (link.bandwidth > 0) {
            if (const auto channel = channel_by_bandwidth(link.bandwidth, link.family, catalogue_))
                return *channel;
        }
        if (link.version > 0) {
            const std::string prefix = link.family + ' ' + std::to_string(link.version) + " x";
            if (const auto channel = counted_link(catalogue_, prefix, link.count)) return *channel;
        }
        const Device& device = devices_[gpu_id(gpu)];
        if (device.known) {
            for (const std::string& name : device.known->links) {
                const std::size_t x = name.rfind('x');
                if (!name.starts_with(link.family) || x == std::string::npos) continue;
                if (const auto channel = counted_link(catalogue_, name.substr(0, x + 1), link.count))
                    return *channel;
            }
        }
        Channel channel = plain_channel(kLinkBandwidth * link.count, kLinkLatency);
        channel.model = link.family;
        say_of(device.name, "the driver does not say how fast its " + link.family +
                                " is; a link is taken as " + format_bytes(kLinkBandwidth) + "/s");
        return channel;
    }

    std::optional<std::size_t> gpu_at(const PciAddress& address) const {
        const auto found = std::ranges::find(gpus(), address, &FoundGpu::address);
        if (found == gpus().end()) return {};
        return static_cast<std::size_t>(found - gpus().begin());
    }

    static std::string channel_name(const DirectLink& link) {
        return link.family == "NVLink" ? "nvlink" : "xgmi";
    }

    void add_direct_links() {
        std::map<std::pair<std::size_t, std::size_t>, DirectLink> told;  // from one GPU to another
        std::vector<std::pair<std::size_t, std::size_t>> pairs;
        for (std::size_t i = 0; i < gpus().size(); ++i) {
            for (const DirectLink& link : gpus()[i].links) {
                if (!link.peer) {
                    if (!on_switch_.contains(i))
                        on_switch_[i] =
                            add_both_ways(direct_channel(link, i), channel_name(link) + std::to_string(i));
                    continue;
                }
                const auto peer = gpu_at(*link.peer);
                if (!peer || *peer == i) continue;
                told.emplace(std::pair(i, *peer), link);
                pairs.emplace_back(i, *peer);
            }
        }
        // Both ends tell of a link; where only one does, it counts for both.
        for (const auto& [from, to] : pairs) told.emplace(std::pair(to, from), told.at({from, to}));
        for (const auto& [ends, link] : told) {
            direct_[ends] = add_channel(
                direct_channel(link, ends.first),
                channel_name(link) + std::to_string(ends.first) + '-' + std::to_string(ends.second));
        }
    }

    void add_socket_links() {
        if (cpus() < 2) return;
        const Channel link = plain_channel(kSocketBandwidth, kSocketLatency);
        for (std::size_t from = 0; from < cpus(); ++from) {
            for (std::size_t to = 0; to < cpus(); ++to) {
                if (from == to) continue;
                between_[{from, to}] =
                    add_channel(link, "socket" + std::to_string(from) + '-' + std::to_string(to));
            }
        }
        say("The link between two sockets is taken as " + format_bytes(kSocketBandwidth) +
            "/s in each direction");
    }

    /// From a GPU to the host or, with `shared` switches in common with another one, to the innermost of
    /// them.
    std::vector<ChannelId> way_up(std::size_t gpu, std::size_t shared) const {
        std::vector<ChannelId> way{pcie_[gpu].up};
        for (std::size_t s = paths_[gpu].size(); s > shared; --s)
            way.push_back(switches_[paths_[gpu][s - 1]].up);
        return way;
    }
    void append_way_down(std::vector<ChannelId>& way, std::size_t gpu, std::size_t shared) const {
        for (std::size_t s = shared; s < paths_[gpu].size(); ++s)
            way.push_back(switches_[paths_[gpu][s]].down);
        way.push_back(pcie_[gpu].down);
    }
    void append_between(std::vector<ChannelId>& way, std::size_t from, std::size_t to) const {
        if (from != to) way.push_back(between_.at({from, to}));
    }

    std::vector<ChannelId> way_between(std::size_t from, std::size_t to) const {
        if (const auto direct = direct_.find({from, to}); direct != direct_.end()) return {direct->second};
        if (on_switch_.contains(from) && on_switch_.contains(to))
            return {on_switch_.at(from).up, on_switch_.at(to).down};
        std::size_t shared = 0;
        while (shared < paths_[from].size() && shared < paths_[to].size() &&
               paths_[from][shared] == paths_[to][shared])
            ++shared;
        std::vector<ChannelId> way = way_up(from, shared);
        if (shared == 0) append_between(way, socket_[from], socket_[to]);
        append_way_down(way, to, shared);
        return way;
    }

    void add_routes() {
        for (const auto& [ends, channel] : between_)
            routes_.push_back({cpu_id(ends.first), cpu_id(ends.second), {channel}});
        for (std::size_t i = 0; i < gpus().size(); ++i) {
            for (std::size_t c = 0; c < cpus(); ++c) {
                std::vector<ChannelId> up = way_up(i, 0);
                append_between(up, socket_[i], c);
                routes_.push_back({gpu_id(i), cpu_id(c), std::move(up)});
                std::vector<ChannelId> down;
                append_between(down, c, socket_[i]);
                append_way_down(down, i, 0);
                routes_.push_back({cpu_id(c), gpu_id(i), std::move(down)});
            }
            for (std::size_t j = 0; j < gpus().size(); ++j) {
                if (i != j) routes_.push_back({gpu_id(i), gpu_id(j), way_between(i, j)});
            }
        }
    }

    /// GPUs on PCIe that no driver told of.
    void note_missing_drivers() {
        for (const PciDevice& device : topology_.devices) {
            if (device.vendor_id == kNvidiaVendor && !gpu_at(device.address))
                say("A device of NVIDIA at " + to_string(device.address) +
                    " is left out: NVIDIA's driver does not know it, or its library libnvidia-ml.so.1 cannot "
                    "be loaded; install the driver");
        }
    }

    /// "This computer: 2x NVIDIA T4, EPYC 7302".
    std::string machine_name() const {
        const std::span<const Device> all(devices_);
        std::string text = models_of(all.subspan(cpus()));
        text += (text.empty() ? "" : ", ") + models_of(all.first(cpus()));
        return "This computer: " + printable(text, 300);
    }

    const HostTopology& topology_;
    const Findings& findings_;
    const DeviceCatalogue& catalogue_;
    std::vector<Device> devices_;
    std::vector<ThisComputer::Found> found_;
    std::vector<Note> notes_;
    std::vector<Channel> channels_;
    std::vector<Route> routes_;
    // By GPU.
    std::vector<std::size_t> socket_;
    std::vector<std::vector<std::size_t>> paths_;  ///< switches to the host, the outermost first
    std::vector<Channel> own_;                     ///< its PCIe link
    std::vector<Ways> pcie_;
    std::map<std::size_t, Ways> on_switch_;  ///< to a switch of NVLink
    std::vector<Switch> switches_;
    std::map<std::pair<std::size_t, std::size_t>, ChannelId> direct_;   ///< between GPUs
    std::map<std::pair<std::size_t, std::size_t>, ChannelId> between_;  ///< between sockets
};

}  // namespace

std::string_view to_string(SpeedSource source) {
    switch (source) {
        case SpeedSource::data_sheet:
            return "data sheet";
        case SpeedSource::share:
            return "part of data sheet";
        case SpeedSource::estimate:
            break;
    }
    return "estimate";
}

ThisComputer computer_of(const Findings& findings, const DeviceCatalogue& catalogue) {
    return Assembly(findings, catalogue).build();
}

ThisComputer this_computer(const DeviceCatalogue& catalogue, const DetectionSources& sources) {
    Findings findings{host_topology(),
                      read_cpu_facts(sources.root),
                      available_memory_bytes(sources.root),
                      memory_limit_bytes(sources.root),
                      {}};
    read_memory(findings.topology, sources.root);
    read_bridge_links(findings.topology, sources.root);
    if (const auto library = nvml::load(sources.nvml)) findings.gpus = nvidia_gpus(*library);
    FoundGpus amd = amd_gpus(sources.root);
    std::ranges::move(amd.gpus, std::back_inserter(findings.gpus.gpus));
    std::ranges::move(amd.notes, std::back_inserter(findings.gpus.notes));
    return computer_of(findings, catalogue);
}

}  // namespace placewright
