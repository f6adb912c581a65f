// SPDX-License-Identifier: MIT
// Edits of a machine as a value: each returns another machine, which is valid.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/device_model.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// A machine and where its devices come from.
struct MachineEdit {
    Machine machine;
    /// [device]: the same device of the machine before; kInvalidDevice for a new one.
    std::vector<DeviceId> from;
};

/// A figure of a device or of a channel that people edit, in the unit that they read it in.
template <class Item>
struct Figure {
    std::string_view name;  ///< "Memory"
    std::string_view unit;  ///< "GB"
    std::string_view help;
    double least = 0, most = 0;        ///< in that unit, both included
    double (*get)(const Item&);        ///< in that unit
    void (*set)(Item&, double value);  ///< expects least to most
};
std::span<const Figure<Device>> device_figures();
std::span<const Figure<Channel>> channel_figures();

/// Whether ops of all classes reach `efficiency`; else the catalogue of devices has efficiencies by class of
/// op, and `efficiency` counts only for cost models that know no classes.
bool has_one_efficiency(const Device& device);

// The functions below throw MachineError for a value out of range, and if the machine would not be valid.

MachineEdit with_figure(const Machine& machine, DeviceId device, const Figure<Device>& figure, double value);
MachineEdit with_figure(const Machine& machine, ChannelId channel, const Figure<Channel>& figure,
                        double value);
/// The name of the machine; kEditedSuffix is added.
MachineEdit with_name(const Machine& machine, const std::string& name);
MachineEdit with_device_name(const Machine& machine, DeviceId device, const std::string& name);
MachineEdit with_channel_name(const Machine& machine, ChannelId channel, const std::string& name);
/// The device becomes one of that model; its name and links stay.
MachineEdit with_model(const Machine& machine, DeviceId device,
                       const std::shared_ptr<const DeviceModel>& model);
/// The channel becomes one of that model; its name and routes stay.
MachineEdit with_link_model(const Machine& machine, ChannelId channel, const LinkModel& model);
/// Adds a device, at the end, with links as `like` has them: channels that only `like` uses are copied, those
/// that it shares with others are shared. Its name is the next free one of its kind.
MachineEdit with_device(const Machine& machine, Device device, DeviceId like);
/// Removes a device, its routes and the channels that no route uses any more.
MachineEdit without_device(const Machine& machine, DeviceId device);
/// The channels that a transfer between two devices crosses, by name, in order.
MachineEdit with_route(const Machine& machine, DeviceId from, DeviceId to,
                       std::span<const std::string> channels);
/// Each route that crosses the channel gets a copy of its own.
MachineEdit with_own_channels(const Machine& machine, ChannelId channel);

inline constexpr std::string_view kEditedSuffix = " (edited)";
/// Without kEditedSuffix.
std::string saved_name(const Machine& machine);
/// The machine under its saved_name().
Machine to_save(const Machine& machine);

/// Number of routes that cross each channel.
std::vector<std::size_t> routes_across(const Machine& machine);

/// Factors on the figures of a machine; a list is empty where all are 1.
struct WhatIf {
    std::vector<double> bandwidth;  ///< [channel]
    std::vector<double> memory;     ///< [device]: of its bytes
    std::vector<double> speed;      ///< [device]: of its peak FLOP/s and memory bandwidth

    bool is_none() const;
    bool operator==(const WhatIf&) const = default;
};
inline constexpr double kLeastFactor = 0.25, kMostFactor = 4;

/// Sets the factor of one item, if there are so many, or of all `count`.
void set_factor(std::vector<double>& factors, std::size_t count, std::size_t item, double factor);
void set_all(std::vector<double>& factors, std::size_t count, double factor);
double factor_of(const std::vector<double>& factors, std::size_t item);

/// The machine with these factors; the machine itself if there are none.
Machine what_if(const Machine& machine, const WhatIf& factors);
/// The factors on the machine `before` an edit, for the machine after it. A new device or channel has a
/// factor of 1, or that of all others.
WhatIf after_edit(const WhatIf& factors, const Machine& before, const MachineEdit& edit);

}  // namespace placewright
