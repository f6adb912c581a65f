// SPDX-License-Identifier: MIT
#include <cstring>
#include <fstream>

#include <QTemporaryDir>
#include <QTest>

#include "core/base/path.hpp"
#include "core/io/state/safetensors.hpp"
#include "core/io/text/input_error.hpp"

using namespace placewright;

namespace {

struct StoredTensor {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t bytes;
};

std::string safetensors(const Json& header, std::uint64_t data_bytes) {
    const std::string json = header.dump();
    const std::uint64_t length = json.size();
    std::string text(sizeof length, '\0');
    std::memcpy(text.data(), &length, sizeof length);
    return text + json + std::string(data_bytes, '\x01');
}

std::string safetensors(const std::vector<StoredTensor>& tensors) {
    Json header = {{"__metadata__", {{"format", "pt"}}}};
    std::uint64_t at = 0;
    for (const StoredTensor& tensor : tensors) {
        header[tensor.name] = {
            {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes}}};
        at += tensor.bytes;
    }
    return safetensors(header, at);
}

/// A convolution whose parameters have names, one whose have none, and a table.
Graph network() {
    const auto op = [](const char* name, const char* scope, std::int64_t parameter_bytes,
                       std::int64_t resident_bytes) {
        Op result;
        result.name = name;
        result.kind = "conv2d";
        result.scope = scope;
        result.parameter_bytes = parameter_bytes;
        result.resident_bytes = resident_bytes;
        result.outputs = {make_tensor({1})};
        return result;
    };
    GraphBuilder builder("net");
    Op named = op("bn/batch_norm", "bn", 24, 36);
    named.attributes = {{"parameters", R"(["bn.weight","bn.bias","bn.running_mean"])"},
                        {"parameter_bytes", "[12,12,12]"},
                        {"buffers", R"(["bn.running_mean"])"}};
    builder.add(named);
    builder.add(op("layer1/conv", "layer1/conv", 100, 0));  // named and scoped as its module
    builder.add(op("layer2/linear", "layer2", 100, 0));     // the only one in its module
    builder.add(op("relu", "layer2", 0, 0));
    return builder.build();
}

}  // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    Path written(const QString& name, const std::string& text) {
        const Path file = folder_.filePath(name).toStdString();
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }
    std::string error_of(const std::string& text, const QString& name = QStringLiteral("model.safetensors")) {
        try {
            read_parameter_sizes(written(name, text));
        } catch (const InputError& error) {
            return error.what();
        }
        return {};
    }

