// SPDX-License-Identifier: MIT
// A network that is opened is placed at once, by the policy that ships with the program.
#include <memory>

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QMessageBox>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include "app/window/run_list.hpp"
#include "app/window/settings.hpp"
#include "core/io/shipped.hpp"
#include "core/io/state/policy_file.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/text.hpp"

using namespace placewright;
using test::clickOptimize, test::pressInMenu, test::rows, test::Shown;

namespace {

const auto kSetting = QStringLiteral("Place a new network at once");

/// Writes a policy that has learnt nothing.
void writePolicy(const QString& file) {
    const auto problem = test::problem(test::fork_join(2, 1e9, 1'000), test::uniform_machine(2));
    const auto graph = std::make_shared<const PolicyGraph>(problem, false);
    const PolicyInfo& info = *find_policy("list-policy");
    TrainingRecord record;
    record.policy = info.id;
    for (const OptionInfo& option : info.options) record.options[option.name] = option.default_value;
    record.size = {graph->devices, graph->nodes};
    record.graphs.push_back({"fork", "pair", "0000000000000000"});
    record.planned_updates = 1;
    const PolicyDesign design = info.make(record.options, record.size);
    const Trainer trainer(design.policy, design.training, {{"fork", graph, 1.0}}, 1, 1, 1);
    write_policy(record, trainer.state(), trainer.policy(), file.toStdString());
}

/// Cancels each question, and counts them.
class Questions {
public:
    Questions() {
        QObject::connect(&m_timer, &QTimer::timeout, [this] {
            auto* const question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (question == nullptr) return;
            ++m_count;
            question->button(QMessageBox::Cancel)->click();
        });
        m_timer.start(20);
    }
    int count() const { return m_count; }

private:
    QTimer m_timer;
    int m_count = 0;
};

/// Calls `then` once, as soon as a run has been started and before it ends.
void onceStarted(Shown& shown, const std::function<void(Run&)>& then) {
    auto* const guard = new QObject(&shown.window);
    QObject::connect(&shown.document, &Document::runsChanged, guard, [&shown, guard, then] {
        if (shown.document.runs().empty()) return;
        guard->disconnect();
        shown.document.disconnect(guard);
        guard->deleteLater();
        then(*shown.document.runs().front());
    });
}

}  // namespace

class TestWindowInstant : public QObject {
    Q_OBJECT

    std::unique_ptr<test::Workplace> m_place;
    QByteArray m_models;  ///< the folder of the models that ship
    QString m_wide, m_other, m_policy;

    /// Opens the file as a person drops it.
    static bool drop(Shown& shown, const QString& file) {
        return shown.dropFile(file) &&
               QTest::qWaitFor([&] { return shown.document.networkFile() == file; }, 60'000) &&
               shown.waitUntilIdle();
    }
    static bool showsOneDevice(const Shown& shown) {
        return shown.document.placement() == shown.document.job().single_device;
    }

private Q_SLOTS:
    void initTestCase() { m_models = QByteArray::fromStdString(models_folder().string()); }
    void init() {
        m_place = std::make_unique<test::Workplace>();
        settings::placesAtOnce.set(true);
        settings::machine.set(m_place->write("three.json", test::uniform_machine(3)));
        m_wide = m_place->write("wide.json", test::wide_graph(12));
        m_other = m_place->write("other.json", test::wide_graph(9));
        QDir models(m_place->file("models"));
        QVERIFY(models.mkpath("policies"));
        for (const QString& folder :
             QDir(QString::fromLocal8Bit(m_models)).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            if (folder != "policies")
                QVERIFY(
                    QFile::link(QString::fromLocal8Bit(m_models) + '/' + folder, models.filePath(folder)));
        }
        m_policy = models.filePath("policies/general.safetensors");
        writePolicy(m_policy);
        qputenv("PLACEWRIGHT_MODELS", models.path().toLocal8Bit());
    }
    void cleanup() {
        qputenv("PLACEWRIGHT_MODELS", m_models);
        m_place.reset();
    }

    /// Comes first: a policy that was read is not read again.
    void aBrokenPolicyIsTold() {
        m_place->write("models/policies/general.safetensors", QByteArray("broken"));
        Shown shown;
        QVERIFY(drop(shown, m_wide));
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QCOMPARE(rows(shown)[0].state, RunRow::State::failed);
        QVERIFY2(shown.message().startsWith("Instant #1 failed: ") && shown.message().contains(m_policy),
                 qPrintable(shown.message()));
        QVERIFY(showsOneDevice(shown));
        QVERIFY(!shown.document.unsaved());
    }

    void aNetworkIsPlacedAtOnce() {
        Shown shown;
        const QString button = shown.window.findChild<QToolButton*>("optimizeButton")->text();
        QVERIFY(drop(shown, m_wide));
        QCOMPARE(rows(shown).size(), std::size_t{1});
        const RunRow& row = rows(shown).front();
        QCOMPARE(row.title, QString("Instant #1"));
        QCOMPARE(row.state, RunRow::State::finished);
        QVERIFY(row.shown && row.fits && row.speedup > 1.5);
        QCOMPARE(row.budget, std::uint64_t{0});
        QVERIFY(!showsOneDevice(shown));
        QVERIFY(shown.stepTime() < 0.7 * shown.document.job().single_device_s);
        QCOMPARE(shown.message(), QString());
        QCOMPARE(shown.window.findChild<QToolButton*>("optimizeButton")->text(), button);

        // Devices are numbered in the order of their use.
        const Placement placed = shown.document.placement();
        DeviceId next = 0;
        for (const DeviceId device : placed) {
            QVERIFY(device <= next);
            if (device == next) ++next;
        }
        QVERIFY(next > 1);

        QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(showsOneDevice(shown));
        QVERIFY(!shown.document.undoStack()->canUndo());
        QTest::keyClick(&shown.window, Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(shown.document.placement(), placed);
        QVERIFY(!shown.document.undoStack()->canRedo());
    }

    void theChoicesOfTheToolbarStay() {
        Shown shown;
        shown.window.chooseAlgorithm("genetic");
        shown.window.chooseEvaluations(70);
        QVERIFY(drop(shown, m_wide));
        clickOptimize(shown);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), std::size_t{2});
        QCOMPARE(shown.document.runs()[1]->request().algorithm, std::string("genetic"));
        QCOMPARE(rows(shown)[1].budget, std::uint64_t{70});
    }

    void itIsNoUnsavedWork() {
        Shown shown;
        const Questions questions;
        QVERIFY(drop(shown, m_wide));
        QVERIFY(!shown.document.unsaved());
        QVERIFY(!shown.window.isWindowModified());
        // Nor is what is carried to other machines, of it and of the start.
        for (const bool undone : {false, true}) {
            if (undone) {
                while (shown.document.undoStack()->canUndo())
                    QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
                QVERIFY(showsOneDevice(shown));
            }
            shown.document.setMachine(
                m_place->write(undone ? "five.json" : "four.json", test::uniform_machine(undone ? 5 : 4)));
            QVERIFY(shown.waitUntilIdle());
            QVERIFY(!shown.document.unsaved());
        }
        // A network takes its place without a question, and so does the end.
        QVERIFY(drop(shown, m_other));
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QVERIFY(shown.window.close());
        QCOMPARE(questions.count(), 0);
    }

    void anEditOfItIsWork() {
        Shown shown;
        const Questions questions;
        QVERIFY(drop(shown, m_wide));
        shown.document.setSelection({shown.op("branch0")});
        shown.window.graphView()->setFocus();
        QTest::keyClick(shown.window.graphView(), shown.deviceOf("branch0") == 0 ? Qt::Key_2 : Qt::Key_1);
        QVERIFY(shown.waitUntilIdle());
        QVERIFY(shown.window.isWindowModified());
        QVERIFY(!shown.window.close());
        QCOMPARE(questions.count(), 1);
    }

    void anotherMachineIsNoNewNetwork() {
        Shown shown;
        QVERIFY(drop(shown, m_wide));
        shown.document.setMachine(m_place->write("four.json", test::uniform_machine(4)));
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QVERIFY(!rows(shown)[0].elsewhere.isEmpty());
    }

    void itIsTurnedOffAndOn() {
        Shown shown;
        QVERIFY(shown.action(kSetting)->isChecked());
        pressInMenu(shown, shown.action(kSetting));
        QVERIFY(!settings::placesAtOnce.get());
        QVERIFY(drop(shown, m_wide));
        QVERIFY(rows(shown).empty());
        QVERIFY(showsOneDevice(shown));
        QVERIFY(!Shown().action(kSetting)->isChecked());
        pressInMenu(shown, shown.action(kSetting));
        QVERIFY(settings::placesAtOnce.get());
        QVERIFY(rows(shown).empty());
        QVERIFY(drop(shown, m_other));
        QCOMPARE(rows(shown).size(), std::size_t{1});
    }

    /// The button starts a search beside it, which is an undo step of its own.
    void aSearchStartsMeanwhile() {
        Shown shown;
        shown.window.chooseEvaluations(300);
        bool started = false;
        onceStarted(shown, [&](Run& run) {
            shown.document.pauseRun(run.id(), true);
            started = true;
        });
        QVERIFY(shown.dropFile(m_wide));
        QTRY_VERIFY(started && shown.document.simulated());
        QVERIFY(shown.document.isSearching());
        clickOptimize(shown);
        QCOMPARE(rows(shown).size(), std::size_t{2});
        shown.document.pauseRun(rows(shown)[0].id, false);
        QVERIFY(shown.waitUntilIdle());
        for (const RunRow& row : rows(shown)) QCOMPARE(row.state, RunRow::State::finished);
        QVERIFY(!showsOneDevice(shown));
    }

    void anEditMeanwhileStays() {
        Shown shown;
        bool started = false;
        onceStarted(shown, [&](Run& run) {
            shown.document.pauseRun(run.id(), true);
            started = true;
        });
        QVERIFY(shown.dropFile(m_wide));
        QTRY_VERIFY(started && shown.document.scene());
        shown.document.setSelection({shown.op("branch0")});
        shown.window.graphView()->setFocus();
        QTest::keyClick(shown.window.graphView(), shown.deviceOf("branch0") == 0 ? Qt::Key_2 : Qt::Key_1);
        const Placement edited = shown.document.placement();
        const bool followButtonSeen = shown.window.findChild<QToolButton*>("followAgain")->isVisible();
        QVERIFY(!showsOneDevice(shown));
        shown.document.pauseRun(rows(shown)[0].id, false);
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown)[0].state, RunRow::State::finished);
        QCOMPARE(shown.document.placement(), edited);
        QCOMPARE(shown.message(), QString());
        QVERIFY(!followButtonSeen);
    }

