// SPDX-License-Identifier: MIT
#pragma once

#include <QStringList>

#include "app/job.hpp"

namespace placewright {

/// What differs from the defaults, one phrase each: "10 batches, 4 in flight", "Adam".
QStringList changedOptions(const JobOptions& options);

/// The names of the choices as the window shows them, by the enumeration's value.
QString orderTitle(Order order);
QString recomputationTitle(Recomputation recomputation);
QString crossingTitle(Crossing crossing);
QString memoryModelTitle(MemoryModel model);
QString goalTitle(const Goal& goal);
/// The same within a sentence: "max load".
QString goalName(const Goal& goal);
QString memoryRuleTitle(MemoryRule rule);
QString groupingTitle(GroupingRule rule);
/// Of ProblemOptions::optimizer_states.
QString optimizerTitle(double states);

}  // namespace placewright
