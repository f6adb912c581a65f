// SPDX-License-Identifier: MIT
#include "tests/support/reference_simulator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/cost/op_work.hpp"
#include "core/graph/kinds.hpp"

namespace placewright::test {
namespace {

/// An output of an op in one batch.
struct Value {
    std::uint32_t batch = 0;
    OpId op = 0;
    std::uint32_t output = 0;

    auto operator<=>(const Value&) const = default;
};

/// A value on a device.
using Copy = std::pair<Value, DeviceId>;

/// An op or a leg of a transfer; `span` describes it and says when it was queued and when it started.
struct Work {
    Span span;
    std::vector<Value> values;     ///< of a transfer: the values that it carries
    std::size_t leg = 0;           ///< of a transfer: index of the leg
    std::uint64_t started_as = 0;  ///< number of works that had started before this one

    bool is_op() const { return span.kind == Span::Kind::op; }
    /// Whether two transfers are the same.
    bool same(const Work& other) const { return values == other.values && span.to == other.span.to; }
};

bool share(const TransferLeg& a, const TransferLeg& b) {
    const auto common = [](const auto& x, const auto& y) {
        return std::ranges::find_first_of(x, y) != x.end();
    };
    return common(a.channels, b.channels) || common(a.engines, b.engines);
}

/// Smaller priorities go first; equal ones in the order in which they were queued.
using Key = std::array<double, 3>;

class ReferenceSimulator {
public:
    ReferenceSimulator(const Problem& problem, std::span<const DeviceId> placement,
                       const SimulationOptions& options)
        : problem_(problem),
          graph_(*problem.graph),
          machine_(*problem.machine),
          exprimo_(problem.memory == MemoryModel::exprimo),
          placement_(placement),
          options_(options),
          phase_(scheduling_phases(*problem.graph)) {
        const std::size_t devices = machine_.devices().size();
        const std::size_t channels = machine_.channels().size();
        Outcome& outcome = run_.outcome;
        outcome.device_busy_s.resize(devices);
        outcome.resident_bytes.resize(devices);
        outcome.channel_busy_s.resize(channels);
        outcome.channel_bytes.resize(channels);
        outcome.channel_transfers.resize(channels);
        for (OpId op = 0; op < graph_.size(); ++op) {
            outcome.resident_bytes[device_of(op)] += problem.resident_bytes[op];
            for (std::uint32_t k = 0; options.batches > 1 && k < graph_.op(op).outputs.size(); ++k) {
                const Value value{0, op, k};
                if (stays(value)) outcome.resident_bytes[device_of(op)] += held_bytes_of(value);
            }
        }
        outcome.peak_bytes = outcome.resident_bytes;
        if (options.order == Order::critical_path) rank_s_ = upward_ranks_s(problem);
        pipeline_issued_s_.resize(devices);
        program_ = program_order(problem);
        if (options.runtime == Runtime::eager) host_s_ = options.host_time_s;
        if (problem.tick_s > 0) host_s_ = std::nearbyint(host_s_ / problem.tick_s) * problem.tick_s;
    }

    ReferenceRun run() {
        admit();
        while (const auto done = next_to_end()) {
            now_ = done->span.end_s;
            if (done->is_op()) {
                op_ended(*done);
            } else {
                leg_ended(*done);
            }
            admit();
        }
        Outcome& outcome = run_.outcome;
        outcome.total_time_s = now_;
        outcome.step_time_s = now_ / options_.batches;
        outcome.steady_step_time_s = steady_step_time_s();
        for (DeviceId device = 0; device < machine_.devices().size(); ++device) {
            if (outcome.peak_bytes[device] > problem_.memory_limit_bytes[device]) outcome.fits = false;
        }
        return run_;
    }

private:
    // Queries of graph, placement and machine.

    DeviceId device_of(OpId op) const { return placement_[problem_.grouping.group_of[op]]; }

    TensorId tensor_of(const Value& value) const { return problem_.output_begin[value.op] + value.output; }

