// SPDX-License-Identifier: MIT
// Simulations worked out by hand: ops and tensors of whole seconds, and the spans to expect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/reference_simulator.hpp"

namespace placewright::test {

constexpr double kGB = 1e9;
// On uniform_machine (1 TFLOP/s, 1 GB/s) an op of 1e12 FLOPs takes exactly one second, and so does the
// transfer of a tensor of 1e9 bytes.
constexpr double kSecond = 1e12;
constexpr std::int64_t kTensor = 1'000'000'000;

Op op_of(const std::string& name, double seconds, std::vector<double> output_gb);

Span op_span(const Problem& problem, const char* name, DeviceId device, double queued_s, double start_s,
             double end_s, std::uint32_t batch = 0);

/// Span of a hop of output 0 of the op.
Span hop_span(const Problem& problem, const char* producer, ChannelId channel, DeviceId from, DeviceId to,
              double queued_s, double start_s, double end_s, std::uint32_t batch = 0);

/// Outcome of both simulators; the test fails if they differ.
ReferenceRun agreed_run(const std::shared_ptr<const Problem>& problem, const Placement& placement,
                        const SimulationOptions& options = {});

/// uniform_machine after `change` to its devices or channels.
template <class Change>
Machine changed(const Machine& machine, Change change) {
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    change(devices, channels);
    return Machine(machine.name(), std::move(devices), std::move(channels),
                   {machine.routes().begin(), machine.routes().end()}, machine.crossing());
}

}  // namespace placewright::test
