// SPDX-License-Identifier: MIT
// Activations that are computed again in the backward pass instead of being kept from the forward pass.
#pragma once

#include "core/graph/training.hpp"

namespace placewright {

/// What training_graph made, with "f/recompute" for each forward op f with outputs that the backward pass needs but nobody keeps: f once
/// more, in Phase::backward, with Op::recomputes. It reads what is kept or other recomputed ops, and its outputs stand in for these in
/// backward and weight gradient ops. One that reads no recomputed op waits for a gradient, of which it reads no bytes: an extra output
/// of 0 bytes of the op that makes it.
///
/// Recomputation::segments cuts the n forward ops that compute, in their order, into about sqrt(n) segments, near even distances where
/// the fewest bytes cross. Kept are sources, results, what crosses the end of a segment and all of the segment whose backward comes first;
/// the others wait for the last gradient that enters their segment. Recomputation::cheap keeps sources, the outputs of convolutions,
/// products (KindInfo::product), recurrent cells and unknown kinds, what the backward of an op without consumers reads, and what is read by
/// several ops of which one is cheap: through a chain of residual connections all of them would have to be computed again at once. The
/// others wait for the gradient of the op whose backward needs them first. Views and what they look at are kept together. O(ops + inputs).
Graph with_recomputation(const Graph& training_graph, Recomputation recomputation);

}  // namespace placewright
