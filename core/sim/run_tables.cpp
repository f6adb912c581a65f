// SPDX-License-Identifier: MIT
#include "core/sim/run_tables.hpp"

#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace placewright::event_loop {
namespace {

/// The ops by descending upward rank (Topcuoglu, Hariri, Wu: HEFT, 2002) with the mean time of an
/// op over its allowed devices and the mean time of a transfer over all pairs of devices.
std::vector<OpId> by_upward_rank(const Tables& tables) {
    const Problem& p = tables.problem;
    const std::size_t pairs = std::size_t{p.devices} * (p.devices - 1);
    std::vector<double> rank(p.ops, 0.0);
    for (OpId op = p.ops; op-- > 0;) {
        double longest_s = 0;
        for (TensorId tensor = p.output_begin[op]; tensor < p.output_begin[op + 1]; ++tensor) {
            double transfer_s = 0;
            for (std::uint32_t leg = 0; leg < tables.leg_table.size(); ++leg)
                transfer_s += tables.leg_time_s(leg, tensor);
            if (pairs > 0) transfer_s /= static_cast<double>(pairs);
            for (auto i = p.consumer_begin[tensor]; i < p.consumer_begin[tensor + 1]; ++i) {
                longest_s = std::max(longest_s, transfer_s + rank[p.consumer[i]]);
            }
        }
        const auto allowed = p.allowed_devices(p.grouping.group_of[op]);
        double mean_s = 0;
        for (const DeviceId device : allowed) mean_s += p.time_s(op, device);
        rank[op] = mean_s / static_cast<double>(allowed.size()) + longest_s;
    }
    std::vector<OpId> order(p.ops);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, std::greater<>(), [&](OpId op) { return rank[op]; });
    return order;
}

}  // namespace

Tables::Tables(std::shared_ptr<const Problem> p, const SimulationOptions& o)
    : shared(std::move(p)),
      problem(*shared),
      options(o),
      slots(o.batches_in_flight()),
      op_bits(std::bit_width(problem.ops)) {
    if (slots == 0)
        throw std::invalid_argument("a simulation needs at least one batch, and at least one in flight");
    if (std::uint64_t{slots} << op_bits >= kNone)
        throw std::length_error("too many batches in flight for a graph of this size");
    if (!(options.host_time_s >= 0 && std::isfinite(options.host_time_s)))
        throw std::invalid_argument("the host's time for an op must be a number of seconds from 0 on");
    if (options.runtime != Runtime::ideal && options.order == Order::critical_path)
        throw std::invalid_argument("the runtime runs ops in program order, not by their critical paths");
    filled = drained = slots;
    if (options.order == Order::gpipe) {
        drained = options.batches / slots * slots;
    } else if (options.batches >= std::uint64_t{2} * slots + std::max(2U, slots)) {
        drained = (options.batches - slots) / slots * slots;
    }
    tensors.resize(problem.tensor_bytes.size() + 1);
    for (OpId op = 0; op < problem.ops; ++op) {
        std::size_t departures = 0;
        for (TensorId t = problem.output_begin[op]; t < problem.output_begin[op + 1]; ++t) {
            const bool resident =
                problem.tensor_stays(t) ||
                (problem.alias_of[t] == kNoTensor && problem.output_bytes[t] != problem.copy_bytes[t]);
            tensors[t] = {problem.copy_bytes[t], problem.consumer_begin[t],
                          resident ? t : problem.alias_of[t]};
            departures += std::min<std::size_t>(problem.consumer_begin[t + 1] - problem.consumer_begin[t],
                                                problem.devices - 1);
        }
        most_departures = std::max(most_departures, departures);
        most_transfers += departures * slots;
    }
    for (TensorId t = problem.tensors; t < tensor_count(); ++t) {
        tensors[t] = {problem.copy_bytes[t], problem.consumer_begin[t]};
        most_transfers += slots;
    }
    tensors.back().first_consumer = problem.consumer_begin.back();

    const auto devices = problem.machine->devices();
    link_room.assign(problem.channels, 1);
    for (const Device& device : devices) {
        link_room.push_back(device.copy_engines);
        has_roomy_links = has_roomy_links || device.copy_engines > 1;
    }
    route_leg.assign(1, 0);
    for (DeviceId from = 0; from < problem.devices; ++from) {
        for (DeviceId to = 0; to < problem.devices; ++to) add_route(from, to);
    }
    in_program_order = options.runtime != Runtime::ideal && options.order == Order::fifo;
    if (options.runtime != Runtime::ideal) write_program();
    stream_begin.assign(1, 0);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        const std::uint32_t streams = in_program_order ? 1 : devices[device].streams;
        stream_begin.push_back(stream_begin.back() + streams);
        stream_device.insert(stream_device.end(), streams, device);
    }
    for (const double part : problem.op_share)
        share.push_back(static_cast<std::uint32_t>(part * kWholeDevice));

    general = !in_program_order &&
              (options.order != Order::fifo || problem.accumulates || streams() > problem.devices ||
               std::ranges::any_of(problem.workspace_bytes, [](double bytes) { return bytes > 0; }));
    if (most_transfers >= std::size_t{kNone} >> leg_bits)
        throw std::length_error("too many batches in flight for a graph of this size");
    legs = general || in_program_order || leg_bits > 0;
    if (general) {
        for (const Op& op : problem.graph->ops()) phase.push_back(op.phase);
        for (OpId op = problem.ops; op-- > 0;) {
            if (phase[op] != Phase::forward) continue;
            for (const OpId producer : problem.graph->producers(op)) phase[producer] = Phase::forward;
        }
    }
    if (options.order != Order::critical_path) return;
    op_of_rank = by_upward_rank(*this);
    rank.resize(problem.ops);
    for (std::uint32_t i = 0; i < problem.ops; ++i) rank[op_of_rank[i]] = i;
}

