// SPDX-License-Identifier: MIT
// Arbitrary bytes as a trace, compressed or not, the op times in it, and it as a measured run.
#include "core/base/path.hpp"
#include "core/graph/networks.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/traces/measured_trace.hpp"
#include "core/io/traces/op_times.hpp"
#include "core/io/traces/trace_file.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/graphs.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const MemoryFile memory(data, size);
    const placewright::Path file = memory.path();
    static const placewright::Graph graph = placewright::find_network("alexnet")->build(1);
    static const auto problem = placewright::test::problem(graph, placewright::test::uniform_machine(2));
    placewright::is_trace(file);
    try {
        const placewright::TraceFile trace = placewright::read_trace(file);
        placewright::with_times(graph, placewright::op_times(trace, graph, "M"));
        placewright::measured_trace(trace, *problem, placewright::Placement(problem->groups, 1)).report();
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
        R"json({"otherData":{"producer":"placewright"},"traceEvents":[{"ph":"M","name":"process_name","pid":0,"args":{"name":"gpu:0 (V100)"}},
{"ph":"X","name":"features/conv1","pid":0,"tid":0,"ts":0,"dur":5,"cat":"kernel","args":{"batch":0,"phase":"forward"}},{"ph":"X","name":"features/conv1","pid":2,"tid":"nvlink0-1","ts":5,"dur":2,"cat":"transfer","args":{"from":"gpu:0","to":"gpu:1","bytes":64}},
{"ph":"C","name":"memory","pid":0,"ts":1,"args":{"bytes":1e6}},{"ph":"i","name":"[memory]","ts":2,"args":{"Device Type":1,"Device Id":1,"Total Allocated":512}}]})json",
        R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":0},{"ph":"E","pid":1,"tid":1,"ts":5},{"ph":"C","name":"m","pid":1,"ts":1,"args":{"x":3}},)",
        R"([{"cat":"Node","ph":"X","name":"conv1_kernel_time","ts":1,"dur":2,"pid":1,"tid":1,"args":{"op_name":"Conv","provider":"CPU"}}])"};
}
