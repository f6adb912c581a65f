// SPDX-License-Identifier: MIT
#include "core/io/language/language_options.hpp"

#include <algorithm>

namespace placewright {
namespace {

constexpr std::array<std::string_view, 3> kPhases{"training", "prefill", "decode"};
constexpr std::array<std::string_view, 6> kWeightTypes{"fp32", "fp16", "bf16", "fp8", "int8", "int4"};
constexpr std::array<std::string_view, 2> kCaches{"compressed", "expanded"};

template <class Enum, std::size_t count>
std::optional<Enum> word(const std::array<std::string_view, count>& words, std::string_view text) {
    const auto found = std::ranges::find(words, text);
    if (found == words.end()) return {};
    return static_cast<Enum>(found - words.begin());
}

}  // namespace

std::string_view to_string(LanguagePhase phase) {
    return kPhases.at(static_cast<std::size_t>(phase));
}

std::string_view to_string(WeightType type) {
    return kWeightTypes.at(static_cast<std::size_t>(type));
}

std::string_view to_string(LatentCache cache) {
    return kCaches.at(static_cast<std::size_t>(cache));
}

std::optional<LanguagePhase> language_phase_from(std::string_view text) {
    return word<LanguagePhase>(kPhases, text);
}

std::optional<WeightType> weight_type_from(std::string_view text) {
    return word<WeightType>(kWeightTypes, text);
}

std::optional<LatentCache> latent_cache_from(std::string_view text) {
    return word<LatentCache>(kCaches, text);
}

std::array<std::string_view, 3> language_phases() {
    return kPhases;
}

std::array<std::string_view, 6> weight_types() {
    return kWeightTypes;
}

std::int64_t bits_of(WeightType type) {
    constexpr std::array<std::int64_t, 6> kBits{32, 16, 16, 8, 8, 4};
    return kBits.at(static_cast<std::size_t>(type));
}

}  // namespace placewright
