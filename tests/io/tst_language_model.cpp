// SPDX-License-Identifier: MIT
// Language models: what is read from config.json, model folders and GGUF headers, and the graph of a step.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "core/graph/blocks.hpp"
#include "core/graph/grouping.hpp"
#include "core/io/language/language_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/gguf.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::Gguf, test::small_gguf;

namespace {

constexpr int kLayers = 4;

/// A LLaMA of four layers: hidden size 64, 8 heads of 8, 2 for keys and values, width 96, 1000 words.
QJsonObject small_llama() {
    return {{"model_type", "llama"},
            {"architectures", QJsonArray{"LlamaForCausalLM"}},
            {"hidden_size", 64},
            {"num_hidden_layers", kLayers},
            {"num_attention_heads", 8},
            {"num_key_value_heads", 2},
            {"intermediate_size", 96},
            {"vocab_size", 1000},
            {"max_position_embeddings", 2048},
            {"torch_dtype", "bfloat16"},
            {"tie_word_embeddings", false}};
}

/// Weights of a layer of small_llama().
constexpr std::int64_t kLayerWeights = 64 * 64 + 2 * 16 * 64 + 64 * 64 + 3 * 64 * 96;
constexpr std::int64_t kLayerParameters = kLayerWeights + 2 * 64;

struct Sums {
    std::int64_t parameter_bytes = 0, resident_bytes = 0, read_bytes = 0;
    double flops = 0;
};

Sums sums(const Graph& graph) {
    Sums sum;
    for (const Op& op : graph.ops()) {
        sum.parameter_bytes += op.parameter_bytes;
        sum.resident_bytes += op.resident_bytes;
        sum.read_bytes += op.read_bytes.value_or(op.parameter_bytes);
        if (op.kind == "linear" || op.kind == "grouped_linear" || op.kind == "scaled_dot_product_attention")
            sum.flops += op.flops;
    }
    return sum;
}

const Op* find(const Graph& graph, std::string_view scope, std::string_view kind) {
    for (const Op& op : graph.ops()) {
        if (op.scope == scope && op.kind == kind) return &op;
    }
    return nullptr;
}

}  // namespace

class TestLanguageModel : public test::FileFixture {
    Q_OBJECT

    Path with(const std::string& name, const QJsonObject& content) const {
        return fileWith(name, QJsonDocument(content).toJson().toStdString());
    }
    NetworkFile read(const QJsonObject& config, const LanguageOptions& options = {},
                     std::optional<std::int64_t> batch = {}) {
        const Path file = with("config.json", config);
        ReadOptions reading;
        reading.batch = batch;
        reading.language = options;
        return read_network(file, reading);
    }
    QString refused(const QJsonObject& config, const LanguageOptions& options = {}) {
        return test::refusal([&] { read(config, options); });
    }

private Q_SLOTS:
    void parametersAreThoseOfTheArchitecture() {
        const NetworkFile file = read(small_llama());
        QCOMPARE(sums(file.graph).parameter_bytes, 2 * (2 * 1000 * 64 + 4 * kLayerParameters + 64));
        std::map<std::string, int> names;
        for (const Op& op : file.graph.ops()) {
            const auto listed = op.attributes.find("parameters");
            if (listed == op.attributes.end()) continue;
            const QJsonArray of_op =
                QJsonDocument::fromJson(QByteArray::fromStdString(listed->second)).array();
            for (const QJsonValue& name : of_op) ++names[name.toString().toStdString()];
        }
        QCOMPARE(names.size(), std::size_t{3 + 4 * 9});
        for (const auto& [name, count] : names) QCOMPARE(count, 1);
        QVERIFY(names.contains("model.layers.3.self_attn.k_proj.weight"));
    }

    /// 2 FLOPs a weight and a token; attention 4 a pair of positions, head and element.
    void aDecodeStepReadsWeightsAndCache() {
        LanguageOptions options;
        options.sequence = 100;
        const Sums decode = sums(read(small_llama(), options, 3).graph);
        const std::int64_t cache = std::int64_t{3} * 100 * 4 * 2 * 2 * 8 * 2;
        QCOMPARE(decode.resident_bytes, cache);
        QCOMPARE(decode.flops, 3.0 * (2.0 * (4 * kLayerWeights + 64 * 1000) + 4.0 * 4 * 64 * 100));
        QCOMPARE(decode.read_bytes, 2 * (1000 * 64 + 3 * 64 + 4 * kLayerParameters + 64) + cache);
    }

