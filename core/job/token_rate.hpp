// SPDX-License-Identifier: MIT
// Tokens of a language model: of a step, and a second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/io/language/language_options.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// What is one sample of a batch: "token" (decode), "prompt" (prefill), "sequence" (training) of a language
/// model, "sample" of another network.
std::string sample_name(const std::optional<LanguageOptions>& language);

/// Tokens of one step: in decode one of each sequence of the batch, else `sequence` of each.
double tokens_of_step(const LanguageOptions& language, std::int64_t batch);

/// Tokens a second, in the steady state of a pipeline if there is one; 0 if the step takes no time. Training
/// has none: a pipeline fills and drains between two updates, so its rate is that of all batches.
double tokens_per_s(const LanguageOptions& language, std::int64_t batch, const Outcome& outcome);

}  // namespace placewright
