// SPDX-License-Identifier: MIT
// Workspace files, good and bad.
#include <filesystem>
#include <fstream>

#include <QTemporaryDir>
#include <QTest>

#include "core/base/infinity.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/machines/machine_parts.hpp"
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
    run.scores = {{{1, ~std::uint64_t{0}}, {0.1 + 0.2, 1e9, false}}};
    made.runs = {run};
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
        QVERIFY(*run.progress.best_placement == *of.progress.best_placement);
        QCOMPARE(run.progress.archive->elites[0].cell, 1U);
        // The same text, so that nothing is lost by reading.
        QCOMPARE(workspace_text(found, file("a.placewright")), workspace_text(made, file("a.placewright")));
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
        row("newer", "\"version\": 1", "\"version\": 2", "open the file with the newer program");
        row("old", "\"version\": 1", "\"version\": 0", "version");
        row("scenario", "\"scenario\": 1", "\"scenario\": 2", "scenario");
        row("no scenarios", "\"fingerprint\": \"f1\"", "\"fingerprint\": 1", "fingerprint");
        row("device", "\"0 1\"", "\"0 -1\"", "device numbers");
        row("blanks", "\"0 1\"", "\"0 1 \"", "device numbers");
        row("score", " 0\"", " 2\"", "scores");
        row("state", "\"running\"", "\"walking\"", "no state of a run");
        row("cell", "\"cell\": 1", "\"cell\": 2", "cell");
        row("cells", "\"size\": 2", "\"size\": 10000001", "size");
        row("seed", "18446744073709551615\",", "18446744073709551616\",", "seed");
        row("sketch", "\"counts\": \"", "\"counts\": \"-", "numbers");
        row("samples", "\"samples\": [[7, ", "\"samples\": [[", "no sample");
        row("pinned", "\"pinned\": {", "\"pinned\": {\"scenario\": 9, ", "scenario");
        row("id", "\"id\": 3", "\"id\": 0", "id");
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
        QVERIFY_EXCEPTION_THROWN(write_workspace(workspace("alexnet"), file("none/c.placewright")),
                                 InputError);
        QCOMPARE(read_workspace(file("c.placewright")).title, workspace("").title);
    }
};

QTEST_GUILESS_MAIN(TestWorkspaceFile)
#include "tst_workspace_file.moc"
