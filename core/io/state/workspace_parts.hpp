// SPDX-License-Identifier: MIT
// Parts of a workspace file: what was learned, measured and supposed. The readers check the values alone;
// whoever uses them checks ids against the problem. They throw InputError.
#pragma once

#include <memory>
#include <vector>

#include "core/io/text/json.hpp"
#include "core/machine/machine_edit.hpp"
#include "core/search/progress.hpp"
#include "core/sim/measured_run.hpp"

namespace placewright {

Json training_json(const std::vector<TrainingPoint>& curve);
std::shared_ptr<const std::vector<TrainingPoint>> training_from(const JsonValue& value);

Json distribution_json(const DistributionView& distribution);
std::shared_ptr<const DistributionView> distribution_from(const JsonValue& value);

Json factors_json(const WhatIf& factors);
/// Factors from kLeastFactor to kMostFactor.
WhatIf factors_from(const JsonValue& value);

/// Adds the members of a run to an object: all but its name, what started its spans, and issues.
void add_measured(Json& object, const MeasuredRun& run);
MeasuredRun measured_from(const JsonValue& value);

}  // namespace placewright