    /// Whether the value is a gradient that stays until the end.
    bool stays(const Value& value) const {
        return !problem_.stays.empty() && problem_.stays[tensor_of(value)];
    }

    double bytes_of(const Value& value) const {
        return static_cast<double>(graph_.op(value.op).outputs[value.output].bytes);
    }

    double held_bytes_of(const Value& value) const {
        return allocated_bytes(problem_.allocator, bytes_of(value));
    }

    bool reads(OpId op, const Value& value) const {
        return std::ranges::count(graph_.op(op).inputs, TensorRef{value.op, value.output}) > 0;
    }

    std::vector<OpId> readers(const Value& value, DeviceId device) const {
        std::vector<OpId> result;
        for (const OpId op : graph_.consumers(value.op)) {
            if (device_of(op) == device && reads(op, value)) result.push_back(op);
        }
        return result;
    }

    TransferLeg leg_of(const Work& transfer) const {
        return transfer_leg(machine_, transfer.span.from, transfer.span.to, transfer.leg);
    }

    bool is_last_leg(const Work& transfer) const {
        return transfer.leg + 1 == transfer_legs(machine_, transfer.span.from, transfer.span.to);
    }

    // Ends of work.

    /// The work that ends first; among equal end times the one that started first.
    std::optional<Work> next_to_end() const {
        const auto next = std::ranges::min_element(
            running_, {}, [](const Work& work) { return std::pair(work.span.end_s, work.started_as); });
        return next == running_.end() ? std::nullopt : std::optional(*next);
    }

    void no_longer_runs(const Work& work) {
        std::erase_if(running_, [&](const Work& other) { return other.started_as == work.started_as; });
    }

    void op_ended(const Work& work) {
        const auto [batch, op, device] = std::tuple(work.span.batch, work.span.op, work.span.resource);
        run_.spans.push_back(work.span);
        ++run_.outcome.ops_run;
        ended_.insert({batch, op});
        if (done(batch)) finished_s_.push_back(now_);
        const auto outputs = static_cast<std::uint32_t>(graph_.op(op).outputs.size());
        if (exprimo_) {
            for (std::uint32_t k = 0; k < outputs; ++k) hold({{batch, op, k}, device});
        }
        for (std::uint32_t k = 0; k < outputs; ++k) arrived({batch, op, k}, device);
        for (const Work& transfer : departures(batch, op)) {
            ++run_.outcome.transfers;
            for (const Value& value : transfer.values) leaving_.insert({value, transfer.span.to});
            queue(waiting_transfers_, transfer);
        }
        drop_what_nobody_needs();
        if (exprimo_) note_peak(device);
        start_transfers();
        no_longer_runs(work);
        start_ops(device);
        // The host may have waited for the op.
        if (host_s_ > 0 && in_program_order() && on_host(op)) start_all_ops();
    }

    void leg_ended(const Work& work) {
        for (const ChannelId channel : leg_of(work).channels) {
            run_.spans.push_back(work.span);
            run_.spans.back().resource = channel;
        }
        if (work.leg == 0) {
            for (const Value& value : work.values) leaving_.erase({value, work.span.to});
        }
        if (is_last_leg(work)) {
            if (exprimo_) {
                for (const Value& value : work.values) hold({value, work.span.to});
            }
            for (const Value& value : work.values) arrived(value, work.span.to);
        } else {
            Work next = work;
            ++next.leg;
            queue(waiting_transfers_, next);
        }
        drop_what_nobody_needs();
        if (exprimo_) note_peak(work.span.to);
        start_ops(work.span.to);
        start_transfers();
        no_longer_runs(work);
        start_transfers();
    }

