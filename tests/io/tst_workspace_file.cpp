// SPDX-License-Identifier: MIT
// Workspace files, good and bad.
#include <filesystem>
#include <fstream>

#include <QTemporaryDir>
#include <QTest>

#include "core/base/infinity.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/shipped.hpp"
#include "core/io/state/workspace_file.hpp"
#include "core/io/text/input_error.hpp"

using namespace placewright;

namespace {

Workspace workspace(const std::string& network) {
    Workspace made;
    made.title = "wide on three, 77.6 ms";
    made.network = network;
    made.scenarios = {{"2x RTX 4090", {}, {{"batch", std::int64_t{64}}}, "f1"},
                      {"4x-v100-nvlink",
                       machine_json(find_machine("2x-v100-pcie")),
                       {{"inference", true}, {"penalty_per_gb", 0.5}},
                       "f2"}};
    made.placement = {{"a", "gpu:0"}, {"b", "gpu:1"}};
    made.shown_run = 3;
    made.followed_run = 3;
    made.pinned = {1, {1, 1}, "Auto #1"};
    made.kept = {{1, {0, 1}, 0.25}};
    made.selection = {"b"};
    made.has_modules = true;
    made.closed_modules = {"layer1"};
    made.view = {{"seed", std::int64_t{7}}, {"layout", std::string("AAA=")}};
    Workspace::Run run;
    run.id = 3;
    run.scenario = 1;
    run.search = {"genetic", {{"population_size", std::int64_t{8}}}, ~std::uint64_t{0}, 500, {{0, 0}}};
    run.seconds = kInfinity;
    run.state = Workspace::Run::State::running;
    run.start_s = 0.5;
    run.progress.evaluations = 42;
    run.progress.elapsed_s = 1.5;
    run.progress.best = {0.25, 0.25, true};
    run.progress.best_placement = std::make_shared<const Placement>(Placement{0, 1});
    run.progress.curve =
        std::make_shared<const std::vector<CurvePoint>>(std::vector<CurvePoint>{{10, 0.1, 0.3, 0.4, true}});
    auto archive = std::make_shared<ArchiveView>();
    archive->dimensions = {{"devices", 2, {"1", "2"}}};
    archive->elites = {{1, {0.25, 0.25, true}, run.progress.best_placement}};
    run.progress.archive = archive;
    run.progress.means = {{5, 0.5}, {10, kInfinity}};
    run.progress.samples =
        std::make_shared<const std::vector<SamplePoint>>(std::vector<SamplePoint>{{7, 0.1, 0.4, false}});
    QuantileSketch sketch;
    for (const double value : {0.25, 0.5, 0.5, kInfinity}) sketch.add(value);
    run.sketch = std::make_shared<const QuantileSketch>(sketch);
    run.name = "mine";
    run.hidden = run.exhausted = true;
    run.splitting = "Splitting 3 of 12 modules saves 14.0 %";
    run.scores = {{{1, ~std::uint64_t{0}}, {0.1 + 0.2, 1e9, false}}};
    auto distribution = std::make_shared<DistributionView>();
    *distribution = {{0, 2}, {0.25, 0.75, 1, 0}, 0.3, 0.7, {{5, 0.6}}};
    run.progress.distribution = distribution;
    run.progress.training = std::make_shared<const std::vector<TrainingPoint>>(
        std::vector<TrainingPoint>{{1, 8, 0.9, 0.1, 0.8, 0.6, 0, 1e-3, 1e-2}, {3, 24, 0.7, 0.2, 0.6}});
    made.runs = {run};
    made.scenarios[1].network_fingerprint = "0123456789abcdef";
    made.scenarios[1].machine_fingerprint = "fedcba9876543210";
    made.scenarios[1].factors = {{0.5, 1}, {}, {1, 2}};
    MeasuredRun& measured =
        made.measured.emplace_back("rank0", "traces/rank0.json", true, 1, MeasuredRun()).run;
    measured.name = "rank0";
    measured.placement = {0, 1};
    measured.step_times_s = {0.3, 0.1 + 0.2};
    measured.peak_bytes = {4096, 0};
    Span op, transfer;
    op = {.resource = 1, .op = 3, .batch = 2, .queued_s = 0.1, .start_s = 0.2, .end_s = 0.3, .stream = 1};
    transfer = {.kind = Span::Kind::transfer,
                .resource = 1,
                .from = 0,
                .to = 1,
                .op = 3,
                .tensor = 4,
                .bytes = 1e9 / 3,
                .batch = 2,
                .queued_s = 0.1,
                .start_s = 0.2,
                .end_s = 0.3};
    measured.trace.spans = {op, transfer};
    measured.trace.memory = {{1, 0.5, 1e6}};
    made.benchmarks = 2;
    made.measured_best = {1,
                          "Genetic #3",
                          true,
                          true,
                          7,
                          {{0.4, 0.4, true}},
                          {{{0, 1}, {0.25, 0.25, true}, {0.3, 0.3, true}, 0.29, 0.1 + 0.2, false},
                           {{1, 1}, {0.3, 0.3, true}, {100, 0, false}, 0, 0, true, "disturbed", true}}};
    made.learned = {"placeto", 500, "policies/p.safetensors", run.progress.training};
    return made;
}

}  // namespace

