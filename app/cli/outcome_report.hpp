// SPDX-License-Identifier: MIT
// Text report of a simulated placement.
#pragma once

#include <optional>
#include <string>

#include "app/cli/job_arguments.hpp"
#include "core/io/text/json.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// Prints step time, device and channel usage on standard output.
void print_outcome(const Job& job, const Placement& placement, const Outcome& outcome);

/// Adds "step_time_low_s" and "step_time_high_s", between which the real step time lies with a probability of
/// 80 %; nothing if the cost model makes no statement about real devices.
void add_interval(Json& json, const Job& job, const Placement& placement, const Outcome& outcome);

/// ", at most 20 % above optimal (bound 72.3 ms by windows)"; empty if the placement does not fit, which no
/// bound applies to, or nothing is proven.
std::string bound_text(const Job& job, const Score& score, const Bound& bound);

/// Evaluates the objective; returns nothing for the step time. Throws InputError if the objective is not
/// defined for the placement; the error names `placement_file`, or the network if that is empty.
std::optional<Evaluation> evaluate(const Job& job, const Placement& placement, const JobArguments& arguments,
                                   const std::string& placement_file);

/// Prints max load or block latency with the load and memory of each device.
void print_evaluation(const Job& job, const Evaluation& evaluation);

/// Says on standard error that no placement that fits was found, and where the memory rule may be why.
void print_nothing_fits(const std::string& memory_rule);

/// Ops without a formula for their FLOPs.
Json estimated_json(const Job& job);

}  // namespace placewright
