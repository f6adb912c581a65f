// SPDX-License-Identifier: MIT
// Properties that every simulation has, checked on random cases.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <tuple>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/shipped.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/hand_simulation.hpp"
#include "tests/support/reference_simulator.hpp"
#include "tests/support/spans.hpp"

namespace placewright {
namespace {

using test::kOrders, test::random_placement;

struct Case {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    SimulationOptions options;
};

/// Properties shared by a set of random cases.
struct Setting {
    const char* name = "";
    Order order = Order::fifo;
    test::MachineFeatures machine = {};
    bool network = false;     ///< graphs with views, workspaces and similar features
    bool own_phases = false;  ///< graphs with explicit backward and update ops
    bool accumulates = false;
    bool memory_margin = false;
    MemoryModel memory = MemoryModel::training;
    Recomputation recomputation = Recomputation::none;  ///< only for training graphs
    Runtime runtime = Runtime::ideal;
    bool cpus = false;      ///< some devices are CPUs
    bool in_place = false;  ///< all ops that support it
    std::size_t cases = 120;
};

constexpr test::MachineFeatures kAll{
    .streams = true, .copy_engines = true, .bus = true, .crossing = Crossing::cut_through};

const std::array kSettings{
    Setting{.name = "plain", .cases = 400},
    Setting{.name = "Exprimo's memory", .memory = MemoryModel::exprimo},
    Setting{.name = "networks", .network = true, .memory_margin = true, .cases = 300},
    Setting{.name = "cut-through", .machine = {.bus = true, .crossing = Crossing::cut_through}},
    Setting{.name = "copy engines", .machine = {.copy_engines = true, .bus = true}},
    Setting{.name = "cut-through with copy engines",
            .machine = {.copy_engines = true, .bus = true, .crossing = Crossing::cut_through}},
    Setting{.name = "streams", .machine = {.streams = true}},
    Setting{.name = "critical path", .order = Order::critical_path},
    Setting{.name = "GPipe", .order = Order::gpipe},
    Setting{.name = "1F1B", .order = Order::one_forward_one_backward},
    Setting{.name = "accumulation", .accumulates = true},
    Setting{.name = "segments recomputed", .network = true, .recomputation = Recomputation::segments},
    Setting{.name = "cheap ops recomputed, in place",
            .machine = kAll,
            .network = true,
            .recomputation = Recomputation::cheap,
            .in_place = true},
    Setting{.name = "own phases", .network = true, .own_phases = true, .accumulates = true},
    Setting{.name = "own phases, GPipe", .order = Order::gpipe, .own_phases = true, .accumulates = true},
    Setting{.name = "own phases, 1F1B",
            .order = Order::one_forward_one_backward,
            .own_phases = true,
            .accumulates = true},
    Setting{.name = "compiled", .runtime = Runtime::compiled},
    Setting{.name = "eager", .runtime = Runtime::eager},
    Setting{.name = "eager with CPUs", .runtime = Runtime::eager, .cpus = true, .cases = 300},
    Setting{.name = "eager, own phases",
            .network = true,
            .own_phases = true,
            .accumulates = true,
            .runtime = Runtime::eager,
            .cpus = true},
    Setting{.name = "eager, GPipe", .order = Order::gpipe, .runtime = Runtime::eager, .cpus = true},
    Setting{.name = "eager, all",
            .machine = kAll,
            .network = true,
            .accumulates = true,
            .runtime = Runtime::eager,
            .cpus = true,
            .cases = 300},
    Setting{.name = "eager, all, 1F1B",
            .order = Order::one_forward_one_backward,
            .machine = kAll,
            .network = true,
            .accumulates = true,
            .runtime = Runtime::eager,
            .cpus = true},
    Setting{.name = "all, fifo", .machine = kAll, .network = true, .accumulates = true},
    Setting{.name = "all, critical path",
            .order = Order::critical_path,
            .machine = kAll,
            .network = true,
            .accumulates = true},
    Setting{
        .name = "all, GPipe", .order = Order::gpipe, .machine = kAll, .network = true, .accumulates = true},
    Setting{.name = "all, 1F1B",
            .order = Order::one_forward_one_backward,
            .machine = kAll,
            .network = true,
            .accumulates = true},
};

/// A small or large, wide or narrow graph, for inference or training, with one or many batches. Every fourth
/// case has many ties.
Case random_case(const Setting& setting, std::uint64_t seed) {
    Random random(seed * 7919 + 1);
    const std::size_t ops = 1 + random.index(seed % 10 == 0 ? 60 : 16);
    const std::size_t inputs = 1 + random.index(4);
    const Training training = random.chance(0.5) ? Training::implicit : Training::none;
    ProblemOptions options;
    options.inference = training == Training::none && !setting.own_phases;
    options.memory = setting.memory;
    options.accumulate_gradients = setting.accumulates;
    options.in_place = setting.in_place;
    if (training == Training::implicit && !setting.own_phases) options.recomputation = setting.recomputation;
    if (setting.memory_margin) options.usable_memory = random.uniform(0.05, 1);
    if (seed % 3 == 0) options.allocator = Allocator::pytorch_segments;
    Graph graph = (setting.network ? test::random_network : test::random_graph)(seed, ops, inputs, training);
    if (setting.own_phases) graph = test::with_phases(graph, seed);
    Machine machine = test::with_features(test::random_machine(seed), seed, setting.machine);
    if (setting.cpus) {
        machine = test::changed(machine, [&](std::vector<Device>& devices, std::vector<Channel>& /*unused*/) {
            for (Device& device : devices)
                device.kind = random.chance(0.4) ? DeviceKind::cpu : DeviceKind::gpu;
        });
    }
    Case c;
    c.problem = test::problem(std::move(graph), std::move(machine), options);
    if (seed % 4 == 0) c.problem = test::with_whole_seconds(*c.problem, random);
    c.placement = random_placement(*c.problem, random);
    c.options.order = setting.order;
    c.options.runtime = setting.runtime;
    if (setting.runtime == Runtime::eager) {
        // As long as ops take, within the orders of magnitude that decide who waits for whom.
        const double total_s = std::accumulate(c.problem->op_time_s.begin(), c.problem->op_time_s.end(), 0.0);
        c.options.host_time_s =
            std::max(c.problem->tick_s, total_s / static_cast<double>(c.problem->op_time_s.size()) *
                                            std::exp2(random.uniform(-6, 2)));
    }
    if (random.chance(0.6)) {
        c.options.batches = static_cast<std::uint32_t>(1 + random.index(8));
        c.options.in_flight = static_cast<std::uint32_t>(1 + random.index(7));
    }
    return c;
}

DeviceId device_of(const Case& c, OpId op) {
    return c.placement[c.problem->grouping.group_of[op]];
}

std::uint32_t streams_of(const Problem& problem, DeviceId device) {
    return problem.machine->device(device).streams;
}

double share_of(const Problem& problem, const Span& span) {
    return problem.op_share.empty() ? 1 : problem.op_share[span.op * problem.devices + span.resource];
}

/// Whether the span is running just after the instant.
bool at_work(const Span& span, double time_s) {
    return span.start_s <= time_s && time_s < span.end_s;
}

/// The spans of one stream or channel in the order of their ends; a span that starts later never ends
/// earlier.
using Lane = std::vector<const Span*>;

std::vector<Lane> lanes(const std::vector<Span>& spans) {
    std::map<std::tuple<Span::Kind, std::uint16_t, std::uint16_t>, Lane> lanes;
    for (const Span& span : spans) lanes[{span.kind, span.resource, span.stream}].push_back(&span);
    std::vector<Lane> result;
    for (auto& [resource, lane] : lanes) result.push_back(std::move(lane));
    return result;
}

/// A leg of a transfer and its spans, one per channel.
struct LegRun {
    test::TransferLeg holds;
    std::size_t leg = 0;
    std::vector<const Span*> spans;

