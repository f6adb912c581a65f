// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>

#include <QTemporaryDir>
#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/path.hpp"
#include "core/io/machines/catalogue_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/search/codesign.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

Device device(const char* model, double flops, double memory_bytes) {
    Device device;
    device.model = model;
    device.peak_flops = flops;
    device.memory_bandwidth = 1e12;
    device.memory_bytes = memory_bytes;
    return device;
}

Channel channel(const char* name, double bandwidth) {
    Channel channel;
    channel.name = name;
    channel.bandwidth = bandwidth;
    return channel;
}

/// Prices are powers of two, so that a price identifies the parts.
Catalogue small_catalogue() {
    using Topology = Catalogue::Fabric::Topology;
    Catalogue catalogue;
    catalogue.hosts = {{device("host", 1e11, 1e12), 3, 1}};
    catalogue.accelerators = {{device("slow", 1e12, 1e12), 8}, {device("fast", 3e12, 1e12), 32}};
    catalogue.host_links = {{channel("bus", 1e10), 0}, {channel("wide bus", 2e10), 2}};
    catalogue.fabrics = {{"none", Topology::none, {}, 0},
                         {"pairs", Topology::pairs, channel("p", 1e11), 4},
                         {"switch", Topology::switched, channel("s", 1e11), 128}};
    return catalogue;
}

