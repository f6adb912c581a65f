// SPDX-License-Identifier: MIT
#pragma once

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Seconds for an op as Exprimo charges it (its fork of Paleo): computing plus reading and writing each tensor, every term divided by the
/// efficiency and at least one clock cycle. Backward is the gradient of the data alone. Charged are conv2d, conv_transpose2d, linear,
/// pooling and dropout; bias, activation, batch norm, weight gradients, updates and all other kinds are free, and so is the backward of
/// what reads an op named "data". SAME padding may be negative, which makes strided convolutions read less than their input. Wrong in these
/// respects, but what its published figures are made with.
double exprimo_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

}  // namespace placewright
