// SPDX-License-Identifier: MIT
// Properties of op kinds apart from sizes: how they are differentiated and what they read and write.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace placewright {

/// How the backward of a kind uses memory and time: what PyTorch's autograd saves for it
/// (tools/autograd/derivatives.yaml). Unknown kinds keep their inputs and output for the
/// backward pass, which never underestimates memory.
struct KindInfo {
    std::string_view name;
    bool computes = true;      ///< false: a view or a source that takes no time (input, flatten, reshape)
    bool keeps_inputs = true;  ///< its backward reads its forward inputs
    bool factors = false;      ///< with keeps_inputs: an input is kept for the gradients of the other inputs
                               ///< alone, as in a product
    std::int8_t only_input = -1;  ///< with keeps_inputs: the one input that is kept, such as a mask; -1: all
    std::int8_t mask_bytes = 0;   ///< bytes for each element of its output that it writes beside the output
                                  ///< and keeps: masks, positions of maxima
    bool keeps_output = false;    ///< its backward reads its forward output
    bool differentiable = true;   ///< false: no gradient flows through it (input, argmax)
    bool recurrent = false;       ///< a cell of a recurrent network
    bool product = false;      ///< multiplies tensors with each other or with its parameters: convolutions,
                               ///< linear maps, attention
    bool elementwise = false;  ///< its output can overwrite its first input, element by element
    bool view = false;         ///< its outputs share the memory of its first input, in another form
    bool range = false;        ///< a view of a part of its input; the gradient outside the part is zero
    bool parameter = false;    ///< its outputs are its parameters as tensors
};

/// All known kinds.
std::span<const KindInfo> known_kinds();

/// The entry for `kind`, or the entry for unknown kinds.
const KindInfo& kind_info(std::string_view kind);

/// Whether an op of `kind` reads some places of a table alone and returns what is there.
bool looks_up(std::string_view kind);

}  // namespace placewright
