// SPDX-License-Identifier: MIT
#include "core/sim/simulator.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/base/uint128.hpp"
#include "core/sim/memory_rules.hpp"

namespace placewright {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The pending completion of one resource. Keys order by time, then by the sequence number in which the work was started; the bit
/// pattern of a non-negative double orders as the number does, so one wide integer compare decides.
struct Event {
    std::uint64_t time_bits;
    std::uint64_t order;  ///< sequence << kResourceBits | resource

    /// 1024 devices and 65536 channels are 17 bits; the sequence keeps 47.
    static constexpr int kResourceBits = 17;

    double time_s() const { return std::bit_cast<double>(time_bits); }
    std::uint32_t resource() const { return static_cast<std::uint32_t>(order & ((1U << kResourceBits) - 1)); }
    bool before(const Event& other) const {
        return (static_cast<uint128>(time_bits) << 64 | order) < (static_cast<uint128>(other.time_bits) << 64 | other.order);
    }
};

/// Binary heap of at most one event a resource. The event that is being handled stays at the root until `pop` or `replace_top`,
/// so that a resource that goes on to its next piece of work costs one sift instead of two.
class EventHeap {
public:
    explicit EventHeap(std::size_t capacity) : events_(capacity) {}

    bool empty() const { return size_ == 0; }
    const Event& top() const { return events_[0]; }

    void push(const Event& event) {
        std::size_t hole = size_++;
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / 2;
            if (!event.before(events_[parent])) break;
            events_[hole] = events_[parent];
            hole = parent;
        }
        events_[hole] = event;
    }

    void pop() {
        --size_;
        if (size_ > 0) sift_down(events_[size_]);
    }

    void replace_top(const Event& event) { sift_down(event); }

private:
    void sift_down(const Event& event) {
        std::size_t hole = 0;
        for (std::size_t child = 1; child < size_; child = 2 * hole + 1) {
            if (child + 1 < size_ && events_[child + 1].before(events_[child])) ++child;
            if (!events_[child].before(event)) break;
            events_[hole] = events_[child];
            hole = child;
        }
        events_[hole] = event;
    }

    std::vector<Event> events_;
    std::size_t size_ = 0;
};

/// A first-in-first-out queue, linked through its items, and the item at work.
struct Queue {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t running = kNone;
    double start_s = 0;  ///< of the running item; traced runs only
    double busy_s = 0;
};

struct DeviceState : Queue {
    double memory_bytes = 0;
    double peak_bytes = 0;
};

struct ChannelState : Queue {
    double bytes = 0;
    std::uint64_t crossings = 0;
};

// What the loop asks of an op or a tensor stands side by side: in a large graph one cache miss in place of one a field.

/// An op under the placement at hand. Its outputs and inputs end where those of the next record begin.
struct OpRecord {
    double duration_s = 0;
    double output_bytes = 0;  ///< of all outputs
    TensorId first_output = 0;
    std::uint32_t first_input = 0;
};

/// Consumers end where those of the next record begin.
struct TensorRecord {
    double bytes = 0;
    std::uint32_t first_consumer = 0;
};

/// An op that waits for inputs in one batch.
struct Waiting {
    std::uint32_t missing = 0;  ///< inputs that are not on its device yet
    DeviceId device = 0;
};

/// One message: the tensors from `tensor` up to `tensor_end` that have readers on device `to`.
struct Transfer {
    TensorId tensor = 0, tensor_end = 0;
    std::uint32_t slot = 0;
    std::uint32_t hop = 0;  ///< index into Problem::route_channel
    std::uint32_t last_hop = 0;
    DeviceId from = 0, to = 0;
    std::uint32_t next = kNone;
    bool left = false;  ///< whether its first hop is done
    double queued_s = 0;
};

}  // namespace

/// A slot holds one batch in flight. Items of a device queue are `slot << op_bits | op`, those of a channel queue are indices into
/// `transfers`.
struct Simulator::State {
    std::shared_ptr<const Problem> shared;
    const Problem& problem;
    SimulationOptions options;
    std::uint32_t slots;
    int op_bits;

