// SPDX-License-Identifier: MIT
// Language models in words: phases, tokens, rates.
#pragma once

#include <cstdint>

#include <QString>
#include <QStringList>

#include "core/io/networks/network_file.hpp"
#include "core/job/longest_context.hpp"

namespace placewright {

QString phaseTitle(LanguagePhase phase);
/// What a step of the phase does, a sentence.
QString phaseHelp(LanguagePhase phase);

/// "41,000 tokens".
QString tokensText(std::int64_t tokens);
/// "33.5 tokens/s".
QString tokenRateText(double tokens_per_s);
/// "fits up to 41,000 tokens (gpu:1)".
QString longestContextText(const LongestContext& longest, const Machine& machine);

/// What differs from the way in which a language model is read by default: "prefill", "8,192 tokens", "int4".
QStringList changedLanguage(const LanguageOptions& language);
/// The name of the step from one way of reading a language model to another.
QString languageChangeText(const ReadOptions& before, const ReadOptions& after);

}  // namespace placewright
