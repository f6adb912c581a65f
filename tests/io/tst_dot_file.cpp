// SPDX-License-Identifier: MIT
// Networks in Graphviz DOT: written, read back, and as other tools write them.
#include <fstream>

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/path.hpp"
#include "core/io/file_content.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/dot_placement.hpp"
#include "core/io/placements/placed_network.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

void compare(const Graph& a, const Graph& b) {
    QCOMPARE(a.name(), b.name());
    QCOMPARE(a.batch(), b.batch());
    QCOMPARE(a.training(), b.training());
    QCOMPARE(a.size(), b.size());
    for (OpId id = 0; id < a.size(); ++id) {
        const Op &left = a.op(id), &right = b.op(id);
        QCOMPARE(left.name, right.name);
        QCOMPARE(left.kind, right.kind);
        QCOMPARE(left.scope, right.scope);
        QCOMPARE(left.phase, right.phase);
        QCOMPARE(left.flops, right.flops);
        QCOMPARE(left.backward_flops, right.backward_flops);
        QCOMPARE(left.parameter_bytes, right.parameter_bytes);
        QCOMPARE(left.resident_bytes, right.resident_bytes);
        QCOMPARE(left.read_bytes, right.read_bytes);
        QCOMPARE(left.workspace_bytes, right.workspace_bytes);
        QCOMPARE(left.in_place, right.in_place);
        QVERIFY(left.outputs == right.outputs);
        QVERIFY(left.inputs == right.inputs);
        QCOMPARE(left.colocate, right.colocate);
        QCOMPARE(left.devices, right.devices);
        QVERIFY(left.time_s == right.time_s);
        QCOMPARE(left.attributes, right.attributes);
    }
}

}  // namespace

class TestDotFile : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    Path written(const std::string& text) {
        const Path file = folder_.filePath(QStringLiteral("net.dot")).toStdString();
        std::ofstream(file) << text;
        return file;
    }
    Graph again(const Graph& graph) {
        const auto problem = test::problem(graph, test::uniform_machine(3));
        PlacedNetwork placed{problem, Placement(problem->groups), {}, {}, ""};
        for (GroupId group = 0; group < problem->groups; ++group)
            placed.placement[group] =
                problem->allowed_devices(group)[group % problem->allowed_devices(group).size()];
        return read_network(written(dot_text(placed))).graph;
    }
    QString refusal(const std::string& text) {
        try {
            read_network(written(text));
        } catch (const InputError& error) {
            return QString::fromStdString(error.what());
        }
        return {};
    }