/// Writes down what the runtime needs of the program.
void Tables::write_program() {
    for (const Device& device : problem.machine->devices()) is_host.push_back(device.kind == DeviceKind::cpu);
    host_s = host_time_s(problem, options);
    for (OpId op = 0; host_s > 0 && op < problem.ops; ++op)
        host_op_s.push_back(placewright::host_op_s(problem, options, op));
    if (!in_program_order) return;
    program = program_of(problem);
    by_device.resize(problem.ops);
    for (std::size_t i = program.backward_begin; i < program.backward_end; ++i) by_device[program.ops[i]] = 1;
}

void Tables::add_route(DeviceId from, DeviceId to) {
    const std::size_t route = std::size_t{from} * problem.devices + to;
    const std::uint32_t first = problem.route_begin[route];
    const std::uint32_t end = problem.route_begin[route + 1];
    auto first_link = static_cast<std::uint32_t>(leg_link.size());
    const bool cut_through = problem.crossing == Crossing::cut_through;
    for (std::uint32_t i = first; i < end; ++i) {
        leg_link.push_back(problem.route_channel[i]);
        if (cut_through && i + 1 < end) continue;
        const auto add_engine = [&](DeviceId device) {
            const std::uint32_t link = problem.channels + device;
            if (link_room[link] > 0) leg_link.push_back(link);
        };
        if (cut_through || i == first) add_engine(from);
        if (i + 1 == end) add_engine(to);
        add_leg(std::exchange(first_link, static_cast<std::uint32_t>(leg_link.size())));
    }
    route_leg.push_back(static_cast<std::uint32_t>(leg_table.size()));
}

/// Adds a leg of the links from `first_link` on.
void Tables::add_leg(std::uint32_t first_link) {
    Leg leg{first_link, static_cast<std::uint32_t>(leg_link.size()) - first_link,
            static_cast<std::uint32_t>(speeds.size())};
    leg_bits = std::max(leg_bits, static_cast<int>(std::bit_width(leg.links - 1)));
    for (const std::uint32_t link : std::span(leg_link).subspan(first_link)) {
        if (link >= problem.channels) break;
        const Speed speed{problem.channel_class[link], problem.channel_latency_s[link]};
        leg.latency_s += speed.latency_s;
        if (std::find(speeds.begin() + leg.first_speed, speeds.end(), speed) == speeds.end())
            speeds.push_back(speed);
    }
    leg.speeds = static_cast<std::uint32_t>(speeds.size()) - leg.first_speed;
    leg.channel_class = speeds.back().channel_class;
    leg.more_s = leg.latency_s - speeds.back().latency_s;
    leg_table.push_back(leg);
}

