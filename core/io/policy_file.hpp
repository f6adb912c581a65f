// SPDX-License-Identifier: MIT
// Trained policies in files, with all that their training goes on from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/io/files.hpp"
#include "core/learn/policies.hpp"

namespace placewright {

/// What a policy is trained as: a training with the same goes on from where another was cut off.
struct TrainingRecord {
    std::string policy;    ///< PolicyInfo::id
    OptionValues options;  ///< all of them, so that a later default changes nothing
    PolicySize size;
    std::uint64_t seed = 1;
    std::uint64_t planned_updates = 0;
    /// What scores depend on beside the graphs, as names with values: objective, memory rule and the like.
    std::vector<std::pair<std::string, std::string>> conditions;
    struct Graph {
        std::string network, machine;
        std::string fingerprint;  ///< problem_fingerprint()

        bool operator==(const Graph&) const = default;
    };
    std::vector<Graph> graphs;

    bool operator==(const TrainingRecord&) const = default;
};

/// The first thing that `found` differs in from `expected`: "its seed is 1, not 2"; empty if nothing does.
std::string difference(const TrainingRecord& found, const TrainingRecord& expected);
/// The record on one line: equal for equal ones.
std::string to_text(const TrainingRecord& record);

struct PolicyFile {
    TrainingRecord record;
    PolicyDesign design;  ///< made of the record
    TrainingState state;
};

/// Writes a safetensors file (https://huggingface.co/docs/safetensors): eight bytes with the length of a JSON object, this object, tensors.
/// The weights are float32 tensors under the names of the policy's parameters; tensors called "training/..." hold Adam's moments, the
/// last returns, averages, best placements and the curve; "__metadata__" holds "format" placewright.policy, "version" 1, and as JSON
/// the "record" and the counters of the "state". Throws InputError.
void write_policy(const TrainingRecord& record, const TrainingState& state, const Policy& policy, const Path& file);

/// Reads what write_policy wrote; the state is the same bit by bit. Nothing is believed: every size is checked before memory is spent on
/// it, and weights must be those of the policy that the record describes. Throws InputError.
PolicyFile read_policy(const Path& file);

/// Whether a file is a whole safetensors file, but no policy: weights of a network.
bool holds_weights(const Path& file);

}  // namespace placewright
