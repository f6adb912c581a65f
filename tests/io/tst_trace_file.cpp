// SPDX-License-Identifier: MIT
// Traces of profilers: read as streams, complete or damaged, and the op times in them.
#include <chrono>
#include <fstream>
#include <stop_token>
#include <thread>
#include <zlib.h>

#include <QTemporaryDir>
#include <QTest>

#include "core/base/path.hpp"
#include "core/io/file_content.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "core/io/traces/op_times.hpp"
#include "core/io/traces/trace_file.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

/// A step of two ops as PyTorch's profiler writes it, with more digits than a double can hold.
const std::string kKineto = R"({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 1}],
  "baseTimeNanoseconds": 1600000000000000000, "displayTimeUnit": "ms",
  "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "process_labels", "pid": 77, "tid": 0, "args": {"labels": "CPU"}},
    {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
    {"ph": "M", "name": "process_sort_index", "pid": 0, "tid": 0, "args": {"sort_index": 5000000}},
    {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 "}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 77, "tid": 77, "ts": 1600000000000000.001, "dur": 100.000},
    {"ph": "X", "cat": "user_annotation", "name": "fc", "pid": 77, "tid": 77, "ts": 1600000000000001.002, "dur": 30},
    {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 77, "tid": 77, "ts": 1600000000000002.003, "dur": 20,
     "args": {"External id": 11, "Sequence number": 5, "Input Dims": [[1, 2], []]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77, "ts": 1600000000000003, "dur": 5,
     "args": {"External id": 11, "correlation": 900}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1600000000000010.5, "dur": 0.250,
     "args": {"External id": 11, "correlation": 900, "stream": 7, "grid": [1, 1, 1]}},
    {"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddmmBackward0", "pid": 77, "tid": 78,
     "ts": 1600000000000040, "dur": 12, "args": {"External id": 12, "Sequence number": 5}},
    {"ph": "X", "cat": "cpu_op", "name": "AddmmBackward0", "pid": 77, "tid": 78, "ts": 1600000000000041, "dur": 8,
     "args": {"External id": 13, "Sequence number": 5}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1600000000000060, "dur": 0.5, "args": {"External id": 13}},
    {"ph": "s", "id": 5, "pid": 77, "tid": 77, "ts": 1, "cat": "fwdbwd", "name": "fwdbwd"},
    {"ph": "f", "id": 5, "pid": 77, "tid": 78, "ts": 2, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
    {"ph": "C", "name": "memory", "pid": 0, "ts": 3, "args": {"bytes": 4}},
    {"ph": "X", "cat": "Trace", "name": "Record", "pid": "Traces", "tid": "Trace", "ts": "1600000000000000.5", "dur": "90.25"}
  ], "traceName": "x.json"
})";

/// "fc" behind "x", and "act", which is not in the trace.
Graph two_ops() {
    GraphBuilder builder("net", 1, Training::implicit);
    std::vector<std::string> last;
    for (const char* name : {"x", "fc", "act"}) {
        Op op;
        op.name = name;
        op.kind = op.name == "x" ? "input" : op.name == "fc" ? "linear" : "relu";
        op.flops = 1e6;
        op.outputs = {make_tensor({100})};
        builder.add(std::move(op), last);
        last = {name};
    }
    return builder.build();
}

std::string span(const std::string& name, int start_us, int duration_us, const std::string& more = "") {
    return R"({"ph": "X", "name": ")" + name + R"(", "pid": 1, "tid": 1, "ts": )" + std::to_string(start_us) +
           ", \"dur\": " + std::to_string(duration_us) + more + '}';
}

/// Ops in sequence, by name, kind and scope.
Graph chain(const std::vector<std::array<const char*, 3>>& ops) {
    GraphBuilder builder("block", 1, Training::implicit);
    std::vector<std::string> last;
    for (const auto& [name, kind, scope] : ops) {
        Op op;
        op.name = name;
        op.kind = kind;
        op.scope = scope;
        op.flops = 1e6;
        op.outputs = {make_tensor({100})};
        builder.add(std::move(op), last);
        last = {name};
    }
    return builder.build();
}

}  // namespace

