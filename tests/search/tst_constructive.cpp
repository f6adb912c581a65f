// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/search/parts/list_scheduling.hpp"
#include "core/search/parts/memory_estimate.hpp"
#include "core/search/search.hpp"
#include "core/sim/max_load.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/optimizers.hpp"
#include "tests/support/reference.hpp"

using namespace placewright;
using test::ProblemPtr, test::text;

namespace {

const QString kReference = QString::fromStdString((test::reference("dnn-partitioning")).string());

constexpr std::array kIds{"heft", "m-topo", "m-etf", "m-sct", "pipedream"};

std::vector<Placement> proposals(std::string_view id, const ProblemPtr& problem,
                                 const OptionValues& values = {}, bool fits = true) {
    const auto optimizer = find_algorithm(id)->make({problem, 1, {}}, values);
    std::vector<Placement> all;
    while (true) {
        const auto batch = optimizer->ask(3);
        if (batch.empty()) return all;
        all.insert(all.end(), batch.begin(), batch.end());
        optimizer->tell(std::vector<Score>(batch.size(), Score{1, 1, fits}));
    }
}

Placement only_proposal(std::string_view id, const ProblemPtr& problem, const OptionValues& values = {}) {
    const std::vector<Placement> all = proposals(id, problem, values);
    return all.size() == 1 ? all.front() : Placement();
}

/// An op that takes seconds[i] on the devices of model "A", "B", "C", with one output per entry of
/// `transfers_s`.
Op measured(const std::string& name, const std::vector<double>& seconds,
            const std::vector<double>& transfers_s) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    for (std::size_t i = 0; i < seconds.size(); ++i)
        op.time_s[std::string(1, static_cast<char>('A' + i))].forward_s = seconds[i];
    for (const double transfer_s : transfers_s) {
        Tensor tensor;
        tensor.transfer_s = transfer_s;
        op.outputs.push_back(tensor);
    }
    return op;
}

/// uniform_machine with the models "A", "B", "C" for measured times.
Machine measured_machine(std::size_t devices, double memory_bytes = 1e12) {
    const Machine uniform = test::uniform_machine(devices, memory_bytes);
    std::vector<Device> named(uniform.devices().begin(), uniform.devices().end());
    for (std::size_t i = 0; i < named.size(); ++i)
        named[i].model = std::string(1, static_cast<char>('A' + i));
    return Machine("measured", named, {uniform.channels().begin(), uniform.channels().end()},
                   {uniform.routes().begin(), uniform.routes().end()});
}