PlacedTables::PlacedTables(const Tables& tables) {
    const Problem& problem = tables.problem;
    ops.resize(problem.ops + 1);
    fresh.resize(problem.ops);
    for (OpId op = 0; op < problem.ops; ++op) {
        ops[op].start_bytes = problem.workspace_bytes[op];
        for (TensorId t = problem.output_begin[op]; t < problem.output_begin[op + 1]; ++t) {
            // In each batch but the first the gradients take the place of those of the batch before.
            if (tables.options.batches == 1 || !problem.tensor_stays(t))
                ops[op].start_bytes += problem.output_bytes[t];
        }
        ops[op].first_output = problem.output_begin[op];
        ops[op].first_input = problem.input_begin[op];
        fresh[op].missing = problem.input_begin[op + 1] - problem.input_begin[op];
    }
    ops.back().first_output = problem.output_begin.back();
    ops.back().first_input = problem.input_begin.back();
    sources.resize(problem.sources.size());
    source_devices.reserve(problem.devices);
    source_end_.resize(problem.devices);
    resident_bytes.resize(problem.devices);
    ops_on.resize(problem.devices);
    forward_on.resize(problem.devices);
    limit.resize(problem.devices);
    if (problem.streams_to) {
        stream.reserve(problem.ops);
        place_in_stream.resize(problem.ops);
        placed_on.resize(problem.ops);
    }
    if (tables.in_program_order) {
        program.resize(problem.ops);
        program_begin.resize(problem.devices + 1);
    }
    if (!tables.in_program_order || tables.host_s == 0) return;
    host.resize(problem.ops);
    stop.resize(problem.ops);
    stops.resize(problem.ops);
    thread_s_.resize(problem.devices);
    copied_.resize(problem.devices);
}

void PlacedTables::set(const Tables& tables, std::span<const DeviceId> placement) {
    const Problem& problem = tables.problem;
    assert(placement.size() == problem.groups);
    std::ranges::fill(resident_bytes, 0.0);
    for (OpId op = 0; op < problem.ops; ++op) {
        const DeviceId placed = placement[problem.grouping.group_of[op]];
        const DeviceId device = problem.runs_on(placed);
        fresh[op].device = device;
        ops[op].duration_s = problem.time_s(op, device);
        if (tables.host_s > 0 && tables.is_host[device]) ops[op].duration_s += tables.host_op_s[op];
        resident_bytes[placed] += problem.resident_bytes[op];
        if (problem.streams_to) placed_on[op] = placed;
        if (tables.options.batches == 1) continue;
        for (TensorId t = problem.output_begin[op]; t < problem.output_begin[op + 1]; ++t) {
            if (problem.tensor_stays(t)) resident_bytes[device] += problem.output_bytes[t];
        }
    }

    if (problem.streams_to) set_stream(tables);
    const auto starts_at_once = [&](OpId op) { return fresh[op].missing == 0; };
    std::ranges::fill(source_end_, 0);
    sources.resize(problem.sources.size());
    for (const OpId op : problem.sources) {
        if (starts_at_once(op)) {
            ++source_end_[fresh[op].device];
        } else {
            sources.pop_back();
        }
    }
    source_devices.clear();
    std::uint32_t begin = 0;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (source_end_[device] > 0) source_devices.push_back(device);
        begin += std::exchange(source_end_[device], begin);
    }
    for (const OpId op : problem.sources) {
        if (starts_at_once(op)) sources[source_end_[fresh[op].device]++] = op;
    }

    if (tables.options.order == Order::gpipe || tables.options.order == Order::one_forward_one_backward)
        count_ops(tables);
    if (tables.in_program_order) sort_program(tables);
    if (tables.in_program_order && tables.host_s > 0) issue(tables);
}

/// Two buffers let a copy go on while the device computes with the other; where there is no room for the two
/// largest beside what stays on the device, the copies wait for it.
void PlacedTables::set_stream(const Tables& tables) {
    const Problem& problem = tables.problem;
    stream.clear();
    double largest_bytes = 0;
    for (OpId op = 0; op < problem.ops; ++op) {
        fresh[op].missing = problem.input_begin[op + 1] - problem.input_begin[op];
        place_in_stream[op] = kNone;
        if (placed_on[op] == fresh[op].device || problem.streamed[op] == kNoTensor) continue;
        ++fresh[op].missing;
        place_in_stream[op] = static_cast<std::uint32_t>(stream.size());
        stream.push_back({op, placed_on[op]});
        largest_bytes = std::max(largest_bytes, problem.copy_bytes[problem.streamed[op]]);
    }
    const DeviceId to = *problem.streams_to;
    buffers = resident_bytes[to] + 2 * largest_bytes <= problem.memory_limit_bytes[to] ? 2 : 1;
}

void PlacedTables::sort_program(const Tables& tables) {
    std::ranges::fill(program_begin, 0);
    for (const Waiting& op : fresh) ++program_begin[op.device];
    std::uint32_t begin = 0;
    for (std::uint32_t& count : program_begin) begin += std::exchange(count, begin);
    for (const OpId op : tables.program.ops) program[program_begin[fresh[op].device]++] = op;
    // Each device's begin has moved to its end.
    std::shift_right(program_begin.begin(), program_begin.end(), 1);
    program_begin.front() = 0;
}

