// SPDX-License-Identifier: MIT
// From forward ops to a training step.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// What is not kept from the forward pass but computed again in the backward pass.
enum class Recomputation : std::uint8_t {
    none,
    segments,  ///< all but the ends of about sqrt(n) segments (Chen, Xu, Zhang, Guestrin: Training deep nets with sublinear memory cost,
               ///< 2016)
    cheap,     ///< outputs of ops that cost little: all but convolutions, products and recurrent cells
};
std::string_view to_string(Recomputation recomputation);
std::optional<Recomputation> recomputation_from(std::string_view text);

/// The graph of one training step. A graph with `Training::implicit` gets, after its forward ops (whose ids stay),
/// in reverse order for each forward op f through which gradients flow:
///   "f/backward"         reads the gradients that f's consumers produced and what f's kind keeps (kinds.hpp);
///                        output k is the gradient of f's k-th differentiable input (same bytes; of a view of a range,
///                        KindInfo::range, that range of it: nobody writes, sends or adds the zeros around it). Left out
///                        where no input needs a gradient (the first convolution).
///   "f/weight_gradient"  for an op with parameters: reads the same gradients and f's inputs; one output of
///                        parameter_bytes
///   "f/update"           reads the weight gradient; no outputs
/// An op without consumers starts its own backward right after its forward (the loss). Tensors of whole numbers carry no gradient.
/// Parameters that several ops read as a tensor (KindInfo::parameter) have one "f/weight_gradient" of kind "add", which sums up what
/// all readers give back once the last of them has (none for a single reader), and one "f/update".
/// FLOPs: backward_flops if given (split evenly between data and weight gradient where both exist), else the data
/// gradient and the weight gradient of conv2d, linear and other ops with parameters cost as much as the forward op each; so do the gradient
/// for inputs that are parameters and that for all other inputs, and in a product (KindInfo::product) those for each of two inputs: the
/// backward of a matmul of two values that need gradients costs twice its forward, and not more with more inputs, since products are taken
/// in pairs. A sum of weight gradients costs an addition for each of their elements beyond one a parameter, an update 2 FLOP a parameter.
/// Measured backward times are divided in the same way and stand in `backward_s` of the derived ops. The result is
/// Training::explicit_; derived ops keep kind, scope and devices of f, and all but the update its attributes. Graphs with
/// Training::explicit_ or none come back unchanged. Throws GraphError if a derived name is taken.
///
/// With recomputation some forward ops run again in the backward pass (recomputation.hpp). Throws GraphError where backward ops are given
/// already (Training::explicit_), since what they keep is not known.
Graph training_graph(const Graph& graph, Recomputation recomputation = Recomputation::none);

/// Whether an op does the work of a forward op: it is one, or runs it again.
bool runs_forward(const Op& op);

/// The graph of one training step as Exprimo runs it, for comparison with its results. Every op f, the inputs too, gets one
/// "f/backward", in reverse order: it reads a gradient of f's output from each consumer's backward (for an op without consumers: nothing
/// but that f is done) and the inputs of f, which are kept for it; output k is the gradient of f's k-th producer. Gradients for one
/// device travel together. There are no weight gradients and no updates. An op without consumers keeps no output.
/// Throws GraphError if a derived name is taken, an op has several outputs, or with recomputation, which Exprimo does not know.
Graph exprimo_training_graph(const Graph& graph, Recomputation recomputation = Recomputation::none);

/// The forward ops alone, as an inference graph (Training::none); what they read from other phases is left out.
Graph inference_graph(const Graph& graph);

}  // namespace placewright
