// SPDX-License-Identifier: MIT
#pragma once

#include <QStringList>

#include "core/job/job.hpp"

namespace placewright {

/// Returns a phrase for each option that differs from its default: "10 batches, 4 in flight", "Adam".
/// `language`: how the network was read; a precision that it does not take (takes_precision()) is left out.
QStringList changedOptions(const JobOptions& options, const std::optional<LanguageOptions>& language = {});

// Names of the choices as the window shows them.
QString orderTitle(Order order);
QString runtimeTitle(Runtime runtime);
QString precisionTitle(Precision precision);
QString precisionHelp(Precision precision);
QString recomputationTitle(Recomputation recomputation);
QString crossingTitle(Crossing crossing);
QString offloadTitle(Offload offload);
QString frameworkTitle(Framework framework);
QString allocatorTitle(Allocator allocator);
QString memoryModelTitle(MemoryModel model);
QString objectiveTitle(const Objective& objective);
/// The objective's title in lower case, for use within a sentence: "max load".
QString objectiveName(const Objective& objective);
QString memoryRuleTitle(MemoryRule rule);
QString groupingTitle(GroupingRule rule);
/// Name of the optimizer with this number of ProblemOptions::optimizer_states.
QString optimizerTitle(double states);

}  // namespace placewright
