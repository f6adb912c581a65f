// SPDX-License-Identifier: MIT
// Placements of language models as arguments of llama.cpp, vLLM, DeepSpeed and Megatron-LM.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/random.hpp"
#include "core/io/placements/layer_split.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

/// "embedding", `layers` layers, "head", on GPUs and, last, a CPU.
std::shared_ptr<const Problem> model(std::size_t layers, std::size_t gpus, bool inference = false) {
    GraphBuilder builder("model", 1, Training::none);
    for (std::size_t i = 0; i < layers + 2; ++i) {
        Op op;
        op.name = i == 0 ? "embedding" : i <= layers ? "layer" + std::to_string(i - 1) : "head";
        op.kind = "linear";
        op.flops = 1e9;
        op.parameter_bytes = 4;
        if (i > 0 && i <= layers) op.colocate = "model/layers/" + std::to_string(i - 1);
        if (inference && i > 0 && i <= layers) op.resident_bytes = 2'000'000;
        if (i > 0) op.inputs.push_back({static_cast<OpId>(i - 1), 0});
        Tensor tensor;
        tensor.bytes = 1000;
        op.outputs.push_back(tensor);
        builder.add(std::move(op));
    }
    const Machine uniform = test::uniform_machine(gpus + 1);
    std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
    devices.back().kind = DeviceKind::cpu;
    devices.back().name = "cpu:0";
    ProblemOptions options;
    options.inference = inference;
    return test::problem(builder.build(),
                         Machine("machine", devices, {uniform.channels().begin(), uniform.channels().end()},
                                 {uniform.routes().begin(), uniform.routes().end()}),
                         options);
}

/// The devices of the embedding, of the layers and of the head.
PlacedNetwork placed(const Placement& placement, std::size_t gpus, bool inference = false) {
    PlacedNetwork network{
        model(placement.size() - 2, gpus, inference), placement, {}, {}, "folder/config.json"};
    network.reading.language.sequence = 2048;
    return network;
}

/// llama.cpp's rule (load_tensors): the devices of the layers and of the output; -1 for the CPU.
std::vector<int> by_the_rule(int layers, int active, const std::vector<double>& split) {
    std::vector<int> devices;
    double sum = 0;
    for (const double each : split) sum += each;
    for (int layer = 0; layer <= layers; ++layer) {
        const int start = std::max(layers + 1 - active, 0), on_gpu = std::min(active, layers + 1);
        if (layer < start) {
            devices.push_back(-1);
            continue;
        }
        double cumulated = 0;
        int device = 0;
        for (; device + 1 < static_cast<int>(split.size()); ++device) {
            cumulated += split[static_cast<std::size_t>(device)];
            if (cumulated / sum > static_cast<double>(layer - start) / on_gpu) break;
        }
        devices.push_back(device);
    }
    return devices;
}

