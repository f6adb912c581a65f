// SPDX-License-Identifier: MIT
// The command line: language models, their phases, cache and offloading.
#include <array>

#include "tests/cli/cli_fixture.hpp"

using namespace placewright::test;

namespace {

/// 12 blocks of 12.6 million weights, which are 0.3 GB in all.
const QByteArray kConfig =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024,
  "num_hidden_layers": 12, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 3072, "vocab_size": 1000,
  "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "tie_word_embeddings": false})";

/// A CPU and two GPUs of 1 TB/s with `memory` bytes, at 10 GB/s.
QByteArray machine(const QByteArray& memory) {
    return QByteArray(R"({"format": "placewright.machine", "version": 1, "name": "offload", "devices": [
      {"name": "cpu:0", "kind": "cpu", "model": "C", "peak_flops": 1e12, "memory_bandwidth": 5e10, "memory_bytes": 1e11},
      {"name": "gpu:0", "kind": "gpu", "model": "G", "peak_flops": 1e14, "memory_bandwidth": 1e12, "memory_bytes": MEMORY},
      {"name": "gpu:1", "kind": "gpu", "model": "G", "peak_flops": 1e14, "memory_bandwidth": 1e12, "memory_bytes": MEMORY}],
      "channels": [{"name": "bus", "bandwidth": 1e10}],
      "routes": [{"from": "cpu:0", "to": "gpu:0", "channels": ["bus"]}, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]},
                 {"from": "cpu:0", "to": "gpu:1", "channels": ["bus"]}, {"from": "gpu:1", "to": "cpu:0", "channels": ["bus"]},
                 {"from": "gpu:0", "to": "gpu:1", "channels": ["bus"]}, {"from": "gpu:1", "to": "gpu:0", "channels": ["bus"]}]})")
        .replace("MEMORY", memory);
}

}  // namespace

class TestCliLanguage : public CliFixture {
    Q_OBJECT

    /// Arguments of a command for the model, with `memory` bytes a GPU.
    QStringList model(const QString& command, const QByteArray& memory, const QStringList& more = {}) const {
        return QStringList{command, write("config.json", kConfig), "--machine",
                           write("offload-" + memory + ".json", machine(memory))} +
               more;
    }

private Q_SLOTS:
    void bothPhasesAreShown() {
        const QJsonObject found = object_of(model("simulate", "1e9", {"--sequence", "1000", "--batch", "2"}));
        const QJsonArray phases = found["language"].toObject()["phases"].toArray();
        QCOMPARE(phases.size(), 2);
        const QJsonObject decode = phases[0].toObject(), prefill = phases[1].toObject();
        QCOMPARE(decode["phase"].toString(), "decode");
        QCOMPARE(decode["step_time_s"].toDouble(), found["step_time_s"].toDouble());
        QCOMPARE(decode["tokens_per_s"].toDouble(), 2 / found["step_time_s"].toDouble());
        QCOMPARE(decode["cache_bytes"].toDouble(), 2.0 * 1000 * 12 * 2 * 4 * 64 * 2);
        QCOMPARE(prefill["phase"].toString(), "prefill");
        // The other way round the same figures are there.
        const QJsonObject other =
            object_of(model("simulate", "1e9", {"--sequence", "1000", "--batch", "2", "--phase", "prefill"}));
        QCOMPARE(other["language"].toObject()["phases"].toArray()[0].toObject(), prefill);
        const Result text = run(model("simulate", "1e9", {"--sequence", "1000"}));
        QVERIFY2(text.out.contains("tokens/s with 1000 tokens in the cache (12.3 MB)"), text.out);
        QVERIFY2(text.out.contains("to the first token of a prompt of 1000 tokens"), text.out);
    }

    /// A step of training fills and drains the pipeline, and updates once: its tokens are those of all
    /// batches.
    void trainingCountsAllTokens() {
        for (const QStringList& more : {QStringList{}, QStringList{"--in-flight", "2"}}) {
            const QJsonObject found = object_of(model(
                "simulate", "1e10",
                QStringList{"--phase", "training", "--sequence", "100", "--batches", "8", "--accumulate"} +
                    more));
            const QJsonObject phase = found["language"].toObject()["phases"].toArray()[0].toObject();
            const double batch = phase["batch"].toDouble();
            QCOMPARE(phase["tokens_per_s"].toDouble(), 8 * batch * 100 / found["total_time_s"].toDouble());
        }
    }

