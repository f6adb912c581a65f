// SPDX-License-Identifier: MIT
#include "core/job/token_rate.hpp"

namespace placewright {

std::string sample_name(const std::optional<LanguageOptions>& language) {
    if (!language) return "sample";
    switch (language->phase) {
        case LanguagePhase::decode:
            return "token";
        case LanguagePhase::prefill:
            return "prompt";
        case LanguagePhase::training:
            return "sequence";
    }
    return {};
}

double tokens_of_step(const LanguageOptions& language, std::int64_t batch) {
    const auto sequences = static_cast<double>(batch);
    return language.phase == LanguagePhase::decode
               ? sequences
               : sequences * static_cast<double>(language.sequence.value_or(1));
}

double tokens_per_s(const LanguageOptions& language, std::int64_t batch, const Outcome& outcome) {
    const double step_s = language.phase == LanguagePhase::training
                              ? outcome.step_time_s
                              : outcome.steady_step_time_s.value_or(outcome.step_time_s);
    return step_s > 0 ? tokens_of_step(language, batch) / step_s : 0;
}

}  // namespace placewright
