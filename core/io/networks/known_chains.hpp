// SPDX-License-Identifier: MIT
// Chains of nodes that are one op in the program that a file was exported from.
#pragma once

#include "core/io/networks/traced_program.hpp"

namespace placewright {

/// Merges the nodes of known chains each into one node of the kind that placewright.export writes, so that a
/// network counts the same by every route. In every file:
/// - linear: a product with a weight, and the add of a bias;
/// - multi_head_attention_forward: what torch.nn.MultiheadAttention computes from the projection of its
/// inputs (its parameter "in_proj_weight") to that of its output.
///
/// In files in which functions of PyTorch are chains (Program::functions):
/// - layer_norm: mean, sub, pow, mean, add, sqrt, div, and then mul and add by parameters (operator sets
/// before 17);
/// - gelu: div, erf, add, mul, mul; with tanh mul, mul, mul, add, mul, tanh, add, mul, mul, or pow for the
/// cube;
/// - scaled_dot_product_attention: query and transposed key times a number, matmul, add of a mask, softmax,
/// dropout, matmul.
///
/// In files of other programs than PyTorch, whose runtimes look for such chains, also
/// - rms_norm: pow, mean, add, sqrt, div (or reciprocal and mul), and then mul by a parameter; in a file of
/// PyTorch where it says that they are of torch.nn.RMSNorm;
/// - gelu where x is halved first.
/// A model of PyTorch has these where it spells them out itself, and PyTorch runs them node by node.
///
/// A chain is merged only if nothing else reads what it computes on its way. The node has the name of the
/// chain's last, or, where names are scopes and kinds, that of its kind; its attribute "merged" lists the
/// names of the nodes that it stands for. Nodes that no output depends on are removed.
void merge_known_chains(Program& program);

}  // namespace placewright