    const Span& first() const { return *spans.front(); }
};

/// All legs, assembled from the spans of their channels.
std::vector<LegRun> legs(const Machine& machine, const std::vector<Span>& spans) {
    std::map<std::tuple<std::uint32_t, TensorId, DeviceId>, std::vector<LegRun>> transfers;
    for (const Span& span : spans) {
        if (span.kind != Span::Kind::transfer) continue;
        std::vector<LegRun>& transfer = transfers[{span.batch, span.tensor, span.to}];
        if (transfer.empty() || transfer.back().spans.size() == transfer.back().holds.channels.size())
            transfer.push_back(
                {test::transfer_leg(machine, span.from, span.to, transfer.size()), transfer.size(), {}});
        transfer.back().spans.push_back(&span);
    }
    std::vector<LegRun> result;
    for (auto& [tensor, transfer] : transfers) result.insert(result.end(), transfer.begin(), transfer.end());
    return result;
}

/// Tensors of the producer that a transfer carries.
std::vector<TensorId> carried(const Case& c, const Span& span) {
    const Problem& problem = *c.problem;
    std::vector<TensorId> result;
    for (TensorId tensor = problem.output_begin[span.op]; tensor < problem.output_begin[span.op + 1];
         ++tensor) {
        const auto begin = problem.consumer.begin();
        const bool read_there =
            std::any_of(begin + problem.consumer_begin[tensor], begin + problem.consumer_begin[tensor + 1],
                        [&](OpId reader) { return device_of(c, reader) == span.to; });
        if (read_there && (problem.sends_together[span.op] || tensor == span.tensor))
            result.push_back(tensor);
    }
    return result;
}

/// Key by which the order of the case sorts ops; ties are broken by readiness.
std::vector<double> priority(const Case& c, const Span& span, const std::vector<double>& rank_s,
                             const std::vector<Phase>& phases) {
    const double batch = span.batch;
    const auto phase = static_cast<double>(phases[span.op]);
    switch (c.options.order) {
        case Order::fifo:
            return {span.queued_s};
        case Order::critical_path:
            return {batch, -rank_s[span.op], static_cast<double>(span.op)};
        case Order::gpipe:
            return {phase, batch, span.queued_s};
        case Order::one_forward_one_backward:
            return {phase == 0 ? 1.0 : 0.0, batch, span.queued_s};
    }
    return {};
}

/// The same key for a leg.
std::vector<double> priority(const Case& c, const LegRun& leg, const std::vector<double>& rank_s) {
    const Problem& problem = *c.problem;
    const Span& span = leg.first();
    if (c.options.order != Order::critical_path) return {span.queued_s};
    std::vector<std::vector<double>> readers;
    for (const TensorId tensor : carried(c, span)) {
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
            const OpId reader = problem.consumer[i];
            if (device_of(c, reader) == span.to)
                readers.push_back({-rank_s[reader], static_cast<double>(reader)});
        }
    }
    const std::vector<double> first = std::ranges::min(readers);
    return {static_cast<double>(span.batch), first[0], first[1], span.queued_s};
}

bool share_resources(const LegRun& a, const LegRun& b) {
    const auto common = [](const auto& x, const auto& y) {
        return std::ranges::find_first_of(x, y) != x.end();
    };
    return common(a.holds.channels, b.holds.channels) || common(a.holds.engines, b.holds.engines);
}

/// Latest end of the ops that pass the filter.
template <class Filter>
double last_end_s(const std::vector<Span>& spans, Filter filter) {
    double end_s = 0;
    for (const Span& span : spans) {
        if (span.kind == Span::Kind::op && filter(span)) end_s = std::max(end_s, span.end_s);
    }
    return end_s;
}

/// Whether the order holds the op back at the instant (just after its events).
bool is_held(const Case& c, const std::vector<Span>& spans, const Span& op, const std::vector<Phase>& phases,
             double time_s) {
    if (c.options.order == Order::gpipe && phases[op.op] != Phase::forward) {
        const std::uint32_t round = op.batch / c.options.in_flight;
        return time_s < last_end_s(
                            spans,
                            [&](const Span& other) {
                                return other.resource == op.resource &&
                                       other.batch / c.options.in_flight == round &&
                                       phases[other.op] == Phase::forward;
                            });
    }
    if (c.options.order != Order::one_forward_one_backward) return false;
    std::vector<DeviceId> used;
    for (OpId id = 0; id < c.problem->ops; ++id) {
        if (std::ranges::find(used, device_of(c, id)) == used.end()) used.push_back(device_of(c, id));
    }
    std::ptrdiff_t unfinished = 0;
    for (std::uint32_t batch = 0; batch < op.batch; ++batch) {
        const double end_s = last_end_s(
            spans, [&](const Span& other) { return other.resource == op.resource && other.batch == batch; });
        if (end_s > time_s) ++unfinished;
    }
    return unfinished >= used.end() - std::ranges::find(used, op.resource);
}

void compare_with_reference(const Case& c) {
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome& outcome = simulator.run(c.placement, trace);
    const test::ReferenceRun reference = test::reference_run(*c.problem, c.placement, c.options);
    COMPARE_SPANS(trace.spans, reference.spans);
    QCOMPARE(outcome.total_time_s, reference.outcome.total_time_s);
    QCOMPARE(outcome.peak_bytes, reference.outcome.peak_bytes);
    QVERIFY(outcome.steady_step_time_s == reference.outcome.steady_step_time_s);
    QVERIFY(outcome == reference.outcome);
}

void resources_do_one_thing_at_a_time(const Case& c) {
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    QVERIFY(std::ranges::is_sorted(trace.spans, {}, &Span::end_s));
    for (const Lane& lane : lanes(trace.spans)) {
        const bool device = lane.front()->kind == Span::Kind::op;
        if (device) QVERIFY(lane.front()->stream < streams_of(problem, lane.front()->resource));
        for (std::size_t i = 0; i < lane.size(); ++i) {
            QVERIFY(lane[i]->queued_s <= lane[i]->start_s);
            QVERIFY(lane[i]->start_s <= lane[i]->end_s);
            if (i > 0) QVERIFY(lane[i - 1]->end_s <= lane[i]->start_s);
            const bool first_come = device ? c.options.order == Order::fifo &&
                                                 c.options.runtime == Runtime::ideal &&
                                                 streams_of(problem, lane[i]->resource) == 1
                                           : c.options.order != Order::critical_path;
            if (i > 0 && first_come) QVERIFY(lane[i - 1]->queued_s <= lane[i]->queued_s);
        }
    }
    const std::vector<LegRun> all = legs(*problem.machine, trace.spans);
    for (const LegRun& leg : all) {
        QCOMPARE(leg.spans.size(), leg.holds.channels.size());
        for (std::size_t i = 0; i < leg.spans.size(); ++i) {
            QCOMPARE(leg.spans[i]->resource, leg.holds.channels[i]);
            QCOMPARE(leg.spans[i]->queued_s, leg.first().queued_s);
            QCOMPARE(leg.spans[i]->start_s, leg.first().start_s);
            QCOMPARE(leg.spans[i]->end_s, leg.first().end_s);
        }
        for (const DeviceId device : leg.holds.engines) {
            const auto copies = std::ranges::count_if(all, [&](const LegRun& other) {
                return std::ranges::count(other.holds.engines, device) > 0 &&
                       at_work(other.first(), leg.first().start_s);
            });
            QVERIFY(copies <= problem.machine->device(device).copy_engines);
        }
    }
    for (const Span& span : trace.spans) {
        if (span.kind != Span::Kind::op) continue;
        double share = 0;
        std::uint32_t ops = 0;
        for (const Span& other : trace.spans) {
            if (other.kind != Span::Kind::op || other.resource != span.resource ||
                !at_work(other, span.start_s))
                continue;
            share += share_of(problem, other);
            ++ops;
        }
        QVERIFY(ops <= streams_of(problem, span.resource));
        QVERIFY(ops <= 1 || share <= 1);
    }
}

void inputs_are_there(const Case& c) {
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::transfer) {
            QCOMPARE(span.from, device_of(c, span.op));
            QVERIFY(span.to != span.from);
            const std::vector<TensorId> tensors = carried(c, span);
            QVERIFY(!tensors.empty());
            QCOMPARE(span.tensor, tensors.front());
            double bytes = 0;
            for (const TensorId tensor : tensors) bytes += problem.tensor_bytes[tensor];
            QCOMPARE(span.bytes, bytes);
            continue;
        }
        QCOMPARE(span.resource, device_of(c, span.op));
        double ready_s = 0;
        for (const TensorRef& input : problem.graph->op(span.op).inputs) {
            const DeviceId from = device_of(c, input.op);
            // The last event that provided the input: its producer, or the last hop to this device.
            const auto brought =
                std::ranges::find_if(trace.spans.rbegin(), trace.spans.rend(), [&](const Span& other) {
                    if (other.batch != span.batch || other.op != input.op) return false;
                    if (from == span.resource) return other.kind == Span::Kind::op;
                    return other.kind == Span::Kind::transfer && other.to == span.resource &&
                           (problem.sends_together[input.op] ||
                            other.tensor == problem.output_begin[input.op] + input.output);
                });
            QVERIFY(brought != trace.spans.rend());
            QVERIFY(brought->end_s <= span.start_s);
            ready_s = std::max(ready_s, brought->end_s);
        }
        // An op with inputs is queued when its last input is available.
        if (!problem.graph->op(span.op).inputs.empty()) QCOMPARE(span.queued_s, ready_s);
    }
}

