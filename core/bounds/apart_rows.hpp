// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/bounds/integer_program.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// Adds the rules that keep groups apart to a program with one binary column for each group and device that
/// may hold it. `choices`: [group].
void add_apart_rows(IntegerProgram& program, const Problem& problem,
                    std::span<const std::vector<std::pair<DeviceId, IntegerProgram::Column>>> choices);

}  // namespace placewright
