// SPDX-License-Identifier: MIT
// Names of devices in PyTorch and TensorFlow.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/machine/machine.hpp"

namespace placewright {

/// Returns a framework's number of a device that is not a CPU: its position among the machine's devices other
/// than CPUs.
inline std::size_t gpu_number(const Machine& machine, DeviceId device) {
    std::size_t number = 0;
    for (DeviceId id = 0; id < device; ++id) number += machine.device(id).kind != DeviceKind::cpu;
    return number;
}

/// Returns whether a text is a device name of PyTorch or Accelerate, with or without a number.
inline bool names_device(std::string_view text) {
    const std::string_view kind = text.substr(0, text.find(':'));
    return kind == "cpu" || kind == "cuda" || kind == "disk" || kind == "mps" || kind == "meta";
}

/// A device name of TensorFlow: "/device:GPU:0", also after a task
/// ("/job:worker/replica:0/task:0/device:CPU:0") or in the short form "/gpu:0" (tensorflow,
/// core/util/device_name_utils.h).
struct TensorFlowDevice {
    bool is_cpu = false;
    std::size_t number = 0;  ///< position among the machine's CPUs, or among its other devices
    std::string task{};      ///< "/job:worker/replica:0/task:0", or the given part of it

    static TensorFlowDevice of(const Machine& machine, DeviceId device) {
        const bool is_cpu = machine.device(device).kind == DeviceKind::cpu;
        const std::size_t others = gpu_number(machine, device);
        return {is_cpu, is_cpu ? device - others : others};
    }

    /// Parses a device name; nothing if the text is not one.
    static std::optional<TensorFlowDevice> from(std::string_view text) {
        if (!text.starts_with('/')) return {};
        const std::size_t slash = text.rfind('/');
        const std::string_view task = text.substr(0, slash);
        for (std::string_view rest = task; !rest.empty();) {
            rest.remove_prefix(1);
            const std::string_view part = rest.substr(0, rest.find('/'));
            if (!part.starts_with("job:") && !part.starts_with("replica:") && !part.starts_with("task:"))
                return {};
            rest.remove_prefix(part.size());
        }
        std::string last(text.substr(slash + 1));
        std::ranges::transform(last, last.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        if (last.starts_with("device:")) last.erase(0, 7);
        const std::size_t colon = last.find(':');
        if (colon != 3 || (!last.starts_with("gpu") && !last.starts_with("cpu"))) return {};
        TensorFlowDevice device{last.starts_with("cpu"), 0, std::string(task)};
        const char* const end = last.data() + last.size();
        const auto [read, error] = std::from_chars(last.data() + colon + 1, end, device.number);
        return error == std::errc() && read == end ? std::optional(device) : std::nullopt;
    }

    std::string text() const {
        return task + (is_cpu ? "/device:CPU:" : "/device:GPU:") + std::to_string(number);
    }

    /// Returns the machine's device of this type and number; nothing if there is none.
    std::optional<DeviceId> in(const Machine& machine) const {
        std::size_t before = 0;
        for (DeviceId id = 0; id < machine.devices().size(); ++id) {
            if ((machine.device(id).kind == DeviceKind::cpu) != is_cpu) continue;
            if (before++ == number) return id;
        }
        return {};
    }
};

}  // namespace placewright
