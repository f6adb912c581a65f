// SPDX-License-Identifier: MIT
// Language models in the window: opening their folders, phase, batch, context and types, tokens a second,
// what fills the devices, the longest context.
#include <memory>
#include <numeric>

#include <QAbstractButton>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QHelpEvent>
#include <QSpinBox>
#include <QStatusBar>
#include <QTest>
#include <QToolBar>
#include <QToolButton>
#include <QToolTip>

#include "app/window/context_slider.hpp"
#include "app/window/dialogs/simulation_dialog.hpp"
#include "app/window/language_text.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/settings.hpp"
#include "app/window/workspace_keeper.hpp"
#include "core/io/shipped.hpp"
#include "tests/support/window.hpp"
#include "widgets/device_panel.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/quantities.hpp"
#include "widgets/start_page.hpp"
#include "widgets/text.hpp"

using namespace placewright;
using test::giveFile, test::pressInMenu, test::Shown, test::statusText;

namespace {

constexpr auto kMachine = "2x-rtx-4090";

/// The bar of a language model, and what is in it.
struct Bar {
    explicit Bar(const Shown& shown)
        : bar(shown.window.findChild<QToolBar*>(QStringLiteral("languageToolBar"))),
          phase(bar->findChild<QComboBox*>(QStringLiteral("phase"))),
          weights(bar->findChild<QComboBox*>(QStringLiteral("weightType"))),
          batch(bar->findChild<QSpinBox*>(QStringLiteral("languageBatch"))),
          context(bar->findChild<QSpinBox*>(QStringLiteral("context"))),
          slider(bar->findChild<ContextSlider*>()),
          longest(bar->findChild<QToolButton*>(QStringLiteral("longestContext"))) {}

    QToolBar* bar;
    QComboBox *phase, *weights;
    QSpinBox *batch, *context;
    ContextSlider* slider;
    QToolButton* longest;
};

/// Chooses the entry by keyboard.
void choose(QComboBox* box, const QString& text) {
    box->setFocus();
    QTest::keyClick(box, Qt::Key_Home);
    while (box->currentText() != text && box->currentIndex() + 1 < box->count())
        QTest::keyClick(box, Qt::Key_Down);
    QCOMPARE(box->currentText(), text);
}

/// Types a number and leaves with this key.
void type(QSpinBox* box, int number, Qt::Key leave = Qt::Key_Return) {
    box->setFocus();
    box->selectAll();
    QTest::keyClicks(box, QString::number(number));
    QTest::keyClick(box, leave);
}

}  // namespace

class TestWindowLanguage : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;

    /// A small model of Llama's kind, as a folder.
    QString model(const QString& name, int layers = 6, int limit = 4096) const {
        QDir().mkpath(m_place->file(name));
        m_place->write(name + QStringLiteral("/config.json"),
                       QStringLiteral(R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
            "torch_dtype": "bfloat16", "num_hidden_layers": %1, "hidden_size": 1024, "intermediate_size": 4096,
            "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000,
            "max_position_embeddings": %2, "tie_word_embeddings": false})")
                           .arg(layers)
                           .arg(limit)
                           .toUtf8());
        return m_place->file(name);
    }
    static const LanguageOptions& language(const Shown& shown) { return *shown.document.job().language; }
    /// Whether the placement on screen would fit with this context.
    static bool fitsWith(const Shown& shown, std::int64_t tokens) {
        JobOptions options = shown.document.options();
        options.reading.language.sequence = tokens;
        const Job job = load_job(shown.document.networkFile().toStdString(), kMachine, options);
        return assess(job, shown.document.placement(),
                      Simulator(job.problem, job.simulation).run(shown.document.placement()))
            .score.fits;
    }