    /// Transfers of an op's outputs: one per tensor and reading device, or one per device.
    std::vector<Work> departures(std::uint32_t batch, OpId op) const {
        std::vector<Work> result;
        for (std::uint32_t k = 0; k < graph_.op(op).outputs.size(); ++k) {
            const Value value{batch, op, k};
            for (const OpId reader : graph_.consumers(op)) {
                if (!reads(reader, value) || device_of(reader) == device_of(op)) continue;
                Work transfer;
                transfer.span.kind = Span::Kind::transfer;
                transfer.span.from = device_of(op);
                transfer.span.to = device_of(reader);
                transfer.span.op = op;
                transfer.span.batch = batch;
                transfer.span.tensor = tensor_of(value);
                transfer.values = {value};
                const auto same_way = std::ranges::find_if(result, [&](const Work& other) {
                    return other.span.to == transfer.span.to &&
                           (graph_.op(op).sends_together || other.values.back() == value);
                });
                if (same_way == result.end()) {
                    result.push_back(transfer);
                } else if (same_way->values.back() != value) {
                    same_way->values.push_back(value);
                }
            }
        }
        for (Work& transfer : result) {
            for (const Value& value : transfer.values) transfer.span.bytes += bytes_of(value);
        }
        return result;
    }

    /// Queues the readers on the device that were waiting only for this value.
    void arrived(const Value& value, DeviceId device) {
        present_.insert({value, device});
        for (const OpId op : readers(value, device)) {
            const bool ready = std::ranges::all_of(graph_.op(op).inputs, [&](const TensorRef& input) {
                return present_.contains({{value.batch, input.op, input.output}, device});
            });
            if (ready) queue_op(value.batch, op);
        }
    }

    // Queues, in the order in which work became ready.

    void queue(std::vector<Work>& waiting, Work work) {
        work.span.queued_s = now_;
        waiting.push_back(work);
    }

    void queue_op(std::uint32_t batch, OpId op) {
        Work work;
        work.span.resource = device_of(op);
        work.span.op = op;
        work.span.batch = batch;
        queue(waiting_ops_, work);
    }

    Key op_key(const Work& work) const {
        const OpId op = work.span.op;
        const double batch = work.span.batch;
        const double phase = static_cast<double>(phase_[op]);
        switch (options_.order) {
            case Order::fifo:
                return {};
            case Order::critical_path:
                return {batch, -rank_s_[op], static_cast<double>(op)};
            case Order::gpipe:
                return {phase, batch};
            case Order::one_forward_one_backward:
                return {phase > 0 ? 0.0 : 1.0, batch};
        }
        return {};
    }

    Key transfer_key(const Work& work) const {
        if (options_.order != Order::critical_path) return {};
        std::vector<Key> keys;
        for (const Value& value : work.values) {
            for (const OpId op : readers(value, work.span.to))
                keys.push_back({static_cast<double>(value.batch), -rank_s_[op], static_cast<double>(op)});
        }
        return std::ranges::min(keys);
    }

    /// Whether a pipeline schedule holds back an op: GPipe holds backward ops until the forward ops of all
    /// batches in flight have run on the device; 1F1B holds all ops of a batch as long as the device works on
    /// enough earlier batches.
    bool is_held(const Work& work) const {
        const DeviceId device = work.span.resource;
        if (options_.order == Order::gpipe) {
            if (phase_[work.span.op] == Phase::forward) return false;
            for (std::uint32_t batch = 0; batch < admitted_; ++batch) {
                for (OpId op = 0; op < graph_.size(); ++op) {
                    const bool forward_there = device_of(op) == device && phase_[op] == Phase::forward;
                    if (forward_there && !ended_.contains({batch, op})) return true;
                }
            }
        }
        if (options_.order == Order::one_forward_one_backward) {
            std::size_t unfinished = 0;
            for (std::uint32_t batch = 0; batch < work.span.batch; ++batch) {
                bool finished = true;
                for (OpId op = 0; op < graph_.size(); ++op) {
                    if (device_of(op) == device && !ended_.contains({batch, op})) finished = false;
                }
                if (!finished) ++unfinished;
            }
            return unfinished >= batches_at_a_time(device);
        }
        return false;
    }

    std::size_t batches_at_a_time(DeviceId device) const {
        std::vector<DeviceId> used;
        for (OpId op = 0; op < graph_.size(); ++op) {
            if (std::ranges::count(used, device_of(op)) == 0) used.push_back(device_of(op));
        }
        return static_cast<std::size_t>(used.end() - std::ranges::find(used, device));
    }

