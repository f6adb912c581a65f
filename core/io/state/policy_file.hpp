// SPDX-License-Identifier: MIT
// Trained policies in files, with the state from which their training resumes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/learn/policies.hpp"

namespace placewright {

/// Identity of a training: a training with an equal record can resume an interrupted one.
struct TrainingRecord {
    std::string policy;    ///< PolicyInfo::id
    OptionValues options;  ///< all options, so that a later change of a default has no effect
    PolicySize size;
    std::uint64_t seed = 1;
    std::uint64_t planned_updates = 0;
    /// Further conditions of the scores by name: objective, memory rule and so on.
    std::vector<std::pair<std::string, std::string>> conditions;
    struct Graph {
        std::string network, machine;
        std::string fingerprint;  ///< problem_fingerprint()

        bool operator==(const Graph&) const = default;
    };
    std::vector<Graph> graphs;

    bool operator==(const TrainingRecord&) const = default;
};

/// Returns the first difference between the records, such as "its seed is 1, not 2" (found, expected); empty
/// if they are equal.
std::string difference(const TrainingRecord& found, const TrainingRecord& expected);
/// Returns the record on one line; equal records have equal texts.
std::string to_text(const TrainingRecord& record);

struct PolicyFile {
    TrainingRecord record;
    PolicyDesign design;  ///< follows from the record
    TrainingState state;
};

/// Writes a safetensors file (https://huggingface.co/docs/safetensors): eight bytes with the length of a JSON
/// object, this object, tensors. The weights are float32 tensors under the names of the policy's parameters;
/// tensors called "training/..." hold Adam's moments, the last returns, averages, best placements and the
/// curve; "__metadata__" holds "format" placewright.policy, "version" 1, and as JSON the "record" and the
/// counters of the "state". Throws InputError.
void write_policy(const TrainingRecord& record, const TrainingState& state, const Policy& policy,
                  const Path& file);

/// Reads a file of write_policy; the state is restored bit by bit. The file is not trusted: every size is
/// checked before memory is allocated, and the weights must match the policy that the record describes.
/// Throws InputError.
PolicyFile read_policy(const Path& file);

/// Returns whether a file is a complete safetensors file but no policy, such as the weights of a network.
bool holds_weights(const Path& file);
/// Returns whether a file is a complete safetensors file whose metadata says that it is a policy.
bool holds_policy(const Path& file);

}  // namespace placewright