    // Of the placement at hand; what does not depend on it is filled in once.
    std::vector<OpRecord> ops;          ///< [ops + 1]
    std::vector<TensorRecord> tensors;  ///< [tensors + 1]
    std::vector<Waiting> fresh;         ///< [op]: as a batch is admitted
    std::vector<OpId> sources;          ///< ops without inputs by device
    std::vector<DeviceId> source_devices;
    std::vector<std::uint32_t> source_end;  ///< [device]: scratch of sorting the sources

    std::vector<Waiting> waiting;        ///< [item]
    std::vector<std::uint32_t> next_op;  ///< [item]: link of the device queues
    /// [(slot * tensors + tensor) * devices + device]: readers and outgoing transfers of the copy there. All zero between runs.
    std::vector<std::uint32_t> references;
    std::vector<Transfer> transfers;
    std::uint32_t free_transfer = kNone;                    ///< first of the given back ones
    std::uint32_t fresh_transfer = 0;                       ///< from here on none was used in this run
    std::vector<std::pair<TensorId, DeviceId>> departures;  ///< scratch of one event
    std::vector<DeviceState> devices;
    std::vector<ChannelState> channels;
    EventHeap heap;
    std::uint64_t sequence = 0;
    std::vector<std::uint32_t> batch_of, remaining;  ///< [slot]
    std::vector<std::uint32_t> free_slots;
    std::uint32_t admitted = 0;
    std::vector<double> queued_s;  ///< [item], traced runs only
    Outcome outcome;

    State(std::shared_ptr<const Problem> p, SimulationOptions o)
        : shared(std::move(p)),
          problem(*shared),
          options(o),
          slots(std::min(o.batches, o.in_flight)),
          op_bits(std::bit_width(problem.ops)),
          heap(problem.devices + problem.channels) {
        if (slots == 0) throw std::invalid_argument("a simulation needs at least one batch, and at least one in flight");
        if (std::uint64_t{slots} << op_bits >= kNone) throw std::length_error("too many batches in flight for a graph of this size");
        ops.resize(problem.ops + 1);
        fresh.resize(problem.ops);
        tensors.resize(problem.tensors + 1);
        std::size_t most_departures = 0;
        std::size_t most_transfers = 0;
        for (OpId op = 0; op < problem.ops; ++op) {
            std::size_t op_departures = 0;
            for (TensorId t = problem.output_begin[op]; t < problem.output_begin[op + 1]; ++t) {
                tensors[t] = {problem.tensor_bytes[t], problem.consumer_begin[t]};
                ops[op].output_bytes += problem.tensor_bytes[t];
                op_departures += std::min<std::size_t>(problem.consumer_begin[t + 1] - problem.consumer_begin[t], problem.devices - 1);
            }
            ops[op].first_output = problem.output_begin[op];
            ops[op].first_input = problem.input_begin[op];
            fresh[op].missing = problem.input_begin[op + 1] - problem.input_begin[op];
            most_departures = std::max(most_departures, op_departures);
            most_transfers += op_departures;
        }
        tensors.back().first_consumer = problem.consumer_begin.back();
        ops.back().first_output = problem.output_begin.back();
        ops.back().first_input = problem.input_begin.back();
        sources.resize(problem.sources.size());
        source_devices.reserve(problem.devices);
        source_end.resize(problem.devices);
        const std::size_t items = std::size_t{slots} << op_bits;
        waiting.resize(items);
        next_op.resize(items);
        references.assign(std::size_t{problem.tensors} * problem.devices * slots, 0);
        transfers.resize(most_transfers * slots);
        departures.resize(most_departures);
        devices.resize(problem.devices);
        channels.resize(problem.channels);
        batch_of.resize(slots);
        remaining.resize(slots);
        free_slots.reserve(slots);
        outcome.device_busy_s.resize(problem.devices);
        outcome.peak_bytes.resize(problem.devices);
        outcome.resident_bytes.resize(problem.devices);
        outcome.channel_busy_s.resize(problem.channels);
        outcome.channel_bytes.resize(problem.channels);
        outcome.channel_transfers.resize(problem.channels);
    }

    template <bool kTraced>
    const Outcome& run(std::span<const DeviceId> placement, Trace* trace);