    void aPrefillReadsAllPairsOfPositions() {
        LanguageOptions options;
        options.phase = LanguagePhase::prefill;
        options.sequence = 100;
        const double pairs = 100 * 101 / 2;
        QCOMPARE(sums(read(small_llama(), options).graph).flops,
                 2.0 * (100.0 * 4 * kLayerWeights + 64 * 1000) + 4.0 * 4 * 64 * pairs);
        options.phase = LanguagePhase::training;
        const NetworkFile training = read(small_llama(), options);
        QVERIFY(training.graph.training() == Training::implicit);
        QCOMPARE(sums(training.graph).flops,
                 2.0 * 100 * (4 * kLayerWeights + 64 * 1000) + 4.0 * 4 * 64 * pairs);
        QCOMPARE(sums(training.graph).resident_bytes, 0);
        QCOMPARE(training.notes.size(), std::size_t{0});
        // Gradients of 4 bits are not those of any training.
        options.weights = WeightType::int4;
        const std::vector<std::string> notes = read(small_llama(), options).notes;
        QCOMPARE(notes.size(), std::size_t{1});
        QVERIFY2(notes[0].find("choose fp32, fp16 or bf16") != std::string::npos, notes[0].c_str());
    }

    void aWindowLimitsTheCache() {
        QJsonObject config = small_llama();
        config["model_type"] = "mistral";
        config["sliding_window"] = 32;
        LanguageOptions options;
        options.sequence = 100;
        const std::int64_t whole = std::int64_t{100} * 4 * 2 * 2 * 8 * 2;
        QCOMPARE(sums(read(config, options).graph).resident_bytes, whole * 32 / 100);
        options.full_cache = true;
        QCOMPARE(sums(read(config, options).graph).resident_bytes, whole);
        config["sliding_window"] = QJsonValue();
        options.full_cache = false;
        QCOMPARE(sums(read(config, options).graph).resident_bytes, whole);
    }

    void blocksStayTogetherUnlessTheyMayPart() {
        const auto labels = [](const Graph& graph) {
            std::set<std::string> found;
            for (const Op& op : graph.ops()) {
                if (block_number(op)) found.insert(op.colocate);
            }
            return found;
        };
        QCOMPARE(labels(read(small_llama()).graph).size(), std::size_t{4});
        LanguageOptions options;
        options.split_layers = true;
        QVERIFY(labels(read(small_llama(), options).graph).empty());
    }

    void expertsReadWhatIsHit() {
        QJsonObject config = small_llama();
        config["model_type"] = "qwen3_moe";
        config["head_dim"] = 8;
        config["num_experts"] = 8;
        config["num_experts_per_tok"] = 2;
        config["moe_intermediate_size"] = 32;
        config["decoder_sparse_step"] = 1;
        config["mlp_only_layers"] = QJsonArray();
        const NetworkFile file = read(config, {}, 2);
        const Op* up = find(file.graph, "model/layers/0/mlp/experts", "grouped_linear");
        QVERIFY(up != nullptr);
        // 1 - (1 - 2/8)^2 of the experts.
        QCOMPARE(*up->read_bytes, static_cast<std::int64_t>(std::llround(
                                      static_cast<double>(up->parameter_bytes) * (1 - 0.75 * 0.75))));
    }

    void tiedHeadsShareTheTable() {
        QJsonObject config = small_llama();
        config["tie_word_embeddings"] = true;
        const NetworkFile file = read(config);
        QCOMPARE(sums(file.graph).parameter_bytes, 2 * (1000 * 64 + 4 * kLayerParameters + 64));
        // Embedding and head are on one device, as a device map needs it.
        const Grouping grouping = group_ops(file.graph, {});
        std::set<GroupId> readers;
        for (OpId id = 0; id < file.graph.size(); ++id) {
            const Op& op = file.graph.op(id);
            if (op.kind == "embedding" || op.scope == "lm_head") readers.insert(grouping.group_of[id]);
        }
        QCOMPARE(readers.size(), std::size_t{1});
    }

