// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <tuple>

#include <QtTest>

#include "core/base/random.hpp"
#include "core/graph/networks.hpp"
#include "core/io/files.hpp"
#include "core/sim/objective.hpp"
#include "core/sim/simulator.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/reference_simulator.hpp"

namespace {

bool counting = false;
std::size_t allocations = 0;
std::size_t allocated_bytes = 0;

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    if (counting) {
        ++allocations;
        allocated_bytes += bytes;
    }
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    if (void* memory = std::aligned_alloc(alignment, rounded)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes);
}
void* operator new[](std::size_t bytes) {
    return counted(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace placewright {
namespace {

constexpr double kGB = 1e9;
constexpr std::array kOrders{Order::fifo, Order::critical_path, Order::gpipe, Order::one_forward_one_backward};

// On test::uniform_machine (1 TFLOP/s, 1 GB/s) an op of 1e12 FLOPs takes one second and a tensor of 1e9 bytes another to cross, both
// exactly.
constexpr double kSecond = 1e12;
constexpr std::int64_t kTensor = 1'000'000'000;

Op op_of(const std::string& name, double seconds, std::vector<double> output_gb) {
    Op op;
    op.name = name;
    op.kind = "matmul";
    op.flops = seconds * kSecond;
    for (const double gb : output_gb) {
        Tensor tensor;
        tensor.bytes = static_cast<std::int64_t>(gb * kGB);
        op.outputs.push_back(tensor);
    }
    return op;
}

Span op_span(const Problem& problem, const char* name, DeviceId device, double queued_s, double start_s, double end_s,
             std::uint32_t batch = 0) {
    Span span;
    span.resource = device;
    span.op = *problem.graph->find(name);
    span.batch = batch;
    span.queued_s = queued_s;
    span.start_s = start_s;
    span.end_s = end_s;
    return span;
}

/// A hop of output 0 of the op.
Span hop_span(const Problem& problem, const char* producer, ChannelId channel, DeviceId from, DeviceId to, double queued_s, double start_s,
              double end_s, std::uint32_t batch = 0) {
    Span span = op_span(problem, producer, channel, queued_s, start_s, end_s, batch);
    span.kind = Span::Kind::transfer;
    span.from = from;
    span.to = to;
    span.tensor = problem.output_begin[span.op];
    span.bytes = problem.tensor_bytes[span.tensor];
    return span;
}

QByteArray text(const Span& span) {
    const QString what = span.kind == Span::Kind::op ? QString("op %1 on device %2").arg(span.op).arg(span.resource)
                                                     : QString("tensor %1 of op %2 from %3 to %4 on channel %5")
                                                           .arg(span.tensor)
                                                           .arg(span.op)
                                                           .arg(span.from)
                                                           .arg(span.to)
                                                           .arg(span.resource);
    return QString("%1, batch %2: queued %3, %4 to %5")
        .arg(what)
        .arg(span.batch)
        .arg(span.queued_s)
        .arg(span.start_s)
        .arg(span.end_s)
        .toUtf8();
}

/// The first span that differs, or nothing.
QByteArray difference(const std::vector<Span>& actual, const std::vector<Span>& expected) {
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
        if (actual[i] != expected[i])
            return QByteArray("span ") + QByteArray::number(qulonglong{i}) + ": " + text(actual[i]) + "; expected " + text(expected[i]);
    }
    if (actual.size() == expected.size()) return {};
    return QByteArray::number(qulonglong{actual.size()}) + " spans; expected " + QByteArray::number(qulonglong{expected.size()});
}

#define COMPARE_SPANS(actual, ...)                                \
    do {                                                          \
        const QByteArray wrong = difference(actual, __VA_ARGS__); \
        QVERIFY2(wrong.isEmpty(), wrong.constData());             \
    } while (false)

/// What both simulators say; that they differ fails the test.
test::ReferenceRun agreed_run(const std::shared_ptr<const Problem>& problem, const Placement& placement,
                              const SimulationOptions& options = {}) {
    test::ReferenceRun reference = test::reference_run(*problem, placement, options);
    Simulator simulator(problem, options);
    Trace trace;
    const Outcome& outcome = simulator.run(placement, trace);
    const QByteArray wrong = difference(trace.spans, reference.spans);
    QTest::qVerify(wrong.isEmpty(), "the traces agree", wrong.constData(), __FILE__, __LINE__);
    QTest::qVerify(outcome == reference.outcome, "the outcomes agree", "", __FILE__, __LINE__);
    return reference;
}

/// Device 0 and 1 and whatever channels and routes a case needs between them.
Machine two_devices(std::vector<double> channel_bandwidths, std::vector<ChannelId> forth, std::vector<ChannelId> back) {
    const Machine base = test::uniform_machine(2);
    std::vector<Channel> channels;
    for (std::size_t i = 0; i < channel_bandwidths.size(); ++i) {
        Channel channel;
        channel.name = "channel" + std::to_string(i);
        channel.bandwidth = channel_bandwidths[i];
        channels.push_back(channel);
    }
    return Machine("two", {base.devices().begin(), base.devices().end()}, std::move(channels),
                   {{0, 1, std::move(forth)}, {1, 0, std::move(back)}});
}

/// uniform_machine with other devices or channels.
template <class Change>
Machine changed(const Machine& machine, Change change) {
    std::vector<Device> devices(machine.devices().begin(), machine.devices().end());
    std::vector<Channel> channels(machine.channels().begin(), machine.channels().end());
    change(devices, channels);
    return Machine(machine.name(), std::move(devices), std::move(channels), {machine.routes().begin(), machine.routes().end()},
                   machine.crossing());
}

std::string stage_op(char phase, std::size_t stage) {
    return std::string(1, phase).append(std::to_string(stage));
}

/// One forward and one backward op a stage, "f0", "f1", ..., "b1", "b0": each backward op reads what its forward op made.
Graph pipeline(std::size_t stages, double forward_s, double backward_s) {
    GraphBuilder builder("pipeline", 1, Training::explicit_);
    for (std::size_t i = 0; i < stages; ++i) {
        std::vector<std::string> inputs;
        if (i > 0) inputs.push_back(stage_op('f', i - 1));
        builder.add(op_of(stage_op('f', i), forward_s, {1}), inputs);
    }
    for (std::size_t i = stages; i-- > 0;) {
        std::vector<std::string> inputs{stage_op('f', i)};
        if (i + 1 < stages) inputs.push_back(stage_op('b', i + 1));
        Op op = op_of(stage_op('b', i), backward_s, {0});
        op.phase = Phase::backward;
        builder.add(op, inputs);
    }
    return builder.build();
}

std::shared_ptr<const Problem> with_free_transfers(const Problem& problem) {
    Problem result = problem;
    std::ranges::fill(result.transfer_s, 0);
    return std::make_shared<const Problem>(std::move(result));
}

struct Case {
    std::shared_ptr<const Problem> problem;
    Placement placement;
    SimulationOptions options;
};

/// What a set of random cases has in common.
struct Setting {
    const char* name = "";
    Order order = Order::fifo;
    test::MachineFeatures machine = {};
    bool network = false;     ///< graphs with views, workspaces and the like
    bool own_phases = false;  ///< graphs that give their backward and update ops themselves
    bool accumulates = false;
    bool memory_margin = false;
    MemoryModel memory = MemoryModel::training;
    Recomputation recomputation = Recomputation::none;  ///< where there is something to train
    bool in_place = false;                              ///< all ops that can
    std::size_t cases = 120;
};

constexpr test::MachineFeatures kAll{.streams = true, .copy_engines = true, .bus = true, .crossing = Crossing::cut_through};

const std::array kSettings{
    Setting{.name = "plain", .cases = 400},
    Setting{.name = "Exprimo's memory", .memory = MemoryModel::exprimo},
    Setting{.name = "networks", .network = true, .memory_margin = true, .cases = 300},
    Setting{.name = "cut-through", .machine = {.bus = true, .crossing = Crossing::cut_through}},
    Setting{.name = "copy engines", .machine = {.copy_engines = true, .bus = true}},
    Setting{.name = "cut-through with copy engines", .machine = {.copy_engines = true, .bus = true, .crossing = Crossing::cut_through}},
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
    Setting{.name = "own phases, 1F1B", .order = Order::one_forward_one_backward, .own_phases = true, .accumulates = true},
    Setting{.name = "all, fifo", .machine = kAll, .network = true, .accumulates = true},
    Setting{.name = "all, critical path", .order = Order::critical_path, .machine = kAll, .network = true, .accumulates = true},
    Setting{.name = "all, GPipe", .order = Order::gpipe, .machine = kAll, .network = true, .accumulates = true},
    Setting{.name = "all, 1F1B", .order = Order::one_forward_one_backward, .machine = kAll, .network = true, .accumulates = true},
};

Placement random_placement(const Problem& problem, Random& random) {
    Placement placement(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) placement[group] = random.pick(problem.allowed_devices(group));
    return placement;
}

/// Small and large, wide and narrow, for inference and training, one batch and many. Every fourth with many ties.
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
    Graph graph = (setting.network ? test::random_network : test::random_graph)(seed, ops, inputs, training);
    if (setting.own_phases) graph = test::with_phases(graph, seed);
    Case c;
    c.problem = test::problem(std::move(graph), test::with_features(test::random_machine(seed), seed, setting.machine), options);
    if (seed % 4 == 0) c.problem = test::with_whole_seconds(*c.problem, random);
    c.placement = random_placement(*c.problem, random);
    c.options.order = setting.order;
    if (random.chance(0.6)) {
        c.options.batches = static_cast<std::uint32_t>(1 + random.index(8));
        c.options.in_flight = static_cast<std::uint32_t>(1 + random.index(7));
    }
    return c;
}

/// The case of a row of random_cases().
Case fetched_case() {
    QFETCH(quint64, setting);
    QFETCH(quint64, seed);
    return random_case(kSettings[setting], seed);
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

/// Right after the instant.
bool at_work(const Span& span, double time_s) {
    return span.start_s <= time_s && time_s < span.end_s;
}

/// The spans of one stream or channel in the order of their ends: there nothing that starts later ends earlier.
using Lane = std::vector<const Span*>;

std::vector<Lane> lanes(const std::vector<Span>& spans) {
    std::map<std::tuple<Span::Kind, std::uint16_t, std::uint16_t>, Lane> lanes;
    for (const Span& span : spans) lanes[{span.kind, span.resource, span.stream}].push_back(&span);
    std::vector<Lane> result;
    for (auto& [resource, lane] : lanes) result.push_back(std::move(lane));
    return result;
}

/// A leg of a transfer and its spans, one a channel.
struct LegRun {
    test::TransferLeg holds;
    std::size_t leg = 0;
    std::vector<const Span*> spans;

    const Span& first() const { return *spans.front(); }
};

/// All legs, put together from the spans of their channels.
std::vector<LegRun> legs(const Machine& machine, const std::vector<Span>& spans) {
    std::map<std::tuple<std::uint32_t, TensorId, DeviceId>, std::vector<LegRun>> transfers;
    for (const Span& span : spans) {
        if (span.kind != Span::Kind::transfer) continue;
        std::vector<LegRun>& transfer = transfers[{span.batch, span.tensor, span.to}];
        if (transfer.empty() || transfer.back().spans.size() == transfer.back().holds.channels.size())
            transfer.push_back({test::transfer_leg(machine, span.from, span.to, transfer.size()), transfer.size(), {}});
        transfer.back().spans.push_back(&span);
    }
    std::vector<LegRun> result;
    for (auto& [tensor, transfer] : transfers) result.insert(result.end(), transfer.begin(), transfer.end());
    return result;
}

/// The tensors of the producer that a transfer carries.
std::vector<TensorId> carried(const Case& c, const Span& span) {
    const Problem& problem = *c.problem;
    std::vector<TensorId> result;
    for (TensorId tensor = problem.output_begin[span.op]; tensor < problem.output_begin[span.op + 1]; ++tensor) {
        const auto begin = problem.consumer.begin();
        const bool read_there = std::any_of(begin + problem.consumer_begin[tensor], begin + problem.consumer_begin[tensor + 1],
                                            [&](OpId reader) { return device_of(c, reader) == span.to; });
        if (read_there && (problem.sends_together[span.op] || tensor == span.tensor)) result.push_back(tensor);
    }
    return result;
}

/// What the order of the case sorts ops by; equal ones by readiness.
std::vector<double> priority(const Case& c, const Span& span, const std::vector<double>& rank_s, const std::vector<Phase>& phases) {
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

/// The same for a leg.
std::vector<double> priority(const Case& c, const LegRun& leg, const std::vector<double>& rank_s) {
    const Problem& problem = *c.problem;
    const Span& span = leg.first();
    if (c.options.order != Order::critical_path) return {span.queued_s};
    std::vector<std::vector<double>> readers;
    for (const TensorId tensor : carried(c, span)) {
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
            const OpId reader = problem.consumer[i];
            if (device_of(c, reader) == span.to) readers.push_back({-rank_s[reader], static_cast<double>(reader)});
        }
    }
    const std::vector<double> first = std::ranges::min(readers);
    return {static_cast<double>(span.batch), first[0], first[1], span.queued_s};
}

bool share_resources(const LegRun& a, const LegRun& b) {
    const auto common = [](const auto& x, const auto& y) { return std::ranges::find_first_of(x, y) != x.end(); };
    return common(a.holds.channels, b.holds.channels) || common(a.holds.engines, b.holds.engines);
}

/// When the last of the ops that the filter lets through ends.
template <class Filter>
double last_end_s(const std::vector<Span>& spans, Filter filter) {
    double end_s = 0;
    for (const Span& span : spans) {
        if (span.kind == Span::Kind::op && filter(span)) end_s = std::max(end_s, span.end_s);
    }
    return end_s;
}

/// Whether the order keeps the op from starting at the instant (just after its events).
bool is_held(const Case& c, const std::vector<Span>& spans, const Span& op, const std::vector<Phase>& phases, double time_s) {
    if (c.options.order == Order::gpipe && phases[op.op] != Phase::forward) {
        const std::uint32_t round = op.batch / c.options.in_flight;
        return time_s < last_end_s(
                            spans,
                            [&](const Span& other) {
                                return other.resource == op.resource && other.batch / c.options.in_flight == round &&
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
        const double end_s = last_end_s(spans, [&](const Span& other) { return other.resource == op.resource && other.batch == batch; });
        if (end_s > time_s) ++unfinished;
    }
    return unfinished >= used.end() - std::ranges::find(used, op.resource);
}

}  // namespace

class TestSimulator : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void chain_on_one_device();
    void chain_over_two_devices();
    void fork_join_over_two_devices();
    void remote_tensor_is_sent_once();
    void outputs_go_separately();
    void outputs_go_together();
    void two_hops();
    void route_over_one_channel_twice();
    void shared_channel_is_half_duplex();
    void ready_first_runs_first();
    void ties_keep_the_order_of_starting();
    void memory_peak();
    void memory_limit();
    void peak_of_an_instant();
    void batches_overlap_over_two_devices();
    void batches_do_not_overlap_on_one_device();
    void batches_wait_for_every_source_device();
    void sources_enter_by_device();
    void many_channels();
    void options_are_checked();

    void cut_through();
    void cut_through_waits_for_all_channels();
    void copy_engines();
    void copy_engine_of_each_end();
    void streams();
    void the_ending_device_goes_on_last();
    void critical_path_first();
    void critical_transfers_first();
    void upward_ranks();
    void pipelines_data();
    void pipelines();
    void gpipe_in_rounds();
    void one_forward_one_backward_in_turn();
    void what_forward_ops_need_is_not_held();
    void steady_state_data();
    void steady_state();
    void steady_state_of_one_device();
    void accumulated_gradients();
    void views_take_no_memory();
    void workspace();
    void memory_margin();

    void agrees_with_reference_data() { random_cases(); }
    void agrees_with_reference();
    void long_queues_agree_with_reference();
    void networks_agree_with_reference_data();
    void networks_agree_with_reference();
    void resources_do_one_thing_at_a_time_data() { random_cases(); }
    void resources_do_one_thing_at_a_time();
    void inputs_are_there_data() { random_cases(); }
    void inputs_are_there();
    void queues_keep_their_order_data() { random_cases(); }
    void queues_keep_their_order();
    void nothing_idles_with_work_queued_data() { random_cases(); }
    void nothing_idles_with_work_queued();
    void busy_times_and_counts_add_up_data() { random_cases(); }
    void busy_times_and_counts_add_up();
    void memory_returns_to_resident_data() { random_cases(); }
    void memory_returns_to_resident();
    void admission_keeps_the_limit_data() { random_cases(); }
    void admission_keeps_the_limit();
    void held_ops_wait_data() { random_cases(); }
    void held_ops_wait();
    void parameters_are_updated_once_data() { random_cases(); }
    void parameters_are_updated_once();
    void scaled_costs_scale_everything_data() { random_cases(); }
    void scaled_costs_scale_everything();
    void tracing_changes_nothing_data() { random_cases(); }
    void tracing_changes_nothing();
    void runs_leave_no_state();
    void run_allocates_nothing_data();
    void run_allocates_nothing();
    void many_batches();

    void objective_data();
    void objective();
    void memory_rules_by_name();

private:
    static void random_cases();
    static void compare_with_reference(const Case& c);
};

void TestSimulator::chain_on_one_device() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0, 0}, trace);
    COMPARE_SPANS(trace.spans,
                  {op_span(*problem, "op0", 0, 0, 0, 1), op_span(*problem, "op1", 0, 1, 1, 2), op_span(*problem, "op2", 0, 2, 2, 3)});
    QCOMPARE(outcome.total_time_s, 3.0);
    QCOMPARE(outcome.step_time_s, 3.0);
    QCOMPARE(outcome.device_busy_s, std::vector<double>{3.0});
    QCOMPARE(outcome.ops_run, 3U);
    QCOMPARE(outcome.transfers, 0U);
    QVERIFY(outcome.channel_busy_s.empty());
    QVERIFY(outcome.fits);
    // op0's output until op1 is done, then op1's and op2's.
    QCOMPARE(outcome.peak_bytes, std::vector<double>{2 * kGB});
}