    void anotherNetworkIsOpenedMeanwhile() {
        Shown shown;
        const Questions questions;
        bool started = false;
        onceStarted(shown, [&](Run& run) {
            shown.document.pauseRun(run.id(), true);
            started = true;
        });
        QVERIFY(shown.dropFile(m_wide));
        QTRY_VERIFY(started);
        QVERIFY(drop(shown, m_other));
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QVERIFY(rows(shown)[0].title.startsWith("Instant"));
        QCOMPARE(rows(shown)[0].state, RunRow::State::finished);
        QVERIFY(rows(shown)[0].speedup > 1.5);
        QCOMPARE(shown.message(), QString());
        QCOMPARE(questions.count(), 0);
    }

    /// The person who asks for a search on the command line gets that one alone.
    void anotherSearchIsWantedFromTheStart() {
        Shown shown;
        shown.window.openArgument(m_wide, false);
        QVERIFY(shown.waitUntilIdle() && shown.document.networkFile() == m_wide);
        QVERIFY(rows(shown).empty());
        shown.window.openArgument(m_other);
        QVERIFY(shown.waitUntilIdle() && shown.document.networkFile() == m_other);
        QCOMPARE(rows(shown).size(), std::size_t{1});
    }

    void aWorkspaceKeepsTheRow() {
        const QString file = m_place->file("work.placewright");
        Placement placed;
        {
            Shown shown;
            QVERIFY(drop(shown, m_wide));
            placed = shown.document.placement();
            test::giveFile(file);
            QTest::keyClick(&shown.window, Qt::Key_S, Qt::ControlModifier);
            QTRY_VERIFY(QFile::exists(file));
            QVERIFY(shown.waitUntilIdle());
        }
        Shown shown;
        QVERIFY(shown.dropFile(file));
        QTRY_VERIFY(shown.document.isOpen());
        QVERIFY(shown.waitUntilIdle());
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QCOMPARE(rows(shown)[0].title, QString("Instant #1"));
        QCOMPARE(shown.document.placement(), placed);
        QVERIFY(!shown.document.unsaved());
    }