    void smallTypesReplaceLinearWeights() {
        LanguageOptions options;
        options.weights = WeightType::int4;
        QCOMPARE(sums(read(small_llama(), options).graph).parameter_bytes,
                 2 * (2 * 1000 * 64 + 4 * 2 * 64 + 64) + 4 * kLayerWeights / 2);
        options.weights = WeightType::fp32;
        QCOMPARE(sums(read(small_llama(), options).graph).parameter_bytes,
                 4 * (2 * 1000 * 64 + 4 * kLayerParameters + 64));
    }

    void aFolderHasNamesAndSizes() {
        const Path folder = file("model");
        std::filesystem::create_directory(folder);
        with("model/config.json", small_llama());
        QCOMPARE(sums(read_network(folder, {}).graph).parameter_bytes,
                 sums(read(small_llama()).graph).parameter_bytes);
        // An index that lacks a tensor is refused; what the model does not read is counted.
        QJsonObject names{{"model.layers.0.self_attn.rotary_emb.inv_freq", "a.safetensors"}};
        for (const char* name : {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"})
            names[name] = "a.safetensors";
        for (int layer = 0; layer < 4; ++layer) {
            for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                     "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
                                     "input_layernorm", "post_attention_layernorm"})
                names[QStringLiteral("model.layers.%1.%2.weight").arg(layer).arg(QLatin1String(name))] =
                    "a.safetensors";
        }
        with("model/model.safetensors.index.json", {{"weight_map", names}});
        const NetworkFile network = read_network(folder, {});
        QCOMPARE(network.notes.size(), std::size_t{1});
        QVERIFY2(network.notes.front().find("inv_freq") != std::string::npos, network.notes.front().c_str());
        names.remove("model.layers.2.mlp.up_proj.weight");
        with("model/model.safetensors.index.json", {{"weight_map", names}});
        const QString message = test::refusal([&] { read_network(folder, {}); });
        QVERIFY2(message.contains("model.layers.2.mlp.up_proj.weight"), qPrintable(message));
    }

    void badConfigsNameTheKey_data() {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QJsonValue>("value");
        QTest::addColumn<QString>("named");
        const auto add = [](const char* row, const char* key, const QJsonValue& value, const char* named) {
            QTest::newRow(row) << QString(key) << value << QString(named);
        };
        add("unknown type", "model_type", "chatglm", "placewright.export");
        add("a billion layers", "num_hidden_layers", 1e9, "num_hidden_layers");
        add("half a layer", "num_hidden_layers", 2.5, "num_hidden_layers");
        add("negative", "vocab_size", -1, "vocab_size");
        add("text", "hidden_size", "64", "hidden_size");
        add("does not divide", "num_attention_heads", 7, "num_attention_heads");
        add("groups do not divide", "num_key_value_heads", 3, "num_key_value_heads");
        add("list", "intermediate_size", QJsonArray{1}, "intermediate_size");
        add("infinite", "hidden_size", 1e300, "hidden_size");
        add("no layers", "num_hidden_layers", 0, "num_hidden_layers");
        add("type", "torch_dtype", "float7", "torch_dtype");
        add("quantization", "quantization_config", QJsonObject{{"quant_method", "gptq"}}, "gptq");
    }
    void badConfigsNameTheKey() {
        QFETCH(QString, key);
        QFETCH(QJsonValue, value);
        QFETCH(QString, named);
        QJsonObject config = small_llama();
        config[key] = value;
        const QString message = refused(config);
        QVERIFY2(message.contains("config.json") && message.contains(named), qPrintable(message));
    }

    void hugeHeadNormsAreRefused() {
        QJsonObject config = small_llama();
        for (const auto& [key, value] :
             std::initializer_list<std::pair<const char*, QJsonValue>>{{"model_type", "stablelm"},
                                                                       {"qk_layernorm", true},
                                                                       {"num_attention_heads", 4096},
                                                                       {"num_key_value_heads", 4096},
                                                                       {"hidden_size", 4096},
                                                                       {"num_hidden_layers", 4096}})
            config[key] = value;
        const QString message = refused(config);
        QVERIFY2(message.contains("qk_layernorm"), qPrintable(message));
    }