class TestWorkspaceFile : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    Path file(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)).toStdString(); }
    Path write(const char* name, const std::string& text) const {
        std::ofstream(file(name)) << text;
        return file(name);
    }

private Q_SLOTS:
    void whatShipsIsKeptByItsName() {
        // The name of a language model is that of its folder, which has dots.
        for (const char* name : {"alexnet", "llama-3.1-8b"}) {
            Workspace made = workspace(find_network_file(name).string());
            write_workspace(made, file("shipped.placewright"));
            QCOMPARE(read_workspace(file("shipped.placewright")).network, std::string(name));
        }
    }

    void roundTrip() {
        const Workspace made = workspace("alexnet");
        write_workspace(made, file("a.placewright"));
        const Workspace found = read_workspace(file("a.placewright"));
        QCOMPARE(found.title, made.title);
        QCOMPARE(workspace_head(file("a.placewright")).title, made.title);
        QVERIFY(!workspace_head(file("a.placewright")).closed_by_system);
        QVERIFY(is_workspace(file("a.placewright")));
        QCOMPARE(found.network, std::string("alexnet"));
        QCOMPARE(found.scenarios[0].machine, std::string("2x RTX 4090"));
        QVERIFY(found.scenarios[1].options == made.scenarios[1].options);
        QVERIFY(found.placement == made.placement);
        QVERIFY(found.kept[0].placement == made.kept[0].placement);
        QVERIFY(found.view == made.view);
        QCOMPARE(found.followed_run, 3);
        QCOMPARE(found.pinned->scenario, std::size_t{1});
        QVERIFY(found.pinned->placement == made.pinned->placement);
        QCOMPARE(found.pinned->name, made.pinned->name);
        QVERIFY(found.scenarios[0].edited.empty());
        QCOMPARE(machine_json(machine_from_json("a.placewright", found.scenarios[1].edited)),
                 made.scenarios[1].edited);
        QVERIFY(found.closed_modules == made.closed_modules);
        const Workspace::Run &run = found.runs[0], &of = made.runs[0];
        QVERIFY(run.search == of.search);
        QVERIFY(run.state == of.state);
        QCOMPARE(run.seconds, kInfinity);
        QVERIFY(run.scores == of.scores);
        QVERIFY(*run.progress.curve == *of.progress.curve);
        QVERIFY(run.progress.means == of.progress.means);
        QVERIFY(*run.progress.samples == *of.progress.samples);
        QVERIFY(*run.sketch == *of.sketch);
        QCOMPARE(run.sketch->count(), std::uint64_t{4});
        QCOMPARE(run.name, of.name);
        QVERIFY(run.hidden && run.exhausted);
        QCOMPARE(run.splitting, made.runs.front().splitting);
        QVERIFY(*run.progress.best_placement == *of.progress.best_placement);
        QCOMPARE(run.progress.archive->elites[0].cell, 1U);
        const DistributionView &map = *run.progress.distribution, &ofMap = *of.progress.distribution;
        QVERIFY(map.devices == ofMap.devices && map.probability == ofMap.probability);
        QVERIFY(map.entropies == ofMap.entropies && map.largest_entropy == ofMap.largest_entropy);
        QVERIFY(*run.progress.training == *of.progress.training);
        QCOMPARE(found.scenarios[1].machine_fingerprint, made.scenarios[1].machine_fingerprint);
        QVERIFY(found.scenarios[0].network_fingerprint.empty());
        QVERIFY(found.scenarios[0].factors.is_none());
        QVERIFY(found.scenarios[1].factors == made.scenarios[1].factors);
        const Workspace::Measured &measured = found.measured[0], &ofMeasured = made.measured[0];
        QCOMPARE(measured.scenario, std::size_t{1});
        QVERIFY(measured.run.trace == ofMeasured.run.trace);
        QVERIFY(measured.run.placement == ofMeasured.run.placement);
        QVERIFY(measured.run.step_times_s == ofMeasured.run.step_times_s);
        QVERIFY(measured.run.peak_bytes == ofMeasured.run.peak_bytes);
        QCOMPARE(found.benchmarks, 2);
        const Workspace::MeasuredBest& best = *found.measured_best;
        QCOMPARE(best.run, std::string("Genetic #3"));
        QVERIFY(best.stopped && best.saved && best.scenario == 1 && best.wanted == 7);
        QCOMPARE(best.awaited.size(), std::size_t{1});
        QVERIFY(best.all[1].placement == Placement({1, 1}));
        QVERIFY(best.all[1].proposed && !best.all[1].measured.fits);
        QCOMPARE(best.all[0].measured.value_s, 0.3);
        QVERIFY(best.all[0].warning.empty() && !best.all[0].cores_for_accelerators);
        QVERIFY(best.all[1].warning == "disturbed" && best.all[1].cores_for_accelerators);
        QCOMPARE(found.learned->policy, std::string("placeto"));
        QVERIFY(*found.learned->curve == *made.learned->curve);
        // The same text, so that nothing is lost by reading.
        QCOMPARE(workspace_text(found, file("a.placewright")), workspace_text(made, file("a.placewright")));
    }

    /// A file of version 1 has neither factors nor what was measured and learned.
    void theFirstVersionIsRead() {
        Workspace made = workspace("alexnet");
        made.measured.clear();
        made.measured_best.reset();
        made.learned.reset();
        for (Workspace::Scenario& scenario : made.scenarios) scenario.factors = {};
        made.runs[0].progress.distribution.reset();
        made.runs[0].progress.training.reset();
        QString text = QString::fromStdString(workspace_text(made, file("v1.placewright")));
        QVERIFY(text.contains("\"version\": 2"));
        for (const char* added : {"measured", "benchmarks", "learned", "what_if", "training", "distribution"})
            QVERIFY2(!text.contains(added), added);
        text.replace("\"version\": 2", "\"version\": 1");
        const Workspace found = read_workspace(write("v1.placewright", text.toStdString()));
        QVERIFY(found.measured.empty() && !found.learned);
        QCOMPARE(workspace_text(found, file("v1.placewright")), workspace_text(made, file("v1.placewright")));
    }

    void closedBySystem() {
        Workspace made = workspace("alexnet");
        made.closed_by_system = true;
        write_workspace(made, file("closed.placewright"));
        QVERIFY(workspace_head(file("closed.placewright")).closed_by_system);
        QVERIFY(read_workspace(file("closed.placewright")).closed_by_system);
    }

    /// A folder with network and workspace can be moved.
    void filesAreRelative() {
        namespace fs = std::filesystem;
        fs::create_directories(file("one/nets"));
        Workspace made = workspace((file("one/nets") / "net.json").string());
        made.scenarios[0].options["file.profile"] = (file("one") / "times.json").string();
        write_workspace(made, file("one") / "w.placewright");
        fs::rename(file("one"), file("two"));
        const Workspace found = read_workspace(file("two") / "w.placewright");
        QCOMPARE(found.network, (file("two/nets") / "net.json").string());
        QVERIFY(found.scenarios[0].options.at("file.profile") ==
                OptionValue((file("two") / "times.json").string()));
    }

    void badFiles_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* from, const char* to, const char* words) {
            QTest::newRow(name) << from << to << words;
        };
        row("another format", "placewright.workspace", "placewright.graph", "workspace");
        row("newer", "\"version\": 2", "\"version\": 3", "open the file with the newer program");
        row("old", "\"version\": 2", "\"version\": 0", "version");
        row("scenario", "\"scenario\": 1", "\"scenario\": 2", "scenario");
        row("no scenarios", "\"fingerprint\": \"f1\"", "\"fingerprint\": 1", "fingerprint");
        row("device", "\"0 1\"", "\"0 -1\"", "device numbers");
        row("blanks", "\"0 1\"", "\"0 1 \"", "device numbers");
        row("score", "1e+09 0\"", "1e+09 2\"", "scores");
        row("state", "\"running\"", "\"walking\"", "no state of a run");
        row("cell", "\"cell\": 1", "\"cell\": 2", "cell");
        row("cells", "\"size\": 2", "\"size\": 10000001", "size");
        row("seed", "18446744073709551615\",", "18446744073709551616\",", "seed");
        row("sketch", "\"counts\": \"", "\"counts\": \"-", "numbers");
        row("samples", "\"samples\": [[7, ", "\"samples\": [[", "not a sample");
        row("pinned", "\"pinned\": {", "\"pinned\": {\"scenario\": 9, ", "scenario");
        row("id", "\"id\": 3", "\"id\": 0", "id");
        row("probability", "0.25 0.75", "0.25 1.75", "numbers in range");
        row("devices of a distribution", "\"devices\": \"0 2\"", "\"devices\": \"2 0\"", "ascending");
        row("groups of a distribution", "0.75 1 0", "0.75 1", "each group and device");
        row("update", "[3, 24,", "[24,", "not an update");
        row("updates", "[3, 24,", "[1, 24,", "greater");
        row("factor", "\"bandwidth\": \"0.5 ", "\"bandwidth\": \"0.1 ", "bandwidth");
        row("span", "\"op 1 3 2 0.1 0.2 0.3 1", "\"op 1 3 2 0.1 0.2 nan 1", "not a span");
        row("span ends", "\"op 1 3 2 0.1 0.2 0.3 1", "\"op 1 3 2 0.1 0.2 0.1 1", "not a span");
        row("span of another kind", "\"transfer 1", "\"walk 1", "not a span");
        row("memory", "\"1 0.5 1e+06", "\"1 inf 1e+06", "memory");
        row("step", "\"steps_s\": \"0.3", "\"steps_s\": \"-0.3", "range");
        row("cut off", "\"view\"", "", "");
    }
    void badFiles() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, words);
        QString text = QString::fromStdString(workspace_text(workspace("alexnet"), file("b.placewright")));
        QVERIFY2(text.contains(from), qPrintable(text));
        text.replace(from, to);
        const Path bad = write("bad.placewright", text.toStdString());
        try {
            read_workspace(bad);
            QFAIL("was read");
        } catch (const InputError& error) {
            const QString said = QString::fromUtf8(error.what());
            QVERIFY2(said.contains("bad.placewright") && said.contains(words), error.what());
            QVERIFY(!said.contains('\n'));
        }
    }

    void titlesOfWhatIsNoWorkspace() {
        QCOMPARE(workspace_head(file("missing.placewright")).title, std::string());
        QCOMPARE(workspace_head(write("empty.placewright", "")).title, std::string());
        QCOMPARE(workspace_head(write("text.placewright", std::string(10'000, 'x'))).title, std::string());
    }

    void aFolderThatCannotBeWrittenLosesNothing() {
        write_workspace(workspace("alexnet"), file("c.placewright"));
        QVERIFY_THROWS_EXCEPTION(InputError,
                                 write_workspace(workspace("alexnet"), file("none/c.placewright")));
        QCOMPARE(read_workspace(file("c.placewright")).title, workspace("").title);
    }
};

QTEST_GUILESS_MAIN(TestWorkspaceFile)
#include "tst_workspace_file.moc"