class TestTraceFile : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    Path written(const std::string& text, const char* name = "trace.json") {
        const Path file = folder_.filePath(QString::fromLatin1(name)).toStdString();
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }
    Path packed(const std::string& text) {
        const Path file = folder_.filePath(QStringLiteral("trace.json.gz")).toStdString();
        gzFile out = gzopen(file.c_str(), "wb1");
        for (std::size_t at = 0; at < text.size(); at += 1 << 20)
            gzwrite(out, text.data() + at,
                    static_cast<unsigned>(std::min<std::size_t>(text.size() - at, 1 << 20)));
        gzclose(out);
        return file;
    }
    QString refusal(const Path& file) {
        try {
            read_trace(file);
        } catch (const InputError& error) {
            return QString::fromStdString(error.what());
        }
        return {};
    }

private Q_SLOTS:
    void memoryWithoutEvents() {
        const std::string memory =
            R"({"ph":"i","name":"[memory]","ts":-1,"args":{"Device Type":1,"Device Id":1,"Total Allocated":512}})";
        QVERIFY(refusal(written(R"({"traceEvents":[)" + memory + "]}"))
                    .contains("holds no events with a duration"));
    }

    void kinetoTraceIsRead() {
        const TraceFile trace = read_trace(written(kKineto));
        QCOMPARE(trace.broken, std::string());
        QCOMPARE(trace.bad, 0U);
        QCOMPARE(trace.counters, 0U);
        QCOMPARE(trace.memory.size(), 1U);
        QCOMPARE(trace.names[trace.memory.front().process], std::string("GPU 0"));
        QCOMPARE(trace.memory.front().bytes, 4.0);
        QCOMPARE(trace.others, 2U);
        QCOMPARE(trace.events.size(), 9U);
        QStringList lanes;
        for (const TraceLane& lane : trace.lanes) {
            if (lane.rows > 0)
                lanes << QString::fromStdString(lane.process + '/' + lane.thread + '/' + lane.model) +
                             QString::number(lane.rows);
        }
        // Ordered by number, with strings last; the GPU comes last because of its sort index.
        QCOMPARE(lanes,
                 (QStringList{"CPU/77/4", "CPU/78/2", "Traces/Trace/1", "GPU 0/stream 7/NVIDIA H1001"}));
        // Nanoseconds are kept although a double of microseconds cannot hold them.
        QCOMPARE(trace.names[trace.events[0].name], std::string("ProfilerStep#1"));
        QCOMPARE(trace.events[0].start_ns, 0);
        QCOMPARE(trace.events[1].start_ns, 1001);
        QCOMPARE(trace.events[2].start_ns, 2002);
        QCOMPARE(trace.events[2].external_id, 11);
        QCOMPARE(trace.events[2].sequence, 5);
        QCOMPARE(trace.events[3].correlation, 900);
        QCOMPARE(trace.duration_ns, 100'000);
    }

    void packedIsTheSame() {
        const TraceFile plain = read_trace(written(kKineto)), unpacked = read_trace(packed(kKineto));
        QCOMPARE(unpacked.events.size(), plain.events.size());
        QCOMPARE(unpacked.report(), plain.report());
        QVERIFY(is_trace(packed(kKineto)) && is_trace(written(kKineto)));
        QCOMPARE(file_content(packed(kKineto)), FileContent::trace);
        QVERIFY(!is_trace(written(R"({"format": "placewright.graph", "note": "traceEvents"})")));
        QVERIFY(!is_trace(written(R"({"traceEvents": 0})")) &&
                !is_trace(written(R"({"traceEvents": [0, 1]})")));
        QVERIFY(is_trace(written("[ {")) && !is_trace(written("[]")) && !is_trace(written("[1]")));
        QVERIFY(!is_trace(folder_.path().toStdString()) && !is_trace("/nowhere"));
    }

    void bareListNeedsNoEnd() {
        for (const char* end : {"]", "", ","}) {
            const TraceFile trace =
                read_trace(written("[" + span("a", 0, 5) + ",\n" + span("b", 5, 5) + end));
            QCOMPARE(trace.events.size(), 2U);
            QVERIFY2(trace.broken.empty(), trace.broken.c_str());
        }
    }

    void beginsAndEndsArePaired() {
        const TraceFile trace = read_trace(written(R"([
            {"ph":"B","name":"outer","pid":1,"tid":1,"ts":10}, {"ph":"B","name":"inner","pid":1,"tid":1,"ts":12},
            {"ph":"E","pid":1,"tid":1,"ts":15}, {"ph":"E","pid":1,"tid":1,"ts":20},
            {"ph":"E","pid":1,"tid":1,"ts":21}, {"ph":"B","name":"open","pid":1,"tid":1,"ts":30}])"));
        QCOMPARE(trace.events.size(), 2U);
        QCOMPARE(trace.names[trace.events[0].name], std::string("outer"));
        QCOMPARE(trace.events[0].duration_ns, 10'000);
        QCOMPARE(trace.events[1].row, 1U);
        QCOMPARE(trace.bad, 2U);  // an end without a beginning, a beginning without an end
    }

    void overlapsHaveRowsOfTheirOwn() {
        const TraceFile trace = read_trace(written("[" + span("a", 0, 10) + ',' + span("inside", 2, 3) + ',' +
                                                   span("over", 5, 10) + ',' + span("after", 10, 3) + ']'));
        QCOMPARE(trace.overlaps, 1U);
        QCOMPARE(trace.lanes[0].rows, 3U);
        std::map<std::string, std::uint32_t> row;
        for (const TraceEvent& item : trace.events) row[trace.names[item.name]] = item.row;
        QCOMPARE(row,
                 (std::map<std::string, std::uint32_t>{{"a", 0}, {"inside", 1}, {"over", 2}, {"after", 0}}));
        QCOMPARE(trace.lanes[0].busy_ns, 15'000);
        QVERIFY(trace.report()[1].starts_with("1 event overlaps others"));
    }

    void badEventsAreCounted() {
        const TraceFile trace = read_trace(written(
            "[" + span("good", 0, 1) +
            R"(, {"ph":"X","name":"no time","pid":1,"tid":1,"dur":1}, {"ph":"X","name":"words","ts":"noon","dur":1},
            {"ph":"X","name":"huge","ts":1e300,"dur":1}, {"ph":"X","name":"back","ts":1,"dur":-1}, {"name":"no phase"}, {"ph":"i","ts":1}, 7, null, [[]]])"));
        QCOMPARE(trace.events.size(), 1U);
        QCOMPARE(trace.bad, 5U);
        QCOMPARE(trace.first_bad, std::string("\"no time\" has no \"ts\""));
        QCOMPARE(trace.others, 1U);
    }

    void brokenFilesAreReadUpToTheBreak_data() {
        QTest::addColumn<QString>("tail");
        QTest::addColumn<QString>("place");
        QTest::newRow("truncated") << ",\n{\"ph\": \"X\", \"na"
                                   << "line 3";
        QTest::newRow("quote in a name") << ",\n{\"ph\": \"X\", \"name\": \"a\"b\"}]"
                                         << "line 3, column 2";
        QTest::newRow("control character") << ",\n{\"ph\": \"X\", \"name\": \"a\nb\"}]"
                                           << "line 4, column 0";
        QTest::newRow("wrong bracket") << "}"
                                       << "line 2";
    }
    void brokenFilesAreReadUpToTheBreak() {
        QFETCH(QString, tail);
        QFETCH(QString, place);
        const std::string text = "{\"traceEvents\": [\n" + span("a", 0, 5) + tail.toStdString();
        const TraceFile trace = read_trace(written(text));
        QCOMPARE(trace.events.size(), 1U);
        QVERIFY2(QString::fromStdString(trace.broken).startsWith(place), trace.broken.c_str());
        QVERIFY(trace.report()[1].find(trace.broken) != std::string::npos);
    }

    void aListMayEndAfterAnyEventButNotInOne() {
        for (const char* end : {"", ",", ",\n", "]"})
            QCOMPARE(read_trace(written("[" + span("a", 0, 5) + end)).broken, std::string());
        for (const char* end : {",{", ",{\"ph\": \"X\", \"na", ",{\"ph\": \"X\", \"args\": {\"x\": 1",
                                ",{\"ph\": \"X\", \"ts\": 1"}) {
            const TraceFile trace = read_trace(written("[" + span("a", 0, 5) + end));
            QCOMPARE(trace.events.size(), 1U);
            QVERIFY2(trace.broken.starts_with("line 1, column "), trace.broken.c_str());
        }
    }

    void damagedPackageIsReadUpToTheBreak() {
        std::string text = "[";
        for (int i = 0; i < 20'000; ++i)
            text += span("op" + std::to_string(i * 7919 % 100'000), i, 1) + ",\n";
        const Path whole = packed(text + span("last", 30'000, 1) + ']');
        std::filesystem::resize_file(whole, std::filesystem::file_size(whole) / 2);
        const TraceFile trace = read_trace(whole);
        QVERIFY(trace.events.size() > 1000 && trace.events.size() < 19'000);
        QVERIFY(!trace.broken.empty());
    }

    void endlessStringsAreNotKept() {
        // 64 MiB uncompressed of a string that does not end, with escaped quotes.
        std::string text = "[" + span("a", 0, 1) + ",{\"name\": \"";
        for (int i = 0; i < 1 << 22; ++i) text += "xxxxxxxxxxxx\\\"xx";
        const TraceFile trace = read_trace(packed(text));
        QCOMPARE(trace.events.size(), 1U);
        QVERIFY2(trace.broken.find("8.39 MB") != std::string::npos, trace.broken.c_str());
        // Unlimited depth is refused too.
        const TraceFile deep = read_trace(written("[" + span("a", 0, 1) + "," + std::string(100'000, '[')));
        QVERIFY(deep.broken.find("nested") != std::string::npos);
    }

    void whatIsNoTraceIsRefused() {
        QVERIFY(refusal(written("{}")).contains("holds no trace"));
        QVERIFY(refusal(written("[]")).contains("holds no events with a duration"));
        QVERIFY(refusal(written("[{\"ph\":\"X\",\"name\":\"a\"}]")).contains("invalid events: 1"));
        QVERIFY(refusal(written("nonsense")).contains("line 1, column 2"));
        QVERIFY(refusal("/nowhere/x.json").contains("no such file"));
        QVERIFY(refusal(folder_.path().toStdString()).contains("is a folder"));
        QVERIFY(refusal(written("")).contains("the file is empty"));
    }

    void readingStopsWhenAsked() {
        std::stop_source stopped;
        stopped.request_stop();
        QCOMPARE(read_trace(written(kKineto), stopped.get_token()).events.size(), 0U);
        // A cancelled read stops early: reading everything takes many times as long and would return all
        // events.
        std::string text = "[";
        for (int i = 0; i < 1'500'000; ++i) text += span("a", i * 10, 5) + ",\n";
        const Path file = written(text);
        std::stop_source stop;
        TraceFile trace;
        std::thread reading([&] { trace = read_trace(file, stop.get_token()); });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        stop.request_stop();
        reading.join();
        QCOMPARE(trace.events.size(), 0U);
    }

    void opsTakeWhatTheirKernelsTake() {
        const Graph graph = two_ops();
        const OpTimes times = op_times(read_trace(written(kKineto)), graph);
        QCOMPARE(times.by_op.size(), 1U);
        const MeasuredTime time = times.by_op.at("fc").at("NVIDIA H100");
        QCOMPARE(*time.forward_s, 250e-9);
        QCOMPARE(*time.backward_s, 500e-9);
        QCOMPARE(times.report(graph), std::string("times of 1 of 2 ops that compute, 1 with a backward on "
                                                  "NVIDIA H100; one step; none of \"act\", "
                                                  "which the roofline estimates"));
        const Graph timed = with_times(graph, times);
        QCOMPARE(*timed.op(1).time_s.at("NVIDIA H100").forward_s, 250e-9);
        QVERIFY(timed.op(1).inputs == graph.op(1).inputs);
    }

    void aMissingBackwardIsTold() {
        const OpTimes times = op_times(read_trace(written("[" + span("fc", 0, 1) + ']')), two_ops(), "CPU");
        QCOMPARE(times.report(two_ops()),
                 std::string("times of 1 of 2 ops that compute, 0 with a backward (in training the roofline "
                             "estimates that of the others) on "
                             "CPU; one step; none of \"act\", which the roofline estimates"));
    }

    void withoutKernelsTheEventCounts() {
        // The first of three steps is omitted.
        const TraceFile trace = read_trace(
            written("[" + span("fc", 0, 1000) + ',' + span("fc", 2000, 10) + ',' + span("fc", 3000, 30) +
                    ',' + span("fc/backward", 4000, 7) + ',' + span("fc/weight_gradient", 5000, 8) + ',' +
                    span("act_kernel_time", 6000, 3) + ']'));
        const OpTimes unknown = op_times(trace, two_ops());
        QVERIFY(unknown.by_op.empty());
        QCOMPARE(unknown.without_model, 2U);
        const OpTimes times = op_times(trace, two_ops(), "CPU");
        QCOMPARE(*times.by_op.at("fc").at("CPU").forward_s, 20e-6);
        QCOMPARE(*times.by_op.at("fc").at("CPU").backward_s, 15e-6);
        QCOMPARE(*times.by_op.at("act").at("CPU").forward_s, 3e-6);
        QCOMPARE(times.steps, 3U);
    }

    // ONNX Runtime runs the nodes of a file, which are one op here.
    void nodesOfOneOpAreAddedUp() {
        GraphBuilder builder("net", 1, Training::implicit);
        std::vector<std::string> last;
        for (const char* name : {"x", "norm/Add_1", "fc/Add"}) {
            Op op;
            op.name = name;
            op.kind = op.name == "x" ? "input" : op.name == "fc/Add" ? "linear" : "layer_norm";
            op.outputs = {make_tensor({100})};
            if (op.kind == "layer_norm") op.attributes["merged"] = R"(["norm/Mean","norm/Sub","norm/Add_1"])";
            builder.add(std::move(op), last);
            last = {name};
        }
        const Graph graph = builder.build();
        std::string text;
        // The last of four steps is cut off. Of "norm/Mean" there is no event: it was fused.
        for (const auto& [start, duration] : {std::pair(0, 1000), std::pair(5000, 10), std::pair(6000, 20)}) {
            text += span("norm/Sub_kernel_time", start, duration) + ',' +
                    span("norm/Add_1_kernel_time", start + 2000 / (start == 0 ? 1 : 20), duration + 1) + ',' +
                    span("fc/Add_kernel_time", start + 500, 7) + ',';
        }
        text += span("norm/Sub_kernel_time", 9000, 500);
        const OpTimes times = op_times(read_trace(written("[" + text + ']')), graph, "CPU");
        QCOMPARE(times.steps, 3U);
        QCOMPARE(*times.by_op.at("norm/Add_1").at("CPU").forward_s, (10 + 11 + 20 + 21) / 2.0 * 1e-6);
        QCOMPARE(*times.by_op.at("fc/Add").at("CPU").forward_s, 7e-6);
        // A trace of this program has the op as a whole.
        const TraceFile whole = read_trace(written("[" + span("norm/Add_1", 0, 30) + ']'));
        QCOMPARE(*op_times(whole, graph, "CPU").by_op.at("norm/Add_1").at("CPU").forward_s, 30e-6);
    }

    void whatIsComputedAgainForTheBackwardIsNoSecondForward() {
        const std::string numbered = ", \"args\": {\"Sequence number\": 9}";
        // Backward ops as written by torch.utils.checkpoint.
        const TraceFile trace = read_trace(written(
            "[" + span("ProfilerStep#0", 0, 300) + ',' + span("fc", 10, 10) + ',' + span("act", 30, 5) + ',' +
            span("autograd::engine::evaluate_function: CheckpointFunctionBackward", 100, 150) + ',' +
            span("fc", 120, 17) + ',' + span("aten::addmm", 125, 8, numbered) + ',' +
            span("AddmmBackward0", 150, 40, numbered) + ']'));
        const MeasuredTime time = op_times(trace, two_ops(), "CPU").by_op.at("fc").at("CPU");
        QCOMPARE(*time.forward_s, 10e-6);
        QCOMPARE(*time.backward_s, 40e-6);
    }

    void allPartsOfAnOpAreTimed() {
        const TraceFile trace =
            read_trace(written('[' + span("fc", 0, 10) + ',' + span("fc/backward", 20, 7) + ',' +
                               span("fc/weight_gradient", 30, 5) + ',' + span("fc/update", 40, 3) + ']'));
        const OpTimes times = op_times(trace, two_ops(), "CPU");
        const MeasuredTime time = times.by_op.at("fc").at("CPU");
        QCOMPARE(*time.forward_s, 10e-6);
        QCOMPARE(*time.backward_s, 12e-6);
        QCOMPARE(*time.weight_gradient_s, 5e-6);
        QCOMPARE(*time.update_s, 3e-6);
        const Graph with = with_times(two_ops(), times);
        QVERIFY(with.op(*with.find("fc")).time_s.at("CPU") == time);
    }

    void timesOfACpuAreKnown() {
        const auto event = [](const char* category, const char* name, int start_us, int correlation,
                              int duration_us = 5) {
            return "{\"ph\": \"X\", \"cat\": \"" + std::string(category) + "\", \"name\": \"" + name +
                   "\", \"pid\": 1, \"tid\": 2, \"ts\": " + std::to_string(start_us) +
                   ", \"dur\": " + std::to_string(duration_us) +
                   ", \"args\": {\"correlation\": " + std::to_string(correlation) + "}}";
        };
        const auto only_cpu = [&](const std::string& events) {
            return op_times(read_trace(written("[" + events + ']')), two_ops(), "CPU").only_cpu;
        };
        const std::string on_cpu =
            event("user_annotation", "fc", 0, -1) + ',' + event("cpu_op", "act", 10, -1);
        QVERIFY(only_cpu(on_cpu));
        QVERIFY(!only_cpu(on_cpu + ',' + event("Node", "fc", 20, -1)));  // other profilers do not record it
        // An op that has launched a kernel takes the kernel's time.
        QVERIFY(!only_cpu(on_cpu + ',' + event("user_annotation", "fc", 20, -1) + ',' +
                          event("cuda_runtime", "launch", 21, 3, 2) + ',' + event("kernel", "gemm", 40, 3)));
        QVERIFY(!only_cpu(event("cpu_op", "other", 0, -1)));  // nothing was measured
        // PyTorch 1 has no categories there.
        QVERIFY(only_cpu(
            R"({"name": "fc", "ph": "X", "ts": 5, "dur": 7, "tid": 1, "pid": "CPU functions", "args": {}})"));
        QVERIFY(!only_cpu(
            R"({"name": "fc", "ph": "X", "ts": 5, "dur": 7, "tid": 1, "pid": "CUDA functions", "args": {}})"));
    }

    void anOuterModuleIsNotItsLastOp() {
        // A residual block: the addition is the only op of the block itself, but the block's time includes
        // the module in it.
        const Graph graph = chain(
            {{"x", "input", ""}, {"block/conv1", "conv2d", "block/conv1"}, {"block/add", "add", "block"}});
        const TraceFile trace =
            read_trace(written("[" + span("block", 0, 100) + ',' + span("block.conv1", 10, 80) + ']'));
        const OpTimes times = op_times(trace, graph, "CPU");
        QCOMPARE(times.by_op.size(), 1U);
        QCOMPARE(*times.by_op.at("block/conv1").at("CPU").forward_s, 80e-6);
    }

    void callsOfOneModuleAreItsOpsInOrder() {
        // As in a residual block whose activation is called twice.
        const Graph graph = chain({{"x", "input", ""},
                                   {"conv/conv2d", "conv2d", "conv"},
                                   {"relu/relu", "relu", "relu"},
                                   {"relu/relu_1", "relu", "relu"},
                                   {"norm/relu", "relu", "norm"},
                                   {"norm/relu_1", "relu", "norm"}});
        const auto step = [](int begin, int factor) {
            return span("relu", begin, 2 * factor) + ',' + span("conv", begin + 1000, 5 * factor) + ',' +
                   span("relu", begin + 2000, 3 * factor) + ',' + span("norm", begin + 3000, 7 * factor) +
                   ',' + span("relu/backward", begin + 4000, 4 * factor) + ',' +
                   span("relu/backward", begin + 5000, 6 * factor);
        };
        const auto check = [&](const std::string& events) {
            const OpTimes times = op_times(read_trace(written("[" + events + ']')), graph, "CPU");
            QCOMPARE(times.by_op.size(), 3U);  // "norm" has no time: it is called once and has two ops
            QCOMPARE(*times.by_op.at("relu/relu").at("CPU").forward_s, 2e-6);
            QCOMPARE(*times.by_op.at("relu/relu_1").at("CPU").forward_s, 3e-6);
            QCOMPARE(*times.by_op.at("relu/relu").at("CPU").backward_s, 6e-6);
            QCOMPARE(*times.by_op.at("relu/relu_1").at("CPU").backward_s, 4e-6);
        };
        check(step(0, 1));
        check(step(0, 3) + ',' + step(10'000, 1));  // the first step is omitted
        check(span("ProfilerStep#1", 0, 9999) + ',' + step(0, 3) + ',' +
              span("ProfilerStep#2", 10'000, 9999) + ',' + step(10'000, 1));
        // If no op is called alone, the modules determine the number of steps.
        const OpTimes alone = op_times(
            read_trace(written("[" + span("relu", 0, 2) + ',' + span("relu", 10, 3) + ']')), graph, "CPU");
        QCOMPARE(*alone.by_op.at("relu/relu_1").at("CPU").forward_s, 3e-6);
        // A step with another number of calls is ignored.
        const OpTimes odd =
            op_times(read_trace(written("[" + step(0, 1) + ',' + span("relu", 9000, 1) + ']')), graph, "CPU");
        QVERIFY(!odd.by_op.contains("relu/relu") || !odd.by_op.at("relu/relu").at("CPU").forward_s);
    }

    void eventsWithinEachOtherTakeNoHours() {
        constexpr int kNested = 1000, kOthers = 120'000;
        GraphBuilder builder("chain", 1, Training::implicit);
        std::string text = "[";
        for (int i = 0; i < kNested; ++i) {
            Op op;
            op.name = "op" + std::to_string(i);
            op.kind = "relu";
            op.outputs = {make_tensor({1})};
            builder.add(std::move(op));
            text += span("op" + std::to_string(i), i, 1'000'000 - 2 * i) + ",\n";
        }
        for (int i = 0; i < kOthers; ++i) text += span("other", kNested + i, 1) + ",\n";
        const TraceFile trace = read_trace(written(text));
        const Graph graph = builder.build();
        QVERIFY_THROWS_EXCEPTION(InputError, op_times(trace, graph, "CPU"));
    }

    void whatRunsTwiceInAStepIsAddedUp() {
        const std::string step = "ProfilerStep#";
        const TraceFile trace = read_trace(written(
            "[" + span(step + "1", 0, 100) + ',' + span("fc", 10, 50) + ',' + span(step + "2", 100, 100) +
            ',' + span("fc", 110, 5) + ',' + span("fc", 120, 6) + ',' + span("fc", 121, 1) + ']'));
        QCOMPARE(*op_times(trace, two_ops(), "CPU").by_op.at("fc").at("CPU").forward_s, 11e-6);
    }

    void manyForwardsMayShareOneLongBackward() {
        // A search through the backward ops for each forward op would exceed the time limit of the test.
        constexpr std::uint32_t kForwards = 300'000, kInner = 300'000;
        TraceFile trace;
        trace.names = {"", "fc", "FcBackward", "inner"};
        trace.lanes.resize(2);
        const auto add = [&](std::uint32_t name, std::uint32_t lane, std::int64_t start_ns,
                             std::int64_t duration_ns, std::int64_t sequence) {
            TraceEvent event;
            event.name = name;
            event.lane = lane;
            event.start_ns = start_ns;
            event.duration_ns = duration_ns;
            event.sequence = sequence;
            trace.events.push_back(event);
        };
        for (std::uint32_t i = 0; i < kForwards; ++i) add(1, 0, i * 10, 5, 7);
        add(2, 1, 0, kInner * 10, 7);
        for (std::uint32_t i = 0; i < kInner; ++i) add(3, 1, i * 10, 5, -1);
        const OpTimes times = op_times(trace, two_ops(), "CPU");
        const MeasuredTime time = times.by_op.at("fc").at("CPU");
        QVERIFY(std::abs(*time.forward_s - 5e-9) < 1e-15);
        QVERIFY(std::abs(*time.backward_s - kInner * 10e-9) < 1e-9);
        QCOMPARE(times.steps, kForwards);
    }

    void ourOwnTraceReadsBack() {
        Graph graph = test::random_network(3, 30, 3, Training::implicit);
        const auto problem =
            test::problem(graph, test::with_features(test::uniform_machine(2), 1, {.streams = true}));
        QVERIFY(problem->machine->device(0).streams > 1 || problem->machine->device(1).streams > 1);
        Placement placement(problem->groups);
        for (GroupId group = 0; group < problem->groups; ++group)
            placement[group] =
                problem->allowed_devices(group)[group % problem->allowed_devices(group).size()];
        Simulator simulator(problem);
        Trace simulated;
        const Outcome outcome = simulator.run(placement, simulated);
        const Path file = written(chrome_trace(simulated, *problem));
        const TraceFile trace = read_trace(file);
        QCOMPARE(trace.events.size(), simulated.spans.size());
        QCOMPARE(trace.overlaps, 0U);
        QCOMPARE(trace.bad, 0U);
        // Ops without a duration take no row of their own.
        QVERIFY(std::ranges::any_of(trace.events,
                                    [](const TraceEvent& event) { return event.duration_ns == 0; }));
        for (const TraceLane& lane : trace.lanes) QVERIFY(lane.rows <= 1);
        QVERIFY(std::abs(static_cast<double>(trace.duration_ns) * 1e-9 - outcome.total_time_s) <= 2e-9);
        // The op times are those of the simulation, for the device model named in the trace.
        const OpTimes times = op_times(trace, graph);
        QCOMPARE(times.without_model, 0U);
        std::map<OpId, double> forward_s, backward_s;
        for (const Span& span : simulated.spans) {
            if (span.kind != Span::Kind::op) continue;
            const Op& op = problem->graph->op(span.op);
            if (op.phase == Phase::forward) forward_s[span.op] += span.end_s - span.start_s;
            if (op.phase == Phase::backward) backward_s[op.forward_op] += span.end_s - span.start_s;
        }
        QVERIFY(!forward_s.empty() && !backward_s.empty());
        const std::string& model = problem->machine->device(0).model;
        for (const auto& [op, seconds] : forward_s)
            QVERIFY(std::abs(*times.by_op.at(graph.op(op).name).at(model).forward_s - seconds) <= 2e-9);
        for (const auto& [op, seconds] : backward_s)
            QVERIFY(std::abs(*times.by_op.at(graph.op(op).name).at(model).backward_s - seconds) <= 4e-9);
    }
};

QTEST_GUILESS_MAIN(TestTraceFile)
#include "tst_trace_file.moc"