    void modulesThatAreNotQuantised() {
        QJsonObject config = small_llama();
        const auto bytes = [&](const QJsonArray& skipped) {
            config["quantization_config"] = QJsonObject{{"quant_method", "fp8"},
                                                        {"weight_block_size", QJsonArray{64, 64}},
                                                        {"modules_to_not_convert", skipped}};
            const Path file = fileWith("config.json", QJsonDocument(config).toJson().toStdString());
            return sums(read_network(file, {}).graph).parameter_bytes;
        };
        const std::int64_t all = bytes({});
        const std::int64_t head = bytes({"lm_head"});
        QVERIFY(bytes({"up_proj"}) > all);
        QCOMPARE(bytes({"model.layers.0.mlp.up_proj"}) - all, (bytes({"up_proj"}) - all) / kLayers);
        QCOMPARE(bytes({"proj", "layers.0.mlp.up", "p_proj"}), all);
        QCOMPARE(head, all);  // heads are not quantised in any case
        QVERIFY(bytes({"model.layers"}) > bytes({"up_proj"}));
    }

    void aGgufHasItsOwnNamesAndSizes() {
        const Path gguf = fileWith("small.gguf", small_gguf().content());
        const NetworkFile network = read_network(gguf, {});
        QCOMPARE(sums(network.graph).parameter_bytes, (1000 * 64 + kLayerWeights) / 32 * 18 + 3 * 64 * 4);
        QVERIFY(find(network.graph, "model/layers/0/self_attn/q_proj", "linear") != nullptr);
        QCOMPARE(sums(network.graph).resident_bytes, std::int64_t{512} * 2 * 2 * 8 * 2);
    }

    void namesInGgufsMayBeNoText() {
        const std::string good = small_gguf().tensor("blk.0.attn_q.bi\xff", {64}, 0).content();
        const Path gguf = fileWith("names.gguf", good);
        const NetworkFile network = read_network(gguf, {});
        const Op* const query = find(network.graph, "model/layers/0/self_attn/q_proj", "linear");
        QVERIFY(query != nullptr);
        QVERIFY(query->attributes.at("parameters").find("attn_q.bi\uFFFD") != std::string::npos);
    }

    void badGgufsAreRefused_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("named");
        const QByteArray good = QByteArray::fromStdString(small_gguf().content());
        QTest::newRow("version") << QByteArray::fromStdString(small_gguf().content(9)) << "version";
        QTest::newRow("cut off") << good.left(good.size() / 2) << "GGUF";
        QTest::newRow("ten bytes") << good.left(10) << "GGUF";
        QByteArray many = good;
        many.replace(8, 8, QByteArray("\xff\xff\xff\xff\xff\xff\xff\x0f", 8));
        QTest::newRow("2^60 tensors") << many << "tensor";
        QTest::newRow("unknown type")
            << QByteArray::fromStdString(small_gguf().tensor("extra.weight", {64}, 77).content()) << "77";
        for (const char* name :
             {"blk.0.ffn_down_shexp.weight", "blk.0.ffn_up.weight", "position_embd.weight"})
            QTest::addRow("no extents: %s", name)
                << QByteArray::fromStdString(small_gguf().tensor(name, {}, 0).content()) << name;
        QTest::newRow("overflow")
            << QByteArray::fromStdString(
                   small_gguf().tensor("extra.weight", {1ULL << 62, 1ULL << 62}, 0).content())
            << "extra.weight";
    }
    void badGgufsAreRefused() {
        QFETCH(QByteArray, content);
        QFETCH(QString, named);
        const Path gguf = fileWith("bad.gguf", content.toStdString());
        const QString message = test::refusal([&] { read_network(gguf, {}); });
        QVERIFY2(message.contains("bad.gguf") && message.contains(named), qPrintable(message));
    }

    /// Cut-off headers are refused at any place, and none is read beyond its end.
    void everyPrefixOfAGgufIsRefused() {
        const std::string good = small_gguf().content();
        for (std::size_t length = 4; length < good.size(); length += 3) {
            const Path gguf = fileWith("cut.gguf", good.substr(0, length));
            QVERIFY(!test::refusal([&] { read_network(gguf, {}); }).isEmpty());
        }
    }
};

QTEST_GUILESS_MAIN(TestLanguageModel)
#include "tst_language_model.moc"
