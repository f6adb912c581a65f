// SPDX-License-Identifier: MIT
// Times of ops that were made up: those of a device whose efficiencies the test knows.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/shipped.hpp"
#include "core/machine/device_model.hpp"
#include "core/measure/profiler.hpp"

namespace placewright::test {

/// Two cores of one model with a link in each direction.
inline constexpr const char* kPairOfCores =
    R"({"format": "placewright.machine", "version": 1, "name": "pair",
  "devices": [
    {"name": "cpu:0", "kind": "cpu", "model": "Core", "peak_flops": 5e10, "memory_bandwidth": 1e10,
     "memory_bytes": 8e9, "efficiency": 0.9},
    {"name": "cpu:1", "kind": "cpu", "model": "Core", "peak_flops": 5e10, "memory_bandwidth": 1e10,
     "memory_bytes": 8e9, "efficiency": 0.9}],
  "channels": [{"name": "link", "bandwidth": 2e9, "latency_s": 1e-5}],
  "routes": [{"from": "cpu:0", "to": "cpu:1", "channels": ["link"]},
             {"from": "cpu:1", "to": "cpu:0", "channels": ["link"]}]})";

/// The machine of a file with what its devices really reach.
inline std::shared_ptr<const Machine> real_machine(const Path& file) {
    Efficiencies shares;
    shares.product_vector = 0.7;
    shares.half_depth = 20;
    shares.norm = 0.2;
    shares.elementwise = 0.5;
    shares.launch_s = 1.5e-5;
    const Machine given = read_machine(file);
    std::vector<Device> devices;
    for (Device device : given.devices()) {
        device.peak_flops *= 4;
        devices.push_back(calibrated(std::move(device), shares));
    }
    return std::make_shared<const Machine>(given.name(), std::move(devices),
                                           std::vector(given.channels().begin(), given.channels().end()),
                                           std::vector(given.routes().begin(), given.routes().end()));
}

/// The times of a network on its first device, and of transfers at 4 GB/s between devices of that model.
inline ProfileArchive made_up_profile(const std::shared_ptr<const Machine>& machine,
                                      const std::string& network) {
    const auto problem =
        make_problem(std::make_shared<const Graph>(read_network(find_network_file(network)).graph), machine);
    Measurement measurement;
    measurement.run.placement = single_device_placement(*problem, 0);
    for (OpId op = 0; op < problem->ops; ++op) measurement.op_time_s.push_back(problem->time_s(op, 0));
    measurement.overhead_s = 0;
    ProfileArchive archive = profile_of(*problem, measurement, "made up");
    const std::string& model = machine->device(0).model;
    // The second one is noise.
    archive.transfers[{model, model}] = {{1e3, 1e-5}, {2e3, 9e-6}, {1e6, 1e-5 + 2.5e-4}, {1e9, 1e-5 + 0.25}};
    return archive;
}

}  // namespace placewright::test
