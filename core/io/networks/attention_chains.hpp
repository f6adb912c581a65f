// SPDX-License-Identifier: MIT
// Attention among the known chains (known_chains.hpp).
#pragma once

#include "core/io/networks/chain_program.hpp"

namespace placewright {

/// Merges what PyTorch's exporters make of torch.nn.functional.scaled_dot_product_attention, around a
/// softmax. Of a mask that is computed from numbers of the program alone, such as a causal one, nothing is
/// left.
void merge_scaled_attention(ChainProgram& program, NodeIndex softmax);

/// Merges what torch.nn.MultiheadAttention computes, which its parameters tell.
void merge_attention(ChainProgram& program);
/// Whether merge_attention() begins with a parameter.
bool is_of_attention_module(const Program::Parameter& parameter);

}  // namespace placewright
