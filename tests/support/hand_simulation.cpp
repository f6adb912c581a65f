// SPDX-License-Identifier: MIT
#include "tests/support/hand_simulation.hpp"

#include <QTest>

#include "tests/support/spans.hpp"

namespace placewright::test {

Op op_of(const std::string& name, double seconds, std::vector<double> output_gb) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    op.flops = seconds * kSecond;
    for (const double gb : output_gb) {
        Tensor tensor;
        tensor.bytes = static_cast<std::int64_t>(gb * kGB);
        op.outputs.push_back(tensor);
    }
    return op;
}

Span op_span(const Problem& problem, const char* name, DeviceId device, double queued_s, double start_s,
             double end_s, std::uint32_t batch) {
    Span span;
    span.resource = device;
    span.op = *problem.graph->find(name);
    span.batch = batch;
    span.queued_s = queued_s;
    span.start_s = start_s;
    span.end_s = end_s;
    return span;
}

Span hop_span(const Problem& problem, const char* producer, ChannelId channel, DeviceId from, DeviceId to,
              double queued_s, double start_s, double end_s, std::uint32_t batch) {
    Span span = op_span(problem, producer, channel, queued_s, start_s, end_s, batch);
    span.kind = Span::Kind::transfer;
    span.from = from;
    span.to = to;
    span.tensor = problem.output_begin[span.op];
    span.bytes = problem.tensor_bytes[span.tensor];
    return span;
}

ReferenceRun agreed_run(const std::shared_ptr<const Problem>& problem, const Placement& placement,
                        const SimulationOptions& options) {
    ReferenceRun reference = reference_run(*problem, placement, options);
    Simulator simulator(problem, options);
    Trace trace;
    const Outcome& outcome = simulator.run(placement, trace);
    const QByteArray wrong = difference(trace.spans, reference.spans);
    QTest::qVerify(wrong.isEmpty(), "the traces agree", wrong.constData(), __FILE__, __LINE__);
    QTest::qVerify(outcome == reference.outcome, "the outcomes agree", "", __FILE__, __LINE__);
    return reference;
}

}  // namespace placewright::test