    /// Weights in 4 bits do not become others with the activations, and the cache has a type of its own.
    void typesAreThoseOfTheModel() {
        const Result decode = run(model("simulate", "1e9", {"--precision", "fp32"}));
        QCOMPARE(decode.status, 2);
        QVERIFY2(decode.err.contains(
                     "--precision fp32: a language model takes a precision only with --phase training"),
                 decode.err);
        QCOMPARE(
            run(model("simulate", "1e10", {"--phase", "training", "--dtype", "int4", "--precision", "fp16"}))
                .status,
            2);
        object_of(model("simulate", "1e10", {"--phase", "training", "--precision", "amp-bf16"}));
    }

    /// Smaller weights and a context within the model's limit are offered where a placement does not fit.
    void remediesOfALanguageModel() {
        const QString placed = path("on-a-gpu.json");
        object_of(model("optimize", "1e9",
                        {"--sequence", "1000", "--algorithm", "single-device", "--out", placed}));
        const auto remedies = [&](const QByteArray& memory, const QStringList& more) {
            QStringList options;
            const QJsonObject found =
                object_of(model("simulate", memory, QStringList{"--placement", placed} + more));
            for (const QJsonValue& remedy : found["remedies"].toArray())
                options << remedy.toObject()["options"].toString();
            return options;
        };
        QCOMPARE(remedies("1e9", {"--sequence", "1000"}), QStringList());
        QCOMPARE(remedies("2e8", {"--sequence", "1000"}), (QStringList{"--dtype int4", "--dtype int8"}));
        QCOMPARE(remedies("2e8", {"--sequence", "1000", "--dtype", "fp8"}), QStringList());
        QCOMPARE(remedies("1.2e8", {"--sequence", "1000", "--dtype", "int8"}), QStringList{"--dtype int4"});
        // 57 000 tokens would fit; the model's limit is 8192.
        QVERIFY(remedies("1e9", {"--sequence", "500000"}).contains("--sequence 8192"));
    }

    /// What the GPUs cannot hold is divided between them and the CPU, and not left on the CPU.
    void placedAtOnceOnSmallGpus() {
        const QJsonObject found = object_of(model("predict", "1e8", {"--sequence", "1000"}));
        QVERIFY(found["best"].toObject()["fits"].toBool());
        QVERIFY2(found["best"].toObject()["step_time_s"].toDouble() < 0.8 * found["one_device_s"].toDouble(),
                 QJsonDocument(found["best"].toObject()).toJson());
    }

    /// A token of a sequence waits for all batches that are under way (Little's law), and a pipeline that is
    /// always full makes more of them than one that fills and drains.
    void batchesInFlightDelayEachOther() {
        const auto decode = [&](const QStringList& more) {
            const QStringList split{"--split-layers", "--sequence", "1000"};
            return object_of(model("simulate", "1e9", split + more))["language"]
                .toObject()["phases"]
                .toArray()[0]
                .toObject();
        };
        const QJsonObject one = decode({});
        QCOMPARE(one["latency_s"].toDouble(), one["step_time_s"].toDouble());
        QCOMPARE(one["alone_s"].toDouble(), one["step_time_s"].toDouble());
        const QJsonObject four = decode({"--batches", "4", "--in-flight", "4"});
        QCOMPARE(four["alone_s"].toDouble(), one["alone_s"].toDouble());
        QVERIFY(four["latency_s"].toDouble() >= four["alone_s"].toDouble());
        const double steady_s = four["latency_s"].toDouble() / 4;
        QVERIFY(std::abs(four["tokens_per_s"].toDouble() * steady_s - 1) < 1e-9);
        QVERIFY(steady_s <= four["step_time_s"].toDouble() * (1 + 1e-9));
        const QByteArray text =
            run(model("simulate", "1e9", {"--sequence", "1000", "--batches", "4", "--in-flight", "4"})).out;
        QVERIFY2(text.contains(" a token with 4 batches in flight ("), text);
    }