/// Finds out when the host issues each op (Runtime::eager).
void PlacedTables::issue(const Tables& tables) {
    std::ranges::fill(copied_, kNoTensor);
    for (OpId op = last_stop; op != kInvalidOp; op = stop[op]) stops[op] = 0;
    last_stop = kInvalidOp;
    double main_s = 0;  // after last_stop
    const auto& [in_order, backward_begin, backward_end] = tables.program;
    const auto part = [ops = std::span(in_order)](std::size_t first, std::size_t count) {
        return ops.subspan(first, count);
    };
    for (const OpId op : part(0, backward_begin)) issue_op<true>(tables, op, main_s);
    std::ranges::fill(thread_s_, main_s);
    for (const OpId op : part(backward_begin, backward_end - backward_begin))
        issue_op<false>(tables, op, thread_s_[fresh[op].device]);
    main_s = *std::ranges::max_element(thread_s_);
    for (const OpId op : part(backward_end, in_order.size() - backward_end))
        issue_op<true>(tables, op, main_s);
    last_issue_s = main_s;
}

/// Lets a thread of the host issue an op. Only threads of devices wait for what others issue; what comes from
/// the forward pass is over by then.
template <bool kMain>
void PlacedTables::issue_op(const Tables& tables, OpId op, double& thread_s) {
    const Problem& problem = tables.problem;
    const DeviceId device = static_cast<DeviceId>(fresh[op].device);
    const bool on_host = tables.is_host[device];
    HostRecord& record = host[op];
    const double busy_s = record.copies * kCopyCalls * tables.host_s + (on_host ? 0 : tables.host_op_s[op]);
    if constexpr (!kMain) thread_s = std::max(thread_s, record.gate_s);
    thread_s += busy_s;
    record.issue_s = thread_s;
    record.busy_s = busy_s;
    record.gate_s = record.copies = 0;  // for the next placement
    stop[op] = last_stop;
    const std::uint32_t begin = tables.tensors[ops[op].first_output].first_consumer;
    const std::uint32_t end = tables.tensors[ops[op + 1].first_output].first_consumer;
    if (begin != end) {
        for (TensorId t = ops[op].first_output; t < ops[op + 1].first_output; ++t) {
            for (std::uint32_t i = tables.tensors[t].first_consumer; i < tables.tensors[t + 1].first_consumer;
                 ++i) {
                const OpId reader = problem.consumer[i];
                const std::uint32_t there = fresh[reader].device;
                if (there == device) [[likely]]
                    continue;
                if constexpr (!kMain) host[reader].gate_s = std::max(host[reader].gate_s, thread_s);
                if (std::exchange(copied_[there], t) != t) ++host[reader].copies;
            }
        }
    }
    if constexpr (kMain) {
        if (!on_host || tables.host_op_s[op] == 0) return;
        stops[op] = 1;
        last_stop = op;
        thread_s = 0;
    }
}

Issue PlacedTables::issue_of(const Tables& tables, OpId op, double base_s) const {
    const DeviceId device = fresh[op].device;
    const double end_s = base_s + host[op].issue_s;
    return {end_s - host[op].busy_s, end_s,
            static_cast<std::uint16_t>(tables.by_device[op] ? device + 1 : 0)};
}

void PlacedTables::count_ops(const Tables& tables) {
    std::ranges::fill(ops_on, 0);
    std::ranges::fill(forward_on, 0);
    std::uint32_t used = 0;
    for (OpId op = 0; op < tables.problem.ops; ++op) {
        const DeviceId device = fresh[op].device;
        if (ops_on[device]++ == 0) limit[device] = used++;
        if (tables.phase[op] == Phase::forward) ++forward_on[device];
    }
    for (DeviceId device = 0; device < tables.problem.devices; ++device) {
        if (ops_on[device] > 0) limit[device] = used - limit[device];
    }
}