void TestSimulator::chain_over_two_devices() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "op0", 0, 0, 0, 1),
                                   hop_span(*problem, "op0", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "op1", 1, 2, 2, 3),
                                   hop_span(*problem, "op1", 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "op2", 0, 4, 4, 5),
                               });
    QCOMPARE(outcome.total_time_s, 5.0);
    QCOMPARE(outcome.device_busy_s, (std::vector<double>{2, 1}));
    QCOMPARE(outcome.channel_busy_s, (std::vector<double>{1, 1}));
    QCOMPARE(outcome.channel_bytes, (std::vector<double>{kGB, kGB}));
    QCOMPARE(outcome.channel_transfers, (std::vector<std::uint64_t>{1, 1}));
    QCOMPARE(outcome.transfers, 2U);
}

void TestSimulator::fork_join_over_two_devices() {
    const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "source", 0, 0, 0, 1),
                                   // The transfer starts before the device goes on to branch0, so it ends before it.
                                   hop_span(*problem, "source", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "branch0", 0, 1, 1, 2),
                                   op_span(*problem, "branch1", 1, 2, 2, 3),
                                   hop_span(*problem, "branch1", 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "sink", 0, 4, 4, 5),
                               });
    QCOMPARE(outcome.total_time_s, 5.0);
    // Device 0: source's and branch0's outputs; later branch0's, branch1's copy and sink's. Device 1: the copy of source's and branch1's.
    QCOMPARE(outcome.peak_bytes, (std::vector<double>{3 * kGB, 2 * kGB}));
}

void TestSimulator::remote_tensor_is_sent_once() {
    const auto problem = test::problem(test::fork_join(3, kSecond, kTensor), test::uniform_machine(3));
    Simulator simulator(problem);
    // source on 0; two branches on 1, one on 2; sink on 1.
    const Outcome& outcome = simulator.run(Placement{0, 1, 1, 2, 1});
    QCOMPARE(outcome.transfers, 3U);  // source to 1 once, source to 2, the branch on 2 to 1
    QCOMPARE(outcome.channel_bytes[0], kGB);
    // To 1 at 2, two branches until 4; the branch on 2 is done at 3, its output there at 4; sink until 5.
    QCOMPARE(outcome.total_time_s, 5.0);
}