    // Starts of work.

    void start_all_ops() {
        for (DeviceId device = 0; device < machine_.devices().size(); ++device) start_ops(device);
    }

    void start_ops(DeviceId device) {
        if (in_program_order()) return start_next(device);
        while (true) {
            std::optional<Work> first;
            for (const Work& work : waiting_ops_) {
                if (work.span.resource != device || is_held(work)) continue;
                if (!first || op_key(work) < op_key(*first)) first = work;
            }
            if (!first) return;
            const auto stream = stream_for(*first);
            if (!stream) return;
            first->span.stream = *stream;
            std::erase_if(waiting_ops_, [&](const Work& w) {
                return w.span.batch == first->span.batch && w.span.op == first->span.op;
            });
            start_op(*first);
        }
    }

    /// In program order: starts the first op of the device that has not started, if it can start.
    void start_next(DeviceId device) {
        if (std::ranges::any_of(
                running_, [&](const Work& work) { return work.is_op() && work.span.resource == device; }))
            return;
        for (std::uint32_t batch = 0; batch < admitted_; ++batch) {
            for (const OpId op : program_) {
                if (device_of(op) != device || ended_.contains({batch, op})) continue;
                const auto ready = std::ranges::find_if(waiting_ops_, [&](const Work& work) {
                    return work.span.batch == batch && work.span.op == op;
                });
                if (ready == waiting_ops_.end() || !issued_s(batch, op)) return;
                const Work work = *ready;
                waiting_ops_.erase(ready);
                return start_op(work);
            }
        }
    }

    // The host of an eager framework.

    bool in_program_order() const {
        return options_.runtime != Runtime::ideal && options_.order == Order::fifo;
    }

    bool on_host(OpId op) const { return machine_.device(device_of(op)).kind == DeviceKind::cpu; }

    /// What the host does for an op, apart from copies of its inputs; of an update, the mean over the
    /// batches.
    double host_op_s(OpId id) const {
        const Op& op = graph_.op(id);
        const bool is_source = op.inputs.empty() && op.phase != Phase::update;
        if (is_source && !kind_info(op.kind).computes) return 0;
        double seconds = (1 + op_work(graph_, id, problem_.optimizer_states).kernels) * host_s_;
        if (op.phase == Phase::update && problem_.accumulates) {
            for (std::uint32_t batch = 1; batch < options_.batches; ++batch) seconds += 2 * host_s_;
            seconds /= options_.batches;
        }
        return problem_.tick_s > 0 ? std::nearbyint(seconds / problem_.tick_s) * problem_.tick_s : seconds;
    }

    /// Tensors that are copied for an op: no op before it in the graph reads them on its device.
    double copies(OpId id) const {
        std::vector<TensorRef> inputs;
        for (const TensorRef& input : graph_.op(id).inputs) {
            if (std::ranges::count(inputs, input) == 0) inputs.push_back(input);
        }
        return static_cast<double>(std::ranges::count_if(inputs, [&](const TensorRef& input) {
            if (device_of(input.op) == device_of(id)) return false;
            const auto all = readers({0, input.op, input.output}, device_of(id));
            return *std::ranges::min_element(all) == id;
        }));
    }

