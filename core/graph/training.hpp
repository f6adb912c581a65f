// SPDX-License-Identifier: MIT
// From forward ops to a training step.
#pragma once

#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// The graph of one training step. A graph with `Training::implicit` gets, after its forward ops (whose ids stay),
/// in reverse order for each forward op f through which gradients flow:
///   "f/backward"         reads the gradients that f's consumers produced and what f's kind keeps (kinds.hpp);
///                        output k is the gradient of f's k-th differentiable input (same bytes). Left out where no
///                        input needs a gradient (the first convolution).
///   "f/weight_gradient"  for an op with parameters: reads the same gradients and f's inputs; one output of
///                        parameter_bytes
///   "f/update"           reads the weight gradient; no outputs
/// An op without consumers starts its own backward right after its forward (the loss).
/// FLOPs: backward_flops if given (split evenly between data and weight gradient where both exist), else the data
/// gradient and the weight gradient of conv2d, linear and other ops with parameters cost as much as the forward op each,
/// any other backward as much as its forward; an update costs 2 FLOP a parameter.
/// Measured backward times are divided in the same way and stand in `backward_s` of the derived ops. The result is
/// Training::explicit_; derived ops keep kind, scope and devices of f, and all but the update its attributes. Graphs with
/// Training::explicit_ or none come back unchanged. Throws GraphError if a derived name is taken.
Graph training_graph(const Graph& graph);

/// The graph of one training step as Exprimo runs it, for comparison with its results. Every op f, the inputs too, gets one
/// "f/backward", in reverse order: it reads a gradient of f's output from each consumer's backward (for an op without consumers: nothing
/// but that f is done) and the inputs of f, which are kept for it; output k is the gradient of f's k-th producer. Gradients for one
/// device travel together. There are no weight gradients and no updates. An op without consumers keeps no output.
/// Throws GraphError if a derived name is taken or an op has several outputs.
Graph exprimo_training_graph(const Graph& graph);

/// The forward ops alone, as an inference graph (Training::none); what they read from other phases is left out.
Graph inference_graph(const Graph& graph);

}  // namespace placewright