void TestSimulator::outputs_go_separately() {
    GraphBuilder builder("split", 1, Training::none);
    builder.add(op_of("split", 1, {1, 2}), {});
    builder.add(op_of("left", 1, {1}), {"split:0"});
    builder.add(op_of("right", 1, {1}), {"split:1"});
    builder.add(op_of("both", 1, {1}), {"split:1", "split:0", "split:1"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 1, 1}, trace);
    Span second_hop = hop_span(*problem, "split", 0, 0, 1, 1, 2, 4);
    ++second_hop.tensor;
    second_hop.bytes = problem->tensor_bytes[second_hop.tensor];
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "split", 0, 0, 0, 1),
                                   hop_span(*problem, "split", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "left", 1, 2, 2, 3),
                                   second_hop,
                                   op_span(*problem, "right", 1, 4, 4, 5),
                                   op_span(*problem, "both", 1, 4, 5, 6),
                               });
}

/// A message is named after the first of its tensors, even if that has no bytes.
void TestSimulator::outputs_go_together() {
    GraphBuilder builder("together", 1, Training::none);
    Op split = op_of("split", 1, {0, 1, 2});
    split.sends_together = true;
    builder.add(split, {});
    builder.add(op_of("all", 1, {1}), {"split:2", "split:1", "split:0"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1}, trace);
    Span message = hop_span(*problem, "split", 0, 0, 1, 1, 1, 4);
    message.bytes = 3 * kGB;
    COMPARE_SPANS(trace.spans, {op_span(*problem, "split", 0, 0, 0, 1), message, op_span(*problem, "all", 1, 4, 4, 5)});
}

void TestSimulator::two_hops() {
    const auto problem = test::problem(test::chain(2, kSecond, kTensor), two_devices({1e9, 2e9}, {0, 1}, {1}));
    Simulator simulator(problem);
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "op0", 0, 0, 0, 1),
                                   hop_span(*problem, "op0", 0, 0, 1, 1, 1, 2),
                                   hop_span(*problem, "op0", 1, 0, 1, 2, 2, 2.5),
                                   op_span(*problem, "op1", 1, 2.5, 2.5, 3.5),
                               });
    QCOMPARE(outcome.transfers, 1U);
    QCOMPARE(outcome.channel_transfers, (std::vector<std::uint64_t>{1, 1}));
    QCOMPARE(outcome.channel_busy_s, (std::vector<double>{1, 0.5}));
    // The sender's copy goes when the first hop is done, the receiver's comes when the last hop starts.
    QCOMPARE(trace.memory, (std::vector<MemorySample>{
                               {0, 0, 0},
                               {1, 0, 0},
                               {0, 0, kGB},
                               {0, 2, 0},
                               {1, 2, kGB},
                               {1, 2.5, 2 * kGB},
                               // op1's output, which nobody reads, then its input
                               {1, 3.5, 0},
                           }));
}

void TestSimulator::route_over_one_channel_twice() {
    const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), two_devices({1e9}, {0, 0}, {0}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 0, 1, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "source", 0, 0, 0, 1),
                                   hop_span(*problem, "source", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "branch0", 0, 1, 1, 2),
                                   // The second crossing was started at 2 with branch0 still at work; branch0's output waits for it.
                                   hop_span(*problem, "source", 0, 0, 1, 2, 2, 3),
                                   // What an event lets start elsewhere starts first, the resource goes on last.
                                   op_span(*problem, "branch1", 1, 3, 3, 4),
                                   hop_span(*problem, "branch0", 0, 0, 1, 2, 3, 4),
                                   hop_span(*problem, "branch0", 0, 0, 1, 4, 4, 5),
                                   op_span(*problem, "sink", 1, 5, 5, 6),
                               });
}

void TestSimulator::shared_channel_is_half_duplex() {
    GraphBuilder builder("cross", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("b", 1, {1}), {});
    builder.add(op_of("reads_b", 1, {0}), {"b"});
    builder.add(op_of("reads_a", 1, {0}), {"a"});
    const auto problem = test::problem(builder.build(), two_devices({1e9}, {0}, {0}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 0, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "a", 0, 0, 0, 1),
                                   op_span(*problem, "b", 1, 0, 0, 1),
                                   hop_span(*problem, "a", 0, 0, 1, 1, 1, 2),
                                   op_span(*problem, "reads_a", 1, 2, 2, 3),
                                   hop_span(*problem, "b", 0, 1, 0, 1, 2, 3),
                                   op_span(*problem, "reads_b", 0, 3, 3, 4),
                               });
}

void TestSimulator::ready_first_runs_first() {
    // "late" comes before "early" in the graph, but its input needs two seconds.
    GraphBuilder builder("queue", 1, Training::none);
    builder.add(op_of("slow", 2, {0}), {});
    builder.add(op_of("fast", 1, {0}), {});
    builder.add(op_of("blocker", 4, {0}), {});
    builder.add(op_of("late", 1, {0}), {"slow"});
    builder.add(op_of("early", 1, {0}), {"fast"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 2, 2, 2}, trace);
    COMPARE_SPANS(std::vector<Span>(trace.spans.end() - 3, trace.spans.end()), {
                                                                                   op_span(*problem, "blocker", 2, 0, 0, 4),
                                                                                   op_span(*problem, "early", 2, 1, 4, 5),
                                                                                   op_span(*problem, "late", 2, 2, 5, 6),
                                                                               });
}

void TestSimulator::ties_keep_the_order_of_starting() {
    // "long" on device 1 starts at 0, "second" on device 0 at 1; both end at 2, the one that started first is handled first.
    GraphBuilder builder("tie", 1, Training::none);
    builder.add(op_of("first", 1, {0}), {});
    builder.add(op_of("long", 2, {0}), {});
    builder.add(op_of("second", 1, {0}), {"first"});
    builder.add(op_of("after_second", 1, {0}), {"second"});
    builder.add(op_of("after_long", 1, {0}), {"long"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 0, 2, 2}, trace);
    COMPARE_SPANS(std::vector<Span>(trace.spans.end() - 2, trace.spans.end()), {
                                                                                   op_span(*problem, "after_long", 2, 2, 2, 3),
                                                                                   op_span(*problem, "after_second", 2, 2, 3, 4),
                                                                               });
}

void TestSimulator::memory_peak() {
    GraphBuilder builder("memory", 1, Training::implicit);
    Op a = op_of("a", 1, {1});
    Op b = op_of("b", 1, {2});
    a.parameter_bytes = 3 * kTensor;
    b.parameter_bytes = 5 * kTensor;
    builder.add(a, {});
    builder.add(b, {"a"});
    Problem with_times = *test::problem(builder.build(), test::uniform_machine(2));
    // a, b, b/backward, b/weight_gradient, b/update, a/weight_gradient, a/update
    QCOMPARE(with_times.ops, 7U);
    std::ranges::fill(with_times.op_time_s, 1);
    const auto problem = std::make_shared<const Problem>(with_times);
    Simulator simulator(problem);

    // Parameters and momentum: 2 x 3 + 2 x 5 = 16.
    const Outcome alone = simulator.run(Placement{0, 0});
    QCOMPARE(alone.resident_bytes, (std::vector<double>{16 * kGB, 0}));
    // t   runs               outputs held                                               sum
    // 0   a                  a 1                                                         1
    // 1   b                  a 1, b 2                                                    3
    // 2   b/backward         a 1, b 2, gradient of a 1                                   4
    // 3   b/weight_gradient  a 1, b 2, gradient of a 1, gradient of b's parameters 5     9
    // 4   a/weight_gradient  gradient of a 1, gradient of b's 5, gradient of a's 3       9  (it was ready at 3, before b/update)
    // 5   b/update           5, 3                                                        8
    // 6   a/update           3
    QCOMPARE(alone.total_time_s, 7.0);
    QCOMPARE(alone.peak_bytes, (std::vector<double>{(16 + 9) * kGB, 0}));

    // a on device 0: 6 resident; its output 1 until it is sent at 2; the gradient of it 1 arrives, the gradient of its parameters 3: 6 + 1
    // + 3. b on device 1: 10 resident, copy of a 1, b 2, gradient of a 1 (its transfer, one second, runs beside b/weight_gradient),
    // gradient of b 5: 10 + 9.
    const Outcome apart = simulator.run(Placement{0, 1});
    QCOMPARE(apart.resident_bytes, (std::vector<double>{6 * kGB, 10 * kGB}));
    QCOMPARE(apart.peak_bytes, (std::vector<double>{10 * kGB, 19 * kGB}));
}

void TestSimulator::memory_limit() {
    const auto fits = [](double memory_bytes) {
        const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1, memory_bytes));
        return Simulator(problem).run(Placement{0, 0, 0}).fits;
    };
    QVERIFY(fits(2 * kGB));
    QVERIFY(!fits(2 * kGB - 1));
}

void TestSimulator::peak_of_an_instant() {
    // "burst" takes no time, so what it holds goes in the moment in which it came.
    GraphBuilder builder("instant", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("burst", 0, {4}), {"a"});
    Problem with_times = *test::problem(builder.build(), test::uniform_machine(1));
    with_times.op_time_s = {1, 0};
    Simulator simulator(std::make_shared<const Problem>(with_times));
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 0}, trace);
    QCOMPARE(outcome.total_time_s, 1.0);
    QCOMPARE(outcome.peak_bytes, std::vector<double>{5 * kGB});
    QCOMPARE(trace.memory, (std::vector<MemorySample>{{0, 0, kGB}, {0, 1, 5 * kGB}, {0, 1, 0}}));
}

