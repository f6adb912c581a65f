// SPDX-License-Identifier: MIT
// Arbitrary bytes as a trace, compressed or not, and the op times in it.
#include "core/base/path.hpp"
#include "core/graph/networks.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/traces/op_times.hpp"
#include "core/io/traces/trace_file.hpp"
#include "tests/fuzz/fuzz.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const MemoryFile memory(data, size);
    const placewright::Path file = memory.path();
    static const placewright::Graph graph = placewright::find_network("alexnet")->build(1);
    placewright::is_trace(file);
    try {
        const placewright::TraceFile trace = placewright::read_trace(file);
        placewright::with_times(graph, placewright::op_times(trace, graph, "M"));
        trace.report();
    } catch (const placewright::InputError&) {
        // Invalid input may only be refused with this exception.
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        R"({"schemaVersion":1,"traceEvents":[{"ph":"X","name":"conv1","pid":"0","tid":7,"ts":1.25,"dur":"3.5","cat":"cpu_op","args":{"External id":5,"Sequence number":3}},
{"ph":"X","name":"kernel","pid":0,"tid":7,"ts":2,"dur":1,"cat":"kernel","args":{"External id":5,"correlation":9}},{"ph":"M","name":"process_name","pid":0,"args":{"name":"GPU 0"}}]})",
        R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":0},{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"C","name":"m","pid":1,"ts":1,"args":{"x":3}},)",
        R"([{"cat":"Node","ph":"X","name":"conv1_kernel_time","ts":1,"dur":2,"pid":1,"tid":1,"args":{"op_name":"Conv","provider":"CPU"}}])"};
}
