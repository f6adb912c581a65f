// SPDX-License-Identifier: MIT
#include <memory>

#include <QTest>

#include "tests/support/graphs.hpp"
#include "widgets/op_query.hpp"

using namespace placewright;

namespace {

/// Convolutions with a normalisation and an activation each, in modules that are called after convolutions.
std::shared_ptr<const Problem> blocksProblem() {
    GraphBuilder builder("blocks", 1, Training::implicit);
    std::string before;
    const auto add = [&](const std::string& scope, const std::string& leaf, const char* kind, double flops) {
        Op op;
        op.name = scope + '/' + leaf;
        op.scope = scope;
        op.kind = kind;
        op.flops = flops;
        op.outputs = {make_tensor({250'000})};
        builder.add(op, before.empty() ? std::vector<std::string>() : std::vector{before});
        before = op.name;
    };
    for (const char* scope : {"Conv2d_1a", "Mixed_5b"}) {
        add(scope, "conv", "conv2d", 4e9);
        add(scope, "bn", "batch_norm", 1e8);
        add(scope, "relu", "relu", 1e7);
    }
    return test::problem(builder.build(), test::uniform_machine(2));
}

}  // namespace

class OpQueryTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        m_problem = blocksProblem();
        Placement placement(m_problem->groups, 0);
        m_devices.assign(m_problem->ops, 0);
        for (OpId op = 3; op < 6; ++op) {
            placement[m_problem->grouping.group_of[op]] = 1;
            m_devices[op] = 1;
        }
        Trace trace;
        const Outcome outcome = Simulator(m_problem, {}).run(placement, trace);
        m_timeline = TimelineData::build(m_problem, std::move(trace), outcome);
    }

    void finds_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<bool>("regex");
        QTest::addColumn<QList<int>>("found");
        QTest::addColumn<QString>("where");
        QTest::newRow("kind, not the module") << "conv" << false << QList{0, 3} << "by kind or name";
        QTest::newRow("kind only") << "conv2d" << false << QList{0, 3} << "by kind";
        QTest::newRow("module where nothing else fits") << "mixed" << false << QList{3, 4, 5} << "by module";
        QTest::newRow("a path is a name") << "Mixed_5b/bn" << false << QList{4} << "by name";
        QTest::newRow("upper case") << "RELU" << false << QList{2, 5} << "by kind or name";
        QTest::newRow("filter by kind") << "kind:relu" << false << QList{2, 5} << "";
        QTest::newRow("filter by module") << "module:1a" << false << QList{0, 1, 2} << "";
        QTest::newRow("device") << "device:gpu:1" << false << QList{3, 4, 5} << "";
        QTest::newRow("all devices of a name") << "device:gpu kind:relu" << false << QList{2, 5} << "";
        QTest::newRow("two filters") << "kind:conv device:gpu:1" << false << QList{3} << "";
        QTest::newRow("no such device") << "device:tpu" << false << QList<int>{} << "";
        QTest::newRow("longer") << ">1ms" << false << QList{0, 3} << "";
        QTest::newRow("shorter") << "conv <1ns" << false << QList<int>{} << "";
        QTest::newRow("both") << "<1ms kind:batch >0ns" << false << QList{1, 4} << "";
        QTest::newRow("plain point") << "c.nv" << false << QList<int>{} << "";
        QTest::newRow("regex") << "c.nv" << true << QList{0, 3} << "by kind or name";
        QTest::newRow("regex of a name") << "name:5b/(bn|relu)$" << true << QList{4, 5} << "";
        QTest::newRow("half a filter") << "kind:" << false << QList<int>{} << "";
    }
    void finds() {
        QFETCH(QString, typed);
        QFETCH(bool, regex);
        QFETCH(QList<int>, found);
        QFETCH(QString, where);
        const OpQuery query(typed, regex);
        QCOMPARE(query.error(), QString());
        const OpQuery::Found answer = query.find(*m_problem, m_devices, m_timeline.get());
        QCOMPARE(QList<int>(answer.ops.begin(), answer.ops.end()), found);
        QCOMPARE(answer.where, where);
    }

    void saysWhatItCannotUnderstand() {
        QVERIFY(OpQuery(QStringLiteral("conv("), true).error().contains(QStringLiteral("conv(")));
        QVERIFY(OpQuery(QStringLiteral(">fast"), false).error().contains(QStringLiteral(">fast")));
        QVERIFY(OpQuery(QStringLiteral("conv("), true).find(*m_problem, m_devices, nullptr).ops.empty());
        QVERIFY(OpQuery(QStringLiteral("  "), false).isEmpty());
    }

    void sharesAddUp() {
        OpList all(6);
        for (OpId op = 0; op < 6; ++op) all[op] = op;
        QVERIFY(std::abs(shareOfCompute(*m_timeline, all) - 1) < 1e-9);
        QVERIFY(std::abs(shareOfCompute(*m_timeline, {0, 3}) + shareOfCompute(*m_timeline, {1, 2, 4, 5}) -
                         1) < 1e-9);
        QCOMPARE(shareOfCompute(*m_timeline, {}), 0.0);
    }

private:
    std::shared_ptr<const Problem> m_problem;
    std::vector<DeviceId> m_devices;
    std::shared_ptr<const TimelineData> m_timeline;
};

QTEST_GUILESS_MAIN(OpQueryTest)
#include "tst_op_query.moc"
