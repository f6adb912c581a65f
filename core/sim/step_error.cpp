// SPDX-License-Identifier: MIT
#include "core/sim/step_error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "core/cost/device_time.hpp"
#include "core/cost/op_work.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

/// Of 80 % of a normal distribution, in standard deviations.
constexpr double kEightyPercent = 1.2816;
/// What no class of op explains: frameworks, clocks.
constexpr double kStepDeviation = 0.03;
constexpr double kTransferDeviation = 0.2;
/// Of the host's time: PyTorch takes 5 to 30 us for an op, by processor and model code.
constexpr double kHostDeviation = 0.5;
/// Of op times that were measured, of devices that the machine file describes alone.
constexpr double kMeasuredDeviation = 0.05, kUnknownDeviceDeviation = 0.3;
/// Of CPUs that the machine file describes alone. Times on CPUs of the catalogue are off by 70 % (0.4 and the
/// errors of the classes of ops).
constexpr double kUnknownCpuDeviation = 0.6;

/// How the logarithm of the step time changes with that of the host's time, where this is longer and shorter
/// by its deviation: 1 if the step is the host's, 0 if the host is far ahead.
struct HostShare {
    double longer = 0, shorter = 0;
};

HostShare host_share(const std::shared_ptr<const Problem>& problem, std::span<const DeviceId> placement,
                     const Outcome& outcome, const SimulationOptions& options) {
    if (options.runtime != Runtime::eager || outcome.total_time_s <= 0) return {};
    const auto change = [&](double deviation) {
        SimulationOptions other = options;
        other.host_time_s *= std::exp(deviation);
        const double total_s = Simulator(problem, other).run(placement).total_time_s;
        return std::clamp(std::log(total_s / outcome.total_time_s) / deviation, 0.0, 1.0);
    };
    return {change(kHostDeviation), change(-kHostDeviation)};
}

constexpr std::size_t kClasses = 16;  ///< more than there are values of WorkClass
constexpr std::size_t kMeasuredClass = kClasses - 1, kWholeDevice = kClasses - 2;

}  // namespace

std::optional<StepError> StepError::of(const std::shared_ptr<const Problem>& shared,
                                       std::span<const DeviceId> placement, const Outcome& outcome,
                                       const SimulationOptions& options) {
    const Problem& problem = *shared;
    const std::string_view model = problem.cost_model == nullptr ? "" : problem.cost_model->id;
    if (model != "roofline" && model != "measured") return {};
    // Devices of one model share their errors.
    const auto devices = problem.machine->devices();
    std::map<std::string, std::size_t> kinds;
    std::vector<std::size_t> kind_of;
    for (const Device& device : devices)
        kind_of.push_back(kinds
                              .emplace(device.known && !device.uniform_efficiency
                                           ? device.known->model
                                           : "described " + device.model,
                                       kinds.size())
                              .first->second);

    std::map<std::size_t, Part> parts;
    double whole_s = std::accumulate(outcome.channel_busy_s.begin(), outcome.channel_busy_s.end(), 0.0);
    const auto add = [&](std::size_t source, double seconds, double deviation) {
        Part& part = parts[source];
        part.source = source;
        part.share += seconds;
        part.deviation = deviation;
    };
    const std::size_t transfers = kinds.size() * kClasses;
    add(transfers, whole_s, kTransferDeviation);
    // The channels were busy for all batches.
    const double batches =
        std::max(1.0, static_cast<double>(outcome.ops_run) / static_cast<double>(problem.ops));
    for (OpId op = 0; op < problem.ops; ++op) {
        const DeviceId at = problem.runs_on(placement[problem.grouping.group_of[op]]);
        const double seconds = problem.time_s(op, at) * batches;
        if (seconds == 0) continue;
        whole_s += seconds;
        const Device& device = devices[at];
        const std::size_t first = kind_of[at] * kClasses;
        if (model == "measured" && measured_time_s(problem.graph->op(op), device)) {
            add(first + kMeasuredClass, seconds, kMeasuredDeviation);
        } else if (!device.known || device.uniform_efficiency) {
            add(first + kWholeDevice, seconds,
                device.kind == DeviceKind::cpu ? kUnknownCpuDeviation : kUnknownDeviceDeviation);
        } else {
            const Efficiencies& shares = *device.known->efficiencies;
            const WorkClass work_class = op_work(*problem.graph, op).work_class;
            add(first + kWholeDevice, seconds, shares.error_device);
            add(first + static_cast<std::size_t>(work_class), seconds, shares.*error_of(work_class));
        }
    }
    if (whole_s == 0) return {};
    StepError error;
    const HostShare host = host_share(shared, placement, outcome, options);
    for (auto& [source, part] : parts) {
        part.share *= (1 - host.shorter) / whole_s;
        error.parts_.push_back(part);
    }
    if (host.longer > 0) error.parts_.push_back({transfers + 1, host.longer, kHostDeviation});
    return error;
}

double StepError::deviation() const {
    double variance = kStepDeviation * kStepDeviation;
    for (const Part& part : parts_) variance += std::pow(part.share * part.deviation, 2);
    return std::sqrt(variance);
}

double StepError::deviation_of_ratio(const StepError& other) const {
    std::map<std::size_t, std::pair<double, double>> shares;  // difference of shares, and deviation
    for (const Part& part : parts_) shares[part.source] = {part.share, part.deviation};
    for (const Part& part : other.parts_) {
        auto& [share, deviation] = shares[part.source];
        share -= part.share;
        deviation = part.deviation;
    }
    double variance = 0;
    for (const auto& [source, part] : shares) variance += std::pow(part.first * part.second, 2);
    return std::sqrt(variance);
}

double StepError::half_width() const {
    return std::exp(kEightyPercent * deviation()) - 1;
}

double StepError::half_width_of_ratio(const StepError& other) const {
    return std::exp(kEightyPercent * deviation_of_ratio(other)) - 1;
}

StepInterval StepError::interval(double step_time_s) const {
    return {step_time_s / (1 + half_width()), step_time_s * (1 + half_width())};
}

}  // namespace placewright