    /// Walks through the program of a batch as its host does. Returns when `until` is issued, or everything
    /// if that is no op; nothing as long as the host waits for an op of its own.
    std::optional<double> walk(std::uint32_t batch, OpId until) const {
        double main_s = admitted_s_[batch];
        if (batch > 0) {
            const auto before = walk(batch - 1, kInvalidOp);
            if (!before) return {};
            main_s = std::max(main_s, *before);
        }
        const auto is_backward = [&](OpId op) { return graph_.op(op).phase == Phase::backward; };
        const auto first = std::ranges::find_if(program_, is_backward);
        const auto last = std::find_if(program_.rbegin(), program_.rend(), is_backward).base();
        std::map<DeviceId, double> thread_s;
        std::map<OpId, double> all_s;
        for (auto op = program_.begin(); op != program_.end(); ++op) {
            const bool by_device = first <= op && op < last;
            if (op == first) {
                for (DeviceId device = 0; device < machine_.devices().size(); ++device)
                    thread_s[device] = main_s;
            }
            if (op == last) {
                for (const auto& [device, time_s] : thread_s) main_s = std::max(main_s, time_s);
            }
            double& now_s = by_device ? thread_s[device_of(*op)] : main_s;
            if (by_device) {
                for (const OpId producer : graph_.producers(*op)) {
                    if (device_of(producer) != device_of(*op)) now_s = std::max(now_s, all_s[producer]);
                }
            }
            now_s += 2 * copies(*op) * host_s_ + (on_host(*op) ? 0 : host_op_s(*op));
            all_s[*op] = now_s;
            if (*op == until) return now_s;
            if (!by_device && on_host(*op) && host_op_s(*op) > 0) {
                const auto span = std::ranges::find_if(run_.spans, [&](const Span& other) {
                    return other.kind == Span::Kind::op && other.batch == batch && other.op == *op;
                });
                if (span == run_.spans.end()) return {};
                main_s = span->end_s;
            }
        }
        for (const auto& [device, time_s] : thread_s) {
            if (last == program_.end()) main_s = std::max(main_s, time_s);
        }
        return main_s;
    }

    std::optional<double> issued_s(std::uint32_t batch, OpId op) const {
        return host_s_ > 0 ? walk(batch, op) : std::optional(0.0);
    }

    /// When an op that may start now starts.
    double start_s(const Work& work) {
        if (host_s_ == 0) return now_;
        if (in_program_order()) return std::max(now_, *issued_s(work.span.batch, work.span.op));
        if (on_host(work.span.op)) return now_;
        double& issued_s = pipeline_issued_s_[work.span.resource];
        issued_s += host_op_s(work.span.op);
        return std::max(now_, issued_s);
    }

    /// The lowest free stream, if there is one and the op fits in memory beside the running ops.
    std::optional<std::uint16_t> stream_for(const Work& work) const {
        const DeviceId device = work.span.resource;
        std::set<std::uint16_t> taken;
        double share = 0;
        for (const Work& other : running_) {
            if (!other.is_op() || other.span.resource != device) continue;
            taken.insert(other.span.stream);
            share += share_of(other);
        }
        if (!taken.empty() && share + share_of(work) > 1) return {};
        for (std::uint16_t stream = 0; stream < machine_.device(device).streams; ++stream) {
            if (!taken.contains(stream)) return stream;
        }
        return {};
    }

    double share_of(const Work& work) const {
        return problem_.op_share.empty()
                   ? 1
                   : problem_.op_share[work.span.op * machine_.devices().size() + work.span.resource];
    }

    void start_op(Work work) {
        const auto [batch, op, device] = std::tuple(work.span.batch, work.span.op, work.span.resource);
        const std::size_t entry = op * machine_.devices().size() + device;
        double duration_s = problem_.op_time_s[entry];
        if (problem_.accumulates && graph_.op(op).phase == Phase::update) {
            const auto same = [op = op](const Span& span) {
                return span.kind == Span::Kind::op && span.op == op;
            };
            const auto starts_before =
                std::ranges::count_if(run_.spans, same) + std::ranges::count_if(running_, same, &Work::span);
            const bool last = starts_before + 1 == options_.batches;
            duration_s = (starts_before > 0 ? problem_.accumulate_s[entry] : 0) + (last ? duration_s : 0);
        }
        if (on_host(op)) duration_s += host_op_s(op);
        run_.outcome.device_busy_s[device] += duration_s;
        run(work, start_s(work), duration_s);
        if (exprimo_) return;
        for (std::uint32_t k = 0; k < graph_.op(op).outputs.size(); ++k) hold({{batch, op, k}, device});
        note_peak(device);
    }