/// No work starts before work queued ahead of it.
void queues_keep_their_order(const Case& c) {
    if (c.options.runtime != Runtime::ideal) return;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    const std::vector<double> rank_s = test::upward_ranks_s(*c.problem);
    const std::vector<Phase> phases = test::scheduling_phases(*c.problem->graph);
    const auto passed = [](const Span& span, const Span& other) {
        return other.queued_s < span.start_s && span.start_s < other.start_s;
    };
    for (const Span& span : trace.spans) {
        if (span.kind != Span::Kind::op) continue;
        for (const Span& other : trace.spans) {
            if (other.kind != Span::Kind::op || other.resource != span.resource || !passed(span, other))
                continue;
            // An op that is released at this instant may be too late.
            if (is_held(c, trace.spans, other, phases, std::nextafter(span.start_s, 0))) continue;
            QVERIFY(priority(c, span, rank_s, phases) <= priority(c, other, rank_s, phases));
        }
    }
    const std::vector<LegRun> all_legs = legs(*c.problem->machine, trace.spans);
    for (const LegRun& leg : all_legs) {
        for (const LegRun& other : all_legs) {
            if (passed(leg.first(), other.first()) && share_resources(leg, other))
                QVERIFY(priority(c, leg, rank_s) <= priority(c, other, rank_s));
        }
    }
}