    /// The sequences of each batch in flight have keys and values of their own.
    void eachBatchInFlightHasACache() {
        const auto simulated = [&](const QStringList& more) {
            return object_of(model("simulate", "1e9", QStringList{"--sequence", "1000"} + more));
        };
        const auto peaks = [](const QJsonObject& found) {
            double bytes = 0;
            for (const QJsonValue& device : found["devices"].toArray())
                bytes += device.toObject()["peak_bytes"].toDouble();
            return bytes;
        };
        const auto cache = [](const QJsonObject& found) {
            const QJsonArray phases = found["language"].toObject()["phases"].toArray();
            return phases[0].toObject()["cache_bytes"].toDouble();
        };
        const QJsonObject one = simulated({}), four = simulated({"--batches", "8", "--in-flight", "4"}),
                          turns = simulated({"--batches", "8"});
        QVERIFY(cache(one) > 0);
        QCOMPARE(cache(four), 4 * cache(one));
        QVERIFY(peaks(four) >= peaks(one) + 3 * cache(one));
        QCOMPARE(peaks(turns), peaks(one));
        // What runs as many batches is told so.
        const QString file = path("llama.sh");
        object_of(model("export", "1e9",
                        {"--sequence", "1000", "--batch", "2", "--batches", "8", "--in-flight", "4", "--to",
                         "llama.cpp", "--out", file}));
        QVERIFY2(content_of(file).contains(" --ctx-size 8000 --parallel 8"), content_of(file));
    }

    /// Options of language models are not ignored where there is no language model.
    void otherNetworksRefuseTheOptions() {
        const Result result =
            run({"simulate", "alexnet", "--machine", "1x-v100", "--phase", "decode", "--dtype", "int4"});
        QCOMPARE(result.status, 2);
        QVERIFY2(result.err.contains("--phase, --dtype: the sizes in alexnet are fixed"), result.err);
    }

    void smallWeightsAreProposed() {
        const auto told = [&](const QStringList& more) {
            const QStringList asked{"optimize", "llama-3-70b", "--evaluations",
                                    "1",        "--machine",   "RTX 4090, RTX 3060"};
            return run(asked + more).err;
        };
        QVERIFY2(told({}).endsWith("more memory, or --dtype int4\n"), told({}));
        // Where they are small already, there is nothing to propose.
        const QByteArray small = told({"--dtype", "int4", "--batch", "1000"});
        QVERIFY2(small.contains("fits the memory") && !small.contains("or --dtype"), small);
    }

    /// The fastest placement is never slower than the splits of frameworks.
    void searchesBeatSplitsByBytes() {
        for (const QByteArray memory : {"400e6", "150e6", "80e6"}) {
            const QJsonObject found =
                object_of(model("optimize", memory, {"--sequence", "1000", "--evaluations", "300"}));
            const QJsonArray splits = found["language"].toObject()["framework_splits"].toArray();
            QCOMPARE(splits.size(), 2);
            QVERIFY(found["best"].toObject()["fits"].toBool());
            for (const QJsonValue& split : splits) {
                if (!split["fits"].toBool()) continue;
                QVERIFY(found["best"].toObject()["step_time_s"].toDouble() <=
                        split["objective_s"].toDouble() * 1.001);
            }
        }
    }

    /// A GPU that waits in a single step works on the next batch if several are in flight.
    void batchesInFlightFillTheGpus() {
        const QString file = path("half.json");
        QVERIFY(!object_of(
                     model("optimize", "220e6",
                           {"--algorithm", "memory-proportional", "--set", "allow_cpu=false", "--out", file}))
                     .isEmpty());
        const QStringList placed{"--placement", file};
        const double alone = object_of(model("simulate", "220e6", placed))["step_time_s"].toDouble();
        const double filled = object_of(model(
            "simulate", "220e6", placed + QStringList{"--batches", "32", "--in-flight", "4"}))["step_time_s"]
                                  .toDouble();
        QVERIFY2(filled < alone / 1.6, qPrintable(QString::number(alone / filled)));
        const double fifo = object_of(model(
            "simulate", "220e6",
            placed + QStringList{"--batches", "32", "--in-flight", "4", "--order", "fifo"}))["step_time_s"]
                                .toDouble();
        QVERIFY(fifo >= filled);
    }

    /// Batches whose layers are on two GPUs go to and fro. 1F1B, which lets one batch at a time into the last
    /// stage, holds them up, so that it is not the order then.
    void splitLayersKeepTheirOrder() {
        QByteArray map = R"({"": 0)";
        for (int layer = 0; layer < 12; ++layer)
            map += ", \"model.layers." + QByteArray::number(layer) + ".mlp\": 1";
        const QString file = write("to-and-fro.json", map + "}");
        const auto step_s = [&](const QStringList& order) {
            return object_of(model(
                "simulate", "1e9",
                QStringList{"--split-layers", "--placement", file, "--batches", "8", "--in-flight", "4"} +
                    order))["step_time_s"]
                .toDouble();
        };
        const double fifo = step_s({"--order", "fifo"});
        QVERIFY2(step_s({"--order", "1f1b"}) > 1.1 * fifo, qPrintable(QString::number(fifo)));
        QCOMPARE(step_s({}), fifo);
    }

