// SPDX-License-Identifier: MIT
#include "core/cost/problem_fingerprint.hpp"

#include <bit>
#include <cstdint>

#include "core/base/fingerprint.hpp"

namespace placewright {
std::string problem_fingerprint(const Problem& problem) {
    Fingerprint print;
    for (const Op& op : problem.graph->ops()) {
        print.add(op.name);
        // The orders of pipelined batches and of accumulation depend on the phase.
        print.add_bits(static_cast<std::uint64_t>(op.phase));
    }
    for (const bool together : problem.sends_together) print.add_bits(together ? 1 : 0);
    for (const bool stays : problem.stays) print.add_bits(stays ? 1 : 0);
    for (const Device& device : problem.machine->devices()) {
        print.add(device.name);
        print.add_bits(device.streams);
        print.add_bits(device.copy_engines);
    }
    for (const auto* values :
         {&problem.op_time_s, &problem.resident_bytes, &problem.workspace_bytes, &problem.tensor_bytes,
          &problem.output_bytes, &problem.memory_limit_bytes, &problem.accumulate_s, &problem.op_share,
          &problem.channel_latency_s, &problem.transfer_s})
        print.add(*values);
    if (problem.allocator != Allocator::none) print.add(problem.copy_bytes);
    for (const auto* values :
         {&problem.grouping.group_of, &problem.output_begin, &problem.alias_of, &problem.consumer_begin,
          &problem.consumer, &problem.route_begin, &problem.channel_class, &problem.allowed_begin})
        print.add(*values);
    print.add(problem.route_channel);
    print.add(problem.allowed);
    for (const std::uint64_t bits :
         {std::uint64_t(problem.memory), std::uint64_t(problem.inference), std::uint64_t(problem.crossing),
          std::bit_cast<std::uint64_t>(problem.tick_s)})
        print.add_bits(bits);
    if (problem.streams_to) {
        print.add_bits(*problem.streams_to);
        print.add(problem.streamed);
    }
    // Only then, so that searches that were saved before there were constraints can be resumed.
    if (!problem.apart.empty()) {
        for (const ApartParts& parts : problem.apart.of_group) {
            print.add_bits(parts.size());
            for (const ApartPart& each : parts) {
                print.add_bits(each.rule);
                print.add_bits(each.part);
            }
        }
    }
    return print.digits();
}

}  // namespace placewright
