// SPDX-License-Identifier: MIT
// Recomputation: activations that are computed again in the backward pass instead of being kept.
#pragma once

#include "core/graph/training.hpp"

namespace placewright {

/// Returns a result of training_graph with an added "f/recompute" for each forward op f whose outputs the
/// backward pass needs but no op keeps: a copy of f in Phase::backward with Op::recomputes. It reads kept
/// outputs or other recomputed ops, and its outputs replace those of f in backward and weight gradient ops.
/// An "f/recompute" that reads no recomputed op waits for a gradient without reading its bytes: the op that
/// makes the gradient gets an extra output of 0 bytes.
///
/// Recomputation::segments cuts the n forward ops that compute, in their order, into about sqrt(n) segments,
/// at roughly even distances where the fewest bytes cross. It keeps sources, results, tensors that cross the
/// end of a segment and everything in the segment whose backward comes first; the others wait for the last
/// gradient that enters their segment. Recomputation::cheap keeps sources, the outputs of convolutions,
/// products (KindInfo::product), recurrent cells and unknown kinds, the inputs of the backward of an op
/// without consumers, and tensors read by several ops of which one is cheap: through a chain of residual
/// connections all of these would have to be computed again at once. The others wait for the gradient of the
/// op whose backward needs them first. Views are kept together with the tensors that they are views of. O(ops
/// + inputs).
Graph with_recomputation(Graph training_graph, Recomputation recomputation);

}  // namespace placewright