    /// What the only GPU cannot hold is divided between it and the CPU.
    void aNetworkThatTheOnlyGpuCannotHold() {
        const Graph wide = test::wide_graph(4);
        GraphBuilder builder("large", 1, Training::none);
        for (Op op : wide.ops()) {
            op.parameter_bytes = 8'000'000'000;
            builder.add(std::move(op));
        }
        settings::machine.set("1x-v100");
        Shown shown;
        QVERIFY(drop(shown, m_place->write("large.json", builder.build())));
        QCOMPARE(rows(shown).size(), std::size_t{1});
        QVERIFY(rows(shown).front().shown && rows(shown).front().fits);
        QVERIFY(!showsOneDevice(shown));
        QVERIFY(shown.stepTime() < shown.document.job().single_device_s);
        settings::machine.set(m_place->file("three.json"));
    }

    void itDoesNotStartWhereItCannotHelp() {
        {
            // All is on the only GPU already.
            settings::machine.set("1x-v100");
            Shown shown;
            QVERIFY(drop(shown, m_wide));
            QCOMPARE(shown.document.machineFile(), QString("1x-v100"));
            QVERIFY(rows(shown).empty());
            settings::machine.set(m_place->file("three.json"));
        }
        {
            // No placement fits: the window says so as before, and no message does.
            Graph wide = test::wide_graph(4);
            GraphBuilder builder("heavy", 1, Training::none);
            for (Op op : wide.ops()) {
                op.parameter_bytes = 2'000'000'000'000;
                builder.add(std::move(op));
            }
            Shown shown;
            QVERIFY(drop(shown, m_place->write("heavy.json", builder.build())));
            QVERIFY(rows(shown).empty());
            QCOMPARE(shown.message(), QString());
            // For another objective than the step time, which needs a CPU.
            shown.document.setMachine("4x-v100-nvlink");
            QVERIFY(drop(shown, m_wide));
            QCOMPARE(rows(shown).size(), std::size_t{1});
            JobOptions options = shown.document.options();
            options.objective = find_objective("max-load");
            QVERIFY(options.objective != nullptr);
            shown.document.setOptions(options);
            QVERIFY(shown.waitUntilIdle());
            QCOMPARE(shown.document.job().objective, options.objective);
            QVERIFY(drop(shown, m_other));
            QVERIFY(!shown.document.job().objective->is_step_time());
            QVERIFY(rows(shown).empty());
        }
        QVERIFY(QFile::remove(m_policy));
        Shown shown;
        QVERIFY(drop(shown, m_wide));
        QVERIFY(rows(shown).empty());
        QCOMPARE(shown.message(), QString());
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowInstant)
#include "tst_window_instant.moc"
