// SPDX-License-Identifier: MIT
#include "core/sim/host_work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/cost/op_work.hpp"
#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

double in_ticks(const Problem& problem, double seconds) {
    return problem.tick_s > 0 ? std::nearbyint(seconds / problem.tick_s) * problem.tick_s : seconds;
}

}  // namespace

double host_time_s(const Problem& problem, const SimulationOptions& options) {
    return options.runtime == Runtime::eager ? in_ticks(problem, options.host_time_s) : 0;
}

double host_op_s(const Problem& problem, const SimulationOptions& options, OpId id) {
    const Op& op = problem.graph->op(id);
    if (op.inputs.empty() && op.phase != Phase::update && !kind_info(op.kind).computes) return 0;
    constexpr double kAdding = 2;
    double calls = 1 + op_work(*problem.graph, id, problem.optimizer_states).kernels;
    if (op.phase == Phase::update && problem.accumulates)
        calls = (calls + kAdding * (options.batches - 1)) / options.batches;
    return in_ticks(problem, calls * host_time_s(problem, options));
}

HostProgram program_of(const Problem& problem) {
    const Graph& graph = *problem.graph;
    HostProgram program;
    program.ops.resize(problem.ops);
    std::iota(program.ops.begin(), program.ops.end(), 0U);
    // Files that hold a whole training step have the updates where they belong.
    std::stable_partition(program.ops.begin(), program.ops.end(), [&](OpId id) {
        const Op& op = graph.op(id);
        return op.phase != Phase::update || op.forward_op == kInvalidOp || problem.optimizer_in_backward;
    });
    const auto is_backward = [&](OpId id) { return graph.op(id).phase == Phase::backward; };
    const auto first = std::ranges::find_if(program.ops, is_backward);
    program.backward_begin = static_cast<std::size_t>(first - program.ops.begin());
    program.backward_end = program.ops.size();
    while (program.backward_end > program.backward_begin &&
           !is_backward(program.ops[program.backward_end - 1]))
        --program.backward_end;
    return program;
}

}  // namespace placewright
