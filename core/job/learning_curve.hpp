// SPDX-License-Identifier: MIT
// Learning curves as tables.
#pragma once

#include <span>
#include <string>

#include "core/search/optimizer.hpp"

namespace placewright {

/// A column besides the updates and evaluations so far.
struct CurveColumn {
    const char* name;
    double TrainingPoint::*value;
};
std::span<const CurveColumn> curve_columns();

/// "updates,evaluations,cost,...", without an end of line.
std::string curve_header();
std::string curve_line(const TrainingPoint& point);

}  // namespace placewright