    /// Computing on the CPU reads weights at 50 GB/s, streaming sends them at 10 GB/s.
    void weightsAreStreamedOrStay() {
        const auto step_s = [&](const QStringList& more) {
            return object_of(model("simulate", "1e9", more))["step_time_s"].toDouble();
        };
        const QString all = write("cpu.json", R"({"": "cpu"})");
        const double computed = step_s({"--placement", all}),
                     streamed = step_s({"--placement", all, "--offload", "stream"});
        QVERIFY2(std::abs(streamed / computed - 5) < 0.5, qPrintable(QString::number(streamed / computed)));
        // What is on GPUs is not affected.
        const QString none = write("gpu.json", R"({"": 0})");
        QCOMPARE(step_s({"--placement", none}), step_s({"--placement", none, "--offload", "stream"}));
        const Result refused =
            run(model("simulate", "1e9", {"--offload", "stream", "--in-flight", "2", "--batches", "2"}));
        QCOMPARE(refused.status, 2);
        QVERIFY2(refused.err.contains("--offload"), refused.err);
        const Result training =
            run(model("simulate", "1e10", {"--offload", "stream", "--phase", "training"}));
        QCOMPARE(training.status, 3);
        QVERIFY2(training.err.contains("in inference only"), training.err);
    }

    /// From config.json through a search to what each framework loads.
    void fiveExports() {
        const QStringList options{"--sequence", "1000", "--batch", "3"};
        const QString placement = path("placed.json");
        QVERIFY(!object_of(model("optimize", "220e6",
                                 options + QStringList{"--algorithm", "memory-proportional", "--set",
                                                       "allow_cpu=false", "--out", placement}))
                     .isEmpty());
        const auto exported = [&](const QString& format) {
            const QString out = path("out." + format);
            const QJsonObject report = object_of(
                model("export", "220e6",
                      options + QStringList{"--placement", placement, "--to", format, "--out", out}));
            [&] { QVERIFY(report["fits"].toBool()); }();
            return content_of(out);
        };
        const QJsonObject map = QJsonDocument::fromJson(exported("device-map")).object();
        std::array<int, 2> layers{};
        for (int i = 0; i < 12; ++i)
            ++layers.at(static_cast<std::size_t>(map["model.layers." + QString::number(i)].toInt(-1)));
        const QByteArray split = QByteArray::number(layers[0]) + ',' + QByteArray::number(layers[1]);
        QVERIFY(layers[0] > 0 && layers[1] > 0);
        const QByteArray llama = exported("llama.cpp");
        QVERIFY2(llama.contains("-ngl 13 --tensor-split " + QByteArray::number(layers[0]) + ',' +
                                QByteArray::number(layers[1] + 1) + " --ctx-size 3000 --parallel 3\n"),
                 llama);
        QVERIFY(exported("vllm").contains("VLLM_PP_LAYER_PARTITION=" + split + '\n'));
        QCOMPARE(QJsonDocument::fromJson(exported("deepspeed")).object()["parts"].toArray(),
                 (QJsonArray{0, 1 + layers[0], 15}));
        QVERIFY(exported("megatron")
                    .contains("'Et*" + QByteArray::number(layers[0]) + "|t*" + QByteArray::number(layers[1]) +
                              "L'"));
    }

    /// Programs that split one chain of layers say why they cannot run two.
    void encodersWithDecodersHaveDeviceMapsAlone() {
        const QString t5 =
            write("t5.json", R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"],
            "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 100})");
        const QStringList base{"export", t5, "--machine", write("machine.json", machine("1e9"))};
        const Result map = run(base + QStringList{"--to", "device-map", "--out", path("t5.map")});
        QVERIFY2(map.status == 0, map.err);
        for (const char* format : {"llama.cpp", "vllm", "deepspeed", "megatron"}) {
            const Result refused = run(base + QStringList{"--to", format, "--out", path("t5.out")});
            QCOMPARE(refused.status, 3);
            QVERIFY2(refused.err.contains("more than one chain of layers (decoder/block, encoder/block)"),
                     refused.err);
        }
    }