RunState::RunState(const Tables& tables, std::size_t most_transfers) {
    const Problem& problem = tables.problem;
    const std::size_t items = (std::size_t{tables.slots - 1} << tables.op_bits) + problem.ops;
    waiting.resize(items);
    next_op.resize(items);
    // Without tensors, pointers to the counts of a device stay within the table, too.
    references.assign(std::max<std::size_t>(tables.tensor_count() * tables.slots, 1) * problem.devices, 0);
    make_room(tables, most_transfers);
    devices.resize(problem.devices);
    links.resize(tables.link_room.size());
    heap.reserve(tables.streams() + problem.channels);
    batch_of.resize(tables.slots);
    remaining.resize(tables.slots);
    free_slots.reserve(tables.slots);
    departures.resize(tables.most_departures);
    unblocked.reserve((tables.most_departures + 2) << (tables.leg_bits + 1));
    if (tables.in_program_order) {
        cursor.resize(problem.devices);
        if (tables.host_s > 0) {
            host_base_s.resize(tables.slots);
            stop_s.resize(items);
        }
        if (problem.accumulates) updates.resize(problem.ops);
    }
    if (!tables.general) return;
    issued_s.resize(problem.devices);
    stream_item.resize(tables.streams());
    stream_start_s.resize(tables.streams());
    stream_started_by.resize(tables.streams());
    share_taken.resize(problem.devices);
    held.resize(problem.devices);
    forward_left.resize(problem.devices);
    if (tables.options.order == Order::one_forward_one_backward) {
        left.resize(std::size_t{tables.slots} * problem.devices);
        finished.resize(problem.devices);
    }
    if (tables.ranks_ops()) ready.assign(problem.devices, RankSet(problem.ops));
    if (tables.sorts_ops()) {
        op_place.resize(items);
        op_child.resize(items);
    }
    if (problem.accumulates) updates.resize(problem.ops);
}

void RunState::make_room(const Tables& tables, std::size_t most_transfers) {
    if (transfers.size() >= most_transfers) return;
    transfers.resize(most_transfers);
    next_transfer.resize(most_transfers << tables.leg_bits);
    if (tables.sorts_transfers()) transfer_child.resize(next_transfer.size());
}

void RunState::reset(const Tables& tables, const PlacedTables& placed) {
    std::ranges::fill(devices, DeviceState{});
    for (std::size_t link = 0; link < links.size(); ++link) {
        links[link] = {};
        links[link].room = tables.link_room[link];
    }
    for (std::size_t device = 0; device < devices.size(); ++device) {
        devices[device].memory_bytes = devices[device].peak_bytes = placed.resident_bytes[device];
    }
    heap.clear();
    free_slots.clear();
    for (std::uint32_t slot = tables.slots; slot > 0; --slot) free_slots.push_back(slot - 1);
    ended = 0;
    admitted = 0;
    sequence = 0;
    free_transfer = kNone;
    fresh_transfer = 0;
    now_s = 0;
    ops_run = 0;
    transfers_sent = 0;
    arrivals = 0;
    for (DeviceId device = 0; device < cursor.size(); ++device)
        cursor[device] = {placed.program_begin[device], 0};
    if (tables.in_program_order) std::ranges::fill(updates, 0);
    if (!tables.general) return;
    std::ranges::fill(issued_s, 0.0);
    std::ranges::fill(stream_item, kNone);
    std::ranges::fill(share_taken, 0);
    std::ranges::fill(held, Queue{});
    for (RankSet& ranks : ready) ranks.clear();
    std::ranges::fill(finished, 0);
    std::ranges::fill(updates, 0);
}

Outcome empty_outcome(const Problem& problem) {
    Outcome outcome;
    outcome.device_busy_s.resize(problem.devices);
    outcome.peak_bytes.resize(problem.devices);
    outcome.resident_bytes.resize(problem.devices);
    outcome.channel_busy_s.resize(problem.channels);
    outcome.channel_bytes.resize(problem.channels);
    outcome.channel_transfers.resize(problem.channels);
    return outcome;
}

void collect(const Tables& tables, const PlacedTables& placed, const RunState& run_state, Outcome& outcome) {
    const Problem& problem = tables.problem;
    const std::uint32_t batches = tables.options.batches;
    outcome.total_time_s = run_state.now_s;
    outcome.step_time_s = run_state.now_s / batches;
    outcome.steady_step_time_s.reset();
    if (tables.drained > tables.filled) {
        outcome.steady_step_time_s =
            (run_state.drained_s - run_state.filled_s) / static_cast<double>(tables.drained - tables.filled);
    }
    outcome.fits = true;
    outcome.resident_bytes = placed.resident_bytes;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        outcome.device_busy_s[device] = run_state.devices[device].busy_s;
        outcome.peak_bytes[device] = run_state.devices[device].peak_bytes;
        if (run_state.devices[device].peak_bytes > problem.memory_limit_bytes[device]) outcome.fits = false;
    }
    for (std::size_t channel = 0; channel < problem.channels; ++channel) {
        outcome.channel_busy_s[channel] = run_state.links[channel].busy_s;
        outcome.channel_bytes[channel] = run_state.links[channel].bytes;
        outcome.channel_transfers[channel] = run_state.links[channel].crossings;
    }
    outcome.ops_run = run_state.ops_run;
    outcome.transfers = run_state.transfers_sent;
}

}  // namespace placewright::event_loop