QString refusal(const PlacedNetwork& network, WrittenPlacement (*write)(const PlacedNetwork&)) {
    try {
        write(network);
    } catch (const PlacementError& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

}  // namespace

class TestLayerSplit : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Any placement of the layers comes back from llama.cpp's own rule and the overrides.
    void llamaCppGivesThePlacement() {
        static const QRegularExpression active("-ngl (\\d+)"), shares("--tensor-split ([\\d,]+)"),
            order("--device ([A-Z\\d,]+)"), overrides("blk\\\\\\.\\(([\\d|]+)\\)\\\\\\.=(CPU|CUDA\\d)"),
            output("\\^output\\(_norm\\)\\?\\\\\\.=(CPU|CUDA\\d)");
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            Random random(seed);
            const std::size_t gpus = 1 + random.index(3), layers = 1 + random.index(12);
            Placement placement{static_cast<DeviceId>(gpus)};
            DeviceId device = random.chance(0.5) ? static_cast<DeviceId>(gpus) : DeviceId{0};
            for (std::size_t i = 0; i <= layers; ++i) {
                if (random.chance(0.3)) device = static_cast<DeviceId>(random.index(gpus + 1));
                placement.push_back(device);
            }
            const QString text = QString::fromStdString(llama_cpp_arguments(placed(placement, gpus)).content);
            std::vector<double> split;
            if (gpus == 1) split = {1};
            for (const QString& share : shares.match(text).captured(1).split(',', Qt::SkipEmptyParts))
                split.push_back(share.toDouble());
            if (split.empty()) split.assign(gpus, 1);
            std::vector<int> names;
            for (const QString& name : order.match(text).captured(1).split(',', Qt::SkipEmptyParts))
                names.push_back(name.mid(4).toInt());
            std::vector<int> found =
                by_the_rule(static_cast<int>(layers), active.match(text).captured(1).toInt(), split);
            for (int& each : found)
                each = each < 0        ? static_cast<int>(gpus)
                       : names.empty() ? each
                                       : names[static_cast<std::size_t>(each)];
            for (auto matches = overrides.globalMatch(text); matches.hasNext();) {
                const QRegularExpressionMatch match = matches.next();
                const int where =
                    match.captured(2) == "CPU" ? static_cast<int>(gpus) : match.captured(2).mid(4).toInt();
                for (const QString& layer : match.captured(1).split('|')) found[layer.toUInt()] = where;
            }
            if (const QRegularExpressionMatch match = output.match(text); match.hasMatch())
                found.back() =
                    match.captured(1) == "CPU" ? static_cast<int>(gpus) : match.captured(1).mid(4).toInt();
            const std::vector<int> wanted(placement.begin() + 1, placement.end());
            QVERIFY2(found == wanted, qPrintable(QString::number(seed) + '\n' + text));
            QVERIFY2(text.contains("--ctx-size 2048 --parallel 1\n"), qPrintable(text));
        }
    }

    void stagesOfVllmDeepSpeedAndMegatron() {
        const PlacedNetwork network = placed({0, 0, 0, 0, 1, 1, 2, 2}, 3);
        const QString vllm = QString::fromStdString(vllm_script(network).content);
        QVERIFY2(vllm.contains("export VLLM_PP_LAYER_PARTITION=3,2,1\n"), qPrintable(vllm));
        // A folder without weights, as those that ship, cannot be served.
        QVERIFY2(vllm.contains("vllm serve MODEL --pipeline-parallel-size 3"), qPrintable(vllm));
        const QTemporaryDir folder;
        QFile weights(folder.filePath("model-00001-of-00002.safetensors"));
        QVERIFY(weights.open(QIODevice::WriteOnly));
        PlacedNetwork loaded = network;
        loaded.network_file = folder.filePath("config.json").toStdString();
        const QString served = QString::fromStdString(vllm_script(loaded).content);
        QVERIFY2(served.contains("vllm serve '" + folder.path() + "' --pipeline-parallel-size 3"),
                 qPrintable(served));
        QVERIFY(!vllm.contains("CUDA_VISIBLE_DEVICES"));
        const QJsonObject parts =
            QJsonDocument::fromJson(QByteArray::fromStdString(deepspeed_parts(network).content)).object();
        QCOMPARE(parts["parts"].toArray(), (QJsonArray{0, 4, 6, 9}));
        QCOMPARE(parts["layers"].toArray().size(), 9);
        QCOMPARE(parts["layers"].toArray()[1].toString(), "model.layers.0");
        const QString megatron = QString::fromStdString(megatron_arguments(network).content);
        QVERIFY2(megatron.contains("--pipeline-model-parallel-layout 'Et*3|t*2|t*1L'"), qPrintable(megatron));
    }

    void otherOrdersOfGpusAreSaid() {
        const PlacedNetwork network = placed({2, 2, 2, 0, 0, 0}, 3);
        QVERIFY(vllm_script(network).content.find("export CUDA_VISIBLE_DEVICES=2,0\n") != std::string::npos);
        QVERIFY(megatron_arguments(network).content.find("CUDA_VISIBLE_DEVICES=2,0") != std::string::npos);
        QVERIFY(llama_cpp_arguments(network).content.find("--device CUDA2,CUDA0,CUDA1") != std::string::npos);
        const std::vector<std::string> warnings = deepspeed_parts(network).warnings;
        QVERIFY(std::ranges::any_of(warnings, [](const std::string& warning) {
            return warning.find("CUDA_VISIBLE_DEVICES=2,0") != std::string::npos;
        }));
        QCOMPARE(stage_start(network).visible, std::string("CUDA_VISIBLE_DEVICES=2,0"));
        QCOMPARE(stage_start(network).stages, std::size_t{2});
    }

    /// llama.cpp counts blocks of the file that do not run as layers before the output.
    void blocksThatDoNotRunCountForLlamaCpp() {
        const auto line = [](std::int64_t unread) {
            GraphBuilder builder("model", 1, Training::none);
            for (const char* name : {"embedding", "layer0", "layer1", "head"}) {
                Op op;
                op.name = name;
                op.kind = "linear";
                op.parameter_bytes = 4;
                op.outputs = {make_tensor({1, 4})};
                if (op.name.starts_with("layer")) op.colocate = "model/layers/" + op.name.substr(5);
                if (op.name == "embedding") op.attributes["unread_blocks"] = std::to_string(unread);
                builder.add(op, op.name == "embedding" ? std::vector<std::string>{}
                                : op.name == "layer0"  ? std::vector<std::string>{"embedding"}
                                : op.name == "layer1"  ? std::vector<std::string>{"layer0"}
                                                       : std::vector<std::string>{"layer1"});
            }
            PlacedNetwork network = placed({2, 0, 1, 1}, 2);
            const Machine machine = *network.problem->machine;
            network.problem = test::problem(builder.build(), machine);
            return QString::fromStdString(llama_cpp_arguments(network).content);
        };
        QVERIFY2(line(0).contains("-ngl 3 --tensor-split 1,2 "), qPrintable(line(0)));
        QVERIFY2(line(1).contains("-ngl 4 --tensor-split 1,3 "), qPrintable(line(1)));
    }

    void encodersAreRefused() {
        PlacedNetwork network = placed({0, 0, 0}, 1);
        GraphBuilder builder("encoder", 1, Training::none);
        Op op;
        op.name = "attention";
        op.kind = "scaled_dot_product_attention";
        op.colocate = "encoder/layer/0";
        op.attributes["causal"] = "false";
        op.outputs = {make_tensor({1, 4})};
        builder.add(op, {});
        network.problem = test::problem(builder.build(), test::uniform_machine(1));
        for (auto* write : {llama_cpp_arguments, vllm_script, deepspeed_parts, megatron_arguments}) {
            const QString message = refusal(network, write);
            QVERIFY2(message.contains("is an encoder"), qPrintable(message));
        }
    }

    void tensorsOfALayerHaveNamesInGguf_data() {
        QTest::addColumn<QString>("parameter");
        QTest::addColumn<bool>("more");
        QTest::addColumn<QString>("tensor");
        const auto row = [](const char* parameter, const char* tensor, bool more = false) {
            QTest::addRow("%s%s", parameter, more ? ", four norms" : "")
                << "model.layers.0." + QString(parameter) << more << tensor;
        };
        row("input_layernorm.weight", "attn_norm");
        row("post_attention_layernorm.weight", "ffn_norm|post_attention_norm");
        row("post_attention_layernorm.weight", "post_attention_norm", true);
        row("self_attn.q_norm.weight", "attn_q_norm");
        row("self_attn.q_proj.weight", "attn_q");
        row("mlp.gate.weight", "ffn_gate_inp");
        row("mlp.gate_proj.weight", "ffn_gate");
        row("mlp.gate_up_proj.weight", "ffn_up");
        row("mlp.experts.7.up_proj.weight", "ffn_up_exps");
        row("self_attn.kv_b_proj.weight", "attn_kv_b|attn_k_b|attn_v_b");
    }
    void tensorsOfALayerHaveNamesInGguf() {
        QFETCH(QString, parameter);
        QFETCH(bool, more);
        QFETCH(QString, tensor);
        GraphBuilder builder("model", 1, Training::none);
        const auto add = [&](const char* name, const char* kind, const char* block, const QString& weight) {
            Op op;
            op.name = name;
            op.kind = kind;
            op.scope = more ? "model/layers/0/pre_feedforward_layernorm" : "";
            op.parameter_bytes = weight.isEmpty() ? 0 : 4;
            op.outputs = {make_tensor({1, 4})};
            if (*block != '\0') op.attributes["block"] = '"' + std::string(block) + '"';
            if (!weight.isEmpty())
                op.attributes["parameters"] =
                    QJsonDocument(QJsonArray{weight}).toJson(QJsonDocument::Compact).toStdString();
            builder.add(op, op.name == "attention" ? std::vector<std::string>{}
                                                   : std::vector<std::string>{"attention"});
        };
        add("attention", "scaled_dot_product_attention", "model/layers/0", {});
        add("map", "linear", "model/layers/0", parameter);
        PlacedNetwork network = placed({0, 0, 0}, 1);
        const Machine machine = *network.problem->machine;
        network.problem = test::problem(builder.build(), machine);
        network.placement = {0, 1};
        const QString text = QString::fromStdString(llama_cpp_arguments(network).content);
        QVERIFY2(text.contains("blk\\.(0)\\.(" + tensor + ")\\.=CPU"), qPrintable(text));
    }

    /// These programs run the embedding with the first layer and the head with the last.
    void movedEndsAreSaid() {
        for (auto* write : {vllm_script, deepspeed_parts, megatron_arguments}) {
            QVERIFY(write(placed({0, 0, 0, 1, 1, 1}, 2)).warnings.empty());
            const PlacedNetwork network = placed({2, 0, 0, 1, 1, 0}, 2);
            const WrittenPlacement written = write(network);
            // The step time is that of the run.
            QVERIFY(written.outcome.has_value());
            QCOMPARE(written.outcome->step_time_s,
                     Simulator(network.problem).run(Placement{0, 0, 0, 1, 1, 1}).step_time_s);
            const std::vector<std::string>& warnings = written.warnings;
            QCOMPARE(warnings.size(), std::size_t{2});
            QVERIFY2(warnings[0].find("on gpu:0, but the placement has it on cpu:0") != std::string::npos,
                     warnings[0].c_str());
            QVERIFY2(warnings[1].find("on gpu:1, but the placement has it on gpu:0") != std::string::npos,
                     warnings[1].c_str());
        }
    }

    void refusalsListTheLayers() {
        for (auto* write : {vllm_script, deepspeed_parts, megatron_arguments}) {
            const QString cpu = refusal(placed({3, 3, 3, 0, 0, 1}, 3), write);
            QVERIFY2(cpu.contains("CPU") && cpu.contains("cpu:0 has layers 0 to 1"), qPrintable(cpu));
            const QString torn = refusal(placed({0, 0, 1, 0, 0, 1}, 3), write);
            QVERIFY2(torn.contains("gpu:0 has layers 0, 2 to 3"), qPrintable(torn));
        }
        PlacedNetwork plain = placed({0, 0, 0}, 1);
        plain.problem = test::problem(test::chain(3), test::uniform_machine(1));
        QVERIFY(refusal(plain, llama_cpp_arguments).contains("the network has no layers"));
    }

    void scatteredLayersAreRepaired() {
        PlacedNetwork network = placed({0, 0, 1, 0, 0, 1, 1}, 2);
        QVERIFY(refusal(network, vllm_script).contains("--repair"));
        network.placement = repair_layer_runs(network);
        const QString vllm = QString::fromStdString(vllm_script(network).content);
        QVERIFY2(vllm.contains("VLLM_PP_LAYER_PARTITION=3,2\n"), qPrintable(vllm));
        QCOMPARE(repair_layer_runs(network), network.placement);
    }

    /// What was simulated reaches the program: sequences at a time, and the number formats.
    void servedAsSimulated() {
        PlacedNetwork network = placed({0, 0, 0, 1, 1}, 2, true);
        network.simulation.batches = network.simulation.in_flight = 8;
        network.reading.language.cache = WeightType::fp8;
        network.reading.language.weights = WeightType::int4;
        const QString vllm = QString::fromStdString(vllm_script(network).content);
        QVERIFY2(vllm.contains(" --max-num-seqs 8 --kv-cache-dtype fp8\n"), qPrintable(vllm));
        QVERIFY2(vllm.contains("# placed for weights in int4"), qPrintable(vllm));
        const QString llama = QString::fromStdString(llama_cpp_arguments(network).content);
        QVERIFY2(llama.contains(" --cache-type-k q8_0 --cache-type-v q8_0\n"), qPrintable(llama));
        QVERIFY2(llama.contains("# placed for weights in int4"), qPrintable(llama));
        QCOMPARE(vllm_script(network).warnings.size(), std::size_t{0});
        network.reading.language.cache = WeightType::int4;
        QCOMPARE(vllm_script(network).warnings.size(), std::size_t{1});
    }

    /// --override-tensor moves weights; the cache stays with the device of the rule.
    void cachesOfOverriddenLayersAreSaid() {
        const auto warnings = [](const Placement& placement) {
            QString text;
            for (const std::string& warning : llama_cpp_arguments(placed(placement, 2, true)).warnings)
                text += QString::fromStdString(warning) + '\n';
            return text;
        };
        QVERIFY(!warnings({0, 0, 0, 1, 1, 1}).contains("cache"));
        const QString moved = warnings({0, 0, 1, 0, 0, 1});
        QVERIFY2(moved.contains("is on gpu:1, which holds 4.00 MB more than placed"), qPrintable(moved));
    }

    void trainersWarnOfInference() {
        for (auto* write : {deepspeed_parts, megatron_arguments}) {
            const auto warnings = write(placed({0, 0, 0, 1, 1}, 2, true)).warnings;
            QCOMPARE(warnings.size(), std::size_t{1});
            QVERIFY2(warnings[0].find("--phase training") != std::string::npos, warnings[0].c_str());
        }
    }
};

QTEST_GUILESS_MAIN(TestLayerSplit)
#include "tst_layer_split.moc"