    /// Experts on the CPU: llama.cpp can be told, the others name the layers.
    void cutBlocksAreNamed() {
        const QByteArray moe = R"({"model_type": "mixtral", "architectures": ["MixtralForCausalLM"],
            "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4,
            "intermediate_size": 512, "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 100,
            "torch_dtype": "bfloat16"})";
        const QString config = write("moe.json", moe), graph = path("moe.graph.json");
        QCOMPARE(run({"convert", config, graph, "--split-layers"}).status, 0);
        QJsonObject devices;
        const QJsonObject network = QJsonDocument::fromJson(content_of(graph)).object();
        for (const QJsonValue& op : network["ops"].toArray()) {
            const QString name = op["name"].toString();
            const bool expert =
                name.contains("/experts/") && (name.contains("layers/1/") || name.contains("layers/2/"));
            devices[name] = expert ? 0 : 1;
        }
        const QString placement = write("moe.placed.json", QJsonDocument(devices).toJson());
        const auto exported = [&](const QString& format, const QStringList& more = {}) {
            return run(QStringList{"export", config, "--split-layers", "--machine",
                                   write("machine.json", machine("1e9")), "--placement", placement, "--to",
                                   format, "--out", path("moe.out")} +
                       more);
        };
        const Result llama = exported("llama.cpp");
        QVERIFY2(llama.status == 0, llama.err);
        const QByteArray arguments = content_of(path("moe.out"));
        QVERIFY2(arguments.contains(
                     "--override-tensor \"blk\\.(1|2)\\.(ffn_down_exps|ffn_gate_exps|ffn_up_exps)\\.=CPU\""),
                 arguments);
        for (const char* format : {"vllm", "deepspeed", "megatron"}) {
            const Result refused = exported(format);
            QCOMPARE(refused.status, 3);
            QVERIFY2(refused.err.contains("the placement cuts layers 1 to 2 of model/layers"), refused.err);
        }
        const Result map = exported("device-map");
        QCOMPARE(map.status, 3);
        QVERIFY2(map.err.contains("cannot cut a block: \"model.layers.1 on cpu:0, gpu:0\", \"model.layers.2"),
                 map.err);
        const Result repaired = exported("device-map", {"--repair"});
        QVERIFY2(repaired.status == 0, repaired.err);
        const QJsonObject keys = QJsonDocument::fromJson(content_of(path("moe.out"))).object();
        QCOMPARE(keys["model.layers.1"].toString(), QString("cpu"));
        QCOMPARE(keys["model.layers.0"].toInt(-1), 0);
    }

    /// Transformers keeps the latents of DeepSeek expanded.
    void expandedLatentsAreCounted() {
        const QString config =
            write("mla.json", R"({"model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"],
            "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 16, "num_key_value_heads": 16,
            "intermediate_size": 512, "vocab_size": 100, "q_lora_rank": null, "kv_lora_rank": 64,
            "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "first_k_dense_replace": 2,
            "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "n_shared_experts": 1,
            "torch_dtype": "bfloat16", "max_position_embeddings": 4096})");
        const auto exported = [&](const QByteArray& memory, const QStringList& more = {}) {
            return run(QStringList{"export", config, "--machine",
                                   write("m" + memory + ".json", machine(memory)), "--sequence", "1000",
                                   "--to", "device-map", "--out", path("mla.out")} +
                       more);
        };
        // 2 layers of 1000 tokens: 16 (32 + 16 + 32) numbers of 2 bytes in place of 64 + 16.
        const Result fits = exported("1e9");
        QVERIFY2(
            fits.err.contains("gpu:0 keeps 5.12 MB in place of 320 kB") && fits.err.contains("which fits"),
            fits.err);
        const Result tight = exported("6e6");
        QVERIFY2(tight.err.contains("which does not fit"), tight.err);
        QVERIFY(!exported("1e9", {"--mla-cache", "expanded"}).err.contains("expanded"));
    }

    void mistakes_data() {
        QTest::addColumn<QStringList>("options");
        QTest::newRow("phase") << QStringList{"--phase", "tomorrow"};
        QTest::newRow("sequence") << QStringList{"--sequence", "0"};
        QTest::newRow("huge sequence") << QStringList{"--sequence", "1000000000000"};
        QTest::newRow("type") << QStringList{"--dtype", "fp7"};
        QTest::newRow("cache") << QStringList{"--kv-dtype", "8"};
        QTest::newRow("latent cache") << QStringList{"--mla-cache", "none"};
        QTest::newRow("offload") << QStringList{"--offload", "disk"};
    }
    void mistakes() {
        QFETCH(QStringList, options);
        const Result result = run(model("simulate", "1e9", options));
        QCOMPARE(result.status, 2);
        QVERIFY2(result.err.contains(options.front().toUtf8()), result.err);
    }
};

QTEST_GUILESS_MAIN(TestCliLanguage)
#include "tst_cli_language.moc"