    void reset(std::span<const DeviceId> placement);
    void collect_outcome();
};

namespace {

/// One run: the state by reference, and the loop. `kTraced` records spans and memory in the same loop, `Memory` is a rule of
/// memory_rules.hpp.
template <bool kTraced, class Memory, class State>
class Run {
public:
    Run(State& state, Trace* trace) : s_(state), p_(state.problem), trace_(trace) {}

    /// Returns the time of the last event.
    double operator()() {
        try_to_admit();
        while (!s_.heap.empty()) {
            const Event event = s_.heap.top();
            now_ = event.time_s();
            if (event.resource() < p_.devices) {
                end_op(static_cast<DeviceId>(event.resource()));
                // Only the end of an op can make room for a batch or leave a device idle.
                if (s_.admitted < s_.options.batches) try_to_admit();
            } else {
                end_hop(static_cast<ChannelId>(event.resource() - p_.devices));
            }
        }
        return now_;
    }

private:
    bool readers_release() const { return Memory::kInferenceFrees || !p_.inference; }

    /// Of the copies of a tensor, by device.
    std::uint32_t* references(std::uint32_t slot, TensorId tensor) {
        return &s_.references[(std::size_t{slot} * p_.tensors + tensor) * p_.devices];
    }

    void allocate(DeviceId device, double bytes) {
        DeviceState& state = s_.devices[device];
        state.memory_bytes += bytes;
        if constexpr (Memory::kCountsWithinEvents) {
            state.peak_bytes = std::max(state.peak_bytes, state.memory_bytes);
            sample(device, true);
        }
    }

    void release(DeviceId device, double bytes) {
        s_.devices[device].memory_bytes -= bytes;
        if constexpr (Memory::kCountsWithinEvents) sample(device, false);
    }

    /// The event has been handled as far as the memory of this device goes.
    void settle(DeviceId device) {
        if constexpr (!Memory::kCountsWithinEvents) {
            DeviceState& state = s_.devices[device];
            state.peak_bytes = std::max(state.peak_bytes, state.memory_bytes);
            sample(device, true);
        }
    }

    /// Of samples at one time on one device in a row the last is kept, and every one that is higher than its neighbours: it may be the
    /// peak.
    void sample(DeviceId device, bool rose) {
        if constexpr (kTraced) {
            auto& samples = trace_->memory;
            const bool repeated = samples.back().device == device && samples.back().time_s == now_;
            if (repeated && (rose || !rose_)) {
                samples.back().bytes = s_.devices[device].memory_bytes;
            } else {
                samples.push_back({device, now_, s_.devices[device].memory_bytes});
            }
            rose_ = rose;
        }
    }

    Event completion(double duration_s, std::uint32_t resource) {
        return {std::bit_cast<std::uint64_t>(now_ + duration_s), s_.sequence++ << Event::kResourceBits | resource};
    }

    void enqueue_op(std::uint32_t item, OpId op, DeviceId device) {
        if constexpr (kTraced) s_.queued_s[item] = now_;
        DeviceState& state = s_.devices[device];
        if (state.running == kNone) {
            s_.heap.push(start_op(state, device, item, op));
            return;
        }
        s_.next_op[item] = kNone;
        if (state.head == kNone) {
            state.head = item;
        } else {
            s_.next_op[state.tail] = item;
        }
        state.tail = item;
    }

    Event start_op(DeviceState& state, DeviceId device, std::uint32_t item, OpId op) {
        const OpRecord& record = s_.ops[op];
        state.running = item;
        if constexpr (kTraced) state.start_s = now_;
        state.busy_s += record.duration_s;
        if constexpr (Memory::kAllocatesAtStart) allocate(device, record.output_bytes);
        return completion(record.duration_s, device);
    }

