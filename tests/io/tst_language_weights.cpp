// SPDX-License-Identifier: MIT
// Language models whose weights are stored in types and under names of their own: quantised checkpoints, GGUF
// files.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include "core/io/language/language_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/support/gguf.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::Gguf, test::small_gguf;

namespace {

using Weights = std::map<std::string, qint64>;  ///< name -> bytes

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 4976698672\n";

QJsonObject llama() {
    return {{"model_type", "llama"},       {"architectures", QJsonArray{"LlamaForCausalLM"}},
            {"hidden_size", 64},           {"num_hidden_layers", 2},
            {"num_attention_heads", 8},    {"num_key_value_heads", 2},
            {"intermediate_size", 96},     {"vocab_size", 1000},
            {"torch_dtype", "bfloat16"},   {"max_position_embeddings", 2048},
            {"tie_word_embeddings", false}};
}

QJsonObject gpt_oss() {
    QJsonObject config = llama();
    config["model_type"] = "gpt_oss";
    config["architectures"] = QJsonArray{"GptOssForCausalLM"};
    config["head_dim"] = 8;
    config["num_local_experts"] = 4;
    config["num_experts_per_tok"] = 2;
    config["quantization_config"] = QJsonObject{{"quant_method", "mxfp4"}};
    return config;
}

std::int64_t parameter_bytes(const Graph& graph) {
    std::int64_t bytes = 0;
    for (const Op& op : graph.ops()) bytes += op.parameter_bytes;
    return bytes;
}

std::int64_t cache_bytes(const Graph& graph) {
    std::int64_t bytes = 0;
    for (const Op& op : graph.ops()) bytes += op.resident_bytes;
    return bytes;
}

/// The weights that a network names.
Weights weights_of(const Graph& graph) {
    Weights weights;
    for (const Op& op : graph.ops()) {
        const auto list = [&](const char* key) {
            const auto found = op.attributes.find(key);
            return found == op.attributes.end()
                       ? QJsonArray()
                       : QJsonDocument::fromJson(QByteArray::fromStdString(found->second)).array();
        };
        const QJsonArray names = list("parameters"), bytes = list("parameter_bytes");
        for (qsizetype k = 0; k < names.size(); ++k)
            weights[names[k].toString().toStdString()] = bytes[k].toInteger();
    }
    return weights;
}

std::string safetensors(const Weights& weights) {
    QJsonObject header;
    qint64 at = 0;
    for (const auto& [name, bytes] : weights) {
        header[QString::fromStdString(name)] = QJsonObject{
            {"dtype", "U8"}, {"shape", QJsonArray{bytes}}, {"data_offsets", QJsonArray{at, at + bytes}}};
        at += bytes;
    }
    const QByteArray text = QJsonDocument(header).toJson(QJsonDocument::Compact);
    std::string content;
    for (int k = 0; k < 8; ++k) content += static_cast<char>((text.size() >> (8 * k)) & 0xff);
    return content + text.toStdString() + std::string(static_cast<std::size_t>(at), '\0');
}

std::string index_of(const Weights& weights, const char* file) {
    QJsonObject names;
    for (const auto& [name, bytes] : weights) names[QString::fromStdString(name)] = file;
    return QJsonDocument(QJsonObject{{"weight_map", names}}).toJson().toStdString();
}

}  // namespace

class TestLanguageWeights : public test::FileFixture {
    Q_OBJECT

    Path folder(const QJsonObject& config) const {
        std::filesystem::remove_all(file("model"));
        std::filesystem::create_directory(file("model"));
        fileWith("model/config.json", QJsonDocument(config).toJson().toStdString());
        return file("model");
    }
    static NetworkFile read(const Path& path, const LanguageOptions& language = {}) {
        ReadOptions reading;
        reading.language = language;
        return read_network(path, reading);
    }
    NetworkFile read(const Gguf& gguf, const LanguageOptions& language = {}) const {
        return read(fileWith("model.gguf", gguf.content()), language);
    }
    QString refused(const Path& path, const LanguageOptions& language = {}) const {
        return test::refusal([&] { read(path, language); });
    }
    QString refused(const Gguf& gguf) const { return refused(fileWith("model.gguf", gguf.content())); }
    /// Weights of llama() whose maps a method of quantisation stores under their own names.
    static Weights quantised(const Weights& plain,
                             const std::function<void(const std::string&, Weights&)>& add) {
        Weights weights;
        for (const auto& [name, bytes] : plain) {
            if (name.find("_proj.") == std::string::npos) {
                weights[name] = bytes;
            } else {
                add(name, weights);
            }
        }
        return weights;
    }

private Q_SLOTS:
    /// All maps of the experts of gpt-oss are tensors of one module.
    void expertsInBlocksAreReadWithTheirSizes() {
        const Path model = folder(gpt_oss());
        const Weights weights = weights_of(read(model).graph);
        QVERIFY(weights.contains("model.layers.1.mlp.experts.down_proj_blocks"));
        fileWith("model/model.safetensors", safetensors(weights));
        const NetworkFile sized = read(model);
        QVERIFY(weights_of(sized.graph) == weights);
        QCOMPARE(sized.notes.size(), std::size_t{0});
        // In another type, the blocks are no more.
        LanguageOptions wide;
        wide.weights = WeightType::bf16;
        const Graph unpacked = read(model, wide).graph;
        QVERIFY(weights_of(unpacked).contains("model.layers.1.mlp.experts.down_proj"));
        QVERIFY(!weights_of(unpacked).contains("model.layers.1.mlp.experts.down_proj_blocks"));
        // 4 experts of 64 x 96 weights.
        QCOMPARE(weights_of(unpacked).at("model.layers.1.mlp.experts.down_proj"), qint64{4 * 64 * 96 * 2});
    }

