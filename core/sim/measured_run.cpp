// SPDX-License-Identifier: MIT
#include "core/sim/measured_run.hpp"

#include <algorithm>
#include <unordered_map>

namespace placewright {
namespace {

/// [group of `to`]: the device of its ops; empty if one has none.
Placement carried_placement(const MeasuredRun& run, const Problem& from, const Problem& to,
                            const std::vector<DeviceId>& device_to) {
    Placement result;
    if (run.placement.empty()) return result;
    for (GroupId group = 0; group < to.groups; ++group) {
        DeviceId device = kInvalidDevice;
        for (const OpId member : to.grouping.members[group]) {
            const auto before = from.graph->find(to.graph->op(member).name);
            if (!before) continue;
            device = device_to[run.placement[from.grouping.group_of[*before]]];
            if (device != kInvalidDevice) break;
        }
        if (!std::ranges::binary_search(to.allowed_devices(group), device)) return {};
        result.push_back(device);
    }
    return broken_rule(to, result).empty() ? result : Placement();
}

}  // namespace

Outcome measured_outcome(const Problem& problem, const MeasuredRun& run) {
    Outcome outcome;
    outcome.device_busy_s.assign(problem.devices, 0);
    outcome.peak_bytes.assign(problem.devices, 0);
    outcome.resident_bytes.assign(problem.devices, 0);
    outcome.channel_busy_s.assign(problem.channels, 0);
    outcome.channel_bytes.assign(problem.channels, 0);
    outcome.channel_transfers.assign(problem.channels, 0);
    std::uint32_t batches = 1;
    for (const Span& span : run.trace.spans) {
        outcome.total_time_s = std::max(outcome.total_time_s, span.end_s);
        batches = std::max(batches, span.batch + 1);
        if (span.kind == Span::Kind::op) {
            outcome.device_busy_s[span.resource] += span.end_s - span.start_s;
            ++outcome.ops_run;
        } else {
            outcome.channel_busy_s[span.resource] += span.end_s - span.start_s;
            outcome.channel_bytes[span.resource] += span.bytes;
            ++outcome.channel_transfers[span.resource];
        }
    }
    outcome.step_time_s = outcome.total_time_s / batches;
    std::vector<bool> is_first(problem.devices, true);
    for (const MemorySample& sample : run.trace.memory) {
        if (is_first[sample.device]) outcome.resident_bytes[sample.device] = sample.bytes;
        is_first[sample.device] = false;
        outcome.peak_bytes[sample.device] = std::max(outcome.peak_bytes[sample.device], sample.bytes);
    }
    for (DeviceId device = 0; device < run.peak_bytes.size(); ++device)
        outcome.peak_bytes[device] = std::max(outcome.peak_bytes[device], run.peak_bytes[device]);
    return outcome;
}

std::optional<MeasuredRun> carried_run(const MeasuredRun& run, const Problem& from, const Problem& to) {
    std::vector<DeviceId> device_to(from.devices, kInvalidDevice);
    for (DeviceId device = 0; device < from.devices; ++device)
        device_to[device] = to.machine->find(from.machine->device(device).name).value_or(kInvalidDevice);
    std::unordered_map<std::string, ChannelId> channels;
    for (ChannelId channel = 0; channel < to.channels; ++channel)
        channels.emplace(to.machine->channels()[channel].name, channel);
    std::vector<OpId> op_to(from.ops, kInvalidOp);
    for (OpId op = 0; op < from.ops; ++op)
        op_to[op] = to.graph->find(from.graph->op(op).name).value_or(kInvalidOp);

    MeasuredRun result;
    result.name = run.name;
    result.step_times_s = run.step_times_s;
    bool has_ops = false;
    for (Span span : run.trace.spans) {
        const OpId op = op_to[span.op];
        if (op == kInvalidOp) continue;
        if (span.kind == Span::Kind::op) {
            span.resource = device_to[span.resource];
            if (span.resource == kInvalidDevice) continue;
            has_ops = true;
        } else {
            const std::uint32_t output = span.tensor - from.output_begin[span.op];
            const auto channel = channels.find(from.machine->channels()[span.resource].name);
            if (channel == channels.end() || to.output_begin[op] + output >= to.output_begin[op + 1])
                continue;
            span.resource = channel->second;
            span.from = span.from == kInvalidDevice ? kInvalidDevice : device_to[span.from];
            span.to = span.to == kInvalidDevice ? kInvalidDevice : device_to[span.to];
            if (span.from == kInvalidDevice || span.to == kInvalidDevice) continue;
            span.tensor = to.output_begin[op] + output;
        }
        span.op = op;
        result.trace.spans.push_back(span);
    }
    if (!has_ops) return {};
    for (MemorySample sample : run.trace.memory) {
        sample.device = device_to[sample.device];
        if (sample.device != kInvalidDevice) result.trace.memory.push_back(sample);
    }
    if (!run.peak_bytes.empty()) {
        result.peak_bytes.assign(to.devices, 0);
        for (DeviceId device = 0; device < from.devices; ++device) {
            if (device_to[device] != kInvalidDevice)
                result.peak_bytes[device_to[device]] = run.peak_bytes[device];
        }
    }
    result.placement = carried_placement(run, from, to, device_to);
    return result;
}

}  // namespace placewright
