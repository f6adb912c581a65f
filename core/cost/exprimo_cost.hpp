// SPDX-License-Identifier: MIT
#pragma once

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Seconds for an op in Exprimo (its fork of Paleo): computing plus reading and writing each tensor, every
/// term divided by the efficiency and at least one clock cycle. Backward is the gradient of the data alone.
/// Only conv2d, conv_transpose2d, linear, pooling and dropout take time; bias, activation, batch norm, weight
/// gradients, updates and all other kinds are free, and so is the backward of an op that reads an op named
/// "data". SAME padding may be negative, so that strided convolutions read less than their input. Incorrect
/// in these respects, but needed to reproduce Exprimo's published figures.
double exprimo_time_s(const Graph& graph, OpId op, const Device& device, double optimizer_states = 0);

}  // namespace placewright