    /// The scales of bitsandbytes are tensors below the weight: "q_proj.weight.absmax".
    void scalesBelowAWeightBelongToIt() {
        QJsonObject config = llama();
        const Weights plain = weights_of(read(folder(config)).graph);
        const Weights stored = quantised(plain, [&](const std::string& name, Weights& weights) {
            weights[name] = plain.at(name) / 4;
            weights[name + ".absmax"] = plain.at(name) / 2 / 64 * 4;
        });
        config["quantization_config"] = QJsonObject{{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}};
        const Path model = folder(config);
        fileWith("model/model.safetensors", safetensors(stored));
        const NetworkFile network = read(model);
        QVERIFY(weights_of(network.graph) == stored);
        QCOMPARE(network.notes.size(), std::size_t{0});
        // Without the headers the sizes are not known, though the weights have their usual names.
        std::filesystem::remove(model / "model.safetensors");
        fileWith("model/model.safetensors.index.json", index_of(stored, "model-00001-of-00002.safetensors"));
        const QString message = refused(model);
        QVERIFY2(message.contains("_proj.weight") && message.contains("bitsandbytes") &&
                     message.contains("--dtype"),
                 qPrintable(message));
        LanguageOptions wide;
        wide.weights = WeightType::bf16;
        QVERIFY(weights_of(read(model, wide).graph) == plain);
    }

    void aTypeReplacesThatOfPackedWeights() {
        QJsonObject config = llama();
        const Weights plain = weights_of(read(folder(config)).graph);
        const Weights stored = quantised(plain, [&](const std::string& name, Weights& weights) {
            const std::string module = name.substr(0, name.rfind('.') + 1);
            weights[module + "qweight"] = plain.at(name) / 4;
            weights[module + "scales"] = plain.at(name) / 32;
        });
        config["quantization_config"] = QJsonObject{{"quant_method", "awq"}, {"bits", 4}};
        const Path model = folder(config);
        fileWith("model/model.safetensors", safetensors(stored));
        QVERIFY(weights_of(read(model).graph) == stored);
        LanguageOptions wide;
        wide.weights = WeightType::bf16;
        QVERIFY(weights_of(read(model, wide).graph) == plain);
    }

    /// A folder that was cloned without its large files has their pointers.
    void pointersOfGitLfsAreNoWeights() {
        const Path model = folder(llama());
        const Weights weights = weights_of(read(model).graph);
        fileWith("model/model.safetensors.index.json", index_of(weights, "model-00001-of-00001.safetensors"));
        fileWith("model/model-00001-of-00001.safetensors", kPointer);
        QVERIFY(weights_of(read(model).graph) == weights);
        fileWith("model/config.json", kPointer);
        const QString message = refused(model);
        QVERIFY2(message.contains("git lfs pull"), qPrintable(message));
    }

    void theIndexOfTransformersComesFirst() {
        const Path model = folder(llama());
        const Weights weights = weights_of(read(model).graph);
        fileWith("model/model.safetensors.index.json", index_of(weights, "model.safetensors"));
        fileWith("model/consolidated.safetensors.index.json",
                 index_of({{"layers.0.attention.wq.weight", 0}}, "consolidated.safetensors"));
        fileWith("model/pytorch_model.bin.index.json", index_of({{"other", 0}}, "pytorch_model.bin"));
        QVERIFY(weights_of(read(model).graph) == weights);
    }

