// SPDX-License-Identifier: MIT
// The events of a trace that ran ops of a graph: what op times and measured runs are both made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/io/traces/trace_file.hpp"

namespace placewright {

/// Parts of an op, after its name, that have events of their own.
inline constexpr std::string_view kBackward = "/backward", kWeightGradient = "/weight_gradient",
                                  kUpdate = "/update";

/// One run of an op's forward, of one part of its backward, or of the update of its parameters.
struct OpRun {
    OpId op = kInvalidOp;
    /// "" for the op itself, kBackward, kWeightGradient or kUpdate after the name of the event, "sequence"
    /// for the backward that sequence numbers assign.
    std::string_view part;
    /// Start of the event; of a backward by sequence number, the start of its forward.
    std::int64_t start_ns = 0;
    /// Number of the step, from 1: of the "ProfilerStep#..." that it begins in (0 before the first); in a
    /// trace without them, the number of the run of this part of the op.
    std::size_t step = 0;
    /// Indices of the kernels that the event launched (or that it is), else of the event itself.
    std::vector<std::uint32_t> events;
    bool on_device = false;  ///< `events` are kernels
    bool on_cpu = false;     ///< the event is one of a thread, and launched no kernel
};

/// A "ProfilerStep#...".
struct ProfilerStep {
    std::int64_t start_ns = 0, end_ns = 0;
};

struct OpRuns {
    std::vector<OpRun> runs;          ///< by op, then part, then start
    std::vector<ProfilerStep> steps;  ///< ascending in start; empty if the trace marks none
};

/// Which ops events are looked up among.
enum class MatchedOps : std::uint8_t {
    forward,  ///< the forward ops
    all       ///< also backward and update ops, by their own names
};

/// Finds the events that ran ops.
///
/// Names. An event belongs to an op if it has the op's name (with "/" or "."; ONNX Runtime adds
/// "_kernel_time"), or the name of a scope that contains no other scope and a single op that computes. A name
/// with "/backward" or "/weight_gradient" appended stands for the op's backward, with "/update" for the
/// update of its parameters. If a module is called several times in a step, as many times as it has ops, and
/// these ops are of one kind, its events are those of the ops in their order. Events of nodes that an op
/// stands for (attribute "merged") are one run of the op together. Transfers, annotations of a GPU's stream,
/// and what the host does in traces of this program, have names of ops too and are left out.
///
/// Kernels. Those of an event have the correlation of a launch within the event, or else the "External id" of
/// an event within it. An event with "Backward" in its name and the "Sequence number" of an event within an
/// op's forward belongs to the op's backward. Of an op that the backward pass computes again
/// (torch.utils.checkpoint), only the backward counts there.
///
/// Throws InputError if the search for events within each event would visit a hundred times as many events as
/// there are.
OpRuns op_runs(const TraceFile& trace, const Graph& graph, MatchedOps matched = MatchedOps::forward);

}  // namespace placewright
