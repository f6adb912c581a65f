// SPDX-License-Identifier: MIT
// What is known of an op kind beyond its sizes: how it is differentiated and what it reads and writes.
#pragma once

#include <span>
#include <string_view>

namespace placewright {

/// How the backward of a kind uses memory and time. Unknown kinds keep their inputs and output for the backward
/// pass, which is never too little.
struct KindInfo {
    std::string_view name;
    bool computes = true;        ///< false: a view or a source, it takes no time (input, flatten, reshape)
    bool keeps_inputs = true;    ///< its backward reads its forward inputs
    bool keeps_output = false;   ///< its backward reads its forward output
    bool differentiable = true;  ///< false: no gradient flows through it (input, argmax)
    bool recurrent = false;      ///< a cell of a recurrent network
    bool product = false;        ///< multiplies tensors with each other or with its parameters: convolutions, linear maps, attention
    bool elementwise = false;    ///< its output can overwrite its first input, element by element
    bool view = false;           ///< its outputs are the memory of its first input, seen in another way
    bool range = false;          ///< a view of a range of its input; the gradient of the rest of that is zero
    bool parameter = false;      ///< its outputs are its parameters, seen as tensors
};

/// All kinds that are known.
std::span<const KindInfo> known_kinds();
/// Those that learned policies tell apart, in the order in which saved ones have weights for them.
std::span<const KindInfo> policy_kinds();

/// The entry for `kind`, or the entry for unknown kinds.
const KindInfo& kind_info(std::string_view kind);

}  // namespace placewright