private Q_SLOTS:
    void init() { m_place = std::make_unique<test::Workplace>(); }
    void cleanup() { m_place.reset(); }

    // --- opening ---

    void theMenuOpensAFolder() {
        const QString folder = model("tiny-llama");
        Shown shown;
        shown.document.setMachine(kMachine);
        QVERIFY(!Bar(shown).bar->isVisible());
        giveFile(folder);
        pressInMenu(shown, shown.action("Open model folder"));
        QTRY_VERIFY(shown.document.isOpen());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->graph->name(), std::string("tiny-llama"));
        const Bar bar(shown);
        QVERIFY(bar.bar->isVisible());
        QCOMPARE(bar.phase->currentText(), QString("Decode"));
        QCOMPARE(bar.batch->value(), 1);
        QCOMPARE(bar.context->value(), 4096);
        QCOMPARE(bar.weights->currentText(), QString("As stored"));
        QVERIFY2(shown.message().isEmpty(), qPrintable(shown.message()));
        // The next folder is looked for beside this one.
        QCOMPARE(settings::openFolder.get(), QFileInfo(folder).absolutePath());
    }

    void theOpenDialogShowsFilesOfLanguageModels() {
        const QString file = model("llama") + QStringLiteral("/config.json");
        Shown shown;
        QStringList filters;
        giveFile(file, [&] {
            filters = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())->nameFilters();
        });
        QTest::keyClick(&shown.window, Qt::Key_O, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), file);
        QVERIFY(Bar(shown).bar->isVisible());
        for (const char* ending : {"*.json", "*.gguf"}) QVERIFY2(filters.front().contains(ending), ending);
    }

    void foldersAndTheirFilesAreDroppedAndRemembered() {
        const QString folder = model("dropped-llama");
        Shown shown;
        QVERIFY(shown.dropFile(folder));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), folder);
        QVERIFY(shown.action("1  dropped-llama"));
        QVERIFY(shown.dropFile(folder + QStringLiteral("/config.json")));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), folder + QStringLiteral("/config.json"));
        QCOMPARE(shown.document.problem()->graph->name(), std::string("dropped-llama"));
        // Every such file has the same name: that of the folder tells them apart.
        QVERIFY(shown.action("2  dropped-llama"));
        shown.action("2  dropped-llama")->trigger();
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), folder);
    }

    void aFolderWithoutAModelIsRefused() {
        QDir().mkpath(m_place->file("empty"));
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        const auto problem = shown.document.problem();
        QVERIFY(shown.dropFile(m_place->file("empty")));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY2(shown.message().contains("empty: is a folder without config.json"),
                 qPrintable(shown.message()));
        QCOMPARE(shown.document.problem(), problem);
        QVERIFY(Bar(shown).bar->isVisible());
    }

    void theStartPageHasLanguageModels() {
        Shown shown;
        auto* page = shown.window.findChild<StartPage*>();
        QAbstractButton* card = nullptr;
        for (auto* button : page->findChildren<QAbstractButton*>()) {
            if (button->toolTip().endsWith(QLatin1String("llama-3-70b"))) card = button;
        }
        QVERIFY(card);
        QVERIFY2(card->accessibleName().contains(QLatin1String("70.6 G parameters")) ||
                     card->accessibleDescription().contains(QLatin1String("70.6 G parameters")) ||
                     card->text().contains(QLatin1String("70.6 G parameters")),
                 qPrintable(card->accessibleName() + card->accessibleDescription() + card->text()));
        QTest::mouseClick(card, Qt::LeftButton);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.problem()->graph->name(), std::string("llama-3-70b"));
        QVERIFY(Bar(shown).bar->isVisible());
        QVERIFY(shown.action("1  llama-3-70b"));
    }

    void aChangeOnDiskIsReloaded() {
        const QString folder = model("llama", 6);
        Shown shown;
        QVERIFY(shown.open(folder, kMachine));
        const std::size_t ops = shown.document.problem()->ops;
        const OpId op = shown.op("model/layers/2/self_attn/q_proj");
        shown.document.moveOps({op}, 2);
        QVERIFY(shown.waitUntilIdle());
        model("llama", 8);
        QTRY_VERIFY2(shown.window.offerBar()->text("reload").contains("llama/config.json has changed"),
                     qPrintable(shown.window.offerBar()->text("reload")));
        QTest::keyClick(&shown.window, Qt::Key_R, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.problem()->ops > ops);
        QCOMPARE(shown.deviceOf("model/layers/2/self_attn/q_proj"), DeviceId{2});
        QVERIFY(shown.document.job().language);
    }

    void whatTheReaderNotesIsSaid() {
        Shown shown;
        QVERIFY(shown.open(model("llama", 2, 512), kMachine));
        QVERIFY2(shown.message().isEmpty(), qPrintable(shown.message()));
        type(Bar(shown).context, 600);
        QTRY_COMPARE(language(shown).sequence, std::optional<std::int64_t>(600));
        QVERIFY2(shown.message().contains("600 tokens is longer than the model's limit of 512"),
                 qPrintable(shown.message()));
    }

    // --- phase, batch, context and type ---

    void theBarReadsTheModelAgainAndKeepsThePlacement() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        const Bar bar(shown);
        const double stored = static_cast<double>(totals(*shown.document.problem()->network).parameter_bytes);
        shown.document.moveOps({shown.op("model/layers/2/self_attn/q_proj")}, 2);
        QVERIFY(shown.waitUntilIdle());
        const auto kept = [&] {
            return shown.deviceOf("model/layers/2/self_attn/q_proj") == 2 &&
                   shown.deviceOf("model/layers/3/self_attn/q_proj") != 2;
        };
        QVERIFY(kept());
        const double decode_s = shown.stepTime();

        choose(bar.phase, "Prefill");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(language(shown).phase, LanguagePhase::prefill);
        QVERIFY(shown.stepTime() > decode_s);
        QVERIFY(kept());

        type(bar.batch, 3);
        QTRY_COMPARE(shown.document.problem()->network->batch(), 3);
        QVERIFY(kept());
        type(bar.context, 1000);
        QTRY_COMPARE(language(shown).sequence, std::optional<std::int64_t>(1000));
        QCOMPARE(shown.document.problem()->network->batch(), 3);
        QVERIFY(kept());

        choose(bar.weights, "int4");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(language(shown).weights, std::optional(WeightType::int4));
        QVERIFY(static_cast<double>(totals(*shown.document.problem()->network).parameter_bytes) <
                0.7 * stored);
        QVERIFY(kept());
        const auto* simulation = shown.window.findChild<QToolButton*>(QStringLiteral("simulationButton"));
        for (const char* option : {"batch size 3", "prefill", "1,000 tokens", "int4"})
            QVERIFY2(simulation->text().contains(QLatin1String(option)), qPrintable(simulation->text()));

        // Each is a step with a name that can be undone.
        QVERIFY2(shown.document.undoStack()->undoText().contains("Weights in int4"),
                 qPrintable(shown.document.undoStack()->undoText()));
        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(bar.weights->currentText(), QString("As stored"));
        for (int i = 0; i < 3; ++i) QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(bar.phase->currentText(), QString("Decode"));
        QCOMPARE(bar.batch->value(), 1);
        QCOMPARE(bar.context->value(), 4096);
        QCOMPARE(shown.stepTime(), decode_s);
    }

    void trainingHasABackwardPass() {
        Shown shown;
        QVERIFY(shown.open(model("llama", 2), kMachine));
        const std::size_t ops = shown.document.problem()->ops;
        OpList all(ops);
        std::iota(all.begin(), all.end(), OpId{0});
        shown.document.moveOps(all, 2);
        QVERIFY(shown.waitUntilIdle());
        choose(Bar(shown).phase, "Training");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(language(shown).phase, LanguagePhase::training);
        QVERIFY(shown.document.problem()->ops > 2 * ops);
        // The loss, which only training has, is where its input is.
        const Placement& placement = shown.document.placement();
        QCOMPARE(placement, Placement(placement.size(), 2));
    }

    void anEncoderHasNoDecodePhase() {
        QDir().mkpath(m_place->file("bert"));
        m_place->write("bert/config.json", R"({"model_type": "bert", "architectures": ["BertModel"],
            "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
            "vocab_size": 100, "max_position_embeddings": 128, "type_vocab_size": 2})");
        Shown shown;
        QVERIFY(shown.open(m_place->file("bert"), kMachine));
        const Bar bar(shown);
        QCOMPARE(bar.phase->currentText(), QString("Prefill"));
        QVERIFY2(shown.message().contains("bert is an encoder, which has no decode phase"),
                 qPrintable(shown.message()));
        choose(bar.phase, "Training");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(language(shown).phase, LanguagePhase::training);
        choose(bar.phase, "Prefill");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(language(shown).phase, LanguagePhase::prefill);
    }

    void otherNetworksHaveNoBar() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        const Bar bar(shown);
        QVERIFY(bar.bar->isVisible());
        QVERIFY(shown.window.toolBarBreak(bar.bar));
        QVERIFY(shown.open("alexnet"));
        QVERIFY(!bar.bar->isVisible());
        // Neither a restored layout nor the menu of the toolbars brings it back.
        shown.action("Restore default layout")->trigger();
        QVERIFY(!bar.bar->isVisible());
        QVERIFY(!bar.bar->toggleViewAction()->isVisible());
        QVERIFY(shown.open(model("llama")));
        shown.action("Restore default layout")->trigger();
        QVERIFY(bar.bar->isVisible());
        QVERIFY(shown.window.toolBarBreak(bar.bar));
        // What was chosen for one model is not that of the next.
        QCOMPARE(bar.phase->currentText(), QString("Decode"));
    }

    void choicesAreSavedInTheWorkspace() {
        const QString file = m_place->file("work.placewright");
        double step_s = 0;
        {
            Shown shown;
            QVERIFY(shown.open(toQString(find_network_file("llama-3.1-8b").string()), kMachine));
            const Bar bar(shown);
            choose(bar.phase, "Prefill");
            type(bar.batch, 2);
            type(bar.context, 2000);
            choose(bar.weights, "fp8");
            QVERIFY(shown.waitUntilIdle());
            step_s = shown.stepTime();
            giveFile(file);
            shown.window.keeper()->save(true);
        }
        Shown shown;
        shown.document.openWorkspace(file);
        QTRY_VERIFY_WITH_TIMEOUT(shown.document.isOpen(), 20'000);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.networkFile(), QString("llama-3.1-8b"));
        const Bar bar(shown);
        QVERIFY(bar.bar->isVisible());
        QCOMPARE(bar.phase->currentText(), QString("Prefill"));
        QCOMPARE(bar.batch->value(), 2);
        QCOMPARE(bar.context->value(), 2000);
        QCOMPARE(bar.weights->currentText(), QString("fp8"));
        QCOMPARE(shown.stepTime(), step_s);
    }

    // --- figures ---

    void tokensASecondStandBesideTheStepTime() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        const Bar bar(shown);
        type(bar.batch, 4);
        QTRY_COMPARE(shown.document.problem()->network->batch(), 4);
        QVERIFY(shown.waitUntilIdle());
        QString status = statusText(shown, "Step time");
        QVERIFY2(status.contains(tokenRateText(4 / shown.stepTime())), qPrintable(status));
        QVERIFY2(!status.contains("first token"), qPrintable(status));
        choose(bar.phase, "Prefill");
        QVERIFY(shown.waitUntilIdle());
        status = statusText(shown, "Step time");
        QVERIFY2(status.contains(tokenRateText(4 * 4096 / shown.stepTime())), qPrintable(status));
        QVERIFY2(status.contains("first token after " + secondsText(shown.stepTime())), qPrintable(status));
        QVERIFY(shown.open("alexnet"));
        QVERIFY(!statusText(shown, "Step time").contains("token"));
    }

    void aPipelineOfPromptsCountsItsSteadyState() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        OpList half;
        for (OpId op = 0; op < shown.document.problem()->ops / 2; ++op) half.push_back(op);
        shown.document.moveOps(half, shown.deviceOf("lm_head") == 1 ? 2 : 1);
        choose(Bar(shown).phase, "Prefill");
        QVERIFY(shown.waitUntilIdle());
        const double alone_s = shown.stepTime();
        auto* dialog = openSimulation(shown);
        auto* batches = dialog->findChild<QSpinBox*>(QStringLiteral("batches"));
        auto* inFlight = dialog->findChild<QSpinBox*>(QStringLiteral("inFlight"));
        QVERIFY(batches && inFlight);
        type(batches, 12, Qt::Key_Tab);
        type(inFlight, 4, Qt::Key_Tab);
        test::leave(shown, dialog, true);
        const Outcome& outcome = shown.document.timeline()->outcome;
        QVERIFY(outcome.steady_step_time_s);
        // Both stages work at the same time.
        QVERIFY(*outcome.steady_step_time_s < 0.8 * alone_s);
        const QString status = statusText(shown, "Step time");
        QVERIFY2(status.contains(tokenRateText(4096 / *outcome.steady_step_time_s)), qPrintable(status));
        QVERIFY2(!status.contains("first token"), qPrintable(status));
    }

    void devicesSayWhatFillsThem() {
        Shown shown;
        QVERIFY(shown.open("alexnet", kMachine));
        const double row = shown.window.devicePanel()->deviceRect(1).height();
        QVERIFY(shown.open("llama-3.1-8b"));
        DevicePanel* panel = shown.window.devicePanel();
        QVERIFY(panel->deviceRect(1).height() > row);
        const DeviceId device = shown.deviceOf("lm_head");
        // All weights, and 131,072 bytes of cache a token.
        const QPoint middle = shown.rowOf(device);
        QHelpEvent help(QEvent::ToolTip, middle, panel->mapToGlobal(middle));
        QApplication::sendEvent(panel, &help);
        const QString expected = QStringLiteral("weights %1 · cache %2")
                                     .arg(bytesText(2 * 8'030'261'248.0), bytesText(4096 * 131'072.0));
        QVERIFY2(QToolTip::text().contains(expected), qPrintable(QToolTip::text()));
        const double free_bytes = shown.document.problem()->memory_limit_bytes[device] -
                                  shown.document.assessment()->device_bytes[device];
        QVERIFY2(QToolTip::text().contains(bytesText(free_bytes) + " free"), qPrintable(QToolTip::text()));
    }

    void aTypedContextHoldsForTheNextSearch() {
        Shown shown;
        QVERIFY(shown.open(model("llama"), kMachine));
        const std::size_t before = shown.document.runs().size();
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(50);
        type(Bar(shown).context, 1000, Qt::Key_F5);
        QTRY_COMPARE(shown.document.runs().size(), before + 1);
        QVERIFY(shown.waitUntilIdle());
        const Run& run = *shown.document.runs().back();
        QCOMPARE(run.job().language->sequence, std::optional<std::int64_t>(1000));
        QCOMPARE(run.state(), Run::State::finished);
        QCOMPARE(language(shown).sequence, std::optional<std::int64_t>(1000));
    }

    // --- the longest context ---

    void theLongestContextIsSaidAndTaken() {
        Shown shown;
        QVERIFY(shown.open("llama-3.1-8b", kMachine));
        const Bar bar(shown);
        const auto& longest = shown.document.longestContext();
        QVERIFY(longest && longest->device);
        const QString device = toQString(shown.document.problem()->machine->device(*longest->device).name);
        QCOMPARE(bar.longest->text(),
                 QStringLiteral("fits up to %L1 tokens (%2)").arg(longest->tokens).arg(device));
        QVERIFY(fitsWith(shown, longest->tokens));
        QVERIFY(!fitsWith(shown, longest->tokens + 1));
        QVERIFY(shown.document.assessment()->score.fits);
        const std::int64_t tokens = longest->tokens;

        QTest::mouseClick(bar.longest, Qt::LeftButton);
        QTRY_COMPARE(language(shown).sequence, std::optional(tokens));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.assessment()->score.fits);
        QCOMPARE(shown.document.longestContext()->tokens, tokens);

        // Half of the layers elsewhere leave room for more than the model allows.
        OpList half;
        for (OpId op = 0; op < shown.document.problem()->ops / 2; ++op) half.push_back(op);
        const auto other = static_cast<DeviceId>(shown.deviceOf("lm_head") == 1 ? 2 : 1);
        shown.document.moveOps(half, other);
        QVERIFY(shown.waitUntilIdle());
        constexpr std::int64_t kLimit = 131'072;
        QVERIFY(tokens < kLimit);
        QCOMPARE(shown.document.longestContext()->tokens, kLimit);
        QCOMPARE(bar.longest->text(),
                 QStringLiteral("fits up to %L1 tokens (the model's limit)").arg(kLimit));
        QTest::mouseClick(bar.longest, Qt::LeftButton);
        QTRY_COMPARE(language(shown).sequence, std::optional(kLimit));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.document.assessment()->score.fits);
    }

    void theSliderMovesTheContext() {
        Shown shown;
        QVERIFY(shown.open("llama-3.1-8b", kMachine));
        const Bar bar(shown);
        QCOMPARE(bar.slider->tokens(), 4096);
        // The mark is where what fits ends.
        const auto mark = bar.slider->longestX();
        QVERIFY(mark && *mark > bar.slider->width() / 2 && *mark < bar.slider->width());
        const int y = bar.slider->height() / 2, at = bar.slider->width() * 5 / 13;
        // The handle is at 4096: five of thirteen octaves.
        const int handle = bar.slider->style()->pixelMetric(QStyle::PM_SliderLength, nullptr, bar.slider);
        const int from = handle / 2 + (bar.slider->width() - handle) * 5 / 13;
        shown.drag(bar.slider, QPoint(from, y), bar.slider, QPoint(at + 60, y), false);
        const std::int64_t dragged = bar.slider->tokens();
        QVERIFY(dragged > 4096);
        QCOMPARE(bar.context->value(), static_cast<int>(dragged));
        // The model is read again when the handle is let go.
        QCOMPARE(language(shown).sequence, std::optional<std::int64_t>(4096));
        QTest::mouseRelease(bar.slider, Qt::LeftButton, {}, QPoint(at + 60, y));
        QTRY_COMPARE(language(shown).sequence, std::optional(dragged));

        bar.slider->setFocus();
        QTest::keyClick(bar.slider, Qt::Key_End);
        QTRY_COMPARE(language(shown).sequence, std::optional<std::int64_t>(1'048'576));
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(!shown.document.assessment()->score.fits);
        QCOMPARE(bar.slider->longestX(), mark);
        QTest::keyClick(bar.slider, Qt::Key_Home);
        QTRY_COMPARE(language(shown).sequence, std::optional<std::int64_t>(128));
        QTest::keyClick(bar.slider, Qt::Key_Right);
        QTRY_COMPARE(language(shown).sequence, std::optional<std::int64_t>(144));
    }

    // --- the graph ---

    void manyLayersAreBlocksThatCanBeRead() {
        Shown shown;
        shown.window.resize(1400, 900);
        QVERIFY(shown.open(model("deep", 126), kMachine));
        const auto scene = shown.document.scene();
        std::size_t blocks = 0;
        for (const auto& node : scene->nodes) blocks += node.isModule() && node.label.startsWith("layers/");
        QCOMPARE(blocks, std::size_t{126});
        // All are equally wide, so that they stand one below the other.
        for (const auto& node : scene->nodes) QCOMPARE(node.rect.width(), scene->nodes.front().rect.width());
        const std::size_t before = scene->nodes.size();
        QVERIFY(before < 140);
        const GraphView* graph = shown.window.graphView();
        QVERIFY(graph->isFitted());
        // Labels are drawn on nodes of at least 10 pixels, in letters of 7.
        QTRY_VERIFY2(graph->zoom().scale * scene->nodes.front().rect.height() >= 11,
                     qPrintable(QString::number(graph->zoom().scale * scene->nodes.front().rect.height())));
        // Modules that are opened stay open in another phase.
        shown.document.showModules({"model/layers/3"}, true);
        QVERIFY(shown.waitUntilIdle());
        const std::size_t nodes = shown.document.scene()->nodes.size();
        QVERIFY(nodes > before);
        choose(Bar(shown).phase, "Prefill");
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(shown.document.scene()->nodes.size(), nodes);
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowLanguage)
#include "tst_window_language.moc"
