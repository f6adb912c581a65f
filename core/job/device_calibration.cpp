// SPDX-License-Identifier: MIT
#include "core/job/device_calibration.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/cost/cost_model.hpp"
#include "core/cost/profile_archive.hpp"
#include "core/graph/gradients.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

constexpr auto kCalibratedName = ", calibrated";

CalibratedDevice samples_of(const MeasuredNetworks& measured, DeviceId id) {
    CalibratedDevice samples;
    samples.id = id;
    for (std::size_t index = 0; index < measured.problems.size(); ++index) {
        const Problem& problem = *measured.problems[index];
        const Device& device = problem.machine->device(id);
        const bool inference = problem.inference || problem.forward->training() == Training::none;
        const std::vector<bool> needed = needs_gradient(*problem.forward);
        std::vector<std::string> signatures(problem.forward->size());
        for (OpId op = 0; op < problem.graph->size(); ++op) {
            const Op& own = problem.graph->op(op);
            const auto time_s = measured_time_s(own, device);
            if (!time_s || *time_s <= 0) continue;
            const OpId forward = own.forward_op == kInvalidOp ? op : own.forward_op;
            std::string signature = own.name;
            if (forward < signatures.size()) {
                if (signatures[forward].empty())
                    signatures[forward] = op_signature(*problem.forward, forward, needed, inference);
                signature = signatures[forward];
            }
            samples.samples.push_back(
                {own.name, std::move(signature), op_work(*problem.graph, op, problem.optimizer_states),
                 *time_s, roofline_time_s(*problem.graph, op, device, problem.optimizer_states)});
            samples.network.push_back(index);
        }
    }
    return samples;
}

}  // namespace

void MeasuredNetworks::add(std::string name, std::shared_ptr<const Problem> problem,
                           const std::shared_ptr<const Machine>& given, const ProfileArchive* profile) {
    names.push_back(std::move(name));
    problems.push_back(std::move(problem));
    if (machine) return;
    machine = profile != nullptr ? std::make_shared<const Machine>(with_profile(*given, *profile)) : given;
}

std::vector<DeviceId> first_of_each_model(const Machine& machine) {
    std::vector<DeviceId> devices;
    for (DeviceId id = 0; id < machine.devices().size(); ++id) {
        if (std::ranges::none_of(devices, [&](DeviceId other) {
                return machine.device(other).model == machine.device(id).model;
            }))
            devices.push_back(id);
    }
    return devices;
}

std::optional<CalibratedDevices> calibrate_each(const MeasuredNetworks& measured,
                                                std::span<const DeviceId> devices, double held_out,
                                                const std::stop_token& stop,
                                                const DeviceCalibrationProgress& progress) {
    CalibratedDevices all;
    for (const DeviceId id : devices) {
        const Device& device = measured.machine->device(id);
        CalibratedDevice one = samples_of(measured, id);
        CalibrationOptions options;
        options.held_out = held_out;
        if (const DeviceModel* like = shipped_devices().find_like(device.kind, ""))
            options.start = *like->efficiencies;
        try {
            auto found = calibrate(device, one.samples, options, stop, [&](std::size_t round, double) {
                if (progress) progress(device, round);
            });
            if (!found) return std::nullopt;
            one.found = *std::move(found);
            all.devices.push_back(std::move(one));
        } catch (const std::invalid_argument& error) {
            all.missing.push_back(device.model + ": " + error.what());
        }
    }
    return all;
}

Machine calibrated_machine(const Machine& machine, std::span<const CalibratedDevice> calibrated_devices) {
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    for (const CalibratedDevice& each : calibrated_devices) {
        const Device& found = each.found.device;
        const Device& given = machine.device(each.id);
        for (Device& device : devices) {
            if (device.model != given.model) continue;
            // Others of the model may be described with other figures: these change by the same factors.
            device.peak_flops *= found.peak_flops / given.peak_flops;
            device.memory_bandwidth *= found.memory_bandwidth / given.memory_bandwidth;
            device = calibrated(std::move(device), *found.known->efficiencies);
        }
    }
    std::string name = machine.name();
    if (!name.ends_with(kCalibratedName)) name += kCalibratedName;
    return {std::move(name),
            std::move(devices),
            {machine.channels().begin(), machine.channels().end()},
            {machine.routes().begin(), machine.routes().end()},
            machine.crossing()};
}

}  // namespace placewright