private Q_SLOTS:
    void whatIsWrittenReadsBack() {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const Graph graph =
                test::random_network(seed, 40, 3, seed % 2 == 0 ? Training::implicit : Training::none);
            compare(again(graph), graph);
            if (QTest::currentTestFailed()) return;
        }
        for (const ShippedFile& shipped : shipped_networks()) {
            if (shipped.name != "alexnet" && shipped.name != "resnet50" && shipped.name != "gpt2") continue;
            const Graph graph = read_network(shipped.file).graph;
            compare(again(graph), graph);
        }
    }

    /// Ops that read less than their parameters, and others that are in another precision.
    void stepsReadBackAsTheyWereSimulated() {
        GraphBuilder builder("table", 1, Training::none);
        Op op;
        op.name = "rows";
        op.kind = "embedding";
        op.parameter_bytes = 1'000'000;
        op.read_bytes = 4000;
        op.outputs = {make_tensor({10, 100})};
        builder.add(op, {});
        op = {};
        op.name = "map";
        op.kind = "linear";
        op.flops = 1e9;
        op.parameter_bytes = 40'000;
        op.outputs = {make_tensor({10, 100})};
        builder.add(op, {"rows"});
        const Graph graph = builder.build();
        compare(again(graph), graph);
        ProblemOptions options;
        options.precision = Precision::amp_bf16;
        const auto problem = make_problem(std::make_shared<const Graph>(graph),
                                          std::make_shared<const Machine>(test::uniform_machine(1)), options);
        const PlacedNetwork placed{problem, Placement(problem->groups), {}, {}, ""};
        compare(read_network(written(dot_text(placed))).graph, *problem->forward);
    }

    void oddNamesReadBack() {
        GraphBuilder builder("a \"graph\"\\", 3, Training::none);
        std::string last;
        for (const std::string name : {"node", "a:1", "%3", "\"quoted\"", "back\\slash\\", "two\nlines",
                                       "<b>html</b>", "löß", " ", "\\\"", "a"}) {
            Op op;
            op.name = name;
            op.kind = "relu";
            op.scope = "s" + name;
            op.attributes = {{"text", "\"a \\\\ \\\"b\\\" \\n\""}, {"plain", R"([1,"x"])"}};
            op.outputs = {make_tensor({2}), make_tensor({3}, DType::int64)};
            op.time_s["M \"1\""].forward_s = 0.25;
            builder.add(std::move(op), last.empty() ? std::vector<std::string>{}
                                                    : std::vector<std::string>{last + ":1", last + ":0"});
            last = name;
        }
        const Graph graph = builder.build();
        compare(again(graph), graph);
    }

    void filesOfOthersAreRead() {
        const NetworkFile file = read_network(written(R"(
            // made by hand
            digraph net {
              batch = 8; node [dtype=float16]
              x [kind=input, shape="8x3x4x4"]
              fc [kind=linear flops="2e9" parameter_bytes=4000 shape="[8, 10]" label="the map"]
              act [bytes=64, flops=5, shape=ellipse]
              out [kind=softmax]
              x -> fc [bytes=7]; fc -> act; act -> out
              y [kind=relu]; y -> out [bytes=12]
            })"));
        const Graph& graph = file.graph;
        QCOMPARE(graph.name(), std::string("net"));
        QCOMPARE(graph.batch(), 8);
        QVERIFY(graph.op(*graph.find("x")).outputs[0] == make_tensor({8, 3, 4, 4}, DType::float16));
        QCOMPARE(graph.op(*graph.find("fc")).flops, 2e9);
        QCOMPARE(graph.op(*graph.find("fc")).parameter_bytes, 4000);
        QCOMPARE(graph.op(*graph.find("act")).kind, std::string("unknown"));
        QCOMPARE(graph.op(*graph.find("act")).outputs[0].bytes, 64);
        QCOMPARE(graph.op(*graph.find("y")).outputs[0].bytes, 12);
        QCOMPARE(graph.op(*graph.find("out")).inputs.size(), 2U);
        // FLOPs that are missing are told of, where something computes.
        QCOMPARE(file.estimated.size(), 2U);
        QCOMPARE(file.estimated[0].op, std::string("out"));
        QCOMPARE(file_content(folder_.filePath(QStringLiteral("net.dot")).toStdString()),
                 FileContent::network);
    }

    void faultsNameTheNode_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("complaint");
        const auto row = [](const char* name, const char* text, const char* complaint) {
            QTest::newRow(name) << text << complaint;
        };
        row("syntax", "digraph g {\n a -> }", "syntax error in line 2");
        row("unfinished", "digraph g { a [label=\"x", "is no graph that Graphviz reads");
        row("undirected", "graph g { a -- b }", "undirected");
        row("empty", "digraph g { }", "has no nodes");
        row("no size", "digraph g { a -> b }", "node \"a\": is read but has no size");
        row("cycle", "digraph g { node [bytes=1] a -> b -> a }", "cycle");
        row("flops", "digraph g { a [flops=many] }", "node \"a\": flops is \"many\"");
        row("flops of another type", "digraph g { a [flops=\"[1]\"] }", "node \"a\": flops");
        row("negative", "digraph g { a [flops=\"-1\"] }", "node \"a\"");
        row("shape", "digraph g { a [shape=\"99999999999x99999999999\"] }", "node \"a\"");
        row("dtype", "digraph g { a [shape=\"2\" dtype=float5] }", "node \"a\"");
        row("no extents", "digraph g { a [shape=\"-1x3\"] a -> b }", "node \"a\": shape is \"-1x3\"");
        row("truth", "digraph g { a [in_place=yes] }", "in_place is \"yes\", expected true or false");
        row("unit", "digraph g { a [flops=\"2G\"] }", "flops is \"2G\", expected a number");
        row("output", "digraph g { a [bytes=1] a -> b [output=3] }", "b");
        row("position", "digraph g { a [bytes=1] a -> b [input=\"-1\"] }", "input is -1");
        row("deep", "", "node \"a\": time_s is");
        row("batch", "digraph g { batch=0; a }", "batch");
        row("product of sets", "", "edges");
        row("attributes", "", "different attributes");
    }
    void faultsNameTheNode() {
        QFETCH(QString, text);
        QFETCH(QString, complaint);
        if (QByteArray(QTest::currentDataTag()) == "product of sets") {
            text = "digraph g { subgraph a { ";
            for (int i = 0; i < 2000; ++i) text += QStringLiteral("n%1 ").arg(i);
            text += "} subgraph a -> subgraph a }";
        }
        if (QByteArray(QTest::currentDataTag()) == "attributes") {
            text = "digraph g { ";
            for (int i = 0; i < 20'000; ++i) text += QStringLiteral("n%1 [a%1=1]\n").arg(i);
            text += "}";
        }
        if (QByteArray(QTest::currentDataTag()) == "deep")
            text = "digraph g { a [time_s=\"" + QString(200'000, '[') + QString(200'000, ']') + "\"] }";
        const QString error = refusal(text.toStdString());
        QVERIFY2(error.contains(complaint) && error.contains("net.dot"), qPrintable(error));
        // The parser has no memory of it.
        QCOMPARE(read_network(written("digraph g { a [bytes=1] a -> b }")).graph.size(), 2U);
    }

    void otherEncodingsAreRefused() {
        const QString error = refusal("digraph g { charset=latin1; \"caf\xe9\" [bytes=1] }");
        QVERIFY2(error.contains("UTF-8"), qPrintable(error));
    }

    void shapesToDrawAreNoExtents() {
        const Graph graph =
            read_network(written("digraph g { a [kind=input shape=box3d]; a -> b [bytes=16] }")).graph;
        QCOMPARE(graph.op(0).outputs[0].bytes, 16);
    }

    void smallSetsOfEdgesAreRead() {
        QCOMPARE(
            read_network(written("digraph g { node [bytes=1]; {a b} -> {c d} }")).graph.op(3).inputs.size(),
            2U);
    }
};

QTEST_GUILESS_MAIN(TestDotFile)
#include "tst_dot_file.moc"
