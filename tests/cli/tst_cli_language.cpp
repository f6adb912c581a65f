// SPDX-License-Identifier: MIT
// The command line: language models, their phases, cache and offloading.
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