    void end_op(DeviceId device) {
        DeviceState& state = s_.devices[device];
        const std::uint32_t item = state.running;
        const std::uint32_t slot = item >> s_.op_bits;
        const std::uint32_t base = slot << s_.op_bits;
        const OpId op = item - base;
        if constexpr (kTraced) {
            Span span;
            span.resource = device;
            span.op = op;
            span.batch = s_.batch_of[slot];
            span.queued_s = s_.queued_s[item];
            span.start_s = state.start_s;
            span.end_s = now_;
            trace_->spans.push_back(span);
        }
        ++s_.outcome.ops_run;

        const OpRecord* const record = &s_.ops[op];
        std::size_t departing = 0;
        for (TensorId tensor = record[0].first_output; tensor < record[1].first_output; ++tensor) {
            const TensorRecord* const output = &s_.tensors[tensor];
            std::uint32_t* const readers = references(slot, tensor);
            std::uint32_t copies = 0;
            for (std::uint32_t i = output[0].first_consumer; i < output[1].first_consumer; ++i) {
                const OpId consumer = p_.consumer[i];
                Waiting& waiting = s_.waiting[base + consumer];
                if (waiting.device == device) {
                    ++copies;
                    if (--waiting.missing == 0) enqueue_op(base + consumer, consumer, device);
                } else if (readers[waiting.device]++ == 0) {
                    ++copies;
                    s_.departures[departing++] = {tensor, waiting.device};
                }
            }
            readers[device] = copies;
            if constexpr (Memory::kAllocatesAtStart) {
                if (copies == 0) release(device, output[0].bytes);
            } else if (copies > 0) {
                allocate(device, output[0].bytes);
            }
        }
        if (departing > 1 && p_.sends_together[op]) {
            depart_together(slot, op, device, departing);
        } else {
            for (std::size_t i = 0; i < departing; ++i) {
                const auto [tensor, target] = s_.departures[i];
                depart(slot, tensor, tensor + 1, device, target);
            }
        }
        if (readers_release()) {
            for (std::uint32_t i = record[0].first_input; i < record[1].first_input; ++i) drop_reference(slot, p_.input[i], device);
        }
        settle(device);

        if (state.head == kNone) {
            state.running = kNone;
            s_.heap.pop();
        } else {
            const std::uint32_t next = state.head;
            state.head = s_.next_op[next];
            s_.heap.replace_top(start_op(state, device, next, next & ((1U << s_.op_bits) - 1)));
        }
        if (--s_.remaining[slot] == 0) s_.free_slots.push_back(slot);
    }

    void drop_reference(std::uint32_t slot, TensorId tensor, DeviceId device) {
        if (--references(slot, tensor)[device] == 0) release(device, s_.tensors[tensor].bytes);
    }

    /// One message a device, in the order in which the devices come up in the departures.
    void depart_together(std::uint32_t slot, OpId op, DeviceId from, std::size_t departing) {
        for (std::size_t i = 0; i < departing; ++i) {
            const DeviceId to = s_.departures[i].second;
            const auto first =
                std::find_if(s_.departures.begin(), s_.departures.end(), [&](const auto& other) { return other.second == to; });
            if (first == s_.departures.begin() + static_cast<std::ptrdiff_t>(i)) {
                depart(slot, p_.output_begin[op], p_.output_begin[op + 1], from, to);
            }
        }
    }

    void depart(std::uint32_t slot, TensorId tensor, TensorId tensor_end, DeviceId from, DeviceId to) {
        const bool reuse = s_.free_transfer != kNone;
        const std::uint32_t index = reuse ? s_.free_transfer : s_.fresh_transfer++;
        Transfer& transfer = s_.transfers[index];
        if (reuse) s_.free_transfer = transfer.next;
        transfer.tensor = tensor;
        transfer.tensor_end = tensor_end;
        transfer.slot = slot;
        transfer.from = from;
        transfer.to = to;
        transfer.left = false;
        const std::uint32_t route = static_cast<std::uint32_t>(from) * p_.devices + to;
        transfer.hop = p_.route_begin[route];
        transfer.last_hop = p_.route_begin[route + 1] - 1;
        ++s_.outcome.transfers;
        enqueue_hop(index);
    }

    void enqueue_hop(std::uint32_t index) {
        Transfer& transfer = s_.transfers[index];
        const ChannelId channel = p_.route_channel[transfer.hop];
        ChannelState& state = s_.channels[channel];
        if constexpr (kTraced) transfer.queued_s = now_;
        if (state.running == kNone) {
            s_.heap.push(start_hop(state, channel, index));
            return;
        }
        transfer.next = kNone;
        if (state.head == kNone) {
            state.head = index;
        } else {
            s_.transfers[state.tail].next = index;
        }
        state.tail = index;
    }