    /// Starts every transfer that is first in the queues of all resources of its leg, if all of them are
    /// free.
    void start_transfers() {
        while (true) {
            std::vector<Work> sorted = waiting_transfers_;
            std::ranges::stable_sort(sorted, {}, [&](const Work& work) { return transfer_key(work); });
            const auto next = std::ranges::find_if(sorted, [&](const Work& work) {
                const auto before =
                    std::ranges::find_if(sorted, [&](const Work& other) { return work.same(other); });
                const bool is_first = std::none_of(sorted.begin(), before, [&](const Work& other) {
                    return share(leg_of(work), leg_of(other));
                });
                return is_first && is_free(leg_of(work));
            });
            if (next == sorted.end()) return;
            std::erase_if(waiting_transfers_, [&](const Work& other) { return next->same(other); });
            start_transfer(*next);
        }
    }

    bool is_free(const TransferLeg& leg) const {
        const auto users = [&](const auto& uses) {
            return std::ranges::count_if(
                running_, [&](const Work& work) { return !work.is_op() && uses(leg_of(work)); });
        };
        const bool channels_free = std::ranges::none_of(leg.channels, [&](ChannelId channel) {
            return users([&](const TransferLeg& other) {
                       return std::ranges::count(other.channels, channel) > 0;
                   }) > 0;
        });
        const bool engines_free = std::ranges::all_of(leg.engines, [&](DeviceId device) {
            return users([&](const TransferLeg& other) {
                       return std::ranges::count(other.engines, device) > 0;
                   }) < machine_.device(device).copy_engines;
        });
        return channels_free && engines_free;
    }

    void start_transfer(const Work& work) {
        double duration_s = 0;
        for (const Value& value : work.values)
            duration_s += transfer_leg_s(problem_, tensor_of(value), work.span.from, work.span.to, work.leg);
        for (const ChannelId channel : leg_of(work).channels) {
            run_.outcome.channel_busy_s[channel] += duration_s;
            run_.outcome.channel_bytes[channel] += work.span.bytes;
            ++run_.outcome.channel_transfers[channel];
        }
        run(work, now_, duration_s);
        if (exprimo_ || !is_last_leg(work)) return;
        for (const Value& value : work.values) hold({value, work.span.to});
        note_peak(work.span.to);
    }

    void run(Work work, double start_s, double duration_s) {
        work.span.start_s = start_s;
        work.span.end_s = start_s + duration_s;
        work.started_as = started_++;
        running_.push_back(work);
    }

    // Batches.

    bool done(std::uint32_t batch) const {
        for (OpId op = 0; op < graph_.size(); ++op) {
            if (!ended_.contains({batch, op})) return false;
        }
        return true;
    }

    std::uint32_t under_way() const { return admitted_ - static_cast<std::uint32_t>(finished_s_.size()); }

    bool source_devices_are_idle() const {
        for (OpId op = 0; op < graph_.size(); ++op) {
            if (!graph_.op(op).inputs.empty()) continue;
            for (const Work& work : running_) {
                if (work.is_op() && work.span.resource == device_of(op)) return false;
            }
        }
        return true;
    }

    void admit() {
        std::uint32_t room = std::min(options_.in_flight, options_.batches) - under_way();
        if (options_.order == Order::fifo && !in_program_order())
            room = room > 0 && source_devices_are_idle() ? 1 : 0;
        if (options_.order == Order::gpipe && under_way() > 0) room = 0;
        const std::uint32_t last = std::min(options_.batches, admitted_ + room);
        if (admitted_ == last) return;
        for (; admitted_ < last; ++admitted_) {
            admitted_s_.push_back(now_);
            for (DeviceId device = 0; device < machine_.devices().size(); ++device) {
                for (OpId op = 0; op < graph_.size(); ++op) {
                    if (graph_.op(op).inputs.empty() && device_of(op) == device) queue_op(admitted_, op);
                }
            }
        }
        start_all_ops();
    }

