// SPDX-License-Identifier: MIT
// What a user chooses for a language model beside its file: the phase, the length of the sequence, number
// formats.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace placewright {

/// What a step of a language model does. Training and prefill process `sequence` tokens of each sequence of
/// the batch at once; decode makes one token of each, after `sequence` tokens whose keys and values are in
/// the cache.
enum class LanguagePhase : std::uint8_t { training, prefill, decode };

/// Number formats of weights and of the cache.
enum class WeightType : std::uint8_t { fp32, fp16, bf16, fp8, int8, int4 };

/// What the cache of multi-head latent attention (DeepSeek-V2, 2024) holds: the compressed latents, as in
/// vLLM and llama.cpp, or the expanded keys and values, as in Transformers.
enum class LatentCache : std::uint8_t { compressed, expanded };

std::string_view to_string(LanguagePhase phase);
std::string_view to_string(WeightType type);
std::string_view to_string(LatentCache cache);
/// Return nothing for a word that is not one of the names above.
std::optional<LanguagePhase> language_phase_from(std::string_view text);
std::optional<WeightType> weight_type_from(std::string_view text);
std::optional<LatentCache> latent_cache_from(std::string_view text);

/// All names, for messages and menus.
std::array<std::string_view, 3> language_phases();
std::array<std::string_view, 6> weight_types();

std::int64_t bits_of(WeightType type);

inline constexpr std::int64_t kMostSequence = 100'000'000;

struct LanguageOptions {
    LanguagePhase phase = LanguagePhase::decode;
    /// Tokens: of the prompt, or in the cache of a decode step. Default: 4096, or the model's limit if that
    /// is smaller.
    std::optional<std::int64_t> sequence{};
    /// Replaces the stored type. fp8, int8 and int4 replace that of linear weights alone.
    std::optional<WeightType> weights{};
    std::optional<WeightType> cache{};  ///< default: the type of activations
    LatentCache latent_cache = LatentCache::compressed;
    bool full_cache = false;    ///< layers with a sliding window keep the whole sequence too
    bool split_layers = false;  ///< ops of a block may be on different devices

    bool operator==(const LanguageOptions&) const = default;
};

}  // namespace placewright