private Q_SLOTS:
    void sizesOfAllTypes() {
        const Path file =
            written(QStringLiteral("model.safetensors"), safetensors({{"a", "F32", {2, 3}, 24},
                                                                      {"b", "BF16", {5}, 10},
                                                                      {"c", "F8_E4M3", {7}, 7},
                                                                      {"d", "I64", {}, 8},
                                                                      {"e", "F4", {6}, 3},
                                                                      {"f", "F32", {0, 9}, 0}}));
        QCOMPARE(read_parameter_sizes(file),
                 (std::map<std::string, std::int64_t>{
                     {"a", 24}, {"b", 10}, {"c", 7}, {"d", 8}, {"e", 3}, {"f", 0}}));
    }

    void headersOfAnyLengthAreToldFromAnIndex() {
        // The first byte of the length takes every value, that of a brace and of blanks among them.
        for (int extra = 0; extra < 256; ++extra) {
            const Json header = {{std::string(static_cast<std::size_t>(extra) + 1, 'x'),
                                  {{"dtype", "U8"}, {"shape", {1}}, {"data_offsets", {0, 1}}}}};
            QCOMPARE(error_of(safetensors(header, 1)), std::string());
        }
    }

    void indexOfShards() {
        written(QStringLiteral("model-1.safetensors"),
                safetensors({{"a", "F32", {2}, 8}, {"spare", "F32", {1}, 4}}));
        written(QStringLiteral("model-2.safetensors"), safetensors({{"b", "F16", {2}, 4}}));
        const Json map = {{"a", "model-1.safetensors"}, {"b", "model-2.safetensors"}};
        const std::map<std::string, std::int64_t> sizes{{"a", 8}, {"b", 4}};
        const QString name = QStringLiteral("model.safetensors.index.json");
        QCOMPARE(read_parameter_sizes(
                     written(name, Json{{"metadata", {{"total_size", 12}}}, {"weight_map", map}}.dump(2))),
                 sizes);
        QCOMPARE(read_parameter_sizes(written(name, map.dump())), sizes);
        const auto fault = [&](const Json& json) {
            return QString::fromStdString(error_of(json.dump(), name));
        };
        QVERIFY(fault({{"weight_map", {{"a", "../model-1.safetensors"}}}})
                    .contains("expected the name of a file in the same folder"));
        QVERIFY(fault({{"weight_map", {{"a", "/etc/passwd"}}}})
                    .contains("expected the name of a file in the same folder"));
        QVERIFY(
            fault({{"weight_map", {{"a", ""}}}}).contains("expected the name of a file in the same folder"));
        QVERIFY(fault({{"weight_map", {{"a", 3}}}}).contains("weight_map.a is 3, expected a string"));
        QVERIFY(
            fault({{"format", "placewright.graph"}, {"version", 1}}).contains("is no index of safetensors"));
        QVERIFY(fault({{"weight_map", {{"c", "model-2.safetensors"}}}}).contains("has no tensor \"c\""));
        QVERIFY(fault({{"weight_map", {{"a", "model-3.safetensors"}}}})
                    .contains("model-3.safetensors: there is no such file"));
    }

    void faults_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const std::string& text, const char* message) {
            QTest::newRow(name) << QByteArray::fromStdString(text) << QString(message);
        };
        const auto entry = [](const char* dtype, const Json& shape, const Json& offsets) -> Json {
            return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", offsets}};
        };
        const auto file = [&](const Json& value, std::uint64_t bytes) {
            return safetensors(Json{{"w", value}}, bytes);
        };
        row("empty", "", "the file is empty");
        row("no header", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9),
            "is not a file of weights, or is cut off");
        row("cut off", file(entry("F32", {4}, {0, 16}), 12),
            "is cut off: its tensors take 16 B, there are 12 B");
        row("too long", file(entry("F32", {4}, {0, 16}), 20), "is longer than its tensors");
        row("wrong size", file(entry("F32", {4}, {0, 12}), 12),
            R"(tensor "w": data_offsets are not of the size of the tensor)");
        row("backwards", file(entry("F32", {0}, {4, 0}), 4),
            "data_offsets are not of the size of the tensor");
        row("huge", file(entry("F32", {281474976710656, 281474976710656}, {0, 4}), 4),
            "is larger than any file");
        row("negative", file(entry("F32", {-1}, {0, 4}), 4), "is -1, expected at least 0");
        row("type", file(entry("X9", {1}, {0, 4}), 4), R"(dtype is "X9", which is not known)");
        row("overlap", safetensors(Json{{"a", entry("U8", {2}, {0, 2})}, {"b", entry("U8", {2}, {1, 3})}}, 3),
            "has a gap between its tensors");
        row("nested", std::string("\x80\x00\x00\x00\x00\x00\x00\x00{\"a\":", 13) + std::string(123, '['),
            "levels deep");
    }
    void faults() {
        QFETCH(QByteArray, text);
        QFETCH(QString, message);
        const std::string error = error_of(text.toStdString());
        QVERIFY2(QString::fromStdString(error).contains(message), error.c_str());
    }

    void sizesGoToOps() {
        const SizedGraph sized = with_parameter_sizes(network(), {{"bn.weight", 6},
                                                                  {"bn.running_mean", 12},
                                                                  {"layer1.conv.weight", 50},
                                                                  {"layer1.conv.bias", 2},
                                                                  {"layer2.weight", 7},
                                                                  {"other.weight", 1}});
        const Op& norm = sized.graph.op(0);
        QCOMPARE(norm.parameter_bytes, 6 + 12);
        QCOMPARE(norm.resident_bytes, 36);
        QCOMPARE(norm.attributes.at("parameter_bytes"), std::string("[6,12,12]"));
        QCOMPARE(sized.graph.op(1).parameter_bytes, 52);
        QCOMPARE(norm.attributes.at("buffers"), std::string(R"(["bn.running_mean"])"));
        QCOMPARE(sized.graph.op(1).attributes.at("parameters"),
                 std::string(R"(["layer1.conv.bias","layer1.conv.weight"])"));
        QCOMPARE(sized.graph.op(2).parameter_bytes, 7);
        QCOMPARE(sized.unmatched, std::vector<std::string>{"other.weight"});
        QCOMPARE(sized.missing, std::vector<std::string>{"bn.bias"});
        QCOMPARE(sized.resized.size(), 3U);
        QCOMPARE(sized.resized[0].name, std::string("bn.weight"));
        QCOMPARE(sized.resized[0].from, 12);
        QCOMPARE(sized.resized[0].to, 6);
        QCOMPARE(sized.resized[1].name, std::string("layer1/conv"));
    }

    void buffersAreWhatTheOpSays() {
        GraphBuilder builder("net");
        Op table;
        table.name = "table";
        table.kind = "parameter";
        table.parameter_bytes = 64;
        table.outputs = {make_tensor({4, 4})};
        table.attributes = {{"parameters", R"(["table"])"}, {"parameter_bytes", "[64]"}};
        builder.add(table);
        Op op;
        op.name = "a/linear";
        op.kind = "linear";
        op.parameter_bytes = 64;
        op.resident_bytes = 100;
        op.outputs = {make_tensor({1})};
        op.attributes = {{"parameters", R"(["a.weight","a.mask"])"},
                         {"parameter_bytes", "[64,100]"},
                         {"buffers", R"(["a.mask"])"}};
        builder.add(op);
        const SizedGraph sized =
            with_parameter_sizes(builder.build(), {{"a.weight", 32}, {"a.mask", 50}, {"table", 32}});
        QCOMPARE(sized.graph.op(0).parameter_bytes, 32);
        QCOMPARE(sized.graph.op(0).outputs[0].bytes, 32);  // what its readers get
        QCOMPARE(sized.graph.op(1).parameter_bytes, 32);
        QCOMPARE(sized.graph.op(1).resident_bytes, 50);
    }

    void tiedParametersHaveTheirBytesOnce() {
        Op table;
        table.name = "table";
        table.kind = "parameter";
        table.parameter_bytes = 16;
        table.attributes = {{"parameters", R"(["embed.weight","head.weight"])"},
                            {"parameter_bytes", "[16,0]"}};
        table.outputs = {make_tensor({4})};
        GraphBuilder builder("net");
        builder.add(table);
        const Graph graph = builder.build();
        for (const std::map<std::string, std::int64_t>& sizes :
             {std::map<std::string, std::int64_t>{{"embed.weight", 16}},
              {{"embed.weight", 16}, {"head.weight", 16}}}) {
            const SizedGraph sized = with_parameter_sizes(graph, sizes);
            QCOMPARE(sized.graph.op(0).parameter_bytes, 16);
            QVERIFY(sized.resized.empty() && sized.missing.empty() && sized.unmatched.empty());
        }
    }

    void severalOpsOfOneModuleAreNotGuessed() {
        GraphBuilder builder("net");
        for (const char* name : {"a", "b"}) {
            Op op;
            op.name = name;
            op.kind = "linear";
            op.scope = "m";
            op.parameter_bytes = 8;
            op.outputs = {make_tensor({1})};
            builder.add(op);
        }
        const SizedGraph sized = with_parameter_sizes(builder.build(), {{"m.weight", 100}});
        QCOMPARE(sized.graph.op(0).parameter_bytes, 8);
        QCOMPARE(sized.unmatched, std::vector<std::string>{"m.weight"});
        QCOMPARE(sized.missing, (std::vector<std::string>{"a", "b"}));
    }
};

QTEST_GUILESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