void TestSimulator::batches_overlap_over_two_devices() {
    GraphBuilder builder("pipeline", 1, Training::none);
    builder.add(op_of("first", 1, {1}), {});
    builder.add(op_of("second", 2, {0}), {"first"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem, {.batches = 3, .in_flight = 2});
    Trace trace;
    const Outcome& outcome = simulator.run(Placement{0, 1}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "first", 0, 0, 0, 1, 0),
                                   hop_span(*problem, "first", 0, 0, 1, 1, 1, 2, 0),
                                   op_span(*problem, "first", 0, 1, 1, 2, 1),
                                   hop_span(*problem, "first", 0, 0, 1, 2, 2, 3, 1),
                                   op_span(*problem, "second", 1, 2, 2, 4, 0),
                                   // Batch 2 waits until batch 0 is done.
                                   op_span(*problem, "first", 0, 4, 4, 5, 2),
                                   op_span(*problem, "second", 1, 3, 4, 6, 1),
                                   hop_span(*problem, "first", 0, 0, 1, 5, 5, 6, 2),
                                   op_span(*problem, "second", 1, 6, 6, 8, 2),
                               });
    QCOMPARE(outcome.total_time_s, 8.0);
    QCOMPARE(outcome.step_time_s, 8.0 / 3.0);
    QCOMPARE(outcome.ops_run, 6U);
    QCOMPARE(outcome.transfers, 3U);
    // Batch 1's copy beside batch 0's.
    QCOMPARE(outcome.peak_bytes, (std::vector<double>{2 * kGB, 2 * kGB}));
}

void TestSimulator::batches_do_not_overlap_on_one_device() {
    const auto problem = test::problem(test::fork_join(4, kSecond, kTensor), test::uniform_machine(2));
    const Placement placement(problem->groups, 0);
    const double alone_s = Simulator(problem).run(placement).total_time_s;
    Simulator simulator(problem, {.batches = 5, .in_flight = 3});
    Trace trace;
    const Outcome& outcome = simulator.run(placement, trace);
    QCOMPARE(outcome.total_time_s, 5 * alone_s);
    QCOMPARE(outcome.step_time_s, alone_s);
    QVERIFY(std::ranges::is_sorted(trace.spans, {}, &Span::batch));
}

void TestSimulator::batches_wait_for_every_source_device() {
    GraphBuilder builder("two sources", 1, Training::none);
    builder.add(op_of("short", 1, {0}), {});
    builder.add(op_of("long", 3, {0}), {});
    builder.add(op_of("join", 1, {0}), {"short", "long"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    Simulator simulator(problem, {.batches = 2, .in_flight = 2});
    Trace trace;
    simulator.run(Placement{0, 1, 2}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "short", 0, 0, 0, 1, 0),
                                   hop_span(*problem, "short", 1, 0, 2, 1, 1, 1, 0),
                                   op_span(*problem, "long", 1, 0, 0, 3, 0),
                                   // Device 0 was idle from 1 on, device 1 only from 3 on.
                                   hop_span(*problem, "long", 3, 1, 2, 3, 3, 3, 0),
                                   op_span(*problem, "short", 0, 3, 3, 4, 1),
                                   op_span(*problem, "join", 2, 3, 3, 4, 0),
                                   hop_span(*problem, "short", 1, 0, 2, 4, 4, 4, 1),
                                   op_span(*problem, "long", 1, 3, 3, 6, 1),
                                   hop_span(*problem, "long", 3, 1, 2, 6, 6, 6, 1),
                                   op_span(*problem, "join", 2, 6, 6, 7, 1),
                               });
}

void TestSimulator::sources_enter_by_device() {
    GraphBuilder builder("sources", 1, Training::none);
    for (const char* name : {"a", "b", "c", "d"}) builder.add(op_of(name, 1, {0}), {});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{1, 0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "b", 0, 0, 0, 1),
                                   op_span(*problem, "a", 1, 0, 0, 1),
                                   op_span(*problem, "d", 0, 0, 1, 2),
                                   op_span(*problem, "c", 1, 0, 1, 2),
                               });
}

void TestSimulator::many_channels() {
    // The last of as many channels as a machine may have: resources need more than 16 bits.
    const auto count = std::size_t{std::numeric_limits<ChannelId>::max()} + 1;
    const ChannelId last = std::numeric_limits<ChannelId>::max();
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), two_devices(std::vector<double>(count, 1e9), {last}, {last - 1}));
    Simulator simulator(problem);
    Trace trace;
    simulator.run(Placement{0, 1, 0}, trace);
    COMPARE_SPANS(trace.spans, {
                                   op_span(*problem, "op0", 0, 0, 0, 1),
                                   hop_span(*problem, "op0", last, 0, 1, 1, 1, 2),
                                   op_span(*problem, "op1", 1, 2, 2, 3),
                                   hop_span(*problem, "op1", last - 1, 1, 0, 3, 3, 4),
                                   op_span(*problem, "op2", 0, 4, 4, 5),
                               });
}

void TestSimulator::options_are_checked() {
    const auto problem = test::problem(test::chain(2), test::uniform_machine(1));
    QVERIFY_EXCEPTION_THROWN(Simulator(problem, {.batches = 0, .in_flight = 1}), std::invalid_argument);
    QVERIFY_EXCEPTION_THROWN(Simulator(problem, {.batches = 1, .in_flight = 0}), std::invalid_argument);
    // More slots than are used cost nothing: at most `batches` of them are ever needed.
    QCOMPARE(Simulator(problem, {.batches = 2, .in_flight = std::numeric_limits<std::uint32_t>::max()}).run(Placement{0, 0}).ops_run, 4U);
}

void TestSimulator::cut_through() {
    // Latencies of 1/4 and 1/2 second, then one second at the slower channel's pace; the other would need half of it.
    Machine machine = changed(two_devices({1e9, 2e9}, {0, 1}, {1}), [](auto&, std::vector<Channel>& channels) {
        channels[0].latency_s = 0.25;
        channels[1].latency_s = 0.5;
    });
    ProblemOptions options;
    options.crossing = Crossing::cut_through;
    const auto problem = test::problem(test::chain(2, kSecond, kTensor), machine, options);
    const auto run = agreed_run(problem, Placement{0, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "op0", 0, 0, 0, 1),
                                 hop_span(*problem, "op0", 0, 0, 1, 1, 1, 2.75),
                                 hop_span(*problem, "op0", 1, 0, 1, 1, 1, 2.75),
                                 op_span(*problem, "op1", 1, 2.75, 2.75, 3.75),
                             });
    QCOMPARE(run.outcome.transfers, 1U);
    QCOMPARE(run.outcome.channel_transfers, (std::vector<std::uint64_t>{1, 1}));
    QCOMPARE(run.outcome.channel_bytes, (std::vector<double>{kGB, kGB}));
    QCOMPARE(run.outcome.channel_busy_s, (std::vector<double>{1.75, 1.75}));
    // op0's output stays until all of it has left; its copy is there from the start of the transfer.
    QCOMPARE(run.outcome.peak_bytes, (std::vector<double>{kGB, 2 * kGB}));
}

void TestSimulator::cut_through_waits_for_all_channels() {
    const Machine base = test::uniform_machine(3);
    std::vector<Channel> channels(base.channels().begin(), base.channels().begin() + 3);
    const Machine machine("crossing", {base.devices().begin(), base.devices().end()}, std::move(channels),
                          {{0, 1, {0, 1}}, {0, 2, {0}}, {2, 1, {1}}, {1, 0, {2}}, {1, 2, {2}}, {2, 0, {2}}}, Crossing::cut_through);
    GraphBuilder builder("wait", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("b", 1, {0}), {"a"});
    builder.add(op_of("c", 0.5, {1}), {});
    builder.add(op_of("d", 1, {0}), {"a"});
    builder.add(op_of("e", 1, {0}), {"c"});
    const auto problem = test::problem(builder.build(), machine);
    const auto run = agreed_run(problem, Placement{0, 1, 2, 2, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "c", 2, 0, 0, 0.5),
                                 op_span(*problem, "a", 0, 0, 0, 1),
                                 hop_span(*problem, "c", 1, 2, 1, 0.5, 0.5, 1.5),
                                 op_span(*problem, "e", 1, 1.5, 1.5, 2.5),
                                 hop_span(*problem, "a", 0, 0, 1, 1, 1.5, 2.5),
                                 hop_span(*problem, "a", 1, 0, 1, 1, 1.5, 2.5),
                                 // Channel 0 was free from 1 on, but the transfer to device 1 was first in its queue.
                                 op_span(*problem, "b", 1, 2.5, 2.5, 3.5),
                                 hop_span(*problem, "a", 0, 0, 2, 1, 2.5, 3.5),
                                 op_span(*problem, "d", 2, 3.5, 3.5, 4.5),
                             });
}

void TestSimulator::copy_engines() {
    const auto run = [](std::uint32_t engines) {
        const Machine machine =
            changed(test::uniform_machine(3), [&](std::vector<Device>& devices, auto&) { devices[0].copy_engines = engines; });
        const auto problem = test::problem(test::fork_join(2, kSecond, kTensor), machine);
        // source on 0, its readers on 1 and 2, over a channel of their own each; sink on 1.
        return agreed_run(problem, Placement{0, 1, 2, 1}).outcome.total_time_s;
    };
    // source 1; to device 1 until 2, to device 2 until 2 or 3; branch1 one more; its output to device 1 one more; sink one more.
    QCOMPARE(run(0), 5.0);
    QCOMPARE(run(1), 6.0);
    QCOMPARE(run(2), 5.0);
}

void TestSimulator::copy_engine_of_each_end() {
    // Two hops: the sender's engine is busy with the first, the receiver's with the last.
    const Machine machine = changed(two_devices({1e9, 1e9, 1e9}, {0, 1}, {2}), [](std::vector<Device>& devices, auto&) {
        for (Device& device : devices) device.copy_engines = 1;
    });
    GraphBuilder builder("both ways", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("b", 1.5, {1}), {});
    builder.add(op_of("reads_b", 1, {0}), {"b"});
    builder.add(op_of("reads_a", 1, {0}), {"a"});
    const auto problem = test::problem(builder.build(), machine);
    const auto run = agreed_run(problem, Placement{0, 1, 0, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "a", 0, 0, 0, 1),
                                 op_span(*problem, "b", 1, 0, 0, 1.5),
                                 hop_span(*problem, "a", 0, 0, 1, 1, 1, 2),
                                 // From 1.5 on device 0's engine is taken; at 2 both are free, and b's output was there before a's.
                                 hop_span(*problem, "b", 2, 1, 0, 1.5, 2, 3),
                                 op_span(*problem, "reads_b", 0, 3, 3, 4),
                                 hop_span(*problem, "a", 1, 0, 1, 2, 3, 4),
                                 op_span(*problem, "reads_a", 1, 4, 4, 5),
                             });
}