/// Figure 2 of Topcuoglu, Hariri, Wu (2002): ten tasks on three processors.
ProblemPtr published_heft_problem() {
    struct Edge {
        int from, to;
        double seconds;
    };
    const std::vector<Edge> edges{{1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
                                  {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
                                  {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
    const std::vector<std::vector<double>> seconds{{14, 16, 9},  {13, 19, 18}, {11, 13, 19}, {13, 8, 17},
                                                   {12, 13, 10}, {13, 16, 9},  {7, 15, 11},  {5, 11, 14},
                                                   {18, 12, 20}, {21, 7, 16}};
    GraphBuilder builder("heft", 1, Training::none);
    std::map<int, int> outputs;
    for (int task = 1; task <= 10; ++task) {
        std::vector<double> transfers_s;
        std::vector<std::string> inputs;
        for (const Edge& edge : edges) {
            if (edge.from == task) transfers_s.push_back(edge.seconds);
            if (edge.to != task) continue;
            int output = 0;
            for (const Edge& other : edges) {
                if (&other == &edge) break;
                if (other.from == edge.from) ++output;
            }
            inputs.push_back("t" + std::to_string(edge.from) + ":" + std::to_string(output));
        }
        if (transfers_s.empty()) transfers_s.push_back(0);
        builder.add(
            measured("t" + std::to_string(task), seconds[static_cast<std::size_t>(task) - 1], transfers_s),
            inputs);
    }
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    return test::problem(builder.build(), measured_machine(3), options);
}

/// Ops with their inputs on measured_machine, where devices[i] has memory_bytes[i] and each ordered pair of
/// devices its own channel.
ProblemPtr measured_problem(const std::vector<std::pair<Op, std::vector<std::string>>>& ops,
                            const std::vector<double>& memory_bytes) {
    GraphBuilder builder("by hand", 1, Training::none);
    for (const auto& [op, inputs] : ops) builder.add(op, inputs);
    const Machine machine = measured_machine(memory_bytes.size());
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].memory_bytes = memory_bytes[i];
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    return test::problem(builder.build(),
                         Machine("by hand", devices, {machine.channels().begin(), machine.channels().end()},
                                 {machine.routes().begin(), machine.routes().end()}),
                         options);
}

Op with_parameters(Op op, std::int64_t bytes) {
    op.parameter_bytes = bytes;
    return op;
}

Op only_on(Op op, const char* device) {
    op.devices = {device};
    return op;
}

/// The schedule planned by a list scheduler, op by op: "a on 0 at 2, b on 1 at 0".
std::string schedule_text(const Problem& problem, const ListSchedule& schedule) {
    std::string text;
    for (OpId op = 0; op < problem.ops; ++op) {
        std::array<char, 64> line{};
        std::snprintf(line.data(), line.size(), "%s%s on %d at %g", op > 0 ? ", " : "",
                      problem.graph->op(op).name.c_str(),
                      int{schedule.placement[problem.grouping.group_of[op]]}, schedule.start_s[op]);
        text += line.data();
    }
    return text;
}

/// Two equal devices; a: 2 s, its output takes 1 s to transfer; b: 3 s and 1.5 s; c reads a: 4 s, 1 s; d
/// reads a and b: 2 s, 1 s; e reads c and d: 1 s. Upward ranks: e 1, d 2 + 1 + 1 = 4, c 4 + 1 + 1 = 6, b 3 +
/// 1.5 + 4 = 8.5, a 2 + 1 + 6 = 9.
ProblemPtr hand_worked(double first_bytes) {
    return measured_problem({{with_parameters(measured("a", {2, 2}, {1}), 60), {}},
                             {measured("b", {3, 3}, {1.5}), {}},
                             {with_parameters(measured("c", {4, 4}, {1}), 60), {"a"}},
                             {measured("d", {2, 2}, {1}), {"a", "b"}},
                             {measured("e", {1, 1}, {0}), {"c", "d"}}},
                            {first_bytes, 1000});
}

DeviceId device_of(const Problem& problem, const Placement& placement, const std::string& op) {
    return placement[problem.grouping.group_of[*problem.graph->find(op)]];
}

/// Calls `use` with every placement of the groups of a problem.
void for_each_placement(const Problem& problem, const std::function<void(const Placement&)>& use) {
    Placement placement(problem.groups, 0);
    while (true) {
        use(placement);
        std::size_t gene = 0;
        while (gene < placement.size() && ++placement[gene] == problem.devices) placement[gene++] = 0;
        if (gene == placement.size()) return;
    }
}

/// The slowest stage or boundary of a chain cut into stages with ascending devices; infinite for other
/// placements.
double slowest_of_chain(const Problem& problem, const Placement& placement) {
    std::vector<double> stage_s(problem.devices, 0);
    double slowest_s = 0;
    for (GroupId group = 0; group < placement.size(); ++group) {
        stage_s[placement[group]] += problem.group_time_s(group, placement[group]);
        if (group == 0 || placement[group] == placement[group - 1]) continue;
        if (placement[group] < placement[group - 1]) return kInfinity;
        double boundary_s = 0;
        for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
            const GroupId at = problem.grouping.group_of[problem.producer[tensor]];
            bool ahead = false;
            bool back = false;
            for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
                const GroupId reader = problem.grouping.group_of[problem.consumer[i]];
                ahead = ahead || (at < group && reader >= group);
                back = back || (at >= group && reader < group);
            }
            if (ahead) boundary_s += transfer_s(problem, tensor, placement[group - 1], placement[group]);
            if (back) boundary_s += transfer_s(problem, tensor, placement[group], placement[group - 1]);
        }
        slowest_s = std::max(slowest_s, boundary_s);
    }
    return std::max(slowest_s, std::ranges::max(stage_s));
}

/// A chain of ops of very different sizes that run only on GPUs of equal speed.
Graph uneven_chain(std::uint64_t seed, std::size_t length, Training training) {
    Random random(seed);
    GraphBuilder builder("uneven", 1, training);
    for (std::size_t i = 0; i < length; ++i) {
        Op op;
        op.name = "op" + std::to_string(i);
        op.kind = "matmul";
        op.flops = random.uniform(1e8, 1e10);
        op.parameter_bytes = static_cast<std::int64_t>(random.uniform(1e6, 1e7));
        Tensor output;
        output.bytes = static_cast<std::int64_t>(random.uniform(1e3, 1e7));
        op.outputs.push_back(output);
        builder.add(
            op, i == 0 ? std::vector<std::string>{} : std::vector<std::string>{"op" + std::to_string(i - 1)});
    }
    return builder.build();
}

/// uniform_machine whose first device is a CPU of half the speed.
Machine machine_with_cpu(std::size_t devices, double memory_bytes = 1e12) {
    const Machine uniform = test::uniform_machine(devices, memory_bytes);
    std::vector<Device> changed(uniform.devices().begin(), uniform.devices().end());
    changed[0].kind = DeviceKind::cpu;
    changed[0].peak_flops /= 2;
    changed[0].memory_bytes = 1e12;
    return Machine("with-cpu", changed, {uniform.channels().begin(), uniform.channels().end()},
                   {uniform.routes().begin(), uniform.routes().end()});
}

/// Whether the devices can be ordered so that no edge between forward ops goes backwards.
bool is_contiguous(const Problem& problem, const Placement& placement) {
    std::vector<DeviceId> order(problem.devices);
    std::iota(order.begin(), order.end(), DeviceId{0});
    const auto position = [&](OpId op) {
        return std::ranges::find(order, placement[problem.grouping.group_of[op]]) - order.begin();
    };
    do {
        bool agrees = true;
        for (OpId op = 0; op < problem.ops && agrees; ++op) {
            if (problem.graph->op(op).phase != Phase::forward) continue;
            for (const OpId producer : problem.graph->producers(op))
                agrees = agrees && position(producer) <= position(op);
        }
        if (agrees) return true;
    } while (std::ranges::next_permutation(order).found);
    return false;
}

/// A chain of blocks with `bytes` of weights and `cache_bytes` each on GPUs and, last, a CPU.
ProblemPtr blocks(std::size_t count, double bytes, const std::vector<double>& memory_bytes,
                  double cache_bytes = 0, bool tied_ends = false) {
    GraphBuilder builder("blocks", 1, Training::none);
    const std::size_t ops = tied_ends ? count + 2 : count;
    for (OpId i = 0; i < ops; ++i) {
        const bool end = tied_ends && (i == 0 || i + 1 == ops);
        Op op;
        op.name = op.scope =
            end ? (i == 0 ? "table" : "head") : "block/" + std::to_string(tied_ends ? i - 1 : i);
        op.colocate = end ? "table" : op.name;
        op.kind = "linear";
        op.flops = 1e9;
        op.parameter_bytes = end ? 1000 : static_cast<std::int64_t>(bytes);
        op.resident_bytes = static_cast<std::int64_t>(cache_bytes);
        if (i > 0) op.inputs.push_back({i - 1, 0});
        Tensor tensor;
        tensor.bytes = 1000;
        op.outputs.push_back(tensor);
        builder.add(std::move(op));
    }
    const Machine uniform = test::uniform_machine(memory_bytes.size());
    std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].memory_bytes = memory_bytes[i];
    devices.back().kind = DeviceKind::cpu;
    return test::problem(builder.build(),
                         Machine("uneven", devices, {uniform.channels().begin(), uniform.channels().end()},
                                 {uniform.routes().begin(), uniform.routes().end()}));
}