/// At every instant between events, the first of the waiting works is blocked: no free stream or share, or a
/// channel or engine in use.
void nothing_idles_with_work_queued(const Case& c) {
    if (c.options.runtime != Runtime::ideal) return;
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    const std::vector<double> rank_s = test::upward_ranks_s(problem);
    const std::vector<Phase> phases = test::scheduling_phases(*problem.graph);
    const std::vector<LegRun> all_legs = legs(*problem.machine, trace.spans);
    std::set<double> instants_s{0};
    for (const Span& span : trace.spans) instants_s.insert(span.end_s);
    const auto waits = [](const Span& span, double time_s) {
        return span.queued_s <= time_s && time_s < span.start_s;
    };

    for (const double time_s : instants_s) {
        for (DeviceId device = 0; device < problem.devices; ++device) {
            std::vector<const Span*> first;  // several if readiness alone decides and ties
            std::uint32_t running = 0;
            double share = 0;
            for (const Span& span : trace.spans) {
                if (span.kind != Span::Kind::op || span.resource != device) continue;
                if (at_work(span, time_s)) {
                    ++running;
                    share += share_of(problem, span);
                }
                if (!waits(span, time_s) || is_held(c, trace.spans, span, phases, time_s)) continue;
                const auto key = priority(c, span, rank_s, phases);
                const auto best = first.empty() ? key : priority(c, *first.front(), rank_s, phases);
                if (key < best) first.clear();
                if (key <= best) first.push_back(&span);
            }
            const bool kept = first.empty() || running == streams_of(problem, device) ||
                              (running > 0 && std::ranges::any_of(first, [&](const Span* span) {
                                   return share + share_of(problem, *span) > 1;
                               }));
            QVERIFY2(kept, "a device idles");
        }
        std::vector<const LegRun*> kept, idle;
        for (const LegRun& leg : all_legs) {
            if (!waits(leg.first(), time_s)) continue;
            const auto in_use = [&](const auto& resources, auto member, const auto& room) {
                return std::ranges::any_of(resources, [&](auto resource) {
                    const auto users = std::ranges::count_if(all_legs, [&](const LegRun& other) {
                        return at_work(other.first(), time_s) &&
                               std::ranges::count(other.holds.*member, resource) > 0;
                    });
                    return users >= room(resource);
                });
            };
            const bool no_room =
                in_use(leg.holds.channels, &test::TransferLeg::channels, [](ChannelId) { return 1; }) ||
                in_use(leg.holds.engines, &test::TransferLeg::engines, [&](DeviceId device) {
                    return static_cast<std::ptrdiff_t>(problem.machine->device(device).copy_engines);
                });
            (no_room ? kept : idle).push_back(&leg);
        }
        // Legs queued behind a blocked leg are blocked too. Among equals, the one that starts first was in
        // front.
        const auto place = [&](const LegRun& leg) {
            return std::pair(priority(c, leg, rank_s), leg.first().start_s);
        };
        for (std::size_t i = 0; i < kept.size(); ++i) {
            std::erase_if(idle, [&](const LegRun* leg) {
                const bool behind = share_resources(*leg, *kept[i]) && place(*kept[i]) <= place(*leg);
                if (behind) kept.push_back(leg);
                return behind;
            });
        }
        QVERIFY2(idle.empty(), "a channel idles");
    }
}

