// SPDX-License-Identifier: MIT
// What searches reach where Exprimo's own were run: its networks, op times, memory model and machines, 20 000
// evaluations.
#include <algorithm>
#include <array>
#include <filesystem>

#include <QTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/path.hpp"
#include "core/job/job.hpp"
#include "core/search/search.hpp"
#include "tests/support/reference.hpp"

using namespace placewright;

namespace {

const Path kReference = test::reference("exprimo");
constexpr std::uint64_t kEvaluations = 20'000;

/// What a figure that is printed with four digits may have been.
double rounded_up(double printed_ms) {
    return printed_ms * (1 + 1e-4);
}

}  // namespace

class TestQuality : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (!std::filesystem::exists(kReference))
            QSKIP("the reference networks are not beside this checkout");
    }

    void exprimo_data() {
        QTest::addColumn<QString>("network");
        QTest::addColumn<QString>("machine");
        QTest::addColumn<bool>("pipelined");
        QTest::addColumn<double>(
            "genetic_ms");  // mean of three of Exprimo's searches with the thesis's parameters
        QTest::addColumn<double>("elites_ms");
        QTest::addColumn<double>("auto_ms");  // the best of all its searches; limited ResNet-50 and
                                              // Inception-V3: with ten times the budget
        const auto add = [](const char* name, const char* network, const char* machine, bool pipelined,
                            std::array<double, 3> ms) {
            QTest::newRow(name) << QString(network) << QString(machine) << pipelined << ms[0] << ms[1]
                                << ms[2];
        };
        add("AlexNet, normal", "alex_v2", "malvik", false, {43.41, 43.41, 43.41});
        add("ResNet-50, normal", "resnet50", "malvik", false, {250.5, 203.40, 203.40});
        // MAP-Elites ends at 291.45 or, with all on one GPU, 291.65: the mean of its three searches (291.58)
        // has both in it, a median one.
        add("Inception-V3, normal", "inception_v3", "malvik", false, {425.5, 291.65, 291.45});
        add("AlexNet, limited", "alex_v2", "malvik-4gpu-reduced-alexnet", false, {56.22, 56.22, 56.22});
        add("ResNet-50, limited", "resnet50", "malvik-4gpu-reduced-resnet", false, {876.1, 941.1, 810});
        add("Inception-V3, limited", "inception_v3", "malvik-4gpu-reduced-inception", false,
            {923.0, 987.7, 460});
        add("AlexNet, pipelined", "alex_v2", "malvik-4gpu", true, {19.91, 19.91, 19.91});
        add("ResNet-50, pipelined", "resnet50", "malvik-4gpu", true, {128.9, 129.8, 122.81});
        add("Inception-V3, pipelined", "inception_v3", "malvik-4gpu", true, {214.1, 181.6, 176.9});
    }

    /// The genetic algorithm and MAP-Elites with the thesis's parameters, median of five seeds, and Auto;
    /// from where all searches of the product start, one device and the expert's placement. Single searches
    /// of the first two differ by about an eighth (standard deviation), so their medians by 7 %.
    void exprimo() {
        QFETCH(QString, network);
        QFETCH(QString, machine);
        QFETCH(bool, pipelined);
        QFETCH(double, genetic_ms);
        QFETCH(double, elites_ms);
        QFETCH(double, auto_ms);
        JobOptions options;
        options.reading.batch = 128;
        options.problem.cost.model = find_cost_model("exprimo");
        options.problem.cost.compute_efficiency = 0.9;
        options.problem.cost.channel_efficiency = 0.25;
        options.problem.memory = MemoryModel::exprimo;
        if (pipelined) options.simulation = {10, 4, Order::fifo};
        const auto json = [](const char* folder, const QString& name) {
            return (kReference / folder / (name.toStdString() + ".json")).string();
        };
        const Job job = load_job(json("nets", network), json("machines", machine), options);
        const auto evaluator = evaluator_of(job, 1);
        const auto median_ms = [&](const char* id, const OptionValues& values, std::uint64_t seeds) {
            std::vector<double> ms;
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                const auto optimizer = find_algorithm(id)->make({job.problem, seed, starting_placements(job),
                                                                 kEvaluations, job.objective, job.simulation},
                                                                values);
                const Score best = run_search(*optimizer, *evaluator, {kEvaluations}).progress.best;
                ms.push_back(best.fits ? best.value_s * 1e3 : kInfinity);
            }
            std::ranges::sort(ms);
            return ms[ms.size() / 2];
        };
        const auto no_worse = [](double ours_ms, double theirs_ms) {
            if (ours_ms > rounded_up(theirs_ms)) qWarning("%.2f ms, not %.2f", ours_ms, theirs_ms);
            return ours_ms <= rounded_up(theirs_ms);
        };
        const auto thesis = [](const char* id) {
            return find_preset(find_algorithm(id)->presets, "thesis").values;
        };
        constexpr double kNoise = 1.1;
        QVERIFY(no_worse(median_ms("genetic", thesis("genetic"), 5), kNoise * genetic_ms));
        QVERIFY(no_worse(median_ms("map-elites", thesis("map-elites"), 5), kNoise * elites_ms));
        QVERIFY(no_worse(median_ms("auto", {}, 1), auto_ms));
    }
};

QTEST_GUILESS_MAIN(TestQuality)
#include "tst_quality.moc"