CodesignTask small_task(double budget) {
    CodesignTask task;
    task.graph = std::make_shared<const Graph>(test::fork_join(6, 2e9, 500'000, Training::implicit));
    task.catalogue = small_catalogue();
    task.budget = budget;
    task.algorithm = find_algorithm("tabu");
    task.evaluations = 150;
    return task;
}

/// Two ops of one module; an empty list allows all devices.
std::shared_ptr<const Graph> pinned_pair(const std::vector<std::string>& first,
                                         const std::vector<std::string>& second) {
    GraphBuilder builder("pinned", 1, Training::none);
    for (const char* name : {"first", "second"}) {
        Op op;
        op.name = name;
        op.scope = "module";
        op.kind = "linear";
        op.flops = 1e9;
        op.outputs = {make_tensor({1000})};
        op.devices = builder.size() == 0 ? first : second;
        builder.add(op, builder.size() == 0 ? std::vector<std::string>() : std::vector<std::string>{"first"});
    }
    return std::make_shared<const Graph>(builder.build());
}

double simulated(const DesignPoint& point) {
    return Simulator(point.problem).run(point.placement).step_time_s;
}

}  // namespace

class TestCodesign : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void machines_are_built_of_parts() {
        const Catalogue catalogue = small_catalogue();
        const Design pairs{0, 1, 1, {0, 0, 1}};
        QCOMPARE(price_of(pairs, catalogue), 1.0 + 8 + 8 + 32 + 3 * 2 + 3 * 4);
        QCOMPARE(title_of(pairs, catalogue), std::string("2x slow + 1x fast, wide bus, pairs"));
        const Machine machine = build_machine(pairs, catalogue);
        QCOMPARE(machine.devices().size(), std::size_t{4});
        QCOMPARE(machine.device(3).model, std::string("fast"));
        QCOMPARE(machine.device(3).name, std::string("gpu:2"));
        QCOMPARE(machine.channels().size(), std::size_t{3 * 2 + 3 * 2});
        QCOMPARE(machine.route(1, 3).size(), std::size_t{1});
        QCOMPARE(machine.channels()[machine.route(1, 3)[0]].bandwidth, 1e11);
        QVERIFY(machine.route(1, 3)[0] != machine.route(3, 1)[0]);

        const Design switched{0, 0, 2, {0, 1}};
        QCOMPARE(price_of(switched, catalogue), 1.0 + 8 + 32 + 2 * 128);
        const Machine other = build_machine(switched, catalogue);
        QCOMPARE(other.route(1, 2).size(), std::size_t{2});
        QCOMPARE(other.channels()[other.route(1, 2)[1]].bandwidth, 1e11);
        QCOMPARE(other.channels()[other.route(0, 2)[0]].bandwidth, 1e10);
        QCOMPARE(other.crossing(), Crossing::cut_through);

        const Machine plain = build_machine({0, 0, 0, {1, 1}}, catalogue);
        QCOMPARE(plain.route(1, 2).size(), std::size_t{2});
        QCOMPARE(plain.channels().size(), std::size_t{4});
        QCOMPARE(build_machine({0, 0, 0, {}}, catalogue).devices().size(), std::size_t{1});
    }

    void prices_are_sums_of_cents() {
        CodesignTask task = small_task(3900.60);
        task.catalogue.hosts[0].price = 2400.30;
        task.catalogue.accelerators = {{device("fast", 3e12, 1e12), 1500.30}};
        task.catalogue.host_links.resize(1);
        QVERIFY(2400.30 + 1500.30 > 3900.60);
        QVERIFY(price_of({0, 0, 0, {0}}, task.catalogue) == 3900.60);
        const CodesignResult result = codesign(task);
        QCOMPARE(result.designs, std::uint64_t{2});
        QVERIFY(result.front.back().price == 3900.60);
    }

    void small_catalogues_are_tried_in_full() {
        CodesignTask task = small_task(60);
        const CodesignResult result = codesign(task);
        QVERIFY(result.all && !result.cancelled);
        // Without accelerators; one of each kind with each link; two and three with each link and fabric, up
        // to a price of 60.
        std::uint64_t expected = 1;
        for (const std::vector<std::size_t>& accelerators : {std::vector<std::size_t>{0},
                                                             {1},
                                                             {0, 0},
                                                             {0, 1},
                                                             {1, 1},
                                                             {0, 0, 0},
                                                             {0, 0, 1},
                                                             {0, 1, 1},
                                                             {1, 1, 1}}) {
            for (std::size_t link = 0; link < 2; ++link) {
                for (std::size_t fabric = 0; fabric < (accelerators.size() > 1 ? 3 : 1); ++fabric) {
                    if (price_of({0, link, fabric, accelerators}, task.catalogue) <= 60) ++expected;
                }
            }
        }
        QCOMPARE(result.designs, expected);
        QVERIFY(result.front.size() >= 3);
        QCOMPARE(result.front[0].price, 1.0);  // the host alone is the cheapest
        for (std::size_t i = 0; i < result.front.size(); ++i) {
            const DesignPoint& point = result.front[i];
            QCOMPARE(point.price, price_of(point.design, task.catalogue));
            QVERIFY(point.price <= 60);
            QVERIFY(point.score.fits);
            QCOMPARE(simulated(point), point.score.value_s);
            if (i == 0) continue;
            QVERIFY(point.price > result.front[i - 1].price);
            QVERIFY(point.score.penalised_s < result.front[i - 1].score.penalised_s);
        }
    }

    void evolution_comes_to_the_front_of_all() {
        CodesignTask task = small_task(1000);
        task.designs = 1000;
        const CodesignResult all = codesign(task);
        QVERIFY(all.all);
        task.designs = all.designs - 1;
        const CodesignResult evolved = codesign(task);
        QVERIFY(!evolved.all);
        QCOMPARE(evolved.designs, task.designs);
        // All machines but one were tried: the front can differ only by that machine and by the randomness
        // of the searches.
        for (const DesignPoint& point : all.front) {
            const auto near = std::ranges::count_if(evolved.front, [&](const DesignPoint& other) {
                return other.price <= point.price &&
                       other.score.penalised_s <= point.score.penalised_s * 1.02;
            });
            QVERIFY2(near > 0, point.machine->name().c_str());
        }
        // A part of the machines finds most of the front.
        task.designs = 20;
        const CodesignResult few = codesign(task);
        QCOMPARE(few.designs, std::uint64_t{20});
        QVERIFY(few.front.size() >= 2);
        for (const DesignPoint& point : few.front) QCOMPARE(simulated(point), point.score.value_s);
    }

    /// The front over every affordable machine and every placement on it, by exhaustive search. Evolution
    /// finds the same front with two thirds of the machines.
    void evolution_finds_the_front_of_all_placements_on_all_machines() {
        CodesignTask task = small_task(100);
        task.graph = std::make_shared<const Graph>(test::fork_join(3, 2e9, 500'000, Training::none));
        // Tries all placements, so that the machine from which another one was derived does not matter.
        task.algorithm = find_algorithm("linear-search");
        task.options = {{"allow_cpu", true}};
        task.evaluations = 100'000;

        std::vector<std::pair<double, double>> all;  // price, least step time
        for (const std::vector<std::size_t>& accelerators : {std::vector<std::size_t>{},
                                                             {0},
                                                             {1},
                                                             {0, 0},
                                                             {0, 1},
                                                             {1, 1},
                                                             {0, 0, 0},
                                                             {0, 0, 1},
                                                             {0, 1, 1},
                                                             {1, 1, 1}}) {
            for (std::size_t link = 0; link < (accelerators.empty() ? 1 : 2); ++link) {
                for (std::size_t fabric = 0; fabric < (accelerators.size() > 1 ? 3 : 1); ++fabric) {
                    const Design design{0, link, fabric, accelerators};
                    const double price = price_of(design, task.catalogue);
                    if (price > task.budget) continue;
                    const auto problem = make_problem(
                        task.graph, std::make_shared<const Machine>(build_machine(design, task.catalogue)));
                    Simulator simulator(problem);
                    double least_s = kInfinity;
                    Placement placement(problem->groups, 0);
                    for (std::size_t gene = 0; gene < placement.size();) {
                        least_s = std::min(least_s, simulator.run(placement).step_time_s);
                        for (gene = 0; gene < placement.size() && ++placement[gene] == problem->devices;)
                            placement[gene++] = 0;
                    }
                    all.emplace_back(price, least_s);
                }
            }
        }
        std::ranges::sort(all);
        std::vector<std::pair<double, double>> expected;
        for (const auto& point : all) {
            if (expected.empty() || point.second < expected.back().second) expected.push_back(point);
        }
        QVERIFY(expected.size() >= 3);

        const auto front_of = [](const CodesignResult& result) {
            std::vector<std::pair<double, double>> front;
            for (const DesignPoint& point : result.front)
                front.emplace_back(point.price, point.score.value_s);
            return front;
        };
        task.designs = all.size();
        const CodesignResult whole = codesign(task);
        QVERIFY(whole.all);
        QCOMPARE(whole.designs, std::uint64_t{all.size()});
        QCOMPARE(front_of(whole), expected);
        // With all machines but one, at most that one can be missing.
        task.designs = all.size() - 1;
        int complete = 0;
        for (task.seed = 1; task.seed <= 5; ++task.seed) {
            const CodesignResult evolved = codesign(task);
            QVERIFY(!evolved.all);
            QCOMPARE(evolved.designs, task.designs);
            const auto front = front_of(evolved);
            for (std::size_t i = 1; i < front.size(); ++i)
                QVERIFY(front[i].first > front[i - 1].first && front[i].second < front[i - 1].second);
            for (const auto& point : front) QVERIFY(std::ranges::find(all, point) != all.end());
            const auto missing = std::ranges::count_if(
                expected, [&](const auto& point) { return std::ranges::find(front, point) == front.end(); });
            QVERIFY(missing <= 1);
            if (front == expected) ++complete;
        }
        QVERIFY(complete >= 3);
    }

    void evolution_begins_with_the_cheapest_machines() {
        CodesignTask task = small_task(1000);
        task.catalogue.hosts.insert(task.catalogue.hosts.begin(), {device("large host", 1e11, 1e12), 3, 4});
        std::ranges::reverse(task.catalogue.accelerators);
        std::ranges::reverse(task.catalogue.host_links);
        const std::vector<double> cheapest{1, 1 + 8, 1 + 32};
        for (task.designs = 1; task.designs <= cheapest.size(); ++task.designs) {
            const CodesignResult result = codesign(task);
            QVERIFY(!result.all);
            QCOMPARE(result.designs, task.designs);
            std::vector<double> prices;
            for (const DesignPoint& point : result.front) prices.push_back(point.price);
            QCOMPARE(prices,
                     std::vector<double>(cheapest.begin(),
                                         cheapest.begin() + static_cast<std::ptrdiff_t>(task.designs)));
        }
        task.budget = 20;  // too little for the more expensive accelerator
        task.designs = 3;
        const CodesignResult result = codesign(task);
        QVERIFY(!result.all);
        QCOMPARE(result.front[0].price, cheapest[0]);
        QCOMPARE(result.front[1].price, cheapest[1]);
    }

    void machines_without_a_needed_device_are_passed_over() {
        CodesignTask task = small_task(60);
        task.graph = pinned_pair({"cpu:0"}, {"gpu:1"});
        const CodesignResult all = codesign(task);
        QVERIFY(all.all && !all.front.empty());
        task.budget = 1000;
        task.designs = 24;
        task.threads = 1;
        const CodesignResult one = codesign(task);
        QVERIFY(!one.all);
        QCOMPARE(one.designs, task.designs);
        QVERIFY(!one.front.empty());
        task.threads = 2;
        const CodesignResult two = codesign(task);
        QCOMPARE(two.front.size(), one.front.size());
        for (std::size_t i = 0; i < one.front.size(); ++i) {
            QVERIFY(one.front[i].design.accelerators.size() >= 2);
            QVERIFY(two.front[i].design == one.front[i].design);
            QCOMPARE(two.front[i].score, one.front[i].score);
        }
    }

    void networks_that_no_machine_takes_are_refused() {
        CodesignTask task = small_task(60);
        task.graph = pinned_pair({}, {"gpu:3"});  // the host has three slots
        const auto reason = [&] {
            try {
                codesign(task);
            } catch (const PlacementError& error) {
                return std::string(error.what());
            }
            return std::string();
        };
        for (const unsigned threads : {1U, 2U}) {
            task.threads = threads;
            for (const std::uint64_t designs : {100U, 20U}) {
                task.designs = designs;
                QVERIFY2(reason().starts_with("op \"second\" may not run on any device of machine \"host\""),
                         reason().c_str());
            }
        }
    }

    /// With two accelerators the module is one group on gpu:1; with one its ops have no device in common.
    void groups_may_differ_between_machines() {
        CodesignTask task = small_task(1000);
        task.graph = pinned_pair({"cpu:0", "gpu:1"}, {"gpu:0", "gpu:1"});
        task.problem.grouping.rule = GroupingRule::scope;
        task.designs = 40;
        const CodesignResult result = codesign(task);
        QVERIFY(!result.front.empty());
        QCOMPARE(result.front[0].problem->groups, 2U);
        QCOMPARE(result.front.back().problem->groups, 1U);
        for (const DesignPoint& point : result.front) QCOMPARE(simulated(point), point.score.value_s);
    }

    void threads_change_nothing() {
        CodesignTask task = small_task(1000);
        task.designs = 24;
        task.threads = 1;
        const CodesignResult one = codesign(task);
        task.threads = 2;
        const CodesignResult two = codesign(task);
        QCOMPARE(two.front.size(), one.front.size());
        for (std::size_t i = 0; i < one.front.size(); ++i) {
            QVERIFY(two.front[i].design == one.front[i].design);
            QCOMPARE(two.front[i].score, one.front[i].score);
            QVERIFY(two.front[i].placement == one.front[i].placement);
        }
        task.seed = 2;
        QCOMPARE(codesign(task).designs, std::uint64_t{24});
    }

    void memory_is_bought_where_it_is_needed() {
        // Parameters of 12 GB, with momentum and gradients more than the slow accelerator holds alone.
        CodesignTask task = small_task(1000);
        task.catalogue.hosts[0].device.memory_bytes = 1e9;
        task.catalogue.accelerators[0].device.memory_bytes = 2e10;
        task.catalogue.accelerators[1].device.memory_bytes = 1e9;
        GraphBuilder builder("large", 1, Training::implicit);
        for (int i = 0; i < 6; ++i) {
            Op op;
            op.name = "op" + std::to_string(i);
            op.kind = "linear";
            op.flops = 1e9;
            op.parameter_bytes = 2'000'000'000;
            op.outputs = {make_tensor({1000})};
            builder.add(op, i > 0 ? std::vector{"op" + std::to_string(i - 1)} : std::vector<std::string>());
        }
        task.graph = std::make_shared<const Graph>(builder.build());
        const CodesignResult result = codesign(task);
        QVERIFY(!result.front.empty());
        for (const DesignPoint& point : result.front) {
            QVERIFY(point.score.fits);
            QVERIFY(std::ranges::count(point.design.accelerators, std::size_t{0}) >= 2);
        }
        task.catalogue.accelerators.erase(task.catalogue.accelerators.begin());
        QVERIFY(codesign(task).front.empty());
    }

    void stops_when_asked() {
        CodesignTask task = small_task(1000);
        task.designs = 60;
        std::stop_source stop;
        const CodesignResult result =
            codesign(task, stop.get_token(), [&](const CodesignResult&) { stop.request_stop(); });
        QVERIFY(result.cancelled && !result.all);
        QVERIFY(result.designs < 60 && !result.front.empty());
    }

    void impossible_tasks_are_refused() {
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument, codesign(small_task(0.5)));
        CodesignTask task = small_task(100);
        task.catalogue.accelerators.clear();
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument, codesign(task));
    }

    void catalogues_are_read() {
        for (const ShippedFile& shipped : shipped_catalogues()) {
            const Catalogue catalogue = read_catalogue(shipped.file);
            QVERIFY(!catalogue.name.empty() && catalogue.accelerators.size() >= 2);
        }
        QVERIFY(!shipped_catalogues().empty());
        const Catalogue catalogue = read_catalogue(find_catalogue_file("workstation-2021"));
        QCOMPARE(catalogue.currency, std::string("USD"));
        QCOMPARE(catalogue.fabrics[1].topology, Catalogue::Fabric::Topology::pairs);
        QCOMPARE(catalogue.fabrics[2].topology, Catalogue::Fabric::Topology::switched);
    }

    void bad_catalogues_are_refused() {
        const QTemporaryDir folder;
        const Path file = folder.filePath("c.json").toStdString();
        std::ifstream stream(find_catalogue_file("workstation-2021"));
        const std::string good{std::istreambuf_iterator<char>(stream), {}};
        const auto refused = [&](const std::string& from, const std::string& to, const char* reason) {
            std::string bad = good;
            const auto at = bad.find(from);
            if (at == std::string::npos) qFatal("the catalogue has no %s", from.c_str());
            std::ofstream(file) << bad.replace(at, from.size(), to);
            try {
                read_catalogue(file);
            } catch (const InputError& error) {
                const std::string text = error.what();
                QVERIFY2(text.starts_with(file.string() + ": ") && text.find(reason) != std::string::npos,
                         text.c_str());
                return;
            }
            QFAIL(reason);
        };
        refused("placewright.catalogue", "placewright.machine", "placewright.catalogue");
        refused("\"price\": 2500", "\"price\": -1", "is negative");
        refused("\"price\": 2500, ", "", "price");
        refused("\"slots\": 4", "\"slots\": 0", "slots");
        refused("\"topology\": \"pairs\"", "\"topology\": \"ring\"",
                "expected \"none\", \"pairs\" or \"switch\"");
        refused("\"memory_bytes\": 12e9", "\"memory_bytes\": -1", "memory");
        refused("\"bandwidth\": 50e9", "\"bandwidth\": 0", "bandwidth");
    }
};

QTEST_GUILESS_MAIN(TestCodesign)
#include "tst_codesign.moc"