    std::optional<double> steady_step_time_s() const {
        const std::int64_t all = options_.batches;
        const std::int64_t filling = options_.in_flight;
        const auto ended_s = [&](std::int64_t batches) {
            return finished_s_[static_cast<std::size_t>(batches - 1)];
        };
        if (options_.order == Order::gpipe) {
            const std::int64_t rounds = all / filling;
            if (rounds < 2) return {};
            return (ended_s(rounds * filling) - ended_s(filling)) /
                   static_cast<double>((rounds - 1) * filling);
        }
        const std::int64_t between = (all - 2 * filling) / filling * filling;
        if (between < 2) return {};
        return (ended_s(filling + between) - ended_s(filling)) / static_cast<double>(between);
    }

    // Memory.

    void hold(const Copy& copy) { held_.insert(copy); }

    /// The value that this value is a view of, if any; only on the device where it was made.
    std::optional<Value> viewed(const Copy& copy) const {
        const auto& [value, device] = copy;
        const TensorId original = problem_.alias_of[tensor_of(value)];
        if (original == kNoTensor || device != device_of(value.op)) return {};
        for (const TensorRef& input : graph_.op(value.op).inputs) {
            const Value candidate{value.batch, input.op, input.output};
            if (tensor_of(candidate) == original) return candidate;
        }
        return {};
    }

    /// Whether the value is parameters read as a tensor on a device that holds the parameters.
    bool is_resident(const Copy& copy) const {
        const Op& op = graph_.op(copy.first.op);
        return kind_info(op.kind).parameter && op.phase == Phase::forward && op.parameter_bytes > 0 &&
               copy.second == device_of(copy.first.op);
    }

    /// Whether a copy takes memory: on the producer's device while the producer runs, and on every device
    /// until its readers there have ended, its transfers from there have crossed their first leg, and no
    /// view of it exists there.
    bool is_needed(const Copy& copy) const {
        const auto& [value, device] = copy;
        if (!ended_.contains({value.batch, value.op})) return true;
        if (stays(value) && options_.batches == 1) return true;
        if (device == device_of(value.op)) {
            for (const auto& [departing, to] : leaving_) {
                if (departing == value) return true;
            }
        }
        const bool readers_keep = exprimo_ && problem_.inference;
        for (const OpId reader : readers(value, device)) {
            if (readers_keep || !ended_.contains({value.batch, reader})) return true;
        }
        return std::ranges::any_of(held_, [&](const Copy& other) {
            return other.second == copy.second && viewed(other) == copy.first;
        });
    }

    /// Freeing a value may free the value that it was the last view of.
    void drop_what_nobody_needs() {
        while (std::erase_if(held_, [&](const Copy& copy) { return !is_needed(copy); }) > 0) {
        }
    }

    void note_peak(DeviceId device) {
        double bytes = run_.outcome.resident_bytes[device];
        for (const Copy& copy : held_) {
            const bool counted = stays(copy.first) && options_.batches > 1;
            if (copy.second == device && !viewed(copy) && !is_resident(copy) && !counted)
                bytes += held_bytes_of(copy.first);
        }
        for (const Work& work : running_) {
            if (work.is_op() && work.span.resource == device) bytes += problem_.workspace_bytes[work.span.op];
        }
        run_.outcome.peak_bytes[device] = std::max(run_.outcome.peak_bytes[device], bytes);
    }

    const Problem& problem_;
    const Graph& graph_;
    const Machine& machine_;
    bool exprimo_;
    std::span<const DeviceId> placement_;
    SimulationOptions options_;
    std::vector<Phase> phase_;
    std::vector<double> rank_s_;

