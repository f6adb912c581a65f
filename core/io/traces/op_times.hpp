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
/// Events are assigned to ops by op_runs(). The time of an event that launched kernels is the time of these
/// kernels; any other event counts with its own time.
///
/// Steps. Times within one "ProfilerStep#..." are added up; in a trace without such events, each run of an op
/// counts as a step. If there are several steps, the result is the mean without the first step, as in
/// Exprimo's benchmarks.
///
/// `model` is the device model that everything was measured on; if empty, the trace names the models. Throws
/// what op_runs() throws.
OpTimes op_times(const TraceFile& trace, const Graph& graph, const std::string& model = "");

/// Returns the graph with these times in Op::time_s; they replace times of the same model and pass.
Graph with_times(const Graph& graph, const OpTimes& times);

}  // namespace placewright
