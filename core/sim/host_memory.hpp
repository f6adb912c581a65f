// SPDX-License-Identifier: MIT
// What max load and block latency have in common: accelerators that exchange tensors through the memory of a host, as in Tarnawski,
// Phanishayee, Devanur, Mahajan, Nina Paravecino: Efficient Algorithms for Device Placement of DNN Graph Operators (NeurIPS 2020).
#pragma once

#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// What a formula says of a placement, without simulation.
struct Evaluation {
    double seconds = 0;
    bool fits = true;                  ///< no device holds more than may be used of its memory
    std::vector<double> device_s;      ///< by device: its ops and the transfers that it takes part in
    std::vector<double> device_bytes;  ///< by device: resident bytes and outputs of its ops, all at once

    bool operator==(const Evaluation&) const = default;
};

/// CPUs work in the host's memory and pay nothing for transfers. An accelerator writes a tensor to it or reads one from it over the
/// route to or from the first CPU, each channel of which takes its time. Refers to the problem, which must outlive it.
class HostMemory {
public:
    /// Throws MachineError if the machine has no CPU.
    explicit HostMemory(const Problem& problem);

    bool is_cpu(DeviceId device) const { return problem_.machine->device(device).kind == DeviceKind::cpu; }
    /// Seconds to write a tensor from the device or to read it there; 0 for a CPU.
    double write_s(TensorId tensor, DeviceId device) const { return is_cpu(device) ? 0 : route_s(tensor, device, host_); }
    double read_s(TensorId tensor, DeviceId device) const { return is_cpu(device) ? 0 : route_s(tensor, host_, device); }

private:
    double route_s(TensorId tensor, DeviceId from, DeviceId to) const;

    const Problem& problem_;
    DeviceId host_ = kInvalidDevice;
};

/// device_bytes and fits of a placement; the rest is zero. O(ops + tensors).
Evaluation evaluate_memory(const Problem& problem, std::span<const DeviceId> placement);

}  // namespace placewright
