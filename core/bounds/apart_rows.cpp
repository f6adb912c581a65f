// SPDX-License-Identifier: MIT
#include "core/bounds/apart_rows.hpp"

#include <map>
#include <tuple>

namespace placewright {

void add_apart_rows(IntegerProgram& program, const Problem& problem,
                    std::span<const std::vector<std::pair<DeviceId, IntegerProgram::Column>>> choices) {
    if (problem.apart.empty()) return;
    // [rule, device][part]: whether the device holds any group of the part. Columns of groups are whole, so
    // these need not be.
    std::map<std::pair<std::uint32_t, DeviceId>, std::map<std::uint32_t, IntegerProgram::Column>> holds;
    for (GroupId group = 0; group < problem.groups; ++group) {
        for (const ApartPart& each : problem.apart.of_group[group]) {
            for (const auto& [device, column] : choices[group]) {
                auto& parts = holds[{each.rule, device}];
                const auto known = parts.find(each.part);
                const IntegerProgram::Column held =
                    known != parts.end() ? known->second : program.add_column(0, 1);
                parts.emplace(each.part, held);
                program.begin_row(0, kNoLimit);
                program.add(held, 1);
                program.add(column, -1);
            }
        }
    }
    for (const auto& [where, parts] : holds) {
        program.begin_row(-kNoLimit, 1);
        for (const auto& [part, held] : parts) program.add(held, 1);
    }
}

}  // namespace placewright
