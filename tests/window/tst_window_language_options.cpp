// SPDX-License-Identifier: MIT
// Language models in the window: files of other programs, layers on the CPU, what makes them fit, the order
// of pipelined batches, whole modules.
#include <algorithm>
#include <memory>

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QProcess>
#include <QSpinBox>
#include <QTest>
#include <QToolBar>
#include <QToolButton>

#include "app/window/context_slider.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/language_text.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/graph/blocks.hpp"
#include "tests/support/gguf.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/quantities.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/text.hpp"

using namespace placewright;
using test::giveFile, test::openSimulation, test::pick, test::Shown, test::statusText;

namespace {

constexpr auto kMachine = "2x-rtx-4090";  // cpu:0, gpu:0, gpu:1

template <class Control>
Control* control(const QWidget* in, const char* name) {
    auto* found = in->findChild<Control*>(QString::fromLatin1(name));
    if (found == nullptr) qFatal("no control %s", name);
    return found;
}

QToolBar* bar(const Shown& shown) {
    return control<QToolBar>(&shown.window, "languageToolBar");
}

QString options(const Shown& shown) {
    return control<QToolButton>(&shown.window, "simulationButton")->text();
}

void placeAll(Shown& shown, DeviceId device) {
    OpList all;
    for (OpId op = 0; op < shown.document.problem()->ops; ++op) all.push_back(op);
    shown.document.moveOps(all, device);
    if (!shown.waitUntilIdle()) qFatal("the window does not come to rest");
}

void chooseOffload(Shown& shown, int entry) {
    auto* dialog = openSimulation(shown);
    pick(dialog, "offload", entry);
    test::leave(shown, dialog, true);
}

/// Leaves a spin box of a dialog with a number.
void type(SimulationDialog* dialog, const char* name, int number) {
    auto* box = control<QSpinBox>(dialog, name);
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QString::number(number));
    QTest::keyClick(box, Qt::Key_Tab);
}

}  // namespace

