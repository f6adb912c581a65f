// SPDX-License-Identifier: MIT
// Derives the graph of a training step from its forward ops.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// Which activations are computed again in the backward pass instead of being kept from the forward pass.
enum class Recomputation : std::uint8_t {
    none,
    segments,  ///< all but those at the ends of about sqrt(n) segments (Chen, Xu, Zhang, Guestrin: Training
               ///< deep nets with sublinear memory cost, 2016)
    cheap,     ///< outputs of cheap ops: all kinds but convolutions, products and recurrent cells
};
std::string_view to_string(Recomputation recomputation);
std::optional<Recomputation> recomputation_from(std::string_view text);

/// When the gradients of parameters that several ops read are added.
enum class SharedGradients : std::uint8_t {
    as_they_come,  ///< one by one, as PyTorch's autograd does
    at_once,       ///< all in one op when the last is there, as tf.gradients of TensorFlow 1 does (tf.add_n)
};

/// Returns the graph of one training step. A graph with `Training::implicit` keeps its forward ops and their
/// ids. After them, in reverse order, come these ops for each forward op f through which gradients flow:
///   "f/backward"         Reads the gradients that f's consumers produced and what f's kind keeps
///                        (kinds.hpp); f gets an output more for what it keeps beside its outputs
///                        (kept_output.hpp). Output k is the
///                        gradient of f's k-th differentiable input and has as many bytes. For a view of a
///                        part (KindInfo::range) it is the gradient of that part: frameworks put it into
///                        zeros and add these to the gradient of the whole at once, so that all readers
///                        together need the memory of one. The time counts them (core/cost/op_work.hpp).
///                        Left out if no input needs a gradient (the first convolution).
///   "f/weight_gradient"  For an op with parameters. Reads the same gradients and f's inputs; has one output
///                        of parameter_bytes.
///   "f/update"           Reads the weight gradient; has no outputs.
/// The backward of an op without consumers (the loss) starts right after its forward; that of several losses,
/// which are single numbers, starts from their sum, when all have been computed. Integer tensors have no
/// gradient. Parameters that several ops read as a tensor (KindInfo::parameter) have one "f/update" and ops
/// of kind "add", which add the gradients of all readers one by one, from the last reader to the first:
/// "f/weight_gradient#1", "f/weight_gradient#2" and so on, and last "f/weight_gradient" (none for a single
/// reader; SharedGradients::at_once has the last alone).
///
/// FLOPs are backward_flops if given, split evenly between data and weight gradient if both exist. Otherwise
/// the data gradient and the weight gradient of conv2d, linear and other ops with parameters each cost as
/// much as the forward op. The same holds for the gradient of inputs that are parameters and for that of all
/// other inputs, and in a product (KindInfo::product) for the gradient of each of two inputs: the backward of
/// a matmul of two values that need gradients costs twice its forward, and not more with more inputs, since
/// products are taken in pairs. A sum of weight gradients costs one addition per gradient element, less one
/// per parameter; an update costs 2 FLOP per parameter. Measured backward times are divided in the same way,
/// or by MeasuredTime::weight_gradient_s, and stored in `backward_s` of the derived ops; that of parameters
/// with several readers is the time of all additions, which share it evenly. Measured update times go to the
/// updates.
///
/// The result is Training::explicit_. Derived ops keep kind, scope and devices of f, and all but the update
/// keep its attributes. Graphs with Training::explicit_ or none are returned unchanged. Throws GraphError if
/// a derived name is taken.
///
/// With recomputation some forward ops run again in the backward pass (recomputation.hpp). Throws GraphError
/// if the graph already contains backward ops (Training::explicit_), since it is unknown what they keep.
Graph training_graph(const Graph& graph, Recomputation recomputation = Recomputation::none,
                     SharedGradients shared = SharedGradients::as_they_come);

/// Whether an op does the work of a forward op: it is a forward op or repeats one.
bool runs_forward(const Op& op);

/// Returns the graph of one training step as Exprimo runs it, for comparison with its results. Every op f,
/// inputs included, has one "f/backward"; these are in reverse order. It reads a gradient of f's output from
/// each consumer's backward (if f has no consumers, it only waits for f) and the inputs of f, which are kept
/// for it. Output k is the gradient of f's k-th producer. Gradients for one device travel together. There are
/// no weight gradients and no updates, so `shared` has no effect. An op without consumers keeps no output.
/// Throws GraphError if a derived name is taken, an op has several outputs, or recomputation is asked for,
/// which Exprimo does not support.
Graph exprimo_training_graph(const Graph& graph, Recomputation recomputation = Recomputation::none,
                             SharedGradients shared = SharedGradients::as_they_come);

/// Returns the forward ops alone as an inference graph (Training::none); their inputs from other phases are
/// dropped.
Graph inference_graph(const Graph& graph);

}  // namespace placewright