void busy_times_and_counts_add_up(const Case& c) {
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    const Outcome& outcome = simulator.run(c.placement);

    const double batches = c.options.batches;
    std::vector<double> device_busy_s(problem.devices), channel_busy_s(problem.channels),
        channel_bytes(problem.channels);
    std::vector<std::uint64_t> crossings(problem.channels);
    std::uint64_t transfers = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        const DeviceId from = device_of(c, op);
        if (problem.accumulates && problem.graph->op(op).phase == Phase::update) {
            device_busy_s[from] +=
                (batches - 1) * problem.accumulate_s[op * problem.devices + from] + problem.time_s(op, from);
        } else {
            device_busy_s[from] += batches * problem.time_s(op, from);
        }
        for (DeviceId to = 0; to < problem.devices; ++to) {
            if (to == from) continue;
            std::size_t tensors = 0;
            for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1];
                 ++tensor) {
                Span transfer;
                transfer.op = op;
                transfer.tensor = tensor;
                transfer.to = to;
                if (std::ranges::count(carried(c, transfer), tensor) == 0) continue;
                const bool new_message = tensors++ == 0 || !problem.sends_together[op];
                if (new_message) ++transfers;
                for (std::size_t leg = 0; leg < test::transfer_legs(*problem.machine, from, to); ++leg) {
                    for (const ChannelId channel :
                         test::transfer_leg(*problem.machine, from, to, leg).channels) {
                        if (new_message) ++crossings[channel];
                        channel_bytes[channel] += batches * problem.tensor_bytes[tensor];
                        channel_busy_s[channel] +=
                            batches * test::transfer_leg_s(problem, tensor, from, to, leg);
                    }
                }
            }
        }
    }
    QCOMPARE(outcome.ops_run, std::uint64_t{problem.ops} * c.options.batches);
    QCOMPARE(outcome.transfers, transfers * c.options.batches);
    QCOMPARE(outcome.step_time_s * batches, outcome.total_time_s);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        // A CPU's busy time includes that of the host.
        const bool host =
            c.options.runtime == Runtime::eager && problem.machine->device(device).kind == DeviceKind::cpu;
        if (!host) QCOMPARE(outcome.device_busy_s[device], device_busy_s[device]);
        QVERIFY(outcome.device_busy_s[device] <= outcome.total_time_s * streams_of(problem, device));
    }
    for (ChannelId channel = 0; channel < problem.channels; ++channel) {
        QCOMPARE(outcome.channel_transfers[channel], crossings[channel] * c.options.batches);
        QCOMPARE(outcome.channel_bytes[channel], channel_bytes[channel]);
        QCOMPARE(outcome.channel_busy_s[channel], channel_busy_s[channel]);
        QVERIFY(outcome.channel_busy_s[channel] <= outcome.total_time_s);
    }
}

