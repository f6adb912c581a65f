// SPDX-License-Identifier: MIT
// Trace files as measured runs: steps, devices, names, kernels, batches, transfers and memory.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <tuple>

#include <QTemporaryDir>
#include <QTest>

#include "core/io/traces/chrome_trace.hpp"
#include "core/io/traces/measured_trace.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

/// "x" -> "body/fc1" -> "body/fc2", trained.
Graph two_layers() {
    GraphBuilder builder("net", 1, Training::implicit);
    std::vector<std::string> last;
    for (const char* name : {"x", "body/fc1", "body/fc2"}) {
        Op op;
        op.name = name;
        op.kind = op.name == "x" ? "input" : "linear";
        op.flops = 1e6;
        if (op.name != "x") op.parameter_bytes = 4000;
        op.outputs = {make_tensor({100})};
        builder.add(std::move(op), last);
        last = {name};
    }
    return builder.build();
}

struct Event {
    const char* category;
    std::string name;
    int start_us, duration_us;
    std::string process = "1";
    int correlation = -1;
};

std::string text_of(const Event& event) {
    return R"({"ph": "X", "cat": ")" + std::string(event.category) + R"(", "name": ")" + event.name +
           R"(", "pid": ")" + event.process + R"(", "tid": 1, "ts": )" + std::to_string(event.start_us) +
           ", \"dur\": " + std::to_string(event.duration_us) +
           ", \"args\": {\"correlation\": " + std::to_string(event.correlation) + "}}";
}

/// A call of a module on the CPU that launches a kernel on a GPU.
std::vector<Event> launch(const std::string& name, int start_us, const std::string& gpu, int kernel_us,
                          int duration_us, int correlation) {
    return {{"user_annotation", name, start_us, 10},
            {"cuda_runtime", "cudaLaunchKernel", start_us + 1, 5, "1", correlation},
            {"kernel", "gemm", kernel_us, duration_us, gpu, correlation}};
}

const std::string kNumbered = R"(, "args": {"Sequence number": 9}})";

std::string thread_event(const char* name, int start_us, int duration_us, int thread,
                         const std::string& more = "}") {
    return R"({"ph": "X", "cat": "cpu_op", "name": ")" + std::string(name) + R"(", "pid": "host", "tid": )" +
           std::to_string(thread) + ", \"ts\": " + std::to_string(start_us) +
           ", \"dur\": " + std::to_string(duration_us) + more;
}

const std::string kMemory = R"(
    {"ph": "i", "name": "[memory]", "ts": 12, "pid": 1, "tid": 1,
     "args": {"Device Type": 1, "Device Id": 0, "Total Allocated": 5000, "Bytes": 512}},
    {"ph": "i", "name": "[memory]", "ts": 15, "pid": 1, "tid": 1,
     "args": {"Device Type": 1, "Device Id": 0, "Total Allocated": 7000, "Bytes": 2000}})";

const Span& span_of(const MeasuredTrace& measured, const Problem& problem, const char* op) {
    const auto& spans = measured.run.trace.spans;
    const auto at = std::ranges::find_if(spans, [&](const Span& span) {
        return span.kind == Span::Kind::op && problem.graph->op(span.op).name == op;
    });
    if (at == spans.end()) qFatal("no span of %s", op);
    return *at;
}

}  // namespace

class TestMeasuredTrace : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    TraceFile read(const std::string& content, const char* name = "trace.json") {
        const Path file = (m_folder.path() + "/" + name).toStdString();
        std::ofstream(file) << content;
        return read_trace(file);
    }
    TraceFile read(const std::vector<Event>& events) {
        std::string text;
        for (const Event& event : events) text += (text.empty() ? "[" : ",") + text_of(event);
        return read(text + "]");
    }

