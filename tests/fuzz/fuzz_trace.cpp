// SPDX-License-Identifier: MIT
// Any bytes as a trace, packed or not, and the times of ops in it.
#include "core/graph/networks.hpp"
#include "core/io/input_error.hpp"
#include "core/io/op_times.hpp"
#include "core/io/trace_file.hpp"
#include "tests/fuzz/memory_file.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const auto file = placewright::fuzz::memory_file(data, size);
    static const placewright::Graph graph = placewright::find_network("alexnet")->build(1);
    placewright::is_trace(file);
    try {
        const placewright::TraceFile trace = placewright::read_trace(file);
        placewright::with_times(graph, placewright::op_times(trace, graph, "M"));
        trace.report();
    } catch (const placewright::InputError&) {
        // What is refused is refused in this way alone.
    }
    return 0;
}