void TestSimulator::streams() {
    GraphBuilder builder("streams", 1, Training::none);
    builder.add(op_of("a", 2, {1}), {});
    builder.add(op_of("b", 1, {1}), {});
    builder.add(op_of("c", 1, {1}), {});
    builder.add(op_of("d", 1, {1}), {});
    builder.add(op_of("e", 1, {1}), {});
    const Machine machine = changed(test::uniform_machine(1), [](std::vector<Device>& devices, auto&) { devices[0].streams = 2; });
    Problem shared = *test::problem(builder.build(), machine);
    shared.op_share = {0.5, 0.5, 0.75, 0.25, 1};
    const auto problem = std::make_shared<const Problem>(shared);
    const auto run = agreed_run(problem, Placement{0, 0, 0, 0, 0});
    const auto on = [](std::uint16_t stream, Span span) {
        span.stream = stream;
        return span;
    };
    COMPARE_SPANS(run.spans, {
                                 on(1, op_span(*problem, "b", 0, 0, 0, 1)),
                                 // c does not fit beside a, and d waits behind c.
                                 on(0, op_span(*problem, "a", 0, 0, 0, 2)),
                                 on(0, op_span(*problem, "c", 0, 0, 2, 3)),
                                 on(1, op_span(*problem, "d", 0, 0, 2, 3)),
                                 // e needs all of it.
                                 on(0, op_span(*problem, "e", 0, 0, 3, 4)),
                             });
    QCOMPARE(run.outcome.total_time_s, 4.0);
    QCOMPARE(run.outcome.device_busy_s, std::vector<double>{6});
    QCOMPARE(run.outcome.peak_bytes, std::vector<double>{2 * kGB});
}

void TestSimulator::the_ending_device_goes_on_last() {
    // When "a" ends, stream 1 is free; its consumer still waits until a's transfer has started and takes a's stream.
    GraphBuilder builder("last", 1, Training::none);
    builder.add(op_of("a", 1, {1}), {});
    builder.add(op_of("here", 1, {0}), {"a"});
    builder.add(op_of("there", 1, {0}), {"a"});
    const Machine machine = changed(test::uniform_machine(2), [](std::vector<Device>& devices, auto&) { devices[0].streams = 2; });
    Problem shared = *test::problem(builder.build(), machine);
    std::ranges::fill(shared.op_share, 0.5);
    const auto problem = std::make_shared<const Problem>(shared);
    const auto run = agreed_run(problem, Placement{0, 0, 1});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "a", 0, 0, 0, 1),
                                 hop_span(*problem, "a", 0, 0, 1, 1, 1, 2),
                                 op_span(*problem, "here", 0, 1, 1, 2),
                                 op_span(*problem, "there", 1, 2, 2, 3),
                             });
}

void TestSimulator::critical_path_first() {
    GraphBuilder builder("critical", 1, Training::none);
    builder.add(op_of("short", 1, {0}), {});
    builder.add(op_of("first", 1, {0}), {});
    builder.add(op_of("far", 3, {0}), {"first"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    const Placement placement{0, 0, 1};
    QCOMPARE(agreed_run(problem, placement).outcome.total_time_s, 5.0);
    const auto run = agreed_run(problem, placement, {.order = Order::critical_path});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "first", 0, 0, 0, 1),
                                 hop_span(*problem, "first", 0, 0, 1, 1, 1, 1),
                                 op_span(*problem, "short", 0, 0, 1, 2),
                                 op_span(*problem, "far", 1, 1, 1, 4),
                             });
    // With more batches the earlier batch goes first, and the next is there before the first is done.
    const auto batches = agreed_run(problem, placement, {.batches = 2, .in_flight = 2, .order = Order::critical_path});
    COMPARE_SPANS(batches.spans, {
                                     op_span(*problem, "first", 0, 0, 0, 1, 0),
                                     hop_span(*problem, "first", 0, 0, 1, 1, 1, 1, 0),
                                     op_span(*problem, "short", 0, 0, 1, 2, 0),
                                     op_span(*problem, "first", 0, 0, 2, 3, 1),
                                     hop_span(*problem, "first", 0, 0, 1, 3, 3, 3, 1),
                                     op_span(*problem, "far", 1, 1, 1, 4, 0),
                                     op_span(*problem, "short", 0, 0, 3, 4, 1),
                                     op_span(*problem, "far", 1, 3, 4, 7, 1),
                                 });
}

void TestSimulator::critical_transfers_first() {
    // Two tensors leave at the same time over one channel; the second is for the longer way.
    GraphBuilder builder("transfers", 1, Training::none);
    builder.add(op_of("split", 1, {1, 1}), {});
    builder.add(op_of("short", 1, {0}), {"split:0"});
    builder.add(op_of("long", 3, {0}), {"split:1"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(2));
    const Placement placement{0, 1, 1};
    // 1, then a second a tensor: short from 2 to 3, long from 3 to 6.
    QCOMPARE(agreed_run(problem, placement).outcome.total_time_s, 6.0);
    // long from 2 to 5, then short.
    const auto run = agreed_run(problem, placement, {.order = Order::critical_path});
    Span second = hop_span(*problem, "split", 0, 0, 1, 1, 1, 2);
    ++second.tensor;
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "split", 0, 0, 0, 1),
                                 second,
                                 hop_span(*problem, "split", 0, 0, 1, 1, 2, 3),
                                 op_span(*problem, "long", 1, 2, 2, 5),
                                 op_span(*problem, "short", 1, 3, 5, 6),
                             });
}

void TestSimulator::upward_ranks() {
    // Two devices, one of half the speed, one direction of half the bandwidth: means of 1.5 a second's work and 1.5 a GB.
    const Machine machine = changed(test::uniform_machine(2), [](std::vector<Device>& devices, std::vector<Channel>& channels) {
        devices[1].peak_flops /= 2;
        channels[1].bandwidth /= 2;
    });
    GraphBuilder builder("ranks", 1, Training::none);
    builder.add(op_of("a", 2, {1, 2}), {});
    builder.add(op_of("b", 4, {1}), {"a:0"});
    Op c = op_of("c", 2, {0});
    c.devices = {"gpu:0"};
    builder.add(c, {"a:1", "b"});
    const auto problem = test::problem(builder.build(), machine);
    // c: 2 on its only device; b: 6 + 1.5 + 2; a: 3 + max(1.5 + 9.5, 3 + 2).
    QCOMPARE(test::upward_ranks_s(*problem), (std::vector<double>{14, 9.5, 2}));
}

void TestSimulator::pipelines_data() {
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("batches");
    QTest::addColumn<double>("forward_s");
    QTest::addColumn<double>("backward_s");
    QTest::newRow("2 stages, 4 batches") << 2 << 4 << 1.0 << 2.0;
    QTest::newRow("2 stages, 7 batches") << 2 << 7 << 1.0 << 1.0;
    QTest::newRow("4 stages, 4 batches") << 4 << 4 << 1.0 << 1.0;
    QTest::newRow("4 stages, 8 batches") << 4 << 8 << 1.0 << 2.0;
    QTest::newRow("4 stages, 8 long batches") << 4 << 8 << 2.0 << 1.0;
}

/// Huang et al., GPipe (2019), section 2.3, and Narayanan et al., PipeDream (2019), figure 4: with s stages of f and b seconds m batches
/// take (m + s - 1)(f + b) under both; GPipe keeps m of them at the first stage, 1F1B s.
void TestSimulator::pipelines() {
    QFETCH(int, stages);
    QFETCH(int, batches);
    QFETCH(double, forward_s);
    QFETCH(double, backward_s);
    const auto count = static_cast<std::size_t>(stages);
    const auto problem = with_free_transfers(*test::problem(pipeline(count, forward_s, backward_s), test::uniform_machine(count)));
    Placement placement(problem->groups);
    for (OpId op = 0; op < problem->ops; ++op) placement[op] = static_cast<DeviceId>(op < count ? op : problem->ops - 1 - op);
    SimulationOptions options;
    options.batches = options.in_flight = static_cast<std::uint32_t>(batches);
    for (const Order order : {Order::gpipe, Order::one_forward_one_backward}) {
        options.order = order;
        const auto run = agreed_run(problem, placement, options);
        QCOMPARE(run.outcome.total_time_s, (batches + stages - 1) * (forward_s + backward_s));
        QCOMPARE(run.outcome.device_busy_s, std::vector<double>(count, batches * (forward_s + backward_s)));
        QCOMPARE(run.outcome.peak_bytes[0], (order == Order::gpipe ? batches : stages) * kGB);
        // The last stage holds its output and the input that it works on; with 1F1B the next one's is there already.
        QCOMPARE(run.outcome.peak_bytes[count - 1], (order == Order::gpipe ? batches + 1 : 3) * kGB);
    }
}

void TestSimulator::gpipe_in_rounds() {
    const auto problem = with_free_transfers(*test::problem(pipeline(2, 1, 1), test::uniform_machine(2)));
    const auto run = agreed_run(problem, Placement{0, 1, 1, 0}, {.batches = 5, .in_flight = 2, .order = Order::gpipe});
    // Rounds of (2 + 2 - 1) x 2 seconds, the last of one batch: (1 + 2 - 1) x 2.
    QCOMPARE(run.outcome.total_time_s, 6.0 + 6.0 + 4.0);
    std::vector<Span> ops;
    std::ranges::copy_if(run.spans, std::back_inserter(ops),
                         [](const Span& span) { return span.kind == Span::Kind::op && span.batch < 2; });
    COMPARE_SPANS(ops, {
                           op_span(*problem, "f0", 0, 0, 0, 1, 0),
                           op_span(*problem, "f0", 0, 0, 1, 2, 1),
                           op_span(*problem, "f1", 1, 1, 1, 2, 0),
                           op_span(*problem, "f1", 1, 2, 2, 3, 1),
                           // Ready at 2, held until the forward of batch 1 is done there.
                           op_span(*problem, "b1", 1, 2, 3, 4, 0),
                           op_span(*problem, "b1", 1, 3, 4, 5, 1),
                           op_span(*problem, "b0", 0, 4, 4, 5, 0),
                           op_span(*problem, "b0", 0, 5, 5, 6, 1),
                       });
}