private Q_SLOTS:
    void theStepOfMedianLengthIsTaken() {
        const auto problem = test::problem(two_layers(), test::uniform_machine(2));
        std::vector<Event> events;
        const auto add = [&](const std::vector<Event>& more) {
            events.insert(events.end(), more.begin(), more.end());
        };
        // The first step warms up; the others take 1000, 3000 and 2000 us. Kernels lag behind their launch.
        int number = 0, begin_us = 0;
        for (const int length_us : {9000, 1000, 3000, 2000}) {
            add({{"user_annotation", "ProfilerStep#" + std::to_string(number), begin_us, length_us}});
            add(launch("body.fc1", begin_us + 10, "GPU 0", begin_us + 100, 10 + number, 10 * number + 1));
            add(launch("body/fc2", begin_us + 30, "GPU 1", begin_us + 300, 20 + number, 10 * number + 2));
            add({{"user_annotation", "loader", begin_us + 50, 20}});
            begin_us += length_us;
            ++number;
        }
        const MeasuredTrace measured = measured_trace(read(events), *problem, Placement(problem->groups, 0));
        QCOMPARE(measured.steps, 4U);
        QCOMPARE(measured.run.step_times_s, (std::vector<double>{1000e-6, 3000e-6, 2000e-6}));
        QCOMPARE(measured.run.name, std::string("trace.json"));
        QCOMPARE(measured.matched, 2U);
        QCOMPARE(measured.computing, 2U);
        QCOMPARE(measured.by_placement, 0U);
        QCOMPARE(measured.run.trace.spans.size(), 2U);
        const Span &fc1 = span_of(measured, *problem, "body/fc1"),
                   &fc2 = span_of(measured, *problem, "body/fc2");
        QCOMPARE(fc1.resource, 0);
        QCOMPARE(fc1.start_s, 0.0);
        QCOMPARE(fc1.end_s, 13e-6);  // the fourth step
        QCOMPARE(fc2.resource, 1);
        QCOMPARE(fc2.start_s, 200e-6);
        QCOMPARE(fc2.end_s, 223e-6);
        // What ran elsewhere than placed is part of the run's placement.
        Placement expected(problem->groups, 0);
        expected[problem->grouping.group_of[*problem->graph->find("body/fc2")]] = 1;
        QCOMPARE(measured.run.placement, expected);
        QCOMPARE(measured.report(),
                 std::string("2 of 2 ops that compute are in it; the step of median length of 3 is shown; 1 "
                             "of 4 steps warm up or are cut off"));
    }

    void aStepThatIsCutOffDoesNotCount() {
        const auto problem = test::problem(two_layers(), test::uniform_machine(1));
        std::vector<Event> events;
        for (int step = 0; step < 3; ++step) {
            events.push_back({"user_annotation", "ProfilerStep#" + std::to_string(step), 100 * step, 100});
            events.push_back({"cpu_op", "body/fc1", 100 * step + 10, 10});
            if (step < 2) events.push_back({"cpu_op", "body/fc2", 100 * step + 30, 20});
        }
        const MeasuredTrace measured = measured_trace(read(events), *problem, Placement(problem->groups, 0));
        QCOMPARE(measured.run.step_times_s, (std::vector<double>{100e-6}));
        QCOMPARE(span_of(measured, *problem, "body/fc2").start_s, 20e-6);
    }

    void aLaneBelongsToTheDeviceOfItsName_data() {
        QTest::addColumn<QString>("process");
        QTest::addColumn<int>("device");
        QTest::addColumn<bool>("named");
        QTest::newRow("as in the machine") << "gpu:1" << 1 << true;
        QTest::newRow("with its model") << "gpu:1 (NVIDIA V100)" << 1 << true;
        QTest::newRow("PyTorch") << "cuda:1" << 1 << true;
        QTest::newRow("Kineto") << "GPU 1" << 1 << true;
        QTest::newRow("number") << "1" << 1 << true;
        QTest::newRow("not in the machine") << "GPU 7" << 2 << false;
        QTest::newRow("no device") << "python" << 2 << false;
    }
    void aLaneBelongsToTheDeviceOfItsName() {
        QFETCH(QString, process);
        QFETCH(int, device);
        QFETCH(bool, named);
        const auto problem = test::problem(two_layers(), test::uniform_machine(3));
        const MeasuredTrace measured =
            measured_trace(read({{"kernel", "body/fc1", 5, 10, process.toStdString()}}), *problem,
                           Placement(problem->groups, 2));
        QCOMPARE(span_of(measured, *problem, "body/fc1").resource, device);
        QCOMPARE(measured.by_placement, named ? 0U : 1U);
        QCOMPARE(measured.matched, 1U);
        QCOMPARE(measured.missing, std::string("\"body/fc2\""));
    }

    void partsOfTheBackwardAreTheOpsDerivedForThem() {
        const auto problem = test::problem(two_layers(), test::uniform_machine(2));
        const MeasuredTrace measured = measured_trace(
            read("[" + thread_event("body.fc1", 0, 100, 1) + ',' + thread_event("body/fc2", 100, 100, 1) +
                 ',' + thread_event("aten::addmm", 110, 50, 1, kNumbered) + ',' +
                 thread_event("AddmmBackward0", 300, 70, 2, kNumbered) + ',' +
                 thread_event("body/fc1/weight_gradient", 400, 30, 2) + ',' +
                 thread_event("body/fc1/update", 390, 60, 1) + ']'),
            *problem, Placement(problem->groups, 1));
        QCOMPARE(measured.run.trace.spans.size(), 5U);
        QCOMPARE(span_of(measured, *problem, "body/fc2/backward").start_s, 300e-6);
        QCOMPARE(span_of(measured, *problem, "body/fc2/backward").end_s, 370e-6);
        // Two threads overlap on the device, which takes two streams.
        QCOMPARE(span_of(measured, *problem, "body/fc1/update").stream, 0);
        QCOMPARE(span_of(measured, *problem, "body/fc1/weight_gradient").stream, 1);
        for (const Span& span : measured.run.trace.spans) QCOMPARE(span.resource, 1);
        QCOMPARE(measured.run.step_times_s.front(), 450e-6);
    }

    void whatLaunchesNoKernelRunsOnACpuOrNotAtAll() {
        const Machine gpus = test::uniform_machine(2);
        std::vector<Device> devices(gpus.devices().begin(), gpus.devices().end());
        devices[1].kind = DeviceKind::cpu;
        const auto problem = test::problem(
            two_layers(), Machine("both", devices, {gpus.channels().begin(), gpus.channels().end()},
                                  {gpus.routes().begin(), gpus.routes().end()}));
        std::vector<Event> events = launch("body/fc1", 0, "GPU 0", 50, 10, 3);
        events.push_back({"cpu_op", "body/fc2", 100, 20});
        const auto spans = [&](DeviceId device) {
            return measured_trace(read(events), *problem, Placement(problem->groups, device))
                .run.trace.spans.size();
        };
        QCOMPARE(spans(0), 1U);
        QCOMPARE(spans(1), 2U);
    }

    void whatOverlapsTooMuchIsCut() {
        // A hundred thousand events at the same time: neither as many streams, nor hours.
        const auto problem = test::problem(two_layers(), test::uniform_machine(1));
        TraceFile trace = read({{"kernel", "body/fc1", 0, 1000}, {"kernel", "body/fc2", 0, 1000}});
        const TraceEvent first = trace.events.front();
        trace.events.resize(100'000, first);
        const MeasuredTrace measured = measured_trace(trace, *problem, Placement(problem->groups, 0));
        std::map<std::uint16_t, double> end_s;
        for (const Span& span : measured.run.trace.spans) {
            QVERIFY(span.stream < 64);
            QVERIFY(span.start_s >= end_s[span.stream] && span.end_s >= span.start_s);
            end_s[span.stream] = span.end_s;
        }
    }

    void aTraceOfAnotherNetworkHasNoSpans() {
        const auto problem = test::problem(two_layers(), test::uniform_machine(1));
        const MeasuredTrace measured =
            measured_trace(read({{"kernel", "conv", 5, 10}}), *problem, Placement(problem->groups, 0));
        QVERIFY(measured.run.trace.spans.empty());
        QCOMPARE(measured.matched, 0U);
        std::stop_source stopped;
        stopped.request_stop();
        QVERIFY(measured_trace(read({{"kernel", "body/fc1", 5, 10}}), *problem, Placement(problem->groups, 0),
                               stopped.get_token())
                    .run.trace.spans.empty());
    }

    void ourOwnTraceIsTheSimulation_data() {
        QTest::addColumn<int>("batches");
        QTest::addColumn<bool>("eager");
        QTest::newRow("one batch") << 1 << false;
        QTest::newRow("the host issues") << 1 << true;
        QTest::newRow("pipeline") << 6 << false;
    }
    void ourOwnTraceIsTheSimulation() {
        QFETCH(int, batches);
        QFETCH(bool, eager);
        const auto problem =
            test::problem(test::chain(12, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2));
        Placement placement(problem->groups, 0);
        for (GroupId group = problem->groups / 2; group < problem->groups; ++group) placement[group] = 1;
        Trace simulated;
        SimulationOptions options;
        options.batches = options.in_flight = static_cast<std::uint32_t>(batches);
        if (batches > 1) options.order = Order::gpipe;
        if (eager) options.runtime = Runtime::eager;
        const Outcome outcome = Simulator(problem, options).run(placement, simulated);
        const TraceFile trace = read(chrome_trace(simulated, *problem));
        // Even if another placement is on the screen.
        const MeasuredTrace measured = measured_trace(trace, *problem, Placement(problem->groups, 0));
        QCOMPARE(measured.matched, measured.computing);
        QCOMPARE(measured.run.trace.spans.size(), simulated.spans.size());
        QCOMPARE(measured.run.trace.memory.size(), simulated.memory.size());
        const auto sorted = [](std::vector<Span> spans) {
            std::ranges::sort(spans, {}, [](const Span& span) {
                return std::tuple(span.kind, span.resource, span.op, span.to, span.batch,
                                  std::llround(span.start_s * 1e9));
            });
            return spans;
        };
        std::vector<Span> expected = simulated.spans, found = measured.run.trace.spans;
        // The trace does not tell the batch of a transfer.
        for (auto* spans : {&expected, &found}) {
            for (Span& span : *spans) {
                if (span.kind == Span::Kind::transfer) span.batch = 0;
            }
        }
        expected = sorted(std::move(expected));
        found = sorted(std::move(found));
        for (std::size_t i = 0; i < found.size(); ++i) {
            QCOMPARE(found[i].kind, expected[i].kind);
            QCOMPARE(found[i].op, expected[i].op);
            QCOMPARE(found[i].resource, expected[i].resource);
            QCOMPARE(found[i].from, expected[i].from);
            QCOMPARE(found[i].to, expected[i].to);
            QCOMPARE(found[i].batch, expected[i].batch);
            QCOMPARE(found[i].bytes, expected[i].bytes);
            QVERIFY(std::abs(found[i].start_s - expected[i].start_s) <= 1e-9);
            QVERIFY(std::abs(found[i].end_s - expected[i].end_s) <= 2e-9);
        }
        QCOMPARE(measured.run.step_times_s.size(), 1U);
        QVERIFY(std::abs(measured.run.step_times_s.front() - outcome.step_time_s) <=
                0.01 * outcome.step_time_s);
        for (DeviceId device = 0; device < problem->devices; ++device)
            QCOMPARE(measured.run.peak_bytes[device], outcome.peak_bytes[device]);
        QCOMPARE(measured.run.placement, placement);
    }

    void ranksHaveTheirPartOfTheOps() {
        const auto problem = test::problem(two_layers(), test::uniform_machine(2));
        const Placement placement(problem->groups, 0);
        const MeasuredTrace first =
            measured_trace(read("[" + text_of({"kernel", "body/fc1", 1000, 10, "GPU 0"}) + "]", "rank0.json"),
                           *problem, placement);
        const MeasuredTrace second =
            measured_trace(read("[" + text_of({"kernel", "body/fc2", 5000, 20, "GPU 1"}) + "]", "rank1.json"),
                           *problem, placement);
        QCOMPARE(first.run.name, std::string("rank0.json"));
        QCOMPARE(second.run.name, std::string("rank1.json"));
        QCOMPARE(span_of(first, *problem, "body/fc1").resource, 0);
        QCOMPARE(span_of(second, *problem, "body/fc2").resource, 1);
        // Each rank's step begins with its first op.
        QCOMPARE(span_of(second, *problem, "body/fc2").start_s, 0.0);
    }

    void memoryOfTheProfilerIsKept() {
        const auto problem = test::problem(two_layers(), test::uniform_machine(1));
        const MeasuredTrace measured =
            measured_trace(read("[" + text_of({"kernel", "body/fc1", 10, 10, "GPU 0"}) + "," + kMemory + "]"),
                           *problem, Placement(problem->groups, 0));
        QCOMPARE(measured.run.trace.memory.size(), 2U);
        QCOMPARE(measured.run.trace.memory.front().time_s, 2e-6);
        QCOMPARE(measured.run.peak_bytes, (std::vector<double>{7000}));
    }
};

QTEST_GUILESS_MAIN(TestMeasuredTrace)
#include "tst_measured_trace.moc"