void memory_returns_to_resident(const Case& c) {
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome& outcome = simulator.run(c.placement, trace);

    // Gradients that stay are there at the end; in several batches they take the place of those before.
    std::vector<double> resident(problem.devices), end(problem.devices);
    for (OpId op = 0; op < problem.ops; ++op) {
        end[device_of(c, op)] += problem.end_bytes(op);
        resident[device_of(c, op)] +=
            c.options.batches > 1 ? problem.end_bytes(op) : problem.resident_bytes[op];
    }
    QCOMPARE(outcome.resident_bytes, resident);
    QVERIFY(std::ranges::is_sorted(trace.memory, {}, &MemorySample::time_s));
    std::vector<double> largest(problem.devices), last(problem.devices);
    for (const MemorySample& sample : trace.memory) {
        QVERIFY(sample.bytes >= resident[sample.device]);
        largest[sample.device] = std::max(largest[sample.device], sample.bytes);
        last[sample.device] = sample.bytes;
    }
    // Exprimo's memory model frees nothing in inference.
    if (!(problem.inference && problem.memory == MemoryModel::exprimo)) QCOMPARE(last, end);
    QCOMPARE(largest, outcome.peak_bytes);
    bool fits = true;
    for (DeviceId device = 0; device < problem.devices; ++device)
        fits = fits && largest[device] <= problem.memory_limit_bytes[device];
    QCOMPARE(outcome.fits, fits);
}

void admission_keeps_the_limit(const Case& c) {
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    std::vector<double> entered_s(c.options.batches, kInfinity), left_s(c.options.batches);
    for (const Span& span : trace.spans) {
        entered_s[span.batch] = std::min(entered_s[span.batch], span.queued_s);
        left_s[span.batch] = std::max(left_s[span.batch], span.end_s);
    }
    QVERIFY(std::ranges::is_sorted(entered_s));
    std::vector<double> finished_s = left_s;
    std::ranges::sort(finished_s);
    const std::uint32_t in_flight = c.options.in_flight;
    for (std::uint32_t batch = 0; batch < c.options.batches; ++batch) {
        std::uint32_t others = 0;
        for (std::uint32_t earlier = 0; earlier < batch; ++earlier)
            others += left_s[earlier] > entered_s[batch] ? 1 : 0;
        QVERIFY(others < in_flight);
        if (c.options.order == Order::gpipe) {
            const std::uint32_t before = batch / in_flight * in_flight;
            QCOMPARE(entered_s[batch], before == 0 ? 0 : finished_s[before - 1]);
        } else if (c.options.order != Order::fifo || c.options.runtime != Runtime::ideal) {
            QCOMPARE(entered_s[batch], batch < in_flight ? 0 : finished_s[batch - in_flight]);
        } else {
            for (const OpId source : problem.sources) {
                const bool busy = std::ranges::any_of(trace.spans, [&](const Span& span) {
                    return span.kind == Span::Kind::op && span.resource == device_of(c, source) &&
                           span.batch < batch && span.start_s < entered_s[batch] &&
                           span.end_s > entered_s[batch];
                });
                QVERIFY(!busy);
            }
        }
    }
}

void held_ops_wait(const Case& c) {
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    const std::vector<Phase> phases = test::scheduling_phases(*c.problem->graph);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op) QVERIFY(!is_held(c, trace.spans, span, phases, span.start_s));
    }
}

