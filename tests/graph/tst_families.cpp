// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <QtTest>

#include "core/graph/families.hpp"
#include "core/graph/grouping.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/training.hpp"

using namespace placewright;

namespace {

constexpr std::uint64_t kSeed = 1;

const FamilyInfo& family(const QString& name) {
    const FamilyInfo* info = find_family(name.toStdString());
    if (!info) qFatal("there is no family %s", qPrintable(name));
    return *info;
}

std::size_t count_of(const Graph& graph, std::string_view kind) {
    return static_cast<std::size_t>(std::ranges::count(graph.ops(), kind, &Op::kind));
}

/// The ops of the longest way through the graph.
std::size_t depth(const Graph& graph) {
    std::vector<std::size_t> level(graph.ops().size(), 1);
    for (OpId op = 0; op < level.size(); ++op) {
        for (const OpId producer : graph.producers(op)) level[op] = std::max(level[op], level[producer] + 1);
    }
    return *std::ranges::max_element(level);
}

void add_families() {
    QTest::addColumn<QString>("name");
    for (const FamilyInfo& info : known_families())
        QTest::newRow(info.name.data()) << QString::fromUtf8(info.name);
}

}  // namespace

class TestFamilies : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void known();
    void membersAreTheSameForTheSameSeed_data() { add_families(); }
    void membersAreTheSameForTheSameSeed();
    void membersDiffer_data() { add_families(); }
    void membersDiffer();
    void everythingLeadsToTheLoss_data() { add_families(); }
    void everythingLeadsToTheLoss();
    void mergesToItsGroups_data() { add_families(); }
    void mergesToItsGroups();
    void sizesOfImageClassifiers();
    void sizesOfLanguageModels();
    void sizesOfTranslators();
};

void TestFamilies::known() {
    QStringList names;
    for (const FamilyInfo& info : known_families()) names << QString::fromUtf8(info.name);
    QCOMPARE(names, (QStringList{"cifar10", "ptb", "nmt", "general"}));
    QVERIFY(!find_family("cifar100"));
}

void TestFamilies::membersAreTheSameForTheSameSeed() {
    QFETCH(QString, name);
    const Graph once = family_member(family(name), kSeed, 3);
    const Graph again = family_member(family(name), kSeed, 3);
    QCOMPARE(once.name(), name.toStdString() + "_03");
    QCOMPARE(once.ops().size(), again.ops().size());
    for (OpId op = 0; op < once.ops().size(); ++op) {
        QCOMPARE(once.op(op).name, again.op(op).name);
        QCOMPARE(once.op(op).flops, again.op(op).flops);
        QVERIFY(std::ranges::equal(once.producers(op), again.producers(op)));
    }
}

void TestFamilies::membersDiffer() {
    QFETCH(QString, name);
    std::set<std::pair<double, std::int64_t>> seen;
    for (std::uint32_t number = 0; number < kFamilySize; ++number) {
        const GraphTotals sums = totals(family_member(family(name), kSeed, number));
        QVERIFY2(seen.emplace(sums.forward_flops, sums.parameter_bytes).second,
                 qPrintable(QString::number(number)));
    }
    const GraphTotals other = totals(family_member(family(name), kSeed + 1, 0));
    QVERIFY(!seen.contains({other.forward_flops, other.parameter_bytes}));
}

/// Nothing is computed for nobody, and every parameter gets a gradient.
void TestFamilies::everythingLeadsToTheLoss() {
    QFETCH(QString, name);
    for (std::uint32_t number = 0; number < kFamilySize; ++number) {
        const Graph graph = family_member(family(name), kSeed, number);
        std::vector<bool> read(graph.ops().size());
        for (OpId op = 0; op < graph.ops().size(); ++op) {
            for (const OpId producer : graph.producers(op)) read[producer] = true;
        }
        QCOMPARE(count_of(graph, "cross_entropy"), std::size_t{1});
        for (OpId op = 0; op < graph.ops().size(); ++op) {
            QVERIFY2(read[op] || graph.op(op).kind == "cross_entropy", graph.op(op).name.c_str());
        }
    }
}

void TestFamilies::mergesToItsGroups() {
    QFETCH(QString, name);
    const FamilyInfo& info = family(name);
    if (info.groups == 0) QSKIP("its networks are placed op by op");
    const Graph graph = family_member(info, kSeed, 0);
    const Grouping grouping = group_ops(graph, {.rule = GroupingRule::merge, .merge_groups = info.groups});
    // Short sentences have fewer to begin with: the attention of a step stays together.
    QCOMPARE(grouping.members.size(),
             std::min<std::size_t>(info.groups, group_by_constraints(graph).members.size()));
}

void TestFamilies::sizesOfImageClassifiers() {
    std::set<std::string> kinds;
    std::size_t shallowest = SIZE_MAX, deepest = 0;
    for (std::uint32_t number = 0; number < kFamilySize; ++number) {
        const Graph graph = family_member(family("cifar10"), kSeed, number);
        QVERIFY(graph.batch() >= 240 && graph.batch() <= 360);
        // Cells of five sums: 9 to 17 normal ones and two reductions.
        const std::size_t cells = count_of(graph, "add") / 5;
        QCOMPARE(count_of(graph, "add"), cells * 5);
        QVERIFY(cells >= 11 && cells <= 19);
        for (const Op& op : graph.ops()) {
            kinds.insert(op.kind);
            if (op.name != "stem/conv") continue;
            const std::int64_t channels = op.outputs[0].shape.value()[1];
            QVERIFY(channels >= 60 && channels <= 120);
            QCOMPARE(channels % 6, std::int64_t{0});
        }
        shallowest = std::min(shallowest, depth(graph));
        deepest = std::max(deepest, depth(graph));
    }
    for (const char* kind : {"avg_pool2d", "max_pool2d", "conv2d", "cat"})
        QVERIFY2(kinds.contains(kind), kind);
    // Bushes and chains.
    QVERIFY2(deepest > 2 * shallowest, qPrintable(QString("%1 to %2 ops deep").arg(shallowest).arg(deepest)));
}

void TestFamilies::sizesOfLanguageModels() {
    for (std::uint32_t number = 0; number < kFamilySize; ++number) {
        const Graph graph = family_member(family("ptb"), kSeed, number);
        QVERIFY(graph.batch() >= 1536 && graph.batch() <= 3072);
        const std::size_t products = count_of(graph, "linear") - 1;  // without the projection
        QCOMPARE(products % 12, std::size_t{0});
        QVERIFY(products / 12 >= 25 && products / 12 <= 40);
        // 12 nodes of two products each, the first of a word and the state; a table and a projection with
        // bias.
        QCOMPARE(totals(graph).parameter_bytes,
                 std::int64_t{4} * (2 * 748 * 748 * 13 + 10'000 * 748 + 10'000 * 749));
    }
}

void TestFamilies::sizesOfTranslators() {
    for (std::uint32_t number = 0; number < kFamilySize; ++number) {
        const Graph graph = family_member(family("nmt"), kSeed, number);
        QVERIFY(graph.batch() >= 64 && graph.batch() <= 128);
        // Four layers and the second direction of the first: five cells a step.
        const std::size_t cells = count_of(graph, "lstm_cell");
        QCOMPARE(cells % 5, std::size_t{0});
        QVERIFY(cells / 5 >= 16 && cells / 5 <= 32);
        QCOMPARE(totals(graph).parameter_bytes, totals(nmt2(1)).parameter_bytes);
    }
}

QTEST_APPLESS_MAIN(TestFamilies)
#include "tst_families.moc"
