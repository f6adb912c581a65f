// SPDX-License-Identifier: MIT
// The common model of max load and block latency: accelerators exchange tensors through the memory of a host,
// as in Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino: Efficient Algorithms for Device Placement
// of DNN Graph Operators (NeurIPS 2020).
#pragma once

#include <span>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// The value of a placement by a formula, without simulation.
struct Evaluation {
    double seconds = 0;
    bool fits = true;                  ///< no device holds more than its memory limit
    std::vector<double> device_s;      ///< [device]: its ops and the transfers that it takes part in
    std::vector<double> device_bytes;  ///< [device]: resident bytes plus all outputs of its ops

    bool operator==(const Evaluation&) const = default;
};

/// Seconds of transfers to and from the host's memory. CPUs work in that memory and pay nothing. An
/// accelerator writes or reads a tensor over the route to or from the first CPU; the times of all channels of
/// the route are added. Refers to the problem, which must outlive it.
class HostMemory {
public:
    /// Throws MachineError if the machine has no CPU.
    explicit HostMemory(const Problem& problem);

    bool is_cpu(DeviceId device) const { return problem_.machine->device(device).kind == DeviceKind::cpu; }
    /// Seconds to write a tensor from the device or to read it there; 0 for a CPU.
    double write_s(TensorId tensor, DeviceId device) const {
        return is_cpu(device) ? 0 : route_s(tensor, device, host_);
    }
    double read_s(TensorId tensor, DeviceId device) const {
        return is_cpu(device) ? 0 : route_s(tensor, host_, device);
    }

private:
    double route_s(TensorId tensor, DeviceId from, DeviceId to) const;

    const Problem& problem_;
    DeviceId host_ = kInvalidDevice;
};

/// device_bytes and fits of a placement; the rest is zero. O(ops + tensors).
Evaluation evaluate_memory(const Problem& problem, std::span<const DeviceId> placement);

}  // namespace placewright
