// SPDX-License-Identifier: MIT
// Times of ops in a trace, as measured costs for the simulation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/io/traces/trace_file.hpp"

namespace placewright {

struct OpTimes {
    std::map<std::string, std::map<std::string, MeasuredTime>> by_op;  ///< by device model
    std::size_t steps = 0;          ///< number of steps of the op that ran in most steps
    std::size_t without_model = 0;  ///< number of ops on devices of unknown model
    bool only_cpu =
        false;  ///< PyTorch's profiler assigns all events to a CPU, and none of them launched a kernel

    /// Returns a text for the user: how many ops have times, and which ops have none.
    std::string report(const Graph& graph) const;
};

/// Returns the times of a graph's ops.
///
/// Names. An event belongs to an op if it has the op's name (with "/" or "."; ONNX Runtime adds
/// "_kernel_time"), or the name of a scope that contains no other scope and a single op that computes. A name
/// with "/backward" or "/weight_gradient" appended stands for the op's backward. If a module is called
/// several times in a step, as many times as it has ops, and these ops are of one kind, its events are those
/// of the ops in their order.
///
/// Times. The time of an event that launched kernels is the time of these kernels, which have the correlation
/// of a launch within the event or else the "External id" of an event within it; any other event counts with
/// its own time. An event with "Backward" in its name and the "Sequence number" of an event within an op's
/// forward belongs to the op's backward. Of an op that the backward pass computes again
/// (torch.utils.checkpoint), only the backward counts there.
///
/// Steps. Times within one "ProfilerStep#..." are added up; in a trace without such events, each run of an op
/// counts as a step. If there are several steps, the result is the mean without the first step, as in
/// Exprimo's benchmarks.
///
/// `model` is the device model that everything was measured on; if empty, the trace names the models. Throws
/// InputError if the search for events within each event would visit a hundred times as many events as there
/// are.
OpTimes op_times(const TraceFile& trace, const Graph& graph, const std::string& model = "");

/// Returns the graph with these times in Op::time_s; they replace times of the same model and pass.
Graph with_times(const Graph& graph, const OpTimes& times);

}  // namespace placewright