    void aTiedHeadReadsTheTableAsItIsStored() {
        const auto head = [](const Graph& graph) {
            for (const Op& op : graph.ops()) {
                if (op.scope == "lm_head") return op.read_bytes.value_or(-1);
            }
            return std::int64_t{-1};
        };
        QCOMPARE(head(read(small_gguf()).graph), 64 * 1000 / 32 * 18);
        QJsonObject config = llama();
        config["tie_word_embeddings"] = true;
        const Path model = folder(config);
        Weights wide = weights_of(read(model).graph);
        QCOMPARE(head(read(model).graph), 64 * 1000 * 2);
        wide["model.embed_tokens.weight"] *= 2;
        fileWith("model/model.safetensors", safetensors(wide));
        QCOMPARE(head(read(model).graph), 64 * 1000 * 4);
    }

    void aTypeReplacesThoseOfAGguf() {
        LanguageOptions options;
        options.weights = WeightType::fp16;
        constexpr std::int64_t maps = 64 * 64 + 2 * 16 * 64 + 64 * 64 + 3 * 64 * 96;
        QCOMPARE(parameter_bytes(read(small_gguf(), options).graph), 2 * (1000 * 64 + maps + 3 * 64));
        options.weights = WeightType::int8;
        QCOMPARE(parameter_bytes(read(small_gguf(), options).graph), 2 * (1000 * 64 + 3 * 64) + maps);
    }

    void windowsOfGgufs_data() {
        QTest::addColumn<QString>("architecture");
        QTest::addColumn<int>("pattern");
        QTest::addColumn<int>("windows");  // of 8 layers
        QTest::newRow("llama") << "llama" << -1 << 8;
        QTest::newRow("gemma2") << "gemma2" << -1 << 4;
        QTest::newRow("gemma3") << "gemma3" << -1 << 7;
        QTest::newRow("cohere2") << "cohere2" << -1 << 6;
        QTest::newRow("the file says it") << "cohere2" << 2 << 4;
        QTest::newRow("the file lists them") << "cohere2" << 100 << 3;
        QTest::newRow("unknown") << "newest" << -1 << 0;
    }
    void windowsOfGgufs() {
        QFETCH(QString, architecture);
        QFETCH(int, pattern);
        QFETCH(int, windows);
        const std::string name = architecture.toStdString();
        Gguf gguf;
        gguf.text("general.architecture", name)
            .whole(name + ".block_count", 8)
            .whole(name + ".embedding_length", 64)
            .whole(name + ".feed_forward_length", 96)
            .whole(name + ".attention.head_count", 8)
            .whole(name + ".attention.head_count_kv", 2)
            .whole(name + ".context_length", 512)
            .whole(name + ".attention.sliding_window", 32)
            .tensor("token_embd.weight", {64, 1000}, 1);
        if (pattern == 100) {
            gguf.truths(name + ".attention.sliding_window_pattern",
                        {true, false, true, true, false, false, false, false});
        } else if (pattern >= 0)
            gguf.whole(name + ".attention.sliding_window_pattern", static_cast<std::uint32_t>(pattern));
        addBlocks(gguf, 8);
        const NetworkFile network = read(gguf);
        constexpr std::int64_t token = 2 * 2 * 8 * 2;
        QCOMPARE(cache_bytes(network.graph), token * (windows * 32 + (8 - windows) * 512));
        QCOMPARE(network.notes.size(), windows == 0 ? std::size_t{1} : std::size_t{0});
    }

    /// GLM-4.5 and others have blocks that predict tokens after the next, which do not run.
    void blocksThatPredictMoreDoNotRun() {
        Gguf gguf;
        gguf.text("general.architecture", "glm4moe")
            .whole("glm4moe.block_count", 3)
            .whole("glm4moe.nextn_predict_layers", 1)
            .whole("glm4moe.embedding_length", 64)
            .whole("glm4moe.feed_forward_length", 96)
            .whole("glm4moe.attention.head_count", 8)
            .whole("glm4moe.attention.head_count_kv", 2)
            .whole("glm4moe.context_length", 512)
            .tensor("token_embd.weight", {64, 1000}, 1);
        addBlocks(gguf, 3);
        gguf.tensor("blk.2.nextn.eh_proj.weight", {128, 64}, 1);
        const NetworkFile network = read(gguf);
        QCOMPARE(cache_bytes(network.graph), std::int64_t{2} * 2 * 2 * 8 * 2 * 512);
        QVERIFY(std::ranges::any_of(network.graph.ops(), [](const Op& op) {
            const auto found = op.attributes.find("unread_blocks");
            return found != op.attributes.end() && found->second == "1";
        }));
        QCOMPARE(network.notes.size(), std::size_t{1});
        QVERIFY2(network.notes[0].find("blk.2.") != std::string::npos, network.notes[0].c_str());
    }

