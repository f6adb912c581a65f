// SPDX-License-Identifier: MIT
// Values of ops from CSV and JSON files, right and wrong ones.
#include <cmath>
#include <fstream>

#include <QTemporaryDir>
#include <QTest>

#include "core/io/networks/node_values.hpp"
#include "core/io/text/input_error.hpp"

using namespace placewright;

class TestNodeValues : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    Path written(const char* name, const std::string& text) {
        const Path file = m_folder.filePath(QString::fromUtf8(name)).toStdString();
        std::ofstream(file) << text;
        return file;
    }
    static std::string text(const NodeValues& of) {
        std::string all = of.title + ":";
        for (const auto& node : of.nodes) {
            all += " " + node.name + "=" + std::to_string(node.value).substr(0, 5);
            if (!node.color.empty()) all += "(" + node.color + ")";
        }
        return all;
    }

private Q_SLOTS:
    void files_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QByteArray>("read");
        QTest::newRow("plain") << QByteArray("t.csv") << QByteArray("a,1.5\nb,-2e1\n")
                               << QByteArray("t: a=1.500 b=-20.0");
        QTest::newRow("header, comments, ends of Windows, BOM")
            << QByteArray("t.csv") << QByteArray("\xEF\xBB\xBF# made by hand\r\nop,error\r\n\r\na/b, 1\r\n")
            << QByteArray("error: a/b=1.000");
        QTest::newRow("semicolons and quotes") << QByteArray("t.csv") << QByteArray("\"a;\"\"b\"\"\";1\nc;2")
                                               << QByteArray("t: a;\"b\"=1.000 c=2.000");
        QTest::newRow("tabs") << QByteArray("T.TSV") << QByteArray("a, b\t1\n")
                              << QByteArray("T: a, b=1.000");
        QTest::newRow("object") << QByteArray("t.json") << QByteArray("{\"a\": 1, \"b\": 0.5}")
                                << QByteArray("t: a=1.000 b=0.500");
        QTest::newRow("node data")
            << QByteArray("t.json")
            << QByteArray(
                   "{\"other\": {\"results\": {\"x\": {\"value\": 9}}}, \"net\": {\"results\": {\"a\": "
                   "{\"value\": 1, \"bgColor\": \"#ff0000\"}, \"b\": {\"value\": \"2\"}}, \"gradient\": "
                   "[{\"stop\": 1, \"bgColor\": \"red\"}, {\"stop\": 0, \"bgColor\": \"blue\"}]}}")
            << QByteArray("t: a=1.000(#ff0000) b=2.000");
        QTest::newRow("node data of one graph")
            << QByteArray("t.json") << QByteArray("{\"results\": {\"a\": {\"value\": 1}}}")
            << QByteArray("t: a=1.000");
        QTest::newRow("node data of another graph")
            << QByteArray("t.json") << QByteArray("{\"main\": {\"results\": {\"a\": {\"value\": 1}}}}")
            << QByteArray("main: a=1.000");
    }
    void files() {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, content);
        QFETCH(QByteArray, read);
        const NodeValues values = read_node_values(written(name.constData(), content.toStdString()), "net");
        QCOMPARE(QByteArray::fromStdString(text(values)), read);
        if (content.contains("gradient")) {
            QCOMPARE(values.gradient.size(), std::size_t{2});
            QCOMPARE(values.gradient.front().color, std::string("blue"));
        }
    }

    void mistakes_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QByteArray>("error");
        QTest::newRow("text for a number") << QByteArray("t.csv") << QByteArray("a,1\nb,fast\n")
                                           << QByteArray("line 2: \"fast\" is not a number");
        QTest::newRow("infinite") << QByteArray("t.csv") << QByteArray("a,1\nb,inf\n")
                                  << QByteArray("line 2: \"inf\" is not a number");
        QTest::newRow("twice") << QByteArray("t.csv") << QByteArray("a,1\n\na,2\n")
                               << QByteArray("line 3: \"a\" has a value in line 1");
        QTest::newRow("one field") << QByteArray("t.csv") << QByteArray("a,1\nb\n")
                                   << QByteArray("line 2: has 1 field, expected two");
        QTest::newRow("three fields") << QByteArray("t.csv") << QByteArray("a,1,2\n")
                                      << QByteArray("line 1: has 3 fields, expected two");
        QTest::newRow("header alone")
            << QByteArray("t.csv") << QByteArray("op,value\n") << QByteArray("has no values");
        QTest::newRow("empty") << QByteArray("t.csv") << QByteArray("") << QByteArray("empty");
        QTest::newRow("not a number in JSON")
            << QByteArray("t.json") << QByteArray("{\"a\": 0.5, \"b\": [1]}")
            << QByteArray("b must be a number");
        QTest::newRow("node without a number")
            << QByteArray("t.json") << QByteArray("{\"g\": {\"results\": {\"a\": {\"value\": \"x\"}}}}")
            << QByteArray("results.a.value must be a number");
        QTest::newRow("broken") << QByteArray("t.json") << QByteArray("{\"a\": 0.5")
                                << QByteArray("is cut off or damaged");
    }
    void mistakes() {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, content);
        QFETCH(QByteArray, error);
        try {
            read_node_values(written(name.constData(), content.toStdString()));
            QFAIL("No error");
        } catch (const InputError& thrown) {
            QVERIFY2(QByteArray(thrown.what()).contains(error), thrown.what());
            QVERIFY2(QByteArray(thrown.what()).contains(name), thrown.what());
        }
    }

    void filesAreToldApart() {
        QVERIFY(is_node_values(written("a.csv", "x")));
        QVERIFY(is_node_values(written("a.json", "{\"a\": 1, \"b\": 0.5}")));
        QVERIFY(is_node_values(written("a.json", "{\"g\": {\"results\": {\"a\": {\"value\": 1}}}}")));
        QVERIFY(!is_node_values(written("a.json", "{\"a\": 1, \"b\": 0}")));  // a placement
        QVERIFY(!is_node_values(written("a.json", "{\"format\": \"placewright.graph\", \"results\": 1}")));
        QVERIFY(
            !is_node_values(written("a.json", "{\"maxSizePerFPGA\": 1.5, \"maxFPGAs\": 2, \"nodes\": []}")));
        QVERIFY(!is_node_values(written("a.json", "[0.5]")));
        QVERIFY(!is_node_values(written("a.json", "{\"a\": 0.5")));
        QVERIFY(!is_node_values(m_folder.filePath(QStringLiteral("missing.json")).toStdString()));
    }

    void unknownNamesAreCounted() {
        GraphBuilder builder("net", 1);
        for (const char* name : {"a", "b"}) {
            Op op;
            op.name = name;
            op.kind = "relu";
            op.outputs = {make_tensor({1})};
            builder.add(op, {});
        }
        const Graph graph = builder.build();
        const MatchedValues matched = match(read_node_values(written("t.csv", "b,2\nc,3\nd,4\n")), graph);
        QVERIFY(std::isnan(matched.values[0]) && matched.values[1] == 2);
        QCOMPARE(matched.matched, std::size_t{1});
        QCOMPARE(matched.unknown, std::size_t{2});
        QCOMPARE(matched.examples, std::string("\"c\", \"d\""));
    }
};

QTEST_GUILESS_MAIN(TestNodeValues)
#include "tst_node_values.moc"