void add_ids() {
    QTest::addColumn<QString>("id");
    for (const char* id : kIds) QTest::newRow(id) << id;
}

}  // namespace

class TestConstructive : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void busy_intervals_find_gaps_and_take_bookings_back() {
        BusyIntervals busy;
        QCOMPARE(busy.earliest(3, 2), 3.0);
        busy.book(3, 2);
        busy.book(9, 1);
        QCOMPARE(busy.earliest(0, 3), 0.0);
        QCOMPARE(busy.earliest(1, 3), 5.0);
        QCOMPARE(busy.earliest(1, 5), 10.0);
        busy.book(5, 4);
        QCOMPARE(busy.earliest(3, 0.5), 10.0);
        QCOMPARE(busy.end_s(), 10.0);
        busy.release(5, 4);
        QCOMPARE(busy.earliest(4, 4), 5.0);
        busy.release(3, 2);
        QCOMPARE(busy.earliest(0, 9), 0.0);
        busy.release(9, 1);
        QCOMPARE(busy.end_s(), 0.0);
    }

    /// Compares with a simulated clock of whole seconds.
    void busy_intervals_agree_with_a_clock() {
        Random random(3);
        for (int round = 0; round < 50; ++round) {
            BusyIntervals intervals;
            std::vector<bool> busy(400, false);
            std::vector<std::pair<std::size_t, std::size_t>> bookings;
            for (int step = 0; step < 40; ++step) {
                if (!bookings.empty() && random.chance(0.3)) {
                    const auto [start, length] = bookings[random.index(bookings.size())];
                    std::erase(bookings, std::pair(start, length));
                    intervals.release(static_cast<double>(start), static_cast<double>(length));
                    std::fill_n(busy.begin() + static_cast<std::ptrdiff_t>(start), length, false);
                }
                const std::size_t ready = random.index(40);
                const std::size_t length = 1 + random.index(6);
                std::size_t start = ready;
                const auto is_free = [&] {
                    return std::none_of(busy.begin() + static_cast<std::ptrdiff_t>(start),
                                        busy.begin() + static_cast<std::ptrdiff_t>(start + length),
                                        [](bool b) { return b; });
                };
                while (!is_free()) ++start;
                QCOMPARE(intervals.earliest(static_cast<double>(ready), static_cast<double>(length)),
                         static_cast<double>(start));
                intervals.book(static_cast<double>(start), static_cast<double>(length));
                std::fill_n(busy.begin() + static_cast<std::ptrdiff_t>(start), length, true);
                bookings.emplace_back(start, length);
            }
        }
    }

    void heft_finds_the_published_schedule() {
        const ProblemPtr problem = published_heft_problem();
        const DeviceChoices choices(problem, false);
        const std::vector<double> rank_s = upward_ranks_s(
            *problem, mean_op_times_s(choices), mean_transfers_s(*problem, choices.fastest_first()));
        const std::vector<double> published{108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667};
        for (std::size_t task = 0; task < published.size(); ++task) {
            QVERIFY(std::abs(rank_s[*problem->graph->find("t" + std::to_string(task + 1))] -
                             published[task]) < 1e-3);
        }
        HeftOptions options;
        options.link_contention = false;
        const ListSchedule schedule = heft(choices, options);
        QVERIFY(std::abs(schedule.makespan_s - 80) < 1e-9);
        const std::vector<DeviceId> devices{2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
        const std::vector<double> starts_s{0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
        for (std::size_t task = 0; task < devices.size(); ++task) {
            const std::string name = "t" + std::to_string(task + 1);
            QCOMPARE(device_of(*problem, schedule.placement, name), devices[task]);
            QVERIFY(std::abs(schedule.start_s[*problem->graph->find(name)] - starts_s[task]) < 1e-9);
        }
        QCOMPARE(only_proposal("heft", problem, {{"link_contention", false}}), schedule.placement);
    }

    /// "late" may only be on gpu:1, where it waits until 4 for the output of "early" on gpu:0. It is
    /// scheduled first (upward ranks: early 1 + 3 + 2.5, late 2.5, filler 2), so that the filler goes either
    /// into the gap before it or after it.
    void heft_fills_gaps_if_it_may() {
        const ProblemPtr problem =
            measured_problem({{only_on(measured("early", {1, 1}, {3}), "gpu:0"), {}},
                              {only_on(measured("late", {2.5, 2.5}, {0}), "gpu:1"), {"early"}},
                              {only_on(measured("filler", {2, 2}, {0}), "gpu:1"), {}}},
                             {1e9, 1e9});
        const DeviceChoices choices(problem, false);
        HeftOptions options;
        const ListSchedule gaps = heft(choices, options);
        QCOMPARE(schedule_text(*problem, gaps),
                 std::string("early on 0 at 0, late on 1 at 4, filler on 1 at 0"));
        QCOMPARE(gaps.makespan_s, 6.5);
        options.insertion = false;
        const ListSchedule behind = heft(choices, options);
        QCOMPARE(schedule_text(*problem, behind),
                 std::string("early on 0 at 0, late on 1 at 4, filler on 1 at 6.5"));
        QCOMPARE(behind.makespan_s, 8.5);
    }

    /// The op with the larger rank takes the fast gpu:0 first. x takes 2 s there and 10 s on gpu:1; y takes
    /// the same time on both.
    void heft_ranks_by_the_time_that_is_asked_for() {
        const auto schedule = [](double y_s, const char* rank) {
            const ProblemPtr problem = measured_problem(
                {{measured("x", {2, 10}, {0}), {}}, {measured("y", {y_s, y_s}, {0}), {}}}, {1e9, 1e9});
            HeftOptions options;
            options.rank = rank;
            return schedule_text(*problem, heft(DeviceChoices(problem, false), options));
        };
        // y takes 5 s: x precedes y by the mean (6) and the worst (10) time, not by the best (2). Then x
        // waits: 5 + 2 < 10.
        QCOMPARE(schedule(5, "mean"), std::string("x on 0 at 0, y on 1 at 0"));
        QCOMPARE(schedule(5, "worst"), std::string("x on 0 at 0, y on 1 at 0"));
        QCOMPARE(schedule(5, "best"), std::string("x on 0 at 5, y on 0 at 0"));
        // y takes 7 s: by the mean it is also first.
        QCOMPARE(schedule(7, "mean"), std::string("x on 0 at 7, y on 0 at 0"));
        QCOMPARE(schedule(7, "worst"), std::string("x on 0 at 0, y on 1 at 0"));
    }

    /// Two outputs of 3 s are sent from gpu:0 to gpu:1, from 1 and from 2: with the option, the second waits
    /// for the first.
    void heft_minds_channels_if_it_shall() {
        const ProblemPtr problem = measured_problem({{only_on(measured("s1", {1, 1}, {3}), "gpu:0"), {}},
                                                     {only_on(measured("s2", {1, 1}, {3}), "gpu:0"), {}},
                                                     {only_on(measured("r1", {2, 2}, {0}), "gpu:1"), {"s1"}},
                                                     {only_on(measured("r2", {1, 1}, {0}), "gpu:1"), {"s2"}}},
                                                    {1e9, 1e9});
        const DeviceChoices choices(problem, false);
        HeftOptions options;
        QCOMPARE(schedule_text(*problem, heft(choices, options)),
                 std::string("s1 on 0 at 0, s2 on 0 at 1, r1 on 1 at 4, r2 on 1 at 7"));
        options.link_contention = false;
        QCOMPARE(schedule_text(*problem, heft(choices, options)),
                 std::string("s1 on 0 at 0, s2 on 0 at 1, r1 on 1 at 4, r2 on 1 at 6"));
    }

    /// Both are fastest on gpu:0, which has memory for one.
    void heft_minds_memory_if_it_shall() {
        const ProblemPtr problem = measured_problem({{with_parameters(measured("x", {1, 10}, {0}), 60), {}},
                                                     {with_parameters(measured("y", {1, 10}, {0}), 60), {}}},
                                                    {100, 1000});
        const DeviceChoices choices(problem, false);
        HeftOptions options;
        QCOMPARE(schedule_text(*problem, heft(choices, options)), std::string("x on 0 at 0, y on 1 at 0"));
        options.memory_filter = false;
        QCOMPARE(schedule_text(*problem, heft(choices, options)), std::string("x on 0 at 0, y on 0 at 1"));
        options = {};
        QCOMPARE(schedule_text(*problem, heft(choices, options, 0.5)),
                 std::string("x on 1 at 0, y on 1 at 10"));  // half of gpu:0 holds neither
        // A second attempt uses less memory: 0.9 of 62 bytes cannot hold an op of 60.
        const ProblemPtr tight =
            measured_problem({{with_parameters(measured("x", {1, 10}, {0}), 60), {}}}, {62, 1000});
        QCOMPARE(proposals("heft", tight, {}, false), (std::vector<Placement>{{0}, {1}}));
        QCOMPARE(proposals("heft", tight, {{"attempts", std::int64_t{1}}}, false),
                 (std::vector<Placement>{{0}}));
    }

    /// Without insertion no op is scheduled before an earlier one on the same device.
    void heft_without_insertion_has_no_overlaps() {
        const ProblemPtr problem = published_heft_problem();
        const DeviceChoices choices(problem, false);
        HeftOptions options;
        options.link_contention = false;
        options.insertion = false;
        const ListSchedule behind = heft(choices, options);
        for (OpId a = 0; a < problem->ops; ++a) {
            for (OpId b = 0; b < problem->ops; ++b) {
                if (a == b || behind.placement[problem->grouping.group_of[a]] !=
                                  behind.placement[problem->grouping.group_of[b]])
                    continue;
                QVERIFY(behind.end_s[a] <= behind.start_s[b] || behind.end_s[b] <= behind.start_s[a]);
            }
        }
        QVERIFY(behind.makespan_s >= 80 - 1e-9);
    }

    /// Of four equal branches with cheap transfers, two go to each of two devices; with expensive transfers
    /// all stay on one.
    void fork_join_is_spread_when_transfers_are_cheap_data() {
        QTest::addColumn<QString>("id");
        for (const char* id : {"heft", "m-etf", "m-sct"}) QTest::newRow(id) << id;
    }

    void fork_join_is_spread_when_transfers_are_cheap() {
        QFETCH(QString, id);
        const auto used = [&](std::int64_t bytes) {
            const ProblemPtr problem =
                test::problem(test::fork_join(4, 1e9, bytes), test::uniform_machine(2));
            const Placement placement = only_proposal(id.toStdString(), problem);
            std::map<DeviceId, int> branches;
            for (int i = 0; i < 4; ++i)
                ++branches[device_of(*problem, placement, "branch" + std::to_string(i))];
            return branches;
        };
        QCOMPARE(used(1000), (std::map<DeviceId, int>{{0, 2}, {1, 2}}));
        QCOMPARE(used(100'000'000), (std::map<DeviceId, int>{{0, 4}}));
    }

    /// The schedule that m-ETF plans is greedy: no op starts later than it could when it was chosen.
    void m_etf_starts_in_order() {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const ProblemPtr problem = test::problem(test::random_graph(seed, 25), test::uniform_machine(3));
            const DeviceChoices choices(problem, false);
            const ListSchedule schedule = earliest_task_first(choices, {}, {});
            for (OpId op = 0; op < problem->ops; ++op) {
                for (auto i = problem->input_begin[op]; i < problem->input_begin[op + 1]; ++i) {
                    QVERIFY(schedule.start_s[op] >= schedule.end_s[problem->producer[problem->input[i]]]);
                }
                QVERIFY(schedule.end_s[op] <= schedule.makespan_s);
            }
        }
    }

    void m_etf_finds_the_schedule_worked_out_by_hand() {
        // At 0 a (rank 9) precedes b (8.5) and takes gpu:0; b takes gpu:1 at 0. c can start at 2 on gpu:0
        // (on gpu:1 at 3, after the transfer and behind b). d can start at 3 on gpu:1 (a's output arrives at
        // 3; on gpu:0 behind c at 6). e starts on gpu:0 at max(6, 5 + 1), on gpu:1 at 6 + 1.
        const ProblemPtr problem = hand_worked(1000);
        const ListSchedule schedule = earliest_task_first(DeviceChoices(problem, false), {}, {});
        QCOMPARE(schedule_text(*problem, schedule),
                 std::string("a on 0 at 0, b on 1 at 0, c on 0 at 2, d on 1 at 3, e on 0 at 6"));
        QCOMPARE(schedule.makespan_s, 7.0);
        QCOMPARE(only_proposal("m-etf", problem), schedule.placement);
    }

    void m_etf_finds_the_schedule_within_the_memory() {
        // gpu:0 has 100 bytes; a and c have 60 of parameters each: either fits alone, and a is there first.
        // c goes to gpu:1 at 3, before d by its rank. d can then start at 4.5 on gpu:0 (when b's output
        // arrives), on gpu:1 only at 7. e starts on gpu:1 at 6.5 + 1, on gpu:0 at 7 + 1.
        const ProblemPtr problem = hand_worked(100);
        const DeviceChoices choices(problem, false);
        const ListSchedule schedule = earliest_task_first(choices, {}, {});
        QCOMPARE(schedule_text(*problem, schedule),
                 std::string("a on 0 at 0, b on 1 at 0, c on 1 at 3, d on 0 at 4.5, e on 1 at 7.5"));
        QCOMPARE(schedule.makespan_s, 8.5);
        QCOMPARE(only_proposal("m-etf", problem), schedule.placement);
        EarliestTaskOptions unfiltered;
        unfiltered.memory_filter = false;
        QCOMPARE(schedule_text(*problem, earliest_task_first(choices, unfiltered, {})),
                 std::string("a on 0 at 0, b on 1 at 0, c on 0 at 2, d on 1 at 3, e on 0 at 6"));
        // 58 bytes hold neither: a goes to gpu:1, which is as fast, and b is first on gpu:0.
        QCOMPARE(device_of(*problem, earliest_task_first(choices, {}, {}, 0.58).placement, "a"), DeviceId{1});
    }

    /// x takes 4 s on gpu:0 and 8 s on gpu:1; y takes 1 s and 3 s. By start time both begin at once, x (rank
    /// 6) on its fast device; by end time y ends earliest on gpu:0, and x ends earlier behind it (5) than on
    /// gpu:1 (8).
    void m_etf_takes_what_starts_or_ends_first() {
        const ProblemPtr problem = measured_problem(
            {{measured("x", {4, 8}, {0}), {}}, {measured("y", {1, 3}, {0}), {}}}, {1e9, 1e9});
        const DeviceChoices choices(problem, false);
        QCOMPARE(schedule_text(*problem, earliest_task_first(choices, {}, {})),
                 std::string("x on 0 at 0, y on 1 at 0"));
        EarliestTaskOptions finish;
        finish.earliest = "finish";
        QCOMPARE(schedule_text(*problem, earliest_task_first(choices, finish, {})),
                 std::string("x on 0 at 1, y on 0 at 0"));
    }

    /// A fork of two whose favourite child is the one behind the longer transfer, with every rule.
    void favourites_follow_the_dearest_transfer_data() {
        QTest::addColumn<QString>("rule");
        for (const char* rule : {"lp", "heaviest", "longest"}) QTest::newRow(rule) << rule;
    }

    void favourites_follow_the_dearest_transfer() {
        QFETCH(QString, rule);
        GraphBuilder builder("fork", 1, Training::none);
        builder.add(measured("root", {1, 1}, {5, 2}), {});
        builder.add(measured("far", {1, 1}, {1}), {"root:1"});
        builder.add(measured("near", {1, 1}, {1}), {"root:0"});
        ProblemOptions options;
        options.cost.model = find_cost_model("measured");
        const ProblemPtr problem = test::problem(builder.build(), measured_machine(2), options);
        FavouriteOptions favourite;
        favourite.favourite = rule.toStdString();
        const std::vector<OpId> child = favourite_children(DeviceChoices(problem, false), favourite);
        QCOMPARE(child[*problem->graph->find("root")], *problem->graph->find("near"));
        QCOMPARE(child[*problem->graph->find("near")], kInvalidOp);
    }

    void favourites_are_pairs() {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            const ProblemPtr problem = test::problem(test::random_graph(seed, 30), test::uniform_machine(3));
            for (const char* rule : {"lp", "heaviest", "longest"}) {
                FavouriteOptions options;
                options.favourite = rule;
                const std::vector<OpId> child = favourite_children(DeviceChoices(problem, false), options);
                std::set<OpId> taken;
                for (OpId op = 0; op < problem->ops; ++op) {
                    if (child[op] == kInvalidOp) continue;
                    QVERIFY(taken.insert(child[op]).second);
                    const auto readers = problem->graph->consumers(op);
                    QVERIFY(std::ranges::find(readers, child[op]) != readers.end());
                }
                QVERIFY(!taken.empty());
            }
        }
    }

    /// If the LP is cancelled, the longest transfer decides.
    void an_unfinished_lp_falls_back() {
        const ProblemPtr problem = test::problem(test::random_graph(2, 30), test::uniform_machine(3));
        FavouriteOptions given_up;
        given_up.lp_iterations = 1;
        FavouriteOptions heaviest;
        heaviest.favourite = "heaviest";
        const DeviceChoices choices(problem, false);
        QCOMPARE(favourite_children(choices, given_up), favourite_children(choices, heaviest));
    }

    /// The device waits for the child behind the long transfer, although another op could start there at
    /// once.
    void m_sct_keeps_the_device_for_the_favourite() {
        GraphBuilder builder("wait", 1, Training::none);
        builder.add(measured("late", {2, 2}, {0.5}), {});
        builder.add(measured("root", {1, 1}, {9, 0.75}), {});
        builder.add(measured("other", {6, 6}, {0.1}), {"root:1"});
        builder.add(measured("child", {3, 3}, {0.1}), {"root:0", "late"});
        ProblemOptions options;
        options.cost.model = find_cost_model("measured");
        const ProblemPtr problem = test::problem(builder.build(), measured_machine(2), options);
        const Placement etf = only_proposal("m-etf", problem);
        const Placement sct = only_proposal("m-sct", problem);
        QCOMPARE(device_of(*problem, etf, "other"), device_of(*problem, etf, "root"));
        QCOMPARE(device_of(*problem, sct, "child"), device_of(*problem, sct, "root"));
        QVERIFY(device_of(*problem, sct, "other") != device_of(*problem, sct, "root"));
    }

    void m_topo_fills_equal_shares() {
        const ProblemPtr problem =
            test::problem(uneven_chain(1, 40, Training::implicit), test::uniform_machine(4));
        const Placement placement = only_proposal("m-topo", problem);
        QVERIFY(std::ranges::is_sorted(placement));
        const MemoryEstimate memory(*problem, 1);
        std::vector<double> bytes(4, 0);
        double largest = 0;
        for (GroupId group = 0; group < problem->groups; ++group) {
            bytes[placement[group]] += memory.kept_bytes(group);
            largest = std::max(largest, memory.kept_bytes(group));
        }
        const double share = (bytes[0] + bytes[1] + bytes[2] + bytes[3]) / 4;
        for (const double used : bytes) QVERIFY(used <= share + largest);
        for (std::size_t device = 0; device < 3; ++device) QVERIFY(bytes[device] > share);
    }

    /// Blocks of 1 GB on GPUs of 5.5 and 3.5 GB and a CPU.
    void sequential_fill_never_returns() {
        const ProblemPtr problem = blocks(8, 1e9, {5.5e9, 3.5e9, 100e9});
        // The first GPU and the CPU keep room for one more block.
        QCOMPARE(proposals("sequential-fill", problem).front(), (Placement{0, 0, 0, 0, 1, 1, 1, 2}));
        // What the weights leave is too little for the cache: with it, less is planned.
        const ProblemPtr cached = blocks(8, 1e9, {5.5e9, 3.5e9, 100e9}, 0.5e9);
        const std::vector<Placement> tried = proposals("sequential-fill", cached, {}, false);
        QCOMPARE(tried.front(), (Placement{0, 0, 0, 0, 1, 1, 1, 2}));
        QCOMPARE(tried[1], (Placement{0, 0, 1, 1, 2, 2, 2, 2}));
    }

    void memory_proportional_gives_shares_of_the_layers() {
        // Layers 0 to 8, the last of which is the output: layer i is on the first GPU as long as 12 i / 9
        // < 9.
        QCOMPARE(only_proposal("memory-proportional", blocks(8, 1e9, {9e9, 3e9, 100e9})),
                 (Placement{0, 0, 0, 0, 0, 0, 0, 1}));
        // The first layers go to the CPU as long as the others do not fit.
        QCOMPARE(only_proposal("memory-proportional", blocks(8, 1e9, {3.1e9, 3.1e9, 100e9})),
                 (Placement{2, 2, 2, 0, 0, 0, 1, 1}));
        // Without the CPU all layers are on GPUs.
        QCOMPARE(only_proposal("memory-proportional", blocks(8, 1e9, {3.1e9, 3.1e9, 100e9}),
                               {{"allow_cpu", false}}),
                 (Placement{0, 0, 0, 0, 0, 1, 1, 1}));
        // What is before the layers is on the CPU, but for a table that the output reads, too.
        QCOMPARE(only_proposal("memory-proportional", blocks(3, 1e9, {9e9, 9e9, 100e9}, 0, true)),
                 (Placement{1, 0, 0, 1}));
    }

    void pipedream_is_best_of_all_cuts() {
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            for (const Training training : {Training::none, Training::implicit}) {
                const ProblemPtr problem =
                    test::problem(uneven_chain(seed, 9, training), test::uniform_machine(3));
                const Placement placement = only_proposal("pipedream", problem);
                double best_s = kInfinity;
                for_each_placement(*problem, [&](const Placement& other) {
                    best_s = std::min(best_s, slowest_of_chain(*problem, other));
                });
                QVERIFY(std::abs(slowest_of_chain(*problem, placement) - best_s) <= 1e-9 * best_s);
            }
        }
    }

    void ideals_dp_is_best_of_all_contiguous_splits() {
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const Training training = seed % 2 == 0 ? Training::implicit : Training::none;
            const double memory_bytes = seed % 3 == 0 ? 2.5e7 : 1e12;
            const ProblemPtr problem =
                test::problem(test::random_graph(seed, 8, 2, training), machine_with_cpu(3, memory_bytes));
            const Evaluation found = max_load(*problem, only_proposal("ideals-dp", problem));
            double best_s = kInfinity;
            for_each_placement(*problem, [&](const Placement& placement) {
                const Evaluation evaluation = max_load(*problem, placement);
                if (evaluation.fits && evaluation.seconds < best_s && is_contiguous(*problem, placement))
                    best_s = evaluation.seconds;
            });
            QVERIFY(found.fits);
            QVERIFY2(std::abs(found.seconds - best_s) <= 1e-9 * best_s,
                     qPrintable(QString("seed %1").arg(seed)));
        }
    }

    /// The published optima; for workloads that the published program could not solve, the result of a
    /// bisection to 1e-4.
    void ideals_dp_reproduces_the_published_optima_data() {
        QTest::addColumn<QString>("file");
        for (const QString& file :
             QDir(kReference + "/splits")
                 .entryList({"T*__dp.json", "TL-inceptionv3*__contig.json"}, QDir::Files))
            QTest::newRow(qPrintable(file)) << file;
        if (!QDir(kReference).exists()) QTest::newRow("none") << "";
    }

    void ideals_dp_reproduces_the_published_optima() {
        QFETCH(QString, file);
        if (file.isEmpty()) QSKIP("the reference workloads do not lie beside the checkout");
        QFile split(kReference + "/splits/" + file);
        QVERIFY(split.open(QIODevice::ReadOnly));
        const QJsonObject about = QJsonDocument::fromJson(split.readAll()).object();
        const double published_s = about["expect"]["max_load"].toDouble() / 1e3;
        const NetworkFile workload =
            read_network(Path((kReference + "/" + about["input"].toString()).toStdString()));
        ProblemOptions options;
        options.cost.model = find_cost_model("measured");
        const ProblemPtr problem = test::problem(workload.graph, *workload.machine, options);
        const Evaluation found = max_load(*problem, only_proposal("ideals-dp", problem));
        QVERIFY(found.fits);
        QVERIFY(found.seconds <= published_s * (1 + 1e-9));
        QVERIFY(found.seconds >= published_s * (file.contains("contig") ? 1 - 1e-4 : 1 - 1e-9));
    }

    /// With too many ideals only one order is cut, which loses nothing for a chain.
    void ideals_dp_cuts_a_chain_within_any_limit() {
        const ProblemPtr problem =
            test::problem(uneven_chain(3, 30, Training::implicit), machine_with_cpu(4));
        QCOMPARE(only_proposal("ideals-dp", problem, {{"max_ideals", std::int64_t{5}}}),
                 only_proposal("ideals-dp", problem));
        const ProblemPtr wide = test::problem(test::fork_join(12), machine_with_cpu(4));
        const double limited_s =
            max_load(*wide, only_proposal("ideals-dp", wide, {{"max_ideals", std::int64_t{5}}})).seconds;
        QVERIFY(max_load(*wide, only_proposal("ideals-dp", wide)).seconds <= limited_s);
    }

    /// Each of 64 different devices may be used or not, by any set of ops.
    void ideals_dp_refuses_too_many_unlike_devices() {
        const Machine uniform = test::uniform_machine(64);
        std::vector<Device> devices(uniform.devices().begin(), uniform.devices().end());
        for (std::size_t i = 0; i < devices.size(); ++i)
            devices[i].peak_flops *= 1 + static_cast<double>(i) / 7;
        const auto unlike = [&](std::size_t count) {
            const Machine few = test::uniform_machine(count);
            return Machine("unlike", {devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count)},
                           {few.channels().begin(), few.channels().end()},
                           {few.routes().begin(), few.routes().end()});
        };
        const ProblemPtr many = test::problem(test::chain(30), unlike(64));
        QVERIFY_THROWS_EXCEPTION(OptionError, find_algorithm("ideals-dp")->make({many, 1, {}}, {}));
        const ProblemPtr some = test::problem(test::chain(30), unlike(5));
        QVERIFY_THROWS_EXCEPTION(
            OptionError,
            find_algorithm("ideals-dp")->make({some, 1, {}}, {{"max_states", std::int64_t{31 * 32 - 1}}}));
        QCOMPARE(only_proposal("ideals-dp", some, {{"max_states", std::int64_t{31 * 32}}}),
                 only_proposal("ideals-dp", some));
        // The portfolio omits it.
        const auto evaluator = simulation_evaluator(many, {}, {}, 1);
        const SearchResult result =
            run_search(*find_algorithm("auto")->make({many, 1, {}, 200}, {}), *evaluator, {200});
        QCOMPARE(result.progress.evaluations, std::uint64_t{200});
    }

    /// After an interruption the search continues with the same results.
    void what_takes_long_can_be_stopped() {
        const ProblemPtr problem = test::problem(test::random_graph(3, 20, 2), test::uniform_machine(3));
        std::stop_source stop;
        stop.request_stop();
        for (const char* id : {"ideals-dp", "m-etf", "m-sct", "heft", "scotch", "auto"}) {
            const auto optimizer = find_algorithm(id)->make({problem, 1, {}}, {}),
                       other = find_algorithm(id)->make({problem, 1, {}}, {});
            optimizer->stop_on(stop.get_token());
            QVERIFY2(optimizer->ask(1).empty(), id);
            optimizer->stop_on({});
            QVERIFY2(std::ranges::equal(optimizer->ask(1), other->ask(1)), id);
        }
    }

    void objectives_are_what_searches_minimise() {
        const ProblemPtr problem = test::problem(test::random_graph(5, 12), machine_with_cpu(3));
        const Objective& objective = *find_objective("max-load");
        const auto evaluator = objective_evaluator(problem, objective, {}, {}, 2);
        const auto optimizer = find_algorithm("hill-climbing")->make({problem, 1, {}}, {{"allow_cpu", true}});
        const SearchResult result = run_search(*optimizer, *evaluator, {500});
        QCOMPARE(result.progress.best.value_s, max_load(*problem, *result.progress.best_placement).seconds);
        QVERIFY(result.progress.curve->front().best_s > result.progress.best.penalised_s);
        // Placements whose blocks wait for each other score badly, but do not end the search.
        const auto latency = objective_evaluator(problem, *find_objective("block-latency"), {}, {}, 1);
        std::vector<Score> scores(1);
        bool is_undefined = false;
        Random random(1);
        for (int i = 0; i < 200 && !is_undefined; ++i) {
            const Placement placement = DeviceChoices(problem, true).random_placement(random);
            latency->evaluate({&placement, 1}, scores, {});
            is_undefined = scores[0] == kUndefinedScore;
            if (is_undefined)
                QVERIFY_THROWS_EXCEPTION(PlacementError,
                                         find_objective("block-latency")->evaluate(*problem, placement));
        }
        QVERIFY(is_undefined);
        const ProblemPtr without = test::problem(test::chain(3), test::uniform_machine(2));
        QVERIFY_THROWS_EXCEPTION(MachineError, objective_evaluator(without, objective, {}, {}, 1));
    }

    void memory_estimate_adds_up() {
        const ProblemPtr problem =
            test::problem(uneven_chain(1, 2, Training::implicit), test::uniform_machine(2, 1e8));
        MemoryEstimate memory(*problem, 0.5);
        QCOMPARE(memory.limit_bytes(0), 5e7);
        const double before = memory.room_bytes(1, 0);
        memory.add(0, 0);
        QVERIFY(before - memory.room_bytes(1, 0) >= memory.kept_bytes(0));
        // On another device there is also a copy of the input of the backward op.
        const double shared =
            std::max(memory.transient_bytes(0), memory.transient_bytes(1)) - memory.transient_bytes(1);
        QCOMPARE(memory.room_bytes(1, 0) + memory.kept_bytes(0) + shared - memory.room_bytes(1, 1),
                 problem->tensor_bytes[0]);
    }

    void what_does_not_fit_one_device_is_split_data() { add_ids(); }

    void what_does_not_fit_one_device_is_split() {
        QFETCH(QString, id);
        const Graph graph = uneven_chain(4, 24, Training::implicit);
        const ProblemPtr roomy = test::problem(graph, test::uniform_machine(3));
        Simulator simulator(roomy);
        const double all_bytes = simulator.run(Placement(roomy->groups, 0)).peak_bytes[0];
        const ProblemPtr problem = test::problem(graph, test::uniform_machine(3, 0.5 * all_bytes));
        const auto evaluator = simulation_evaluator(problem, {}, {}, 1);
        const auto optimizer = find_algorithm(id.toStdString())->make({problem, 1, {}}, {});
        const SearchResult result = run_search(*optimizer, *evaluator, {100});
        QCOMPARE(result.end, SearchEnd::exhausted);
        QVERIFY(result.progress.best.fits);
        QVERIFY(result.progress.evaluations <= 6);
    }

    void gives_up_after_its_attempts_data() { add_ids(); }

    void gives_up_after_its_attempts() {
        QFETCH(QString, id);
        const ProblemPtr problem =
            test::problem(uneven_chain(4, 24, Training::implicit), test::uniform_machine(3, 1e8));
        const std::vector<Placement> all =
            proposals(id.toStdString(), problem, {{"attempts", std::int64_t{3}}}, false);
        QVERIFY(!all.empty() && all.size() <= 3);
        QCOMPARE(std::set<Placement>(all.begin(), all.end()).size(), all.size());
        QCOMPARE(proposals(id.toStdString(), problem, {{"attempts", std::int64_t{3}}}, false), all);
    }

    /// Training graphs with groups, constraints, CPUs and different devices.
    void respects_constraints_data() {
        add_ids();
        QTest::newRow("ideals-dp") << "ideals-dp";
    }

    void respects_constraints() {
        QFETCH(QString, id);
        for (std::uint64_t seed = 1; seed <= 15; ++seed) {
            const ProblemPtr problem = test::problem(test::random_network(seed, 40, 3, Training::implicit),
                                                     test::random_machine(seed));
            for (const bool allow_cpu : {false, true}) {
                OptionValues values{{"allow_cpu", allow_cpu}};
                if (id == "ideals-dp") values["max_ideals"] = std::int64_t{500};
                const std::vector<Placement> all = proposals(id.toStdString(), problem, values, false);
                QVERIFY(!all.empty());
                const DeviceChoices choices(problem, allow_cpu);
                for (const Placement& placement : all) {
                    check_placement(*problem, placement);
                    for (GroupId group = 0; group < placement.size(); ++group)
                        QVERIFY(choices.allows(group, placement[group]));
                }
            }
        }
    }

    void options_change_the_way() {
        const ProblemPtr problem =
            test::problem(test::random_graph(7, 40, 3, Training::implicit), test::random_machine(9));
        for (const auto& [id, values] : std::vector<std::pair<const char*, OptionValues>>{
                 {"heft", {{"rank", text("best")}}},
                 {"heft", {{"rank", text("worst")}, {"memory_filter", false}}},
                 {"m-etf", {{"earliest", text("finish")}, {"link_contention", false}}},
                 {"m-sct", {{"favourite", text("longest")}, {"threshold", 0.3}}},
                 {"m-topo", {{"devices", std::int64_t{1}}}},
                 {"pipedream", {{"communication", false}, {"devices", std::int64_t{1}}}}}) {
            check_placement(*problem, only_proposal(id, problem, values));
        }
        const Placement one = only_proposal("pipedream", problem, {{"devices", std::int64_t{1}}});
        QCOMPARE(std::set<DeviceId>(one.begin(), one.end()).size(), std::size_t{1});
    }
};

QTEST_APPLESS_MAIN(TestConstructive)

#include "tst_constructive.moc"
