// SPDX-License-Identifier: MIT
// How long ops took in a trace: measured costs for the simulation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/io/trace_file.hpp"

namespace placewright {

struct OpTimes {
    std::map<std::string, std::map<std::string, MeasuredTime>> by_op;  ///< by device model
    std::size_t steps = 0;                                             ///< of the op with most of them
    std::size_t without_model = 0;                                     ///< ops that were found on devices of which nothing says the model
    bool only_cpu = false;  ///< PyTorch's profiler calls all of the events those of a CPU, and no kernels were launched in them

    /// What a person should know: how many of the ops have times, and which have none.
    std::string report(const Graph& graph) const;
};

/// The times of a graph's ops. An event stands for an op if it has its name (with "/" or "."; ONNX Runtime adds "_kernel_time"), or that of
/// a scope, without others in it, with a single op that computes; one with "/backward" or "/weight_gradient" behind it for its backward.
/// Where a module is called several times in a step, as many as it has ops, and these are of one kind, they are these calls in their order.
///
/// The time of an event that launched kernels (those with the correlation of a launch within it, or else with the "External id" of an event
/// within it) is theirs, otherwise its own. The backward of an op is also what has the "Sequence number" of an event within it and
/// "Backward" in its name. An op that the backward calls again (torch.utils.checkpoint) has only that of it. What lies within one
/// "ProfilerStep#..." is added up; where there are none each time that an op runs counts as a step. The first step is left out where there
/// are several, and the others are averaged, as in Exprimo's benchmarks.
/// `model` is the device model that all was measured on; empty for what the trace says. Throws InputError if going through all that lies
/// within each event would visit a hundred times as many events as there are.
OpTimes op_times(const TraceFile& trace, const Graph& graph, const std::string& model = "");

/// The graph with these times in Op::time_s; times that it has already for the same model and pass are replaced.
Graph with_times(const Graph& graph, const OpTimes& times);

}  // namespace placewright