    /// Calls `visit` with each tensor of a message.
    template <class Visitor>
    void for_each_tensor(const Transfer& transfer, Visitor visit) {
        if (transfer.tensor + 1 == transfer.tensor_end) {
            visit(transfer.tensor);
            return;
        }
        for (TensorId tensor = transfer.tensor; tensor < transfer.tensor_end; ++tensor) {
            if (references(transfer.slot, tensor)[transfer.to] != 0) visit(tensor);
        }
    }

    Event start_hop(ChannelState& state, ChannelId channel, std::uint32_t index) {
        const Transfer& transfer = s_.transfers[index];
        double duration_s = 0;
        double bytes = 0;
        for_each_tensor(transfer, [&](TensorId tensor) {
            duration_s += p_.transfer_s[std::size_t{tensor} * p_.channel_classes + p_.channel_class[channel]];
            bytes += s_.tensors[tensor].bytes;
        });
        state.running = index;
        if constexpr (kTraced) state.start_s = now_;
        state.busy_s += duration_s;
        state.bytes += bytes;
        ++state.crossings;
        if constexpr (Memory::kAllocatesAtStart) {
            if (transfer.hop == transfer.last_hop) allocate(transfer.to, bytes);
        }
        return completion(duration_s, p_.devices + channel);
    }

    void end_hop(ChannelId channel) {
        ChannelState& state = s_.channels[channel];
        const std::uint32_t index = state.running;
        Transfer& transfer = s_.transfers[index];
        if constexpr (kTraced) {
            Span span;
            span.kind = Span::Kind::transfer;
            span.resource = channel;
            span.from = transfer.from;
            span.to = transfer.to;
            span.op = p_.producer[transfer.tensor];
            for_each_tensor(transfer, [&](TensorId tensor) {
                if (span.bytes == 0) span.tensor = tensor;
                span.bytes += s_.tensors[tensor].bytes;
            });
            span.batch = s_.batch_of[transfer.slot];
            span.queued_s = transfer.queued_s;
            span.start_s = state.start_s;
            span.end_s = now_;
            trace_->spans.push_back(span);
        }
        if (!transfer.left) {
            transfer.left = true;
            for_each_tensor(transfer, [&](TensorId tensor) { drop_reference(transfer.slot, tensor, transfer.from); });
        }
        if (transfer.hop == transfer.last_hop) {
            for_each_tensor(transfer, [&](TensorId tensor) { arrive(transfer, tensor); });
            transfer.next = s_.free_transfer;
            s_.free_transfer = index;
        } else {
            ++transfer.hop;
            enqueue_hop(index);
        }
        settle(transfer.from);
        settle(transfer.to);
        // A route may cross one channel twice; then this very transfer can be at the head of the queue by now.
        if (state.head == kNone) {
            state.running = kNone;
            s_.heap.pop();
        } else {
            const std::uint32_t next = state.head;
            state.head = s_.transfers[next].next;
            s_.heap.replace_top(start_hop(state, channel, next));
        }
    }

    void arrive(const Transfer& transfer, TensorId tensor) {
        const std::uint32_t base = transfer.slot << s_.op_bits;
        const TensorRecord* const record = &s_.tensors[tensor];
        if constexpr (!Memory::kAllocatesAtStart) allocate(transfer.to, record[0].bytes);
        for (std::uint32_t i = record[0].first_consumer; i < record[1].first_consumer; ++i) {
            const OpId consumer = p_.consumer[i];
            Waiting& waiting = s_.waiting[base + consumer];
            if (waiting.device == transfer.to && --waiting.missing == 0) enqueue_op(base + consumer, consumer, transfer.to);
        }
    }