void TestSimulator::one_forward_one_backward_in_turn() {
    const auto problem = with_free_transfers(*test::problem(pipeline(2, 1, 2), test::uniform_machine(2)));
    const auto run = agreed_run(problem, Placement{0, 1, 1, 0}, {.batches = 3, .in_flight = 3, .order = Order::one_forward_one_backward});
    std::vector<Span> ops;
    std::ranges::copy_if(run.spans, std::back_inserter(ops), [](const Span& span) { return span.kind == Span::Kind::op; });
    COMPARE_SPANS(ops, {
                           op_span(*problem, "f0", 0, 0, 0, 1, 0),
                           op_span(*problem, "f0", 0, 0, 1, 2, 1),
                           op_span(*problem, "f1", 1, 1, 1, 2, 0),
                           op_span(*problem, "b1", 1, 2, 2, 4, 0),
                           op_span(*problem, "f1", 1, 2, 4, 5, 1),
                           op_span(*problem, "b0", 0, 4, 4, 6, 0),
                           op_span(*problem, "b1", 1, 5, 5, 7, 1),
                           // Device 0 idled from 2 to 4: two batches were under way there.
                           op_span(*problem, "f0", 0, 0, 6, 7, 2),
                           op_span(*problem, "f1", 1, 7, 7, 8, 2),
                           op_span(*problem, "b0", 0, 7, 7, 9, 1),
                           op_span(*problem, "b1", 1, 8, 8, 10, 2),
                           op_span(*problem, "b0", 0, 10, 10, 12, 2),
                       });
}

void TestSimulator::what_forward_ops_need_is_not_held() {
    // An inner gradient step: "f1" waits for the backward op "b0", which GPipe would hold until f1 is done.
    GraphBuilder builder("inner step", 1, Training::explicit_);
    builder.add(op_of("f0", 1, {0}), {});
    Op inner = op_of("b0", 1, {0});
    inner.phase = Phase::backward;
    builder.add(inner, {"f0"});
    builder.add(op_of("f1", 1, {0}), {"b0"});
    Op outer = op_of("b1", 1, {0});
    outer.phase = Phase::backward;
    builder.add(outer, {"f1"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    const auto run = agreed_run(problem, Placement{0, 0, 0, 0}, {.batches = 2, .in_flight = 2, .order = Order::gpipe});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "f0", 0, 0, 0, 1, 0),
                                 op_span(*problem, "b0", 0, 1, 1, 2, 0),
                                 op_span(*problem, "f1", 0, 2, 2, 3, 0),
                                 op_span(*problem, "f0", 0, 0, 3, 4, 1),
                                 op_span(*problem, "b0", 0, 4, 4, 5, 1),
                                 op_span(*problem, "f1", 0, 5, 5, 6, 1),
                                 op_span(*problem, "b1", 0, 3, 6, 7, 0),
                                 op_span(*problem, "b1", 0, 6, 7, 8, 1),
                             });
}

void TestSimulator::steady_state_data() {
    QTest::addColumn<int>("order");
    QTest::addColumn<int>("batches");
    QTest::addColumn<double>("steady_s");  ///< negative: nothing
    QTest::newRow("fifo") << static_cast<int>(Order::fifo) << 16 << 3.0;
    QTest::newRow("critical path") << static_cast<int>(Order::critical_path) << 16 << 3.0;
    QTest::newRow("1F1B") << static_cast<int>(Order::one_forward_one_backward) << 16 << 3.0;
    // Each round of four takes 1 + 3 + 2 and three times 3 seconds.
    QTest::newRow("GPipe") << static_cast<int>(Order::gpipe) << 16 << 15.0 / 4;
    QTest::newRow("GPipe, a round begun") << static_cast<int>(Order::gpipe) << 10 << 15.0 / 4;
    QTest::newRow("GPipe, one round") << static_cast<int>(Order::gpipe) << 7 << -1.0;
    QTest::newRow("a round between") << static_cast<int>(Order::fifo) << 12 << 3.0;
    QTest::newRow("less than a round between") << static_cast<int>(Order::fifo) << 11 << -1.0;
    QTest::newRow("fewer batches than may be in flight") << static_cast<int>(Order::fifo) << 3 << -1.0;
}

/// The slowest stage tells, however long the pipeline takes to fill and to drain.
void TestSimulator::steady_state() {
    QFETCH(int, order);
    QFETCH(int, batches);
    QFETCH(double, steady_s);
    GraphBuilder builder("stages", 1, Training::none);
    builder.add(op_of("a", 1, {0}), {});
    builder.add(op_of("b", 3, {0}), {"a"});
    builder.add(op_of("c", 2, {0}), {"b"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(3));
    SimulationOptions options;
    options.batches = static_cast<std::uint32_t>(batches);
    options.in_flight = 4;
    options.order = static_cast<Order>(order);
    const Outcome outcome = agreed_run(problem, Placement{0, 1, 2}, options).outcome;
    QCOMPARE(outcome.steady_step_time_s.has_value(), steady_s > 0);
    if (steady_s < 0) return;
    QCOMPARE(*outcome.steady_step_time_s, steady_s);
    QVERIFY(outcome.step_time_s >= steady_s);
}

/// One device that is never idle does a batch after the other, however many are under way, except that their ends may come together.
void TestSimulator::steady_state_of_one_device() {
    const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1));
    for (const Order order : {Order::fifo, Order::gpipe, Order::one_forward_one_backward, Order::critical_path}) {
        for (const std::uint32_t batches : {4U, 7U, 8U, 10U, 18U, 21U}) {
            for (const std::uint32_t in_flight : {1U, 2U, 4U, 8U}) {
                SimulationOptions options;
                options.order = order;
                options.batches = batches;
                options.in_flight = in_flight;
                Simulator simulator(problem, options);
                const Outcome& outcome = simulator.run(Placement{0, 0, 0});
                QCOMPARE(outcome.step_time_s, 3.0);
                if (outcome.steady_step_time_s) QCOMPARE(*outcome.steady_step_time_s, 3.0);
            }
        }
    }
}

void TestSimulator::accumulated_gradients() {
    GraphBuilder builder("accumulate", 1, Training::explicit_);
    builder.add(op_of("f", 1, {1}), {});
    Op gradient = op_of("g", 1, {1});
    gradient.phase = Phase::backward;
    builder.add(gradient, {"f"});
    Op update = op_of("u", 2, {});
    update.phase = Phase::update;
    builder.add(update, {"g"});
    Problem accumulating = *test::problem(builder.build(), test::uniform_machine(1));
    accumulating.accumulates = true;
    accumulating.accumulate_s = {0, 0, 0.5};
    const auto problem = std::make_shared<const Problem>(accumulating);
    const auto run = agreed_run(problem, Placement{0, 0, 0}, {.batches = 3});
    COMPARE_SPANS(run.spans, {
                                 op_span(*problem, "f", 0, 0, 0, 1, 0),
                                 op_span(*problem, "g", 0, 1, 1, 2, 0),
                                 op_span(*problem, "u", 0, 2, 2, 2, 0),
                                 op_span(*problem, "f", 0, 2, 2, 3, 1),
                                 op_span(*problem, "g", 0, 3, 3, 4, 1),
                                 op_span(*problem, "u", 0, 4, 4, 4.5, 1),
                                 op_span(*problem, "f", 0, 4.5, 4.5, 5.5, 2),
                                 op_span(*problem, "g", 0, 5.5, 5.5, 6.5, 2),
                                 op_span(*problem, "u", 0, 6.5, 6.5, 9, 2),
                             });
    QCOMPARE(run.outcome.device_busy_s, std::vector<double>{9});
}

void TestSimulator::views_take_no_memory() {
    const auto problem = [](const char* kind, bool in_place) {
        GraphBuilder builder("view", 1, Training::none);
        builder.add(op_of("a", 1, {2}), {});
        Op view = op_of("v", 1, {2});
        view.kind = kind;
        view.in_place = in_place;
        builder.add(view, {"a"});
        Op second = op_of("w", 1, {2});
        second.kind = "reshape";
        builder.add(second, {"v"});
        builder.add(op_of("b", 1, {1}), {"w"});
        builder.add(op_of("c", 1, {4}), {"b"});
        return test::problem(builder.build(), test::uniform_machine(2));
    };
    const auto peak = [](const auto& of, const Placement& placement) { return agreed_run(of, placement).outcome.peak_bytes; };
    // Neither v nor w takes any, and a stays until b has read w: 2 + 1; then b 1 and c 4.
    QCOMPARE(peak(problem("reshape", false), {0, 0, 0, 0, 0}), (std::vector<double>{5 * kGB, 0}));
    QCOMPARE(peak(problem("relu", true), {0, 0, 0, 0, 0}), (std::vector<double>{5 * kGB, 0}));
    // a and v, then w as a view of v.
    QCOMPARE(peak(problem("relu", false), {0, 0, 0, 1, 1}), (std::vector<double>{4 * kGB, 5 * kGB}));
    // a alone, kept for w until that has left; the copy is whole.
    QCOMPARE(peak(problem("reshape", false), {0, 0, 0, 1, 1}), (std::vector<double>{2 * kGB, 5 * kGB}));
    // On device 1 v is a view of the copy of a.
    QCOMPARE(peak(problem("reshape", false), {0, 1, 1, 0, 0}), (std::vector<double>{5 * kGB, 2 * kGB}));
}

void TestSimulator::workspace() {
    GraphBuilder builder("workspace", 1, Training::none);
    Op a = op_of("a", 1, {2});
    a.workspace_bytes = 3 * kTensor;
    builder.add(a, {});
    builder.add(op_of("b", 1, {1}), {"a"});
    const auto problem = test::problem(builder.build(), test::uniform_machine(1));
    // a's output and workspace, then a's and b's outputs.
    QCOMPARE(agreed_run(problem, Placement{0, 0}).outcome.peak_bytes, std::vector<double>{5 * kGB});
}