    double now_ = 0;
    std::uint64_t started_ = 0;
    std::uint32_t admitted_ = 0;
    std::vector<double> admitted_s_;  ///< [batch]
    std::vector<OpId> program_;
    double host_s_ = 0;
    std::vector<double> pipeline_issued_s_;  ///< [device]
    std::vector<Work> waiting_ops_, waiting_transfers_, running_;
    std::set<std::pair<std::uint32_t, OpId>> ended_;  ///< (batch, op)
    std::vector<double> finished_s_;                  ///< of the batches that are complete
    std::set<Copy> present_;                          ///< completely arrived on the device
    std::set<Copy> held_;                             ///< takes memory on the device
    std::set<Copy> leaving_;                          ///< waiting for, or on, the first leg to the device
    ReferenceRun run_;
};

}  // namespace

std::size_t transfer_legs(const Machine& machine, DeviceId from, DeviceId to) {
    return machine.crossing() == Crossing::cut_through ? 1 : machine.route(from, to).size();
}

TransferLeg transfer_leg(const Machine& machine, DeviceId from, DeviceId to, std::size_t leg) {
    const auto route = machine.route(from, to);
    TransferLeg result;
    if (machine.crossing() == Crossing::cut_through) {
        result.channels.assign(route.begin(), route.end());
    } else {
        result.channels = {route[leg]};
    }
    if (leg == 0 && machine.device(from).copy_engines > 0) result.engines.push_back(from);
    if (leg + 1 == transfer_legs(machine, from, to) && machine.device(to).copy_engines > 0)
        result.engines.push_back(to);
    return result;
}

double transfer_leg_s(const Problem& problem, TensorId tensor, DeviceId from, DeviceId to, std::size_t leg) {
    double latency_s = 0;
    std::vector<double> rest_s;
    for (const ChannelId channel : transfer_leg(*problem.machine, from, to, leg).channels) {
        latency_s += problem.channel_latency_s[channel];
        rest_s.push_back(
            problem.transfer_s[tensor * problem.channel_classes + problem.channel_class[channel]] -
            problem.channel_latency_s[channel]);
    }
    return latency_s + std::ranges::max(rest_s);
}

std::vector<OpId> program_order(const Problem& problem) {
    std::vector<OpId> program, updates;
    for (OpId id = 0; id < problem.ops; ++id) {
        const Op& op = problem.graph->op(id);
        const bool last = op.phase == Phase::update && op.forward_op != kInvalidOp;
        (last && !problem.optimizer_in_backward ? updates : program).push_back(id);
    }
    program.insert(program.end(), updates.begin(), updates.end());
    return program;
}

std::vector<Phase> scheduling_phases(const Graph& graph) {
    std::vector<Phase> phases(graph.size());
    for (auto op = static_cast<OpId>(graph.size()); op-- > 0;) {
        const bool forward_needs_it = std::ranges::any_of(
            graph.consumers(op), [&](OpId consumer) { return phases[consumer] == Phase::forward; });
        phases[op] = forward_needs_it ? Phase::forward : graph.op(op).phase;
    }
    return phases;
}

std::vector<double> upward_ranks_s(const Problem& problem) {
    const auto devices = static_cast<DeviceId>(problem.machine->devices().size());
    const auto mean_transfer_s = [&](TensorId tensor) {
        double sum_s = 0;
        double pairs = 0;
        for (DeviceId from = 0; from < devices; ++from) {
            for (DeviceId to = 0; to < devices; ++to) {
                if (from == to) continue;
                for (std::size_t leg = 0; leg < transfer_legs(*problem.machine, from, to); ++leg)
                    sum_s += transfer_leg_s(problem, tensor, from, to, leg);
                ++pairs;
            }
        }
        return pairs > 0 ? sum_s / pairs : 0;
    };
    const Graph& graph = *problem.graph;
    std::vector<double> rank_s(graph.size());
    for (auto op = static_cast<OpId>(graph.size()); op-- > 0;) {
        const auto allowed = problem.allowed_devices(problem.grouping.group_of[op]);
        double sum_s = 0;
        for (const DeviceId device : allowed) sum_s += problem.op_time_s[op * devices + device];
        double longest_s = 0;
        for (const OpId consumer : graph.consumers(op)) {
            for (const TensorRef& input : graph.op(consumer).inputs) {
                if (input.op != op) continue;
                longest_s = std::max(
                    longest_s, mean_transfer_s(problem.output_begin[op] + input.output) + rank_s[consumer]);
            }
        }
        rank_s[op] = sum_s / static_cast<double>(allowed.size()) + longest_s;
    }
    return rank_s;
}

ReferenceRun reference_run(const Problem& problem, std::span<const DeviceId> placement,
                           const SimulationOptions& options) {
    return ReferenceSimulator(problem, placement, options).run();
}

}  // namespace placewright::test