    void valuesMayHaveAnotherLength() {
        Gguf gguf;
        gguf.text("general.architecture", "llama")
            .whole("llama.block_count", 1)
            .whole("llama.embedding_length", 64)
            .whole("llama.feed_forward_length", 96)
            .whole("llama.attention.head_count", 8)
            .whole("llama.attention.head_count_kv", 2)
            .whole("llama.attention.key_length", 12)
            .whole("llama.attention.value_length", 8)
            .whole("llama.context_length", 512)
            .tensor("token_embd.weight", {64, 1000}, 1)
            .tensor("blk.0.attn_norm.weight", {64}, 0)
            .tensor("blk.0.attn_q.weight", {64, 96}, 1)
            .tensor("blk.0.attn_k.weight", {64, 24}, 1)
            .tensor("blk.0.attn_v.weight", {64, 16}, 1)
            .tensor("blk.0.attn_output.weight", {64, 64}, 1)
            .tensor("blk.0.ffn_norm.weight", {64}, 0)
            .tensor("blk.0.ffn_gate.weight", {64, 96}, 1)
            .tensor("blk.0.ffn_up.weight", {64, 96}, 1)
            .tensor("blk.0.ffn_down.weight", {96, 64}, 1)
            .tensor("output_norm.weight", {64}, 0);
        QCOMPARE(cache_bytes(read(gguf).graph), std::int64_t{2} * (12 + 8) * 512 * 2);
    }

    void contradictionsInGgufsAreRefused() {
        const auto keys = [](std::uint32_t kv, std::uint32_t hidden, std::uint32_t blocks) {
            Gguf gguf;
            gguf.text("general.architecture", "llama")
                .whole("llama.block_count", blocks)
                .whole("llama.embedding_length", hidden)
                .whole("llama.feed_forward_length", 96)
                .whole("llama.attention.head_count", 8)
                .whole("llama.attention.head_count_kv", kv)
                .tensor("token_embd.weight", {64, 1000}, 1);
            addBlocks(gguf, 2);
            return gguf;
        };
        QCOMPARE(refused(keys(2, 64, 2)), QString());
        const auto says = [&](const Gguf& gguf, const char* part) {
            const QString message = refused(gguf);
            return message.contains(part) ? QString() : message + " does not say " + part;
        };
        QCOMPARE(says(keys(4, 64, 2), "llama.attention.head_count_kv"), QString());
        QCOMPARE(says(keys(2, 128, 2), "llama.embedding_length"), QString());
        QCOMPARE(says(keys(2, 64, 1), "block_count"), QString());
        QCOMPARE(says(keys(2, 64, 2).whole("llama.expert_count", 8), "llama.expert_used_count"), QString());
        QCOMPARE(says(keys(2, 64, 2).text("general.type", "adapter"), "the model that the adapter is for"),
                 QString());
        QCOMPARE(says(Gguf().text("general.architecture", "clip"), "the language model"), QString());
    }

    void partsOfGgufsAreNamed() {
        const std::string other = Gguf().whole("split.no", 1).content();
        const std::string first = small_gguf().whole("split.count", 2).content();
        const QString message = refused(fileWith("renamed.gguf", first));
        QVERIFY2(message.contains("-00001-of-"), qPrintable(message));
        const Path gguf = fileWith("part-00001-of-00002.gguf", first);
        fileWith("part-00002-of-00002.gguf", other);
        QCOMPARE(refused(gguf), QString());
        for (const std::string& damaged : {other.substr(0, other.size() - 2), std::string(kPointer)}) {
            fileWith("part-00002-of-00002.gguf", damaged);
            const QString error = refused(gguf);
            QVERIFY2(error.contains("part-00002-of-00002.gguf"), qPrintable(error));
        }
        std::string big = small_gguf().content();
        big.replace(4, 4, std::string("\0\0\0\x03", 4));
        const QString endian = refused(fileWith("big.gguf", big));
        QVERIFY2(endian.contains("big-endian"), qPrintable(endian));
    }

private:
    static void addBlocks(Gguf& gguf, int blocks) {
        for (int i = 0; i < blocks; ++i) {
            const std::string block = "blk." + std::to_string(i) + '.';
            gguf.tensor(block + "attn_norm.weight", {64}, 0)
                .tensor(block + "attn_q.weight", {64, 64}, 1)
                .tensor(block + "attn_k.weight", {64, 16}, 1)
                .tensor(block + "attn_v.weight", {64, 16}, 1)
                .tensor(block + "attn_output.weight", {64, 64}, 1)
                .tensor(block + "ffn_norm.weight", {64}, 0)
                .tensor(block + "ffn_gate.weight", {64, 96}, 1)
                .tensor(block + "ffn_up.weight", {64, 96}, 1)
                .tensor(block + "ffn_down.weight", {96, 64}, 1);
        }
        gguf.tensor("output_norm.weight", {64}, 0);
    }
};

QTEST_GUILESS_MAIN(TestLanguageWeights)
#include "tst_language_weights.moc"