void TestSimulator::memory_margin() {
    const auto fits = [](double usable_memory) {
        ProblemOptions options;
        options.usable_memory = usable_memory;
        const auto problem = test::problem(test::chain(3, kSecond, kTensor), test::uniform_machine(1, 4 * kGB), options);
        return agreed_run(problem, Placement{0, 0, 0}).outcome.fits;
    };
    QVERIFY(fits(0.5));
    QVERIFY(!fits(0.5 - 1e-9));
}

void TestSimulator::random_cases() {
    QTest::addColumn<quint64>("setting");
    QTest::addColumn<quint64>("seed");
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
        for (std::size_t seed = 0; seed < kSettings[i].cases; ++seed)
            QTest::addRow("%s, %zu", kSettings[i].name, seed) << quint64{i} << quint64{seed};
    }
}

void TestSimulator::compare_with_reference(const Case& c) {
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

void TestSimulator::agrees_with_reference() {
    compare_with_reference(fetched_case());
}

/// Many ops and transfers of all ranks, some of them equal, that wait at the same time.
void TestSimulator::long_queues_agree_with_reference() {
    for (const Order order : kOrders) {
        for (const MemoryModel memory : {MemoryModel::training, MemoryModel::exprimo}) {
            Random random(3);
            ProblemOptions options;
            options.memory = memory;
            Case c;
            c.problem = test::problem(test::fork_join(80, 1e9, 1'000'000, Training::implicit), test::uniform_machine(3), options);
            c.problem = test::with_whole_seconds(*c.problem, random);
            c.placement = random_placement(*c.problem, random);
            c.options = {.batches = 5, .in_flight = 3, .order = order};
            compare_with_reference(c);
        }
    }
}

void TestSimulator::networks_agree_with_reference_data() {
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
        for (const char* const machine : {"4x-v100-pcie", "4x-v100-nvlink", "mixed-v100-p100-k80"}) rows(network, machine, 3);
    }
    // The reference takes seconds for a batch.
    rows("nmt2", "mixed-v100-p100-k80", 2);
}

/// Training steps of the shipped networks, with the workspaces of their convolutions.
void TestSimulator::networks_agree_with_reference() {
    QFETCH(QString, network);
    QFETCH(QString, machine);
    QFETCH(Order, order);
    QFETCH(quint32, batches);
    Random random(7);
    ProblemOptions options;
    options.workspace_limit_bytes = 1e9;
    Case c;
    c.problem = make_problem(std::make_shared<const Graph>(read_network(find_network_file(network.toStdString())).graph),
                             std::make_shared<const Machine>(read_machine(find_machine_file(machine.toStdString()))), options);
    c.placement = random_placement(*c.problem, random);
    c.options = {.batches = batches, .in_flight = 2, .order = order};
    compare_with_reference(c);
}

void TestSimulator::resources_do_one_thing_at_a_time() {
    const Case c = fetched_case();
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
            const bool first_come = device ? c.options.order == Order::fifo && streams_of(problem, lane[i]->resource) == 1
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
                return std::ranges::count(other.holds.engines, device) > 0 && at_work(other.first(), leg.first().start_s);
            });
            QVERIFY(copies <= problem.machine->device(device).copy_engines);
        }
    }
    for (const Span& span : trace.spans) {
        if (span.kind != Span::Kind::op) continue;
        double share = 0;
        std::uint32_t ops = 0;
        for (const Span& other : trace.spans) {
            if (other.kind != Span::Kind::op || other.resource != span.resource || !at_work(other, span.start_s)) continue;
            share += share_of(problem, other);
            ++ops;
        }
        QVERIFY(ops <= streams_of(problem, span.resource));
        QVERIFY(ops <= 1 || share <= 1);
    }
}

void TestSimulator::inputs_are_there() {
    const Case c = fetched_case();
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
            // The last thing that brought the input: its producer, or the last hop to this device.
            const auto brought = std::ranges::find_if(trace.spans.rbegin(), trace.spans.rend(), [&](const Span& other) {
                if (other.batch != span.batch || other.op != input.op) return false;
                if (from == span.resource) return other.kind == Span::Kind::op;
                return other.kind == Span::Kind::transfer && other.to == span.resource &&
                       (problem.sends_together[input.op] || other.tensor == problem.output_begin[input.op] + input.output);
            });
            QVERIFY(brought != trace.spans.rend());
            QVERIFY(brought->end_s <= span.start_s);
            ready_s = std::max(ready_s, brought->end_s);
        }
        // Ops with inputs are queued the moment the last of them is there.
        if (!problem.graph->op(span.op).inputs.empty()) QCOMPARE(span.queued_s, ready_s);
    }
}

/// Nothing starts before what was queued ahead of it.
void TestSimulator::queues_keep_their_order() {
    const Case c = fetched_case();
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    const std::vector<double> rank_s = test::upward_ranks_s(*c.problem);
    const std::vector<Phase> phases = test::scheduling_phases(*c.problem->graph);
    const auto passed = [](const Span& span, const Span& other) { return other.queued_s < span.start_s && span.start_s < other.start_s; };
    for (const Span& span : trace.spans) {
        if (span.kind != Span::Kind::op) continue;
        for (const Span& other : trace.spans) {
            if (other.kind != Span::Kind::op || other.resource != span.resource || !passed(span, other)) continue;
            // What is released at this instant may be too late.
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

/// At every instant in between events something keeps the first of those that wait: no free stream or share, a channel or engine in use.
void TestSimulator::nothing_idles_with_work_queued() {
    const Case c = fetched_case();
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    const std::vector<double> rank_s = test::upward_ranks_s(problem);
    const std::vector<Phase> phases = test::scheduling_phases(*problem.graph);
    const std::vector<LegRun> all_legs = legs(*problem.machine, trace.spans);
    std::set<double> instants_s{0};
    for (const Span& span : trace.spans) instants_s.insert(span.end_s);
    const auto waits = [](const Span& span, double time_s) { return span.queued_s <= time_s && time_s < span.start_s; };

    for (const double time_s : instants_s) {
        for (DeviceId device = 0; device < problem.devices; ++device) {
            std::vector<const Span*> first;  // several where readiness alone decides and ties
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
            const bool kept =
                first.empty() || running == streams_of(problem, device) ||
                (running > 0 && std::ranges::any_of(first, [&](const Span* span) { return share + share_of(problem, *span) > 1; }));
            QVERIFY2(kept, "a device idles");
        }
        std::vector<const LegRun*> kept, idle;
        for (const LegRun& leg : all_legs) {
            if (!waits(leg.first(), time_s)) continue;
            const auto in_use = [&](const auto& resources, auto member, const auto& room) {
                return std::ranges::any_of(resources, [&](auto resource) {
                    const auto users = std::ranges::count_if(all_legs, [&](const LegRun& other) {
                        return at_work(other.first(), time_s) && std::ranges::count(other.holds.*member, resource) > 0;
                    });
                    return users >= room(resource);
                });
            };
            const bool no_room = in_use(leg.holds.channels, &test::TransferLeg::channels, [](ChannelId) { return 1; }) ||
                                 in_use(leg.holds.engines, &test::TransferLeg::engines, [&](DeviceId device) {
                                     return static_cast<std::ptrdiff_t>(problem.machine->device(device).copy_engines);
                                 });
            (no_room ? kept : idle).push_back(&leg);
        }
        // Those behind a leg that is kept are kept as well. Of equals the one that starts first was in front.
        const auto place = [&](const LegRun& leg) { return std::pair(priority(c, leg, rank_s), leg.first().start_s); };
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

void TestSimulator::busy_times_and_counts_add_up() {
    const Case c = fetched_case();
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    const Outcome& outcome = simulator.run(c.placement);

    const double batches = c.options.batches;
    std::vector<double> device_busy_s(problem.devices), channel_busy_s(problem.channels), channel_bytes(problem.channels);
    std::vector<std::uint64_t> crossings(problem.channels);
    std::uint64_t transfers = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        const DeviceId from = device_of(c, op);
        if (problem.accumulates && problem.graph->op(op).phase == Phase::update) {
            device_busy_s[from] += (batches - 1) * problem.accumulate_s[op * problem.devices + from] + problem.time_s(op, from);
        } else {
            device_busy_s[from] += batches * problem.time_s(op, from);
        }
        for (DeviceId to = 0; to < problem.devices; ++to) {
            if (to == from) continue;
            std::size_t tensors = 0;
            for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
                Span transfer;
                transfer.op = op;
                transfer.tensor = tensor;
                transfer.to = to;
                if (std::ranges::count(carried(c, transfer), tensor) == 0) continue;
                const bool new_message = tensors++ == 0 || !problem.sends_together[op];
                if (new_message) ++transfers;
                for (std::size_t leg = 0; leg < test::transfer_legs(*problem.machine, from, to); ++leg) {
                    for (const ChannelId channel : test::transfer_leg(*problem.machine, from, to, leg).channels) {
                        if (new_message) ++crossings[channel];
                        channel_bytes[channel] += batches * problem.tensor_bytes[tensor];
                        channel_busy_s[channel] += batches * test::transfer_leg_s(problem, tensor, from, to, leg);
                    }
                }
            }
        }
    }
    QCOMPARE(outcome.ops_run, std::uint64_t{problem.ops} * c.options.batches);
    QCOMPARE(outcome.transfers, transfers * c.options.batches);
    QCOMPARE(outcome.step_time_s * batches, outcome.total_time_s);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        QCOMPARE(outcome.device_busy_s[device], device_busy_s[device]);
        QVERIFY(outcome.device_busy_s[device] <= outcome.total_time_s * streams_of(problem, device));
    }
    for (ChannelId channel = 0; channel < problem.channels; ++channel) {
        QCOMPARE(outcome.channel_transfers[channel], crossings[channel] * c.options.batches);
        QCOMPARE(outcome.channel_bytes[channel], channel_bytes[channel]);
        QCOMPARE(outcome.channel_busy_s[channel], channel_busy_s[channel]);
        QVERIFY(outcome.channel_busy_s[channel] <= outcome.total_time_s);
    }
}

void TestSimulator::memory_returns_to_resident() {
    const Case c = fetched_case();
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome& outcome = simulator.run(c.placement, trace);

    std::vector<double> resident(problem.devices);
    for (OpId op = 0; op < problem.ops; ++op) resident[device_of(c, op)] += problem.resident_bytes[op];
    QCOMPARE(outcome.resident_bytes, resident);
    QVERIFY(std::ranges::is_sorted(trace.memory, {}, &MemorySample::time_s));
    std::vector<double> largest(problem.devices), last(problem.devices);
    for (const MemorySample& sample : trace.memory) {
        QVERIFY(sample.bytes >= resident[sample.device]);
        largest[sample.device] = std::max(largest[sample.device], sample.bytes);
        last[sample.device] = sample.bytes;
    }
    // Exprimo frees nothing in inference.
    if (!(problem.inference && problem.memory == MemoryModel::exprimo)) QCOMPARE(last, resident);
    QCOMPARE(largest, outcome.peak_bytes);
    bool fits = true;
    for (DeviceId device = 0; device < problem.devices; ++device) fits = fits && largest[device] <= problem.memory_limit_bytes[device];
    QCOMPARE(outcome.fits, fits);
}

void TestSimulator::admission_keeps_the_limit() {
    const Case c = fetched_case();
    const Problem& problem = *c.problem;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    std::vector<double> entered_s(c.options.batches, std::numeric_limits<double>::infinity()), left_s(c.options.batches);
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
        for (std::uint32_t earlier = 0; earlier < batch; ++earlier) others += left_s[earlier] > entered_s[batch] ? 1 : 0;
        QVERIFY(others < in_flight);
        if (c.options.order == Order::gpipe) {
            const std::uint32_t before = batch / in_flight * in_flight;
            QCOMPARE(entered_s[batch], before == 0 ? 0 : finished_s[before - 1]);
        } else if (c.options.order != Order::fifo) {
            QCOMPARE(entered_s[batch], batch < in_flight ? 0 : finished_s[batch - in_flight]);
        } else {
            for (const OpId source : problem.sources) {
                const bool busy = std::ranges::any_of(trace.spans, [&](const Span& span) {
                    return span.kind == Span::Kind::op && span.resource == device_of(c, source) && span.batch < batch &&
                           span.start_s < entered_s[batch] && span.end_s > entered_s[batch];
                });
                QVERIFY(!busy);
            }
        }
    }
}

void TestSimulator::held_ops_wait() {
    const Case c = fetched_case();
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    const std::vector<Phase> phases = test::scheduling_phases(*c.problem->graph);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op) QVERIFY(!is_held(c, trace.spans, span, phases, span.start_s));
    }
}