void parameters_are_updated_once(const Case& c) {
    const Problem& problem = *c.problem;
    if (!problem.accumulates) return;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    std::map<OpId, Lane> updates;
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op && problem.graph->op(span.op).phase == Phase::update)
            updates[span.op].push_back(&span);
    }
    for (auto& [op, spans] : updates) {
        QCOMPARE(spans.size(), std::size_t{c.options.batches});
        const std::size_t entry = op * problem.devices + device_of(c, op);
        const bool on_host = problem.machine->device(device_of(c, op)).kind == DeviceKind::cpu;
        if (on_host && c.options.runtime == Runtime::eager) continue;  // and the time of the host
        // Spans of zero length may come after the start of the last one.
        std::ranges::stable_sort(spans, {},
                                 [](const Span* span) { return std::pair(span->start_s, span->end_s); });
        for (const Span* span : spans) {
            const double update_s = span == spans.back() ? problem.op_time_s[entry] : 0;
            const double added_s = span == spans.front() ? 0 : problem.accumulate_s[entry];
            QVERIFY(span->end_s == span->start_s + (added_s + update_s));
        }
    }
}

void scaled_costs_scale_everything(const Case& c) {
    for (const double factor : {2.0, 1.0 / 1024}) {
        Problem scaled = *c.problem;
        scaled.tick_s *= factor;
        for (auto* const table :
             {&scaled.op_time_s, &scaled.transfer_s, &scaled.accumulate_s, &scaled.channel_latency_s}) {
            for (double& time : *table) time *= factor;
        }
        Simulator simulator(c.problem, c.options);
        SimulationOptions options = c.options;
        options.host_time_s *= factor;
        Simulator other(std::make_shared<const Problem>(scaled), options);
        Trace trace, other_trace;
        const Outcome& outcome = simulator.run(c.placement, trace);
        const Outcome& other_outcome = other.run(c.placement, other_trace);
        for (Span& span : trace.spans) {
            for (double* const time : {&span.queued_s, &span.start_s, &span.end_s}) *time *= factor;
        }
        COMPARE_SPANS(other_trace.spans, trace.spans);
        QVERIFY(other_outcome.step_time_s == factor * outcome.step_time_s);
        QVERIFY(other_outcome.peak_bytes == outcome.peak_bytes);
    }
}

/// Devices keep to the program, and start no op before it is issued; a thread of the host issues one op after
/// the other.
void programs_are_kept(const Case& c) {
    if (c.options.runtime == Runtime::ideal) return;
    const std::vector<OpId> program = test::program_order(*c.problem);
    std::vector<std::size_t> position(program.size());
    for (std::size_t i = 0; i < program.size(); ++i) position[program[i]] = i;
    Trace trace;
    Simulator(c.problem, c.options).run(c.placement, trace);
    const bool host_works = c.options.runtime == Runtime::eager && c.options.host_time_s >= c.problem->tick_s;
    QCOMPARE(trace.issues.size(), host_works ? trace.spans.size() : 0);
    std::map<DeviceId, std::pair<std::uint32_t, std::size_t>> latest;
    std::map<std::uint16_t, std::vector<Issue>> threads;
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
        const Span& span = trace.spans[i];
        if (span.kind != Span::Kind::op) continue;
        if (c.options.order == Order::fifo) {
            const std::pair place(span.batch, position[span.op]);
            const auto [entry, fresh] = latest.try_emplace(span.resource, place);
            QVERIFY(fresh || entry->second < place);
            entry->second = place;
        }
        if (trace.issues.empty()) continue;
        const Issue& issue = trace.issues[i];
        QVERIFY(issue.start_s <= issue.end_s);
        QVERIFY(issue.end_s <= span.start_s);
        threads[issue.thread].push_back(issue);
    }
    for (auto& [thread, issues] : threads) {
        std::ranges::sort(issues, {},
                          [](const Issue& issue) { return std::pair(issue.start_s, issue.end_s); });
        for (std::size_t i = 1; i < issues.size(); ++i) QVERIFY(issues[i - 1].end_s <= issues[i].start_s);
    }
}

void tracing_changes_nothing(const Case& c) {
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome traced = simulator.run(c.placement, trace);
    const Outcome untraced = simulator.run(c.placement);
    QVERIFY(traced == untraced);
    const Trace before = trace;
    simulator.run(c.placement, trace);
    QVERIFY(trace == before);
}

/// A property of a simulation; it fails with the checks of Qt Test.
struct Property {
    const char* name;
    void (*check)(const Case&);
};

const std::array kProperties{
    Property{"agrees_with_reference", compare_with_reference},
    Property{"resources_do_one_thing_at_a_time", resources_do_one_thing_at_a_time},
    Property{"inputs_are_there", inputs_are_there},
    Property{"queues_keep_their_order", queues_keep_their_order},
    Property{"nothing_idles_with_work_queued", nothing_idles_with_work_queued},
    Property{"busy_times_and_counts_add_up", busy_times_and_counts_add_up},
    Property{"memory_returns_to_resident", memory_returns_to_resident},
    Property{"admission_keeps_the_limit", admission_keeps_the_limit},
    Property{"held_ops_wait", held_ops_wait},
    Property{"parameters_are_updated_once", parameters_are_updated_once},
    Property{"scaled_costs_scale_everything", scaled_costs_scale_everything},
    Property{"programs_are_kept", programs_are_kept},
    Property{"tracing_changes_nothing", tracing_changes_nothing},
};

}  // namespace

