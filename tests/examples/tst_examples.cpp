// SPDX-License-Identifier: MIT
// The worked examples of README.md do what it says.
#include <filesystem>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/path.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/search/search.hpp"
#include "tests/examples/border_search.hpp"
#include "tests/examples/device_lists.hpp"
#include "tests/examples/memory_bars.hpp"
#include "tests/support/graphs.hpp"
#include "widgets/palette.hpp"

using namespace placewright;
using namespace placewright::examples;

class TestExamples : public QObject {
    Q_OBJECT

    std::shared_ptr<const Problem> m_problem =
        test::problem(test::chain(40, 1e9, 1000, Training::implicit), test::uniform_machine(3));

private Q_SLOTS:
    void algorithm() {
        const auto searched = [&](unsigned threads) {
            const auto optimizer = border_search_algorithm().make({m_problem, 7, {}}, {});
            const auto evaluator = simulation_evaluator(m_problem, {}, {}, threads);
            return run_search(*optimizer, *evaluator, {.evaluations = 300}).progress;
        };
        const SearchProgress progress = searched(1);
        QCOMPARE(progress.evaluations, std::uint64_t{300});
        // In a chain nothing is better than one device, which two empty pieces give.
        const double one_device_s = Simulator(m_problem).run(Placement(m_problem->groups, 0)).step_time_s;
        QVERIFY(progress.best.value_s < 1.001 * one_device_s);
        QVERIFY(progress.curve->front().best_s > progress.best.value_s);
        QCOMPARE(*searched(2).best_placement, *progress.best_placement);
        const auto alone = test::problem(test::chain(3), test::uniform_machine(1));
        const auto optimizer = border_search_algorithm().make({alone, 7, {}}, {});
        const auto evaluator = simulation_evaluator(alone, {}, {}, 1);
        QVERIFY(run_search(*optimizer, *evaluator, {.evaluations = 300}).end == SearchEnd::exhausted);
        QVERIFY_THROWS_EXCEPTION(OptionError,
                                 border_search_algorithm().make({m_problem, 7, {}}, {{"batch_size", 0.5}}));
    }

    void format() {
        Placement placement(m_problem->groups, 0);
        placement.back() = 2;
        const PlacementFormat& format = device_lists_format();
        const WrittenPlacement written = format.write({m_problem, placement, {}, {}, {}});
        const Json lists = Json::parse(written.content);
        QCOMPARE(lists.size(), std::size_t{2});
        QCOMPARE(lists["gpu:0"].size(), m_problem->forward->size() - 1);
        QCOMPARE(lists["gpu:2"][0].get<std::string>(), m_problem->forward->op(39).name);
        QCOMPARE(format.snippet("p.json", {}),
                 std::string("import json\n\nops_of = json.load(open(\"p.json\"))\n"));
    }

    void view() {
        MemoryBars bars;
        bars.resize(300, 120);
        const auto machine = std::make_shared<const Machine>(test::uniform_machine(3, 1e9));
        bars.setPeaks(machine, {1e9, 0.5e9, 0});
        bars.show();
        QVERIFY(QTest::qWaitForWindowExposed(&bars));
        const QImage picture = bars.grab().toImage();
        const auto at = [&](DeviceId device, double share) {
            const QRectF bar = bars.barOf(device);
            return picture.pixelColor(QPointF(bar.left() + share * bar.width(), bar.center().y()).toPoint());
        };
        QCOMPARE(at(0, 0.9), deviceColor(*machine, 0));
        QCOMPARE(at(1, 0.4), deviceColor(*machine, 1));
        QVERIFY(at(1, 0.6) != deviceColor(*machine, 1));
        QSignalSpy chosen(&bars, &MemoryBars::deviceChosen);
        QTest::mouseClick(&bars, Qt::LeftButton, {}, bars.barOf(1).center().toPoint());
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen[0][0].value<DeviceId>(), DeviceId{1});
    }

    void device() {
        QTemporaryDir folder;
        namespace fs = std::filesystem;
        const Path to = folder.path().toStdString();
        for (const auto& from : {models_folder() / "devices", Path(PLACEWRIGHT_EXAMPLES "/devices")}) {
            for (const auto& entry : fs::directory_iterator(from)) {
                if (entry.path().extension() == ".json")
                    fs::copy_file(entry.path(), to / entry.path().filename());
            }
        }
        const DeviceCatalogue catalogue = read_device_catalogue(to);
        const std::optional<Machine> machine = machine_of_parts("2x EX1, Ryzen 9 7950X", catalogue);
        QVERIFY(machine.has_value());
        QCOMPARE(machine->devices().size(), std::size_t{3});
        QCOMPARE(machine->device(1).model, std::string("Example X1"));
        QCOMPARE(machine->device(1).memory_bytes, 32e9);
        QVERIFY_THROWS_EXCEPTION(InputError, machine_of_parts("2x EX1", shipped_devices()));
    }

    /// The page names files and functions that exist.
    void page() {
        QFile file(QStringLiteral(PLACEWRIGHT_EXAMPLES "/README.md"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(file.readAll());
        static const QRegularExpression link(QStringLiteral("\\]\\(([^)#:]+)(#[^)]*)?\\)"));
        int links = 0;
        for (auto found = link.globalMatch(text); found.hasNext(); ++links) {
            const QString target = found.next().captured(1);
            QVERIFY2(QFile::exists(QStringLiteral(PLACEWRIGHT_EXAMPLES "/") + target), qPrintable(target));
        }
        QVERIFY(links > 10);
    }
};

QTEST_MAIN(TestExamples)
#include "tst_examples.moc"