void TestSimulator::parameters_are_updated_once() {
    const Case c = fetched_case();
    const Problem& problem = *c.problem;
    if (!problem.accumulates) return;
    Simulator simulator(c.problem, c.options);
    Trace trace;
    simulator.run(c.placement, trace);
    std::map<OpId, Lane> updates;
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op && problem.graph->op(span.op).phase == Phase::update) updates[span.op].push_back(&span);
    }
    for (auto& [op, spans] : updates) {
        QCOMPARE(spans.size(), std::size_t{c.options.batches});
        const std::size_t entry = op * problem.devices + device_of(c, op);
        // Those of no length may stand behind the last one's start.
        std::ranges::stable_sort(spans, {}, [](const Span* span) { return std::pair(span->start_s, span->end_s); });
        for (const Span* span : spans) {
            const double update_s = span == spans.back() ? problem.op_time_s[entry] : 0;
            const double added_s = span == spans.front() ? 0 : problem.accumulate_s[entry];
            QVERIFY(span->end_s == span->start_s + (added_s + update_s));
        }
    }
}

void TestSimulator::scaled_costs_scale_everything() {
    const Case c = fetched_case();
    for (const double factor : {2.0, 1.0 / 1024}) {
        Problem scaled = *c.problem;
        scaled.tick_s *= factor;
        for (auto* const table : {&scaled.op_time_s, &scaled.transfer_s, &scaled.accumulate_s, &scaled.channel_latency_s}) {
            for (double& time : *table) time *= factor;
        }
        Simulator simulator(c.problem, c.options);
        Simulator other(std::make_shared<const Problem>(scaled), c.options);
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

void TestSimulator::tracing_changes_nothing() {
    const Case c = fetched_case();
    Simulator simulator(c.problem, c.options);
    Trace trace;
    const Outcome traced = simulator.run(c.placement, trace);
    const Outcome untraced = simulator.run(c.placement);
    QVERIFY(traced == untraced);
    const Trace before = trace;
    simulator.run(c.placement, trace);
    QVERIFY(trace == before);
}

void TestSimulator::runs_leave_no_state() {
    const auto problem = test::problem(test::random_graph(3, 60, 3, Training::implicit), test::uniform_machine(4));
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
        QVERIFY((step % 3 == 0 ? shared.run(placements[i], trace) : shared.run(placements[i])) == expected[i]);
    }
    Simulator moved = std::move(shared);
    QVERIFY(moved.run(placements[0]) == expected[0]);
    QCOMPARE(&moved.problem(), problem.get());
    QCOMPARE(moved.options().in_flight, 3U);
}

void TestSimulator::run_allocates_nothing_data() {
    QTest::addColumn<Order>("order");
    QTest::addColumn<bool>("legs");
    QTest::addColumn<bool>("streams");
    QTest::addColumn<bool>("network");
    QTest::addColumn<bool>("accumulates");
    QTest::newRow("simplest") << Order::fifo << false << false << false << false;
    QTest::newRow("cut-through, copy engines") << Order::fifo << true << false << false << false;
    QTest::newRow("streams") << Order::fifo << false << true << false << false;
    QTest::newRow("workspace") << Order::fifo << false << false << true << false;
    QTest::newRow("accumulation") << Order::fifo << false << false << false << true;
    for (const Order order : kOrders)
        QTest::addRow("all, %s", std::string(to_string(order)).c_str()) << order << true << true << true << true;
}

void TestSimulator::run_allocates_nothing() {
    QFETCH(Order, order);
    QFETCH(bool, legs);
    QFETCH(bool, streams);
    QFETCH(bool, network);
    QFETCH(bool, accumulates);
    test::MachineFeatures features{.streams = streams, .copy_engines = legs, .bus = legs};
    if (legs) features.crossing = Crossing::cut_through;
    ProblemOptions problem_options;
    problem_options.accumulate_gradients = accumulates;
    const auto problem = test::problem((network ? test::random_network : test::random_graph)(11, 300, 4, Training::implicit),
                                       test::with_features(test::uniform_machine(4), 1, features), problem_options);
    if (network) QVERIFY(std::ranges::max(problem->workspace_bytes) > 0);
    Simulator simulator(problem, {.batches = 6, .in_flight = 3, .order = order});
    Random random(2);
    std::vector<Placement> placements;
    for (int i = 0; i < 20; ++i) placements.push_back(random_placement(*problem, random));

    allocations = 0;
    counting = true;
    double sum_s = 0;
    for (const Placement& placement : placements) sum_s += simulator.run(placement).step_time_s;
    counting = false;
    QVERIFY(sum_s > 0);
    QCOMPARE(allocations, std::size_t{0});

    counting = true;
    const Placement copy = placements[0];
    counting = false;
    QVERIFY2(allocations > 0, "the counter must count");
}

/// What many batches need in memory is what those in flight need.
void TestSimulator::many_batches() {
    const auto problem = test::problem(pipeline(2, 1, 2), test::uniform_machine(2));
    for (const Order order : kOrders) {
        allocated_bytes = 0;
        counting = true;
        Simulator simulator(problem, {.batches = 1'000'000, .in_flight = 4, .order = order});
        counting = false;
        QVERIFY2(allocated_bytes < 100'000, qPrintable(QString::number(allocated_bytes)));
    }
}

void TestSimulator::objective_data() {
    QTest::addColumn<int>("rule");
    QTest::addColumn<double>("peak0_gb");
    QTest::addColumn<double>("peak1_gb");
    QTest::addColumn<double>("seconds");
    // Two devices of 10 GB, a step of 0.5 s. Exprimo 1000 s a MB over, summed; Placeto 2 s a GB on the fullest; Post 100 s in all.
    const auto row = [](const char* name, MemoryRule rule, double peak0, double peak1, double seconds) {
        QTest::newRow(name) << static_cast<int>(rule) << peak0 << peak1 << seconds;
    };
    row("exprimo, fits exactly", MemoryRule::exprimo, 10, 3, 0.5);
    row("exprimo, 2 GB over", MemoryRule::exprimo, 12, 3, 0.5 + 2e6);
    row("exprimo, both over", MemoryRule::exprimo, 12, 11, 0.5 + 3e6);
    row("placeto, fits", MemoryRule::placeto, 9, 10, 0.5);
    row("placeto, one over", MemoryRule::placeto, 9, 12, 0.5 + 4);
    row("placeto, both over", MemoryRule::placeto, 13, 12, 0.5 + 6);
    row("post, fits", MemoryRule::post, 1, 1, 0.5);
    row("post, over", MemoryRule::post, 10.5, 1, 100);
}

void TestSimulator::objective() {
    QFETCH(int, rule);
    QFETCH(double, peak0_gb);
    QFETCH(double, peak1_gb);
    QFETCH(double, seconds);
    Outcome outcome;
    outcome.step_time_s = 0.5;
    outcome.peak_bytes = {peak0_gb * kGB, peak1_gb * kGB};
    outcome.fits = peak0_gb <= 10 && peak1_gb <= 10;
    Objective objective;
    objective.rule = static_cast<MemoryRule>(rule);
    const Score score = objective.score(*test::problem(test::chain(1), test::uniform_machine(2, 10 * kGB)), outcome);
    QCOMPARE(score.seconds, seconds);
    QCOMPARE(score.step_time_s, 0.5);
    QCOMPARE(score.fits, outcome.fits);
}

void TestSimulator::memory_rules_by_name() {
    for (const MemoryRule rule : {MemoryRule::exprimo, MemoryRule::placeto, MemoryRule::post})
        QVERIFY(memory_rule_from(to_string(rule)) == rule);
    QCOMPARE(to_string(MemoryRule::placeto), std::string_view("placeto"));
    QVERIFY(!memory_rule_from("none"));
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimulator)
#include "tst_simulator.moc"
