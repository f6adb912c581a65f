// SPDX-License-Identifier: MIT
// Names of alike devices that are kept from one placement to the next.
#include <algorithm>

#include <QtTest>

#include "core/search/relabelling.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {

class TestRelabelling : public QObject {
    Q_OBJECT

    static Placement renamed(Placement placement, const std::vector<DeviceId>& names) {
        for (DeviceId& device : placement) device = names[device];
        return placement;
    }

private Q_SLOTS:
    void namesAreKept() {
        const auto problem = test::problem(test::random_graph(3, 60), test::uniform_machine(4));
        Simulator simulator(problem);
        Random random(7);
        for (int round = 0; round < 20; ++round) {
            const Placement before = test::random_placement(*problem, random);
            // The same with other names, and a change.
            Placement now = renamed(before, {2, 0, 3, 1});
            now[random.index(now.size())] = 1;
            const Placement result = relabelled(*problem, simulator, now, before);
            const auto differences = [&](const Placement& placement) {
                std::size_t count = 0;
                for (std::size_t group = 0; group < placement.size(); ++group)
                    count += placement[group] != before[group] ? 1 : 0;
                return count;
            };
            QVERIFY2(differences(result) <= 1, qPrintable(QString::number(differences(result))));
            QCOMPARE(simulator.run(result).step_time_s, simulator.run(now).step_time_s);
            // It agrees with itself.
            QCOMPARE(relabelled(*problem, simulator, result, before), result);
        }
    }

    void alikeDevicesAreNumberedByFirstUse() {
        const auto problem = test::problem(test::random_graph(3, 60), test::uniform_machine(4));
        Simulator simulator(problem);
        Random random(7);
        for (int round = 0; round < 20; ++round) {
            const Placement placement = test::random_placement(*problem, random);
            const Placement result = numbered_by_first_use(*problem, simulator, placement);
            DeviceId most = 0;
            for (const DeviceId device : result) {
                QVERIFY(device <= most);
                if (device == most) ++most;
            }
            QCOMPARE(simulator.run(result).step_time_s, simulator.run(placement).step_time_s);
            QCOMPARE(numbered_by_first_use(*problem, simulator, result), result);
        }
        // Devices that are not alike keep their names.
        const auto unlike = test::problem(test::random_graph(3, 60), test::random_machine(5));
        Simulator other(unlike);
        for (int round = 0; round < 20; ++round) {
            const Placement placement = test::random_placement(*unlike, random);
            const Placement result = numbered_by_first_use(*unlike, other, placement);
            QCOMPARE(other.run(result).step_time_s, other.run(placement).step_time_s);
        }
    }

    /// No naming agrees more, by trying all.
    void theBestNamesAreFound() {
        const auto problem = test::problem(test::random_graph(5, 40), test::uniform_machine(5));
        Simulator simulator(problem);
        Random random(11);
        std::vector<double> seconds(problem->groups);
        for (OpId op = 0; op < problem->ops; ++op)
            seconds[problem->grouping.group_of[op]] += problem->time_s(op, 0);
        for (int round = 0; round < 30; ++round) {
            const Placement like = test::random_placement(*problem, random);
            const Placement now = test::random_placement(*problem, random);
            const auto agreed_s = [&](const Placement& placement) {
                double sum = 0;
                for (std::size_t group = 0; group < placement.size(); ++group)
                    sum += placement[group] == like[group] ? seconds[group] : 0;
                return sum;
            };
            std::vector<DeviceId> names{0, 1, 2, 3, 4};
            double most_s = 0;
            do {
                most_s = std::max(most_s, agreed_s(renamed(now, names)));
            } while (std::next_permutation(names.begin(), names.end()));
            const double found_s = agreed_s(relabelled(*problem, simulator, now, like));
            QVERIFY2(found_s > most_s * (1 - 1e-6), qPrintable(QString("%1 of %2").arg(found_s).arg(most_s)));
        }
    }

    void onlyAlikeDevicesChangeNames() {
        std::vector<Device> devices(3);
        for (std::size_t k = 0; k < devices.size(); ++k) {
            devices[k] = test::uniform_machine(1).device(0);
            devices[k].name = "gpu:" + std::to_string(k);
        }
        devices[2].peak_flops *= 2;
        const Machine uniform = test::uniform_machine(3);
        const Machine machine(uniform.name(), devices, {uniform.channels().begin(), uniform.channels().end()},
                              {uniform.routes().begin(), uniform.routes().end()}, uniform.crossing());
        const auto problem = test::problem(test::chain(12), machine);
        Simulator simulator(problem);
        const Placement before(problem->groups, 2), now(problem->groups, 0), other(problem->groups, 1);
        QCOMPARE(relabelled(*problem, simulator, now, before), now);
        QCOMPARE(relabelled(*problem, simulator, now, other), other);
    }

    void unlikeLinksKeepTheirDevices() {
        // Between the first two devices the link is slow.
        const Machine uniform = test::uniform_machine(3);
        std::vector<Channel> channels(uniform.channels().begin(), uniform.channels().end());
        for (const Route& route : uniform.routes()) {
            if (route.from + route.to == 1) channels[route.channels.front()].bandwidth /= 100;
        }
        const Machine machine(uniform.name(), {uniform.devices().begin(), uniform.devices().end()}, channels,
                              {uniform.routes().begin(), uniform.routes().end()}, uniform.crossing());
        const auto problem = test::problem(test::chain(12, 1e9, 1'000'000), machine);
        Simulator simulator(problem);
        Placement before(problem->groups, 0), now(problem->groups, 2);
        for (std::size_t group = problem->groups / 2; group < problem->groups; ++group) {
            before[group] = 1;
            now[group] = 0;
        }
        QVERIFY(simulator.run(before).step_time_s > 1.01 * simulator.run(now).step_time_s);
        QCOMPARE(relabelled(*problem, simulator, now, before), now);
    }

    void opsStayWhereTheyMayBe() {
        GraphBuilder builder("bound", 1, Training::none);
        Op op;
        op.name = "x";
        op.kind = "input";
        op.outputs = {make_tensor({1000})};
        op.devices = {"gpu:0"};
        builder.add(op, {});
        op.name = "y";
        op.kind = "relu";
        op.flops = 1e9;
        op.devices.clear();
        builder.add(op, {"x"});
        const auto problem = test::problem(builder.build(), test::uniform_machine(2));
        Simulator simulator(problem);
        const GroupId y = problem->grouping.group_of[*problem->graph->find("y")];
        Placement now(problem->groups, 0), before = now;
        before[y] = 1;
        QCOMPARE(relabelled(*problem, simulator, now, before), now);
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestRelabelling)
#include "tst_relabelling.moc"
