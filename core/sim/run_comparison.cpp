// SPDX-License-Identifier: MIT
#include "core/sim/run_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/statistics.hpp"

namespace placewright {
namespace {

OpId forward_op_of(const Graph& graph, OpId op) {
    const OpId forward = graph.op(op).forward_op;
    return forward == kInvalidOp ? op : forward;
}

/// What a trace says of each op and device, per batch.
struct TracedSeconds {
    std::vector<double> op_s;         ///< [op]
    std::vector<DeviceId> device_of;  ///< [op]: kInvalidDevice if it did not run
    std::vector<double> device_s;     ///< [device]: time in which at least one op runs

    TracedSeconds(const Problem& problem, const Trace& trace)
        : op_s(problem.ops), device_of(problem.ops, kInvalidDevice), device_s(problem.devices) {
        std::uint32_t batches = 1;
        std::vector<std::vector<std::pair<double, double>>> busy(problem.devices);
        for (const Span& span : trace.spans) {
            if (span.kind != Span::Kind::op) continue;
            batches = std::max(batches, span.batch + 1);
            op_s[span.op] += span.end_s - span.start_s;
            device_of[span.op] = span.resource;
            busy[span.resource].emplace_back(span.start_s, span.end_s);
        }
        for (double& time_s : op_s) time_s /= batches;
        for (DeviceId device = 0; device < problem.devices; ++device) {
            std::ranges::sort(busy[device]);
            double end_s = -1;
            for (const auto& [from_s, to_s] : busy[device]) {
                device_s[device] += std::max(0.0, to_s - std::max(from_s, end_s));
                end_s = std::max(end_s, to_s);
            }
            device_s[device] /= batches;
        }
    }
};

/// One phase of a forward op.
struct MeasuredPart {
    double simulated_s = 0, measured_s = 0;
    DeviceId device = kInvalidDevice;  ///< where it was measured
};
constexpr std::size_t kComparedPhases = 3;

/// Adds one run to the sums of the ops.
void add_run(const Problem& problem, const TracedSeconds& simulated, const TracedSeconds& measured,
             std::vector<ComparedOp>& ops) {
    const Graph& graph = *problem.graph;
    std::vector<MeasuredPart> parts(problem.ops * kComparedPhases);
    const auto part_of = [&](OpId op) -> MeasuredPart& {
        return parts[forward_op_of(graph, op) * kComparedPhases +
                     static_cast<std::size_t>(graph.op(op).phase)];
    };
    for (OpId op = 0; op < problem.ops; ++op) {
        if (measured.device_of[op] == kInvalidDevice) continue;
        part_of(op).measured_s += measured.op_s[op];
        part_of(op).device = measured.device_of[op];
    }
    for (OpId op = 0; op < problem.ops; ++op) {
        MeasuredPart& part = part_of(op);
        if (part.device == kInvalidDevice) continue;
        part.simulated_s +=
            simulated.device_of[op] == part.device ? simulated.op_s[op] : problem.time_s(op, part.device);
    }
    for (OpId op = 0; op < problem.ops; ++op) {
        bool is_measured = false;
        for (std::size_t phase = 0; phase < kComparedPhases; ++phase) {
            const MeasuredPart& part = parts[op * kComparedPhases + phase];
            if (part.device == kInvalidDevice) continue;
            is_measured = true;
            ops[op].time.simulated_s += part.simulated_s;
            ops[op].time.measured_s += part.measured_s;
            ops[op].device = part.device;
        }
        if (!is_measured) continue;
        ++ops[op].runs;
        ops[op].elsewhere =
            simulated.device_of[op] != kInvalidDevice && simulated.device_of[op] != ops[op].device;
    }
}

double median_factor(const std::vector<ComparedOp>& ops) {
    std::vector<std::pair<double, double>> factors;  // with weight
    double sum_s = 0;
    for (const ComparedOp& op : ops) {
        if (op.time.factor() <= 0) continue;
        factors.emplace_back(op.time.factor(), op.time.simulated_s);
        sum_s += op.time.simulated_s;
    }
    std::ranges::sort(factors);
    double below_s = 0;
    for (const auto& [factor, time_s] : factors) {
        below_s += time_s;
        if (below_s >= sum_s / 2) return factor;
    }
    return 1;
}

}  // namespace

RunComparison::Difference RunComparison::difference(OpId op) const {
    const ComparedSeconds& time = ops[op].time;
    const double expected_s = typical_factor * time.simulated_s;
    if (ops[op].runs == 0 || std::abs(time.measured_s - expected_s) < kMarkedShare * step.measured_s)
        return Difference::none;
    if (time.measured_s >= kMarkedFactor * expected_s) return Difference::longer;
    return time.measured_s * kMarkedFactor <= expected_s ? Difference::shorter : Difference::none;
}

std::vector<double> active_seconds(const Problem& problem, const Trace& trace) {
    return TracedSeconds(problem, trace).device_s;
}

RunComparison compare_runs(const Problem& problem, const Trace& simulated, const Outcome& outcome,
                           std::span<const MeasuredRun* const> runs) {
    const TracedSeconds simulated_s(problem, simulated);
    RunComparison result;
    result.ops.resize(problem.ops);
    result.devices.resize(problem.devices);
    result.memory.resize(problem.devices);
    std::vector<std::size_t> runs_on(problem.devices);
    std::size_t timed = 0;
    for (const MeasuredRun* run : runs) {
        const TracedSeconds measured_s(problem, run->trace);
        add_run(problem, simulated_s, measured_s, result.ops);
        for (DeviceId device = 0; device < problem.devices; ++device) {
            if (measured_s.device_s[device] <= 0) continue;
            ++runs_on[device];
            result.devices[device].measured_s += measured_s.device_s[device];
        }
        const Outcome measured = measured_outcome(problem, *run);
        for (DeviceId device = 0; device < problem.devices; ++device) {
            double& peak_bytes = result.memory[device].measured_bytes;
            peak_bytes = std::max(peak_bytes, measured.peak_bytes[device]);
        }
        if (run->step_times_s.empty()) continue;
        ++timed;
        result.step.measured_s += median(run->step_times_s);
    }
    for (ComparedOp& op : result.ops) {
        if (op.runs == 0) continue;
        op.time.simulated_s /= static_cast<double>(op.runs);
        op.time.measured_s /= static_cast<double>(op.runs);
        ++result.measured;
        result.elsewhere += op.elsewhere ? 1 : 0;
    }
    for (DeviceId device = 0; device < problem.devices; ++device) {
        result.devices[device].simulated_s = simulated_s.device_s[device];
        result.memory[device].simulated_bytes = outcome.peak_bytes[device];
        if (runs_on[device] > 0) result.devices[device].measured_s /= static_cast<double>(runs_on[device]);
    }
    result.step.simulated_s = outcome.step_time_s;
    if (timed > 0) result.step.measured_s /= static_cast<double>(timed);
    result.typical_factor = median_factor(result.ops);
    return result;
}

}  // namespace placewright
