// SPDX-License-Identifier: MIT
// What to do about a placement that does not fit the memory, or that a CPU holds up.
#pragma once

#include <optional>
#include <string>

#include "app/cli/job_arguments.hpp"
#include "core/io/text/json.hpp"
#include "core/job/job.hpp"
#include "core/job/remedies.hpp"

namespace placewright {

/// Remedies for a placement that does not fit; nothing for one that fits.
std::optional<Remedies> remedies_for(const JobArguments& arguments, const Job& job,
                                     const Placement& placement, bool fits);

/// "remedies": those that make the placement fit, the least slow first; "closest" if there is none.
void add_remedies(Json& json, const Remedies& remedies, const Job& job);

/// Prints the same on standard output, after an empty line. `what`: "This placement".
void print_remedies(const Remedies& remedies, const Job& job, const std::string& what = "This placement");

/// Options with which an accelerator holds all of the network. Nothing unless `placement` fits and CPUs take
/// most of its step because no accelerator holds the network.
std::optional<Remedies> accelerator_remedies_for(const JobArguments& arguments, const Job& job,
                                                 const Placement& placement, const Outcome& outcome,
                                                 bool fits);
/// "accelerator": the device that lacks least, what it lacks, and the same as add_remedies().
void add_accelerator_remedies(Json& json, const Remedies& remedies, const Job& job);
void print_accelerator_remedies(const Remedies& remedies, const Job& job);

/// Warns on standard error of a CPU that takes most of the step. `advice` ends the warning if accelerators
/// can run some of the CPU's ops.
void warn_of_cpu(const Job& job, const Placement& placement, const Outcome& outcome,
                 const std::string& advice = {});

}  // namespace placewright
