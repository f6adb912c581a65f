// SPDX-License-Identifier: MIT
// Tokens of a language model: of a step, and a second.
#pragma once

#include <cstdint>

#include "core/io/language/language_options.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// Tokens of one step: in decode one of each sequence of the batch, else `sequence` of each.
double tokens_of_step(const LanguageOptions& language, std::int64_t batch);

/// Tokens a second, in the steady state of a pipeline if there is one; 0 if the step takes no time. Training
/// has none: a pipeline fills and drains between two updates, so its rate is that of all batches.
double tokens_per_s(const LanguageOptions& language, std::int64_t batch, const Outcome& outcome);

}  // namespace placewright
