// SPDX-License-Identifier: MIT
// What simulate and optimize say of a language model beside its step time.
#pragma once

#include "app/cli/job_arguments.hpp"
#include "core/io/text/json.hpp"
#include "core/job/language_figures.hpp"

namespace placewright {

struct LanguageReport {
    PhaseFigures phase;
    std::optional<PhaseFigures> other;   ///< the other phase of inference with the same placement
    std::vector<FrameworkSplit> splits;  ///< how frameworks would split the model
    double value_s = 0;                  ///< the objective's value of the placement
};

/// Returns nothing if the network is no language model. Throws InputError.
std::optional<LanguageReport> language_report(const JobArguments& arguments, const Job& job,
                                              const Placement& placement, const Outcome& outcome,
                                              double value_s);
void print_language(const LanguageReport& report);
/// Adds the member "language".
void add_language(Json& json, const LanguageReport& report);

}  // namespace placewright