class TestWindowLanguageOptions : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;

    QJsonObject config(int layers = 6) const {
        return {{"model_type", "llama"},       {"architectures", QJsonArray{"LlamaForCausalLM"}},
                {"torch_dtype", "bfloat16"},   {"num_hidden_layers", layers},
                {"hidden_size", 1024},         {"intermediate_size", 4096},
                {"num_attention_heads", 16},   {"num_key_value_heads", 4},
                {"vocab_size", 32000},         {"max_position_embeddings", 4096},
                {"tie_word_embeddings", false}};
    }
    /// The folder of a small model.
    QString model(const QString& name, int layers = 6) const {
        QDir().mkpath(m_place->file(name));
        m_place->write(name + QStringLiteral("/config.json"), QJsonDocument(config(layers)).toJson());
        return m_place->file(name);
    }
    /// The names of all weights in an index, but those that begin with `left_out`.
    void writeIndex(const QString& name, int layers, const QString& left_out = QStringLiteral("-")) const {
        QStringList weights{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"};
        for (int layer = 0; layer < layers; ++layer) {
            for (const char* part :
                 {"input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj",
                  "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
                weights << QStringLiteral("model.layers.%1.%2.weight").arg(layer).arg(QLatin1String(part));
        }
        QJsonObject map;
        for (const QString& weight : weights) {
            if (!weight.startsWith(left_out)) map[weight] = "model-00001-of-00001.safetensors";
        }
        m_place->write(name + QStringLiteral("/model.safetensors.index.json"),
                       QJsonDocument(QJsonObject{{"metadata", QJsonObject()}, {"weight_map", map}}).toJson());
    }
    /// What `placewright-cli simulate` prints.
    static QJsonObject simulatedByCli(const QStringList& arguments) {
        QProcess cli;
        cli.start(PLACEWRIGHT_CLI, QStringList{"simulate"} + arguments + QStringList{"--json"});
        if (!cli.waitForFinished(60'000) || cli.exitCode() != 0)
            qFatal("%s", cli.readAllStandardError().constData());
        return QJsonDocument::fromJson(cli.readAllStandardOutput()).object();
    }
    static void checkAgainstCli(const Shown& shown, const QStringList& arguments) {
        const QJsonObject cli = simulatedByCli(arguments);
        QCOMPARE(cli["step_time_s"].toDouble(), shown.stepTime());
        const Outcome& outcome = shown.document.timeline()->outcome;
        const QJsonArray devices = cli["devices"].toArray();
        for (DeviceId device = 0; device < shown.document.problem()->devices; ++device) {
            QCOMPARE(devices[device]["peak_bytes"].toDouble(), outcome.peak_bytes[device]);
            QCOMPARE(devices[device]["busy_s"].toDouble(), outcome.device_busy_s[device]);
        }
    }

private Q_SLOTS:
    void init() { m_place = std::make_unique<test::Workplace>(); }
    void cleanup() { m_place.reset(); }

    // --- files ---

    void aGgufOpens() {
        const std::string content = test::small_gguf().content();
        const QString file =
            m_place->write("small.gguf", QByteArray(content.data(), static_cast<int>(content.size())));
        Shown shown;
        QVERIFY(shown.open(file, kMachine));
        QVERIFY(bar(shown)->isVisible());
        QCOMPARE(control<QComboBox>(bar(shown), "phase")->currentText(), QString("Decode"));
        QCOMPARE(control<QSpinBox>(bar(shown), "languageBatch")->value(), 1);
        QCOMPARE(control<QSpinBox>(bar(shown), "context")->value(), 512);
        QCOMPARE(control<QComboBox>(bar(shown), "weightType")->currentText(), QString("As stored"));
        // 4.5 bits for each of the weights of its maps.
        QCOMPARE(
            shown.document.problem()->network->op(shown.op("model/layers/0/mlp/up_proj")).parameter_bytes,
            std::int64_t{64 * 96 / 32 * 18});
        const QString status = statusText(shown, "Step time");
        QVERIFY2(status.contains(tokenRateText(1 / shown.stepTime())), qPrintable(status));
    }

    void aFolderWithAnIndexOpens() {
        const QString folder = model("indexed", 2);
        writeIndex("indexed", 2);
        Shown shown;
        QVERIFY(shown.dropFile(folder));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), folder);
        QVERIFY(bar(shown)->isVisible());
        QCOMPARE(control<QComboBox>(bar(shown), "phase")->currentText(), QString("Decode"));
        QCOMPARE(control<QSpinBox>(bar(shown), "context")->value(), 4096);
        QVERIFY2(shown.message().isEmpty(), qPrintable(shown.message()));
        // An index that lacks what the model needs is refused, and the open one stays.
        const QString broken = model("broken", 2);
        writeIndex("broken", 2, "model.layers.1.mlp.up_proj");
        QVERIFY(shown.dropFile(broken));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("model.layers.1.mlp.up_proj.weight"), qPrintable(shown.message()));
        QCOMPARE(shown.document.networkFile(), folder);
    }

    // --- ops on a CPU ---

    void streamedWeightsAreWhereTheyAre() {
        const QString folder = model("llama");
        Shown shown;
        QVERIFY(shown.open(folder, kMachine));
        placeAll(shown, 0);
        const double computed_s = shown.stepTime();
        const QString everything = m_place->write("cpu.json", QByteArray(R"({"": "cpu"})"));
        const QStringList arguments{folder, "--machine", kMachine, "--placement", everything};
        checkAgainstCli(shown, arguments);
        QVERIFY2(statusText(shown, "Step time").contains("the CPU takes 100 %"),
                 qPrintable(statusText(shown, "Step time")));

        chooseOffload(shown, 1);
        QCOMPARE(shown.document.options().problem.offload, Offload::stream);
        QVERIFY2(options(shown).contains("streamed weights"), qPrintable(options(shown)));
        QVERIFY(shown.stepTime() > computed_s);
        checkAgainstCli(shown, arguments + QStringList{"--offload", "stream"});
        // The GPU's lane has all ops, the channel all weights; the CPU only holds them.
        const TimelineData& timeline = *shown.document.timeline();
        const Problem& problem = *shown.document.problem();
        std::size_t copies = 0;
        for (const Span& span : timeline.trace.spans) {
            if (span.kind == Span::Kind::op) QCOMPARE(span.resource, DeviceId{1});
            copies += span.kind == Span::Kind::transfer && problem.is_streamed(span.tensor);
        }
        QVERIFY(copies > 6 * 7);
        QVERIFY(timeline.outcome.peak_bytes[1] > 0);
        QVERIFY(!statusText(shown, "Step time").contains("the CPU takes"));

        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.options().problem.offload, Offload::compute);
        QCOMPARE(shown.stepTime(), computed_s);
        QVERIFY(!options(shown).contains("streamed"));
    }

    void whereNothingIsStreamedItCannotBeChosen() {
        Shown shown;
        QVERIFY(shown.open("alexnet", kMachine));
        auto* dialog = openSimulation(shown);
        auto* offload = control<QComboBox>(dialog, "offload");
        QVERIFY(!offload->isEnabled());  // training
        pick(dialog, "pass", 1);
        QVERIFY(offload->isEnabled());
        type(dialog, "batches", 4);
        QVERIFY(offload->isEnabled());
        type(dialog, "inFlight", 2);
        QVERIFY(!offload->isEnabled());
        test::leave(shown, dialog, false);
        QVERIFY(shown.open(model("llama"), m_place->write("gpus.json", test::uniform_machine(2))));
        dialog = openSimulation(shown);
        QVERIFY(!control<QComboBox>(dialog, "offload")->isEnabled());  // no CPU
        QVERIFY2(control<QComboBox>(dialog, "offload")->toolTip().contains("needs inference"),
                 qPrintable(control<QComboBox>(dialog, "offload")->toolTip()));
        test::leave(shown, dialog, false);
    }

    void theChoiceIsSavedInTheWorkspace() {
        QString file = m_place->file("streamed.placewright");
        // The step time that is saved with the choice.
        const auto saved_s = [&](int entry) {
            Shown shown;
            if (!shown.open(model("llama"), kMachine)) return 0.0;
            placeAll(shown, 0);
            if (entry > 0) chooseOffload(shown, entry);
            giveFile(file);
            shown.window.keeper()->save(true);
            return shown.stepTime();
        };
        const auto isNamed = [&] {
            QFile saved(file);
            return saved.open(QIODevice::ReadOnly) && saved.readAll().contains("\"offload\"");
        };
        const auto reopened_s = [&] {
            Shown shown;
            shown.document.openWorkspace(file);
            if (!QTest::qWaitFor([&] { return shown.document.isOpen(); }, 20'000)) return 0.0;
            if (!shown.waitUntilIdle()) return 0.0;
            return shown.stepTime();
        };
        const double streamed_s = saved_s(1);
        QVERIFY(isNamed());
        QCOMPARE(reopened_s(), streamed_s);
        // The default is not written: workspaces from before there was a choice open with it.
        file = m_place->file("computed.placewright");
        const double computed_s = saved_s(0);
        QVERIFY(computed_s != streamed_s);
        QVERIFY(!isNamed());
        QCOMPARE(reopened_s(), computed_s);
    }

    // --- what makes a placement fit ---

    void aShorterContextIsOffered() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        placeAll(shown, 1);
        const double now_bytes = shown.document.timeline()->outcome.peak_bytes[1];
        // Half of the cache is too much.
        shown.document.setMachine(m_place->write(
            "small.json", test::uniform_machine(2, now_bytes - 6 * 4096 / 2 * 2 * 4 * 64 * 2)));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.assessment()->score.fits);
        QTRY_VERIFY(shown.document.longestContext());
        const std::int64_t longest = shown.document.longestContext()->tokens;
        QVERIFY(longest > 1000 && longest < 4096);
        auto* button = control<QToolButton>(&shown.window, "remedies");
        QTRY_VERIFY(button->isVisible());
        QAction* shorter = nullptr;
        for (QAction* action : button->menu()->actions()) {
            if (action->text().startsWith(QStringLiteral("context of %1:").arg(tokensText(longest))))
                shorter = action;
        }
        QVERIFY(shorter != nullptr);
        shorter->trigger();
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.assessment()->score.fits);
        QCOMPARE(control<QSpinBox>(bar(shown), "context")->value(), static_cast<int>(longest));
        QVERIFY(!button->isVisible());
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(control<QSpinBox>(bar(shown), "context")->value(), 4096);
    }

    void aSmallerBatchIsOffered() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        placeAll(shown, 1);
        auto* batch = control<QSpinBox>(bar(shown), "languageBatch");
        batch->setFocus();
        batch->selectAll();
        QTest::keyClicks(batch, "8");
        QTest::keyClick(batch, Qt::Key_Return);
        QTRY_COMPARE(shown.document.problem()->network->batch(), 8);
        QVERIFY(shown.waitUntilIdle());
        const double now_bytes = shown.document.timeline()->outcome.peak_bytes[1];
        // Less than half of the cache fits.
        shown.document.setMachine(m_place->write(
            "small.json", test::uniform_machine(2, now_bytes - 5 * 6 * 4096.0 * 2 * 4 * 64 * 2)));
        QVERIFY(shown.waitUntilIdle());
        auto* button = control<QToolButton>(&shown.window, "remedies");
        QTRY_VERIFY(button->isVisible());
        const auto actions = button->menu()->actions();
        QVERIFY(std::ranges::any_of(
            actions, [](const QAction* action) { return action->text().startsWith("batch size 2:"); }));
    }

    // --- pipelines ---

    void theOrderOfPipelinesIsThatOfServers() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        auto* dialog = openSimulation(shown);
        QCOMPARE(control<QComboBox>(dialog, "order")->currentText(), QString("Automatic"));
        type(dialog, "batches", 8);
        type(dialog, "inFlight", 4);
        test::leave(shown, dialog, true);
        QCOMPARE(shown.document.job().simulation.order, Order::one_forward_one_backward);
        dialog = openSimulation(shown);
        QCOMPARE(control<QComboBox>(dialog, "order")->currentText(), QString("Automatic"));
        pick(dialog, "order", 1);
        test::leave(shown, dialog, true);
        QCOMPARE(shown.document.job().simulation.order, Order::fifo);
        QVERIFY2(options(shown).contains("First come, first served"), qPrintable(options(shown)));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.job().simulation.order, Order::one_forward_one_backward);
    }

    /// After a search each device has one run of layers, the first of alike ones the first.
    void stagesReadFromTheFirstDeviceOn() {
        Shown shown;
        QVERIFY(shown.open("llama-3-70b", "8x-a100-nvlink"));
        shown.document.startSearch(test::request("auto", 300));
        QVERIFY(shown.waitUntilIdle());
        const Problem& problem = *shown.document.problem();
        std::vector<DeviceId> stages;
        for (GroupId group = 0; group < problem.groups; ++group) {
            if (!block_number(problem.graph->op(problem.grouping.members[group].front()))) continue;
            const DeviceId device = shown.document.placement()[group];
            if (stages.empty() || stages.back() != device) stages.push_back(device);
        }
        QVERIFY(stages.size() >= 4);  // 141 GB on GPUs of 40 GB
        for (std::size_t i = 1; i < stages.size(); ++i) QCOMPARE(stages[i], stages[i - 1] + 1);
    }

    // --- whole modules ---

    void searchesSayWhatSplittingModulesGains() {
        Shown shown;
        QVERIFY(shown.open("resnet50", "2x-v100-pcie"));
        auto* dialog = openSimulation(shown);
        pick(dialog, "runtime", 1);
        test::leave(shown, dialog, true);
        const int id = shown.document.startSearch(test::request("random", 20));
        QVERIFY(shown.waitUntilIdle());
        const auto& rows = test::rows(shown);
        const auto row = std::ranges::find(rows, id, &RunRow::id);
        QVERIFY(row != rows.end());
        QVERIFY2(row->splitting.startsWith("With whole modules (grouped by module, depth 2) a step takes "),
                 qPrintable(row->splitting));
        QVERIFY2(shown.message().contains(row->splitting), qPrintable(shown.message()));
        const auto* table = shown.window.findChild<RunsView*>();
        QVERIFY(table->model()
                    ->index(0, 0)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(QLatin1String("With whole modules")));
        // Other runtimes move ops.
        QVERIFY(shown.open("resnet50", "2x-v100-pcie"));
        dialog = openSimulation(shown);
        pick(dialog, "runtime", 0);
        test::leave(shown, dialog, true);
        shown.document.startSearch(test::request("random", 20));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(test::rows(shown).back().splitting.isEmpty());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowLanguageOptions)
#include "tst_window_language_options.moc"
