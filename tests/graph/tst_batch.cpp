// SPDX-License-Identifier: MIT
// Networks with another batch size.
#include <string>
#include <vector>

#include <QtTest>

#include "core/graph/batch.hpp"
#include "core/graph/networks.hpp"

using namespace placewright;

namespace {

/// What differs between two graphs; empty if nothing does.
QString difference(const Graph& a, const Graph& b) {
    if (a.batch() != b.batch() || a.size() != b.size()) return QStringLiteral("batch or number of ops");
    for (OpId id = 0; id < a.size(); ++id) {
        const Op &one = a.op(id), &other = b.op(id);
        const bool same = one.name == other.name && one.kind == other.kind && one.flops == other.flops &&
                          one.backward_flops == other.backward_flops && one.outputs == other.outputs &&
                          one.parameter_bytes == other.parameter_bytes && one.inputs == other.inputs &&
                          one.workspace_bytes == other.workspace_bytes && one.attributes == other.attributes;
        if (!same) return QString::fromStdString(one.name);
    }
    return {};
}

Op op(const char* name, const char* kind, std::vector<std::int64_t> shape) {
    Op result;
    result.name = name;
    result.kind = kind;
    result.flops = 100;
    result.outputs = {make_tensor(std::move(shape))};
    return result;
}

QString error_of(const Graph& graph) {
    const std::string reason = fixed_batch_reason(graph);
    try {
        with_batch(graph, 2 * graph.batch());
    } catch (const GraphError& error) {
        // The reason is known before anybody asks for another batch size.
        return reason == error.what() ? QString::fromStdString(reason) : QStringLiteral("differs");
    }
    return reason.empty() ? QString() : QStringLiteral("differs");
}

}  // namespace

class TestBatch : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// The generators know the sizes of every batch.
    void known_networks_data() {
        QTest::addColumn<const NetworkInfo*>("network");
        for (const NetworkInfo& network : placewright::known_networks())
            QTest::newRow(std::string(network.name).c_str()) << &network;
    }
    void known_networks() {
        QFETCH(const NetworkInfo*, network);
        const Graph graph = network->build(32);
        QCOMPARE(fixed_batch_reason(graph), std::string());
        for (const std::int64_t batch : {1, 8, 48, 4096})
            QCOMPARE(difference(with_batch(graph, batch), network->build(batch)), QString());
        QCOMPARE(difference(with_batch(with_batch(graph, 3), 32), graph), QString());
    }

    void other_sizes() {
        GraphBuilder builder("g", 4);
        builder.add(op("x", "input", {4, 10}), {});
        builder.add(op("mask", "input", {10, 10}), {});
        Op bytes = op("bytes", "custom", {});
        bytes.outputs = {{.shape = {}, .bytes = 80, .transfer_s = 2.0}};
        bytes.outputs.front().shape.reset();
        bytes.workspace_bytes = 10;
        bytes.time_s["V100"] = {.forward_s = 1.0, .backward_s = {}};
        builder.add(std::move(bytes), {"x", "mask"});
        builder.add(op("heads", "reshape", {12, 5}), {"x"});
        builder.add(op("time first", "transpose", {7, 4, 5}), {"heads"});
        builder.add(op("loss", "cross_entropy", {}), {"time first"});
        builder.add(op("constant", "mul", {10, 10}), {"mask"});
        const Graph graph = with_batch(builder.build(), 6);
        const auto shape = [&](const char* name) { return *graph.op(*graph.find(name)).outputs[0].shape; };
        using Shape = std::vector<std::int64_t>;
        QCOMPARE(shape("x"), (Shape{6, 10}));
        QCOMPARE(shape("mask"), (Shape{10, 10}));
        QCOMPARE(shape("heads"), (Shape{18, 5}));
        QCOMPARE(shape("time first"), (Shape{7, 6, 5}));
        QCOMPARE(shape("loss"), Shape());
        QCOMPARE(shape("constant"), (Shape{10, 10}));
        const Op& changed = graph.op(*graph.find("bytes"));
        QCOMPARE(changed.outputs[0].bytes, std::int64_t{120});
        QCOMPARE(*changed.outputs[0].transfer_s, 3.0);
        QCOMPARE(changed.workspace_bytes, std::int64_t{15});
        QVERIFY(changed.time_s.empty());
        QCOMPARE(graph.op(*graph.find("loss")).flops, 150.0);
        QCOMPARE(graph.op(*graph.find("constant")).flops, 100.0);
    }

    /// Quantized weights are the same for each batch; a cache of tokens is not.
    void constantsAreRead() {
        GraphBuilder builder("g", 4);
        builder.add(op("x", "input", {4, 10}), {});
        Op linear = op("linear", "linear", {4, 10});
        linear.resident_bytes = 1000;
        linear.read_bytes = 900;
        builder.add(linear, {"x"});
        const Graph graph = with_batch(builder.build(), 8);
        QCOMPARE(*graph.op(*graph.find("linear")).read_bytes, std::int64_t{900});
        GraphBuilder cached("g", 4);
        cached.add(op("x", "input", {4, 10}), {});
        linear.kind = "scaled_dot_product_attention";
        cached.add(linear, {"x"});
        QVERIFY(error_of(cached.build()).contains("of a cache (read_bytes)"));
    }

    void refusals() {
        GraphBuilder odd("g", 4);
        odd.add(op("x", "input", {4, 10}), {});
        odd.add(op("odd", "mystery", {3, 5}), {"x"});
        QVERIFY(error_of(odd.build())
                    .contains("op \"odd\": its output [3, 5] has no extent of the batch size of 4"));
        GraphBuilder none("g", 4);
        none.add(op("x", "input", {3, 10}), {});
        QVERIFY(error_of(none.build()).contains("no input has an extent of the batch size of 4"));
        GraphBuilder trained("g", 4, Training::explicit_);
        trained.add(op("x", "input", {4, 10}), {});
        QVERIFY(error_of(trained.build()).contains("lists its own backward ops"));
        GraphBuilder large("g", 1);
        large.add(op("x", "input", {1, std::int64_t{1} << 40}), {});
        const Graph graph = large.build();
        QVERIFY_THROWS_EXCEPTION(GraphError, with_batch(graph, kMostBatch));
        QVERIFY_THROWS_EXCEPTION(GraphError, with_batch(graph, 0));
    }
};

QTEST_GUILESS_MAIN(TestBatch)
#include "tst_batch.moc"