    /// Exprimo's rule: a batch enters when there is room and every device that holds an op without inputs is idle; one batch a try.
    void try_to_admit() {
        if (s_.free_slots.empty()) return;
        for (const DeviceId device : s_.source_devices) {
            if (s_.devices[device].running != kNone) return;
        }
        const std::uint32_t slot = s_.free_slots.back();
        s_.free_slots.pop_back();
        s_.batch_of[slot] = s_.admitted++;
        s_.remaining[slot] = p_.ops;
        if (!readers_release()) {
            const std::size_t count = std::size_t{p_.tensors} * p_.devices;
            std::fill_n(s_.references.begin() + static_cast<std::ptrdiff_t>(slot * count), count, 0);
        }
        const std::uint32_t base = slot << s_.op_bits;
        std::ranges::copy(s_.fresh, s_.waiting.begin() + base);
        for (const OpId op : s_.sources) enqueue_op(base + op, op, s_.fresh[op].device);
    }

    State& s_;
    const Problem& p_;
    Trace* trace_;
    double now_ = 0;
    bool rose_ = false;  ///< whether the last memory sample was an allocation
};

}  // namespace

void Simulator::State::reset(std::span<const DeviceId> placement) {
    assert(placement.size() == problem.groups);
    std::ranges::fill(devices, DeviceState{});
    std::ranges::fill(channels, ChannelState{});
    for (OpId op = 0; op < problem.ops; ++op) {
        const DeviceId device = placement[problem.grouping.group_of[op]];
        fresh[op].device = device;
        ops[op].duration_s = problem.time_s(op, device);
        devices[device].memory_bytes += problem.resident_bytes[op];
    }
    for (DeviceId device = 0; device < problem.devices; ++device) {
        outcome.resident_bytes[device] = devices[device].peak_bytes = devices[device].memory_bytes;
    }

    std::ranges::fill(source_end, 0);
    for (const OpId op : problem.sources) ++source_end[fresh[op].device];
    source_devices.clear();
    std::uint32_t begin = 0;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (source_end[device] > 0) source_devices.push_back(device);
        begin += std::exchange(source_end[device], begin);
    }
    for (const OpId op : problem.sources) sources[source_end[fresh[op].device]++] = op;

    free_slots.clear();
    for (std::uint32_t slot = slots; slot > 0; --slot) free_slots.push_back(slot - 1);
    admitted = 0;
    sequence = 0;
    free_transfer = kNone;
    fresh_transfer = 0;
    outcome.ops_run = 0;
    outcome.transfers = 0;
}

void Simulator::State::collect_outcome() {
    outcome.fits = true;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        outcome.device_busy_s[device] = devices[device].busy_s;
        outcome.peak_bytes[device] = devices[device].peak_bytes;
        if (devices[device].peak_bytes > problem.machine->device(device).memory_bytes) outcome.fits = false;
    }
    for (std::size_t channel = 0; channel < channels.size(); ++channel) {
        outcome.channel_busy_s[channel] = channels[channel].busy_s;
        outcome.channel_bytes[channel] = channels[channel].bytes;
        outcome.channel_transfers[channel] = channels[channel].crossings;
    }
}

template <bool kTraced>
const Outcome& Simulator::State::run(std::span<const DeviceId> placement, Trace* trace) {
    reset(placement);
    if constexpr (kTraced) {
        trace->spans.clear();
        trace->memory.clear();
        queued_s.resize(waiting.size());
        for (DeviceId device = 0; device < problem.devices; ++device) trace->memory.push_back({device, 0, devices[device].memory_bytes});
    }
    outcome.total_time_s = problem.memory == MemoryModel::training ? Run<kTraced, TrainingMemory, State>(*this, trace)()
                                                                   : Run<kTraced, ExprimoMemory, State>(*this, trace)();
    outcome.step_time_s = outcome.total_time_s / options.batches;
    collect_outcome();
    return outcome;
}

Simulator::Simulator(std::shared_ptr<const Problem> problem, SimulationOptions options)
    : state_(std::make_unique<State>(std::move(problem), options)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

const Problem& Simulator::problem() const {
    return state_->problem;
}
const SimulationOptions& Simulator::options() const {
    return state_->options;
}

const Outcome& Simulator::run(std::span<const DeviceId> placement) {
    return state_->run<false>(placement, nullptr);
}

const Outcome& Simulator::run(std::span<const DeviceId> placement, Trace& trace) {
    return state_->run<true>(placement, &trace);
}

}  // namespace placewright