class TestSimulatorProperties : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void properties_data();
    void properties();
    void long_queues_agree_with_reference();
    void networks_agree_with_reference_data();
    void networks_agree_with_reference();
    void runs_leave_no_state();
};

void TestSimulatorProperties::properties_data() {
    QTest::addColumn<quint64>("setting");
    QTest::addColumn<quint64>("seed");
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
        for (std::size_t seed = 0; seed < kSettings[i].cases; ++seed)
            QTest::addRow("%s, %zu", kSettings[i].name, seed) << quint64{i} << quint64{seed};
    }
}

void TestSimulatorProperties::properties() {
    QFETCH(quint64, setting);
    QFETCH(quint64, seed);
    const Case c = random_case(kSettings[setting], seed);
    for (const Property& property : kProperties) {
        property.check(c);
        if (QTest::currentTestFailed()) QFAIL(property.name);
    }
}

/// Many ops and transfers of different ranks, some of them equal, that wait at the same time.
void TestSimulatorProperties::long_queues_agree_with_reference() {
    for (const Order order : kOrders) {
        for (const MemoryModel memory : {MemoryModel::training, MemoryModel::exprimo}) {
            Random random(3);
            ProblemOptions options;
            options.memory = memory;
            Case c;
            c.problem = test::problem(test::fork_join(80, 1e9, 1'000'000, Training::implicit),
                                      test::uniform_machine(3), options);
            c.problem = test::with_whole_seconds(*c.problem, random);
            c.placement = random_placement(*c.problem, random);
            c.options = {.batches = 5, .in_flight = 3, .order = order};
            compare_with_reference(c);
        }
    }
}

void TestSimulatorProperties::networks_agree_with_reference_data() {
    QTest::addColumn<QString>("network");
    QTest::addColumn<QString>("machine");
    QTest::addColumn<Order>("order");
    QTest::addColumn<quint32>("batches");
    const auto rows = [](const char* network, const char* machine, quint32 batches) {
        for (const Order order : kOrders) {
            QTest::addRow("%s, %s, %s", network, machine, std::string(to_string(order)).c_str())
                << QString(network) << QString(machine) << order << batches;
        }
    };
    for (const char* const network : {"alexnet", "resnet50", "inception_v3"}) {
        for (const char* const machine : {"4x-v100-pcie", "4x-v100-nvlink", "mixed-v100-p100-k80"})
            rows(network, machine, 3);
    }
    // The reference simulator takes seconds per batch.
    rows("nmt2", "mixed-v100-p100-k80", 2);
}

/// Training steps of the shipped networks, with the workspaces of their convolutions.
void TestSimulatorProperties::networks_agree_with_reference() {
    QFETCH(QString, network);
    QFETCH(QString, machine);
    QFETCH(Order, order);
    QFETCH(quint32, batches);
    Random random(7);
    ProblemOptions options;
    options.workspace_limit_bytes = 1e9;
    Case c;
    c.problem = make_problem(
        std::make_shared<const Graph>(read_network(find_network_file(network.toStdString())).graph),
        std::make_shared<const Machine>(read_machine(find_machine_file(machine.toStdString()))), options);
    c.placement = random_placement(*c.problem, random);
    c.options = {.batches = batches, .in_flight = 2, .order = order};
    compare_with_reference(c);
}

void TestSimulatorProperties::runs_leave_no_state() {
    const auto problem =
        test::problem(test::random_graph(3, 60, 3, Training::implicit), test::uniform_machine(4));
    const SimulationOptions options{.batches = 4, .in_flight = 3};
    Random random(5);
    std::vector<Placement> placements;
    std::vector<Outcome> expected;
    for (int i = 0; i < 12; ++i) {
        placements.push_back(random_placement(*problem, random));
        expected.push_back(Simulator(problem, options).run(placements.back()));
    }
    QVERIFY(expected[0] != expected[1]);
    Simulator shared(problem, options);
    Trace trace;
    for (int step = 0; step < 200; ++step) {
        const std::size_t i = random.index(placements.size());
        QVERIFY((step % 3 == 0 ? shared.run(placements[i], trace) : shared.run(placements[i])) ==
                expected[i]);
    }
    Simulator moved = std::move(shared);
    QVERIFY(moved.run(placements[0]) == expected[0]);
    QCOMPARE(&moved.problem(), problem.get());
    QCOMPARE(moved.options().in_flight, 3U);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulatorProperties)
#include "tst_simulator_properties.moc"
