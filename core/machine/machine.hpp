// SPDX-License-Identifier: MIT
// The machine on which ops run: devices, channels, and the route of every ordered pair of devices.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace placewright {

using DeviceId = std::uint16_t;
using ChannelId = std::uint16_t;
inline constexpr DeviceId kInvalidDevice = std::numeric_limits<DeviceId>::max();

enum class DeviceKind : std::uint8_t { cpu, gpu, accelerator };
std::string_view to_string(DeviceKind kind);
std::optional<DeviceKind> device_kind_from(std::string_view text);

struct DeviceModel;

struct Device {
    std::string name;
    DeviceKind kind = DeviceKind::gpu;
    std::string model;
    double peak_flops = 0;        ///< per second, of float32; of all types if `known` is null
    double memory_bandwidth = 0;  ///< bytes per second
    double memory_bytes = 0;
    double efficiency = 1;         ///< share of peak_flops and memory_bandwidth that ops reach
    double launch_overhead_s = 0;  ///< added to every op that computes
    double clock_hz = 0;           ///< 0: unknown; used only by Exprimo's cost model
    // Measured ceilings, used only by the roofline model.
    /// Share of peak_flops by op kind, in place of `efficiency`.
    std::map<std::string, double> efficiency_by_kind = {};
    std::optional<double> memory_efficiency = {};  ///< share of memory_bandwidth, in place of `efficiency`
    double half_efficiency_flops = 0;  ///< FLOPs of an op that reaches half of its share of peak_flops
    /// Number of ops that may run at a time, as long as together they need no more than the whole device
    /// (Problem::op_share).
    std::uint32_t streams = 1;
    /// Number of transfers from or to the device at a time; 0: as many as the channels allow.
    std::uint32_t copy_engines = 0;
    /// What the catalogue of devices, or a calibration, knows of the model; the roofline model then has
    /// ceilings by class of op and by type of number (device_time.hpp), in place of the shares above. Null:
    /// the device has one speed.
    std::shared_ptr<const DeviceModel> known = {};
    /// `efficiency` holds for all classes of ops, in place of the efficiencies of `known`.
    bool uniform_efficiency = false;
    bool tf32 = false;  ///< products of float32 use TF32 where the device has it

    bool operator==(const Device&) const = default;
};

/// "Xeon Gold 6132, 2x NVIDIA V100": consecutive devices of one model are counted.
std::string models_of(std::span<const Device> devices);

struct Channel {
    std::string name;
    double bandwidth = 0;  ///< bytes per second
    double latency_s = 0;
    double efficiency = 1;
    /// (bytes, efficiency), ascending in bytes; interpolated on log(bytes), constant beyond the ends;
    /// replaces `efficiency`.
    std::vector<std::pair<double, double>> efficiency_by_bytes;
    std::string model = {};  ///< of the link, if the file names one

    bool operator==(const Channel&) const = default;
};

/// How a transfer uses the channels of its route.
enum class Crossing : std::uint8_t {
    store_and_forward,  ///< one after the other, each for the whole message
    cut_through,        ///< all at the same time, at the pace of the slowest; waits until all are free
};
std::string_view to_string(Crossing crossing);
std::optional<Crossing> crossing_from(std::string_view text);

/// The channels from one device to another.
struct Route {
    DeviceId from = kInvalidDevice;
    DeviceId to = kInvalidDevice;
    std::vector<ChannelId> channels;

    bool operator==(const Route&) const = default;
};

/// Thrown for an invalid machine. `where` names the device, channel or route at fault (empty if the fault
/// concerns the whole machine); what() names it too.
class MachineError : public std::runtime_error {
public:
    MachineError(std::string where, const std::string& what)
        : std::runtime_error(what), where_(std::move(where)) {}
    const std::string& where() const { return where_; }

private:
    std::string where_;
};

class Machine {
public:
    /// Throws MachineError unless: there are 1 to 1024 devices and at most 65536 channels; names are unique
    /// and not empty; speeds, bandwidths and memory are finite and positive; efficiencies lie in (0, 1];
    /// latencies and overheads are finite and not negative; a device has 1 to 64 streams and 0 to 64 copy
    /// engines; tables ascend; every ordered pair of different devices has exactly one route of at least one
    /// known channel; a cut-through route crosses no channel twice.
    Machine(std::string name, std::vector<Device> devices, std::vector<Channel> channels,
            std::vector<Route> routes, Crossing crossing = Crossing::store_and_forward);

    const std::string& name() const { return name_; }
    std::span<const Device> devices() const { return devices_; }
    std::span<const Channel> channels() const { return channels_; }
    std::span<const Route> routes() const { return routes_; }
    Crossing crossing() const { return crossing_; }
    const Device& device(DeviceId id) const { return devices_[id]; }
    std::optional<DeviceId> find(std::string_view device_name) const;

    /// Channels from one device to another; empty if both are the same.
    std::span<const ChannelId> route(DeviceId from, DeviceId to) const;

    /// Whether the device satisfies a constraint of an op ("gpu:0", "gpu", "cpu"): its name or kind is equal.
    bool matches(DeviceId device, std::string_view constraint) const;

    bool operator==(const Machine& other) const;

private:
    std::string name_;
    std::vector<Device> devices_;
    std::vector<Channel> channels_;
    std::vector<Route> routes_;
    Crossing crossing_ = Crossing::store_and_forward;
    std::vector<std::uint32_t> route_index_;  ///< by from * devices + to
};

}  // namespace placewright
