// SPDX-License-Identifier: MIT
// The event loop of the simulator. Each use of the Loop takes the compiler half a minute: include it only
// where a loop with another hook is needed, and run_loop.hpp elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/sim/memory_rules.hpp"
#include "core/sim/run_tables.hpp"

// The whole loop is inlined, which saves a third of its time; with sanitizers that would take the compiler
// many minutes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLACEWRIGHT_INLINE_ALL
#else
#define PLACEWRIGHT_INLINE_ALL [[gnu::flatten]]
#endif

namespace placewright::event_loop {

/// Compile-time features of a loop: neither Tables::legs nor Tables::general, the former, both, or
/// Tables::in_program_order with legs.
enum class Features : std::uint8_t { none, legs, all, program };

/// A loop that calls nothing after its events.
struct NoHook {
    static constexpr bool kActive = false;
};

/// One run: resumes from `run_state` and runs to the end. `kTraced` records spans and memory in the same
/// loop, `Memory` is a rule of memory_rules.hpp, `kFeatures` are those of the tables. `hook.after(op,
/// transfer, now_s)` is called after each event with the op that ended, or the index of the message whose leg
/// ended. It may replace `run_state`; if it returns true, the run ends there.
template <bool kTraced, class Memory, Features kFeatures, class Hook>
class Loop {
    static constexpr bool kLegs = kFeatures != Features::none;
    static constexpr bool kGeneral = kFeatures == Features::all;
    static constexpr bool kProgram = kFeatures == Features::program;

public:
    Loop(const Tables& tables, const PlacedTables& placed, RunState& run_state, Trace* trace = nullptr,
         Hook* hook = nullptr)
        : l_(tables),
          p_(tables.problem),
          plan_(placed),
          s_(run_state),
          trace_(trace),
          hook_(hook),
          now_s_(run_state.now_s),
          batches_(tables.options.batches),
          device_count_(tables.problem.devices),
          slot_references_(tables.tensor_count() * tables.problem.devices),
          op_bits_(tables.op_bits),
          leg_bits_(tables.leg_bits),
          ops_(placed.ops.data()),
          tensors_(tables.tensors.data()),
          consumer_(tables.problem.consumer.data()),
          input_(tables.problem.input.data()),
          legs_(tables.leg_table.data()),
          leg_link_(tables.leg_link.data()),
          waiting_(run_state.waiting.data()),
          next_op_(run_state.next_op.data()),
          references_(run_state.references.data()),
          transfers_(run_state.transfers.data()),
          next_transfer_(run_state.next_transfer.data()),
          devices_(run_state.devices.data()),
          links_(run_state.links.data()) {}

    void start() { admit(); }

    /// Runs to the end.
    PLACEWRIGHT_INLINE_ALL void operator()() {
        while (!s_.heap.empty()) {
            const Event event = s_.heap.top();
            now_s_ = event.time_s();
            OpId ended = kInvalidOp;
            std::uint32_t transfer = kNone;
            if (event.resource() < stream_count()) {
                ended = end_op(event.resource());
                // Only the end of an op can make room for a batch or leave a device idle.
                if (s_.admitted < batches_) admit();
            } else {
                transfer = end_leg(event.resource() - stream_count());
            }
            if constexpr (Hook::kActive) {
                if (hook_->after(ended, transfer, now_s_)) return;
            }
        }
        s_.now_s = now_s_;
    }

private:
    std::uint32_t stream_count() const { return kGeneral ? l_.streams() : device_count_; }

    std::span<const std::uint32_t> links_of(std::uint32_t leg) const {
        return {leg_link_ + legs_[leg].first_link, legs_[leg].links};
    }

    bool readers_release() const { return placewright::readers_release<Memory>(p_); }

    OpId op_of(std::uint32_t item) const { return item & ((1U << op_bits_) - 1); }

    /// References to the copies of a tensor, by device.
    std::uint32_t* references(std::uint32_t slot, TensorId tensor) {
        return references_of(slot) + std::size_t{tensor} * device_count_;
    }
    std::uint32_t* references_of(std::uint32_t slot) { return references_ + slot * slot_references_; }

    // --- Memory

    void allocate(DeviceId device, double bytes) {
        DeviceState& state = devices_[device];
        state.memory_bytes += bytes;
        if constexpr (Memory::kCountsWithinEvents) {
            state.peak_bytes = std::max(state.peak_bytes, state.memory_bytes);
            sample(device, true);
        }
    }

    void release(DeviceId device, double bytes) {
        devices_[device].memory_bytes -= bytes;
        if constexpr (Memory::kCountsWithinEvents) sample(device, false);
    }

    /// Called when the event has been handled as far as the memory of this device is concerned.
    void settle(DeviceId device) {
        if constexpr (!Memory::kCountsWithinEvents) {
            DeviceState& state = devices_[device];
            state.peak_bytes = std::max(state.peak_bytes, state.memory_bytes);
            if constexpr (kTraced) {
                const MemorySample& last = trace_->memory.back();
                sample(device, last.device != device || state.memory_bytes >= last.bytes);
            }
        }
    }

    /// Records a memory sample. Of consecutive samples of one device at the same time, keeps the last one and
    /// every one that is higher than its neighbours, since it may be the peak.
    void sample(DeviceId device, bool rose) {
        if constexpr (kTraced) {
            auto& samples = trace_->memory;
            const bool repeated = samples.back().device == device && samples.back().time_s == now_s_;
            if (repeated && (rose || !rose_)) {
                samples.back().bytes = devices_[device].memory_bytes;
            } else {
                samples.push_back({device, now_s_, devices_[device].memory_bytes});
            }
            rose_ = rose;
        }
    }

    void drop_reference(std::uint32_t slot, TensorId tensor, DeviceId device) {
        drop(references_of(slot) + device, slot, tensor, device);
    }

    /// `counts`: the references to the slot's first tensor on the device.
    void drop(std::uint32_t* counts, std::uint32_t slot, TensorId tensor, DeviceId device) {
        if (--counts[std::size_t{tensor} * device_count_] != 0) return;
        const TensorRecord& record = tensors_[tensor];
        if (record.shares == kNone) [[likely]] {
            release(device, record.bytes);
        } else {
            free_view(slot, tensor, device);
        }
    }

    /// Frees the copy of a tensor that shares memory with another one, and no longer keeps that one alive
    /// where it does so.
    [[gnu::noinline]] void free_view(std::uint32_t slot, TensorId tensor, DeviceId device) {
        while (true) {
            const TensorRecord& record = tensors_[tensor];
            if (record.shares == kNone || plan_.fresh[p_.producer[tensor]].device != device)
                return release(device, record.bytes);
            if (record.shares == tensor) return;
            tensor = record.shares;
            if (--references(slot, tensor)[device] != 0) return;
        }
    }

    // --- Ops

    void note_start(double at_s, double& start_s, std::uint32_t& started_by) const {
        start_s = at_s;
        started_by = trace_->spans.empty() ? kNoSpan : static_cast<std::uint32_t>(trace_->spans.size() - 1);
    }

    Event completion(double end_s, std::uint32_t resource) {
        return {std::bit_cast<std::uint64_t>(end_s), s_.sequence++ << Event::kResourceBits | resource};
    }

    std::uint64_t op_key(std::uint32_t item) const {
        const OpId op = op_of(item);
        const std::uint64_t batch = s_.batch_of[item >> op_bits_];
        switch (l_.options.order) {
            case Order::fifo:
                break;
            case Order::critical_path:
                return batch << 32 | l_.rank[op];
            case Order::gpipe:
                return static_cast<std::uint64_t>(l_.phase[op]) << 32 | batch;
            case Order::one_forward_one_backward:
                return std::uint64_t{l_.phase[op] == Phase::forward} << 32 | batch;
        }
        return 0;
    }

    void enqueue_op(std::uint32_t item, OpId op, DeviceId device) {
        if constexpr (kTraced) s_.queued_s[item] = now_s_;
        DeviceState& state = devices_[device];
        if constexpr (kGeneral) {
            if (is_held(item, device)) {
                hold_op(item, device);
            } else {
                queue_op(item, device);
            }
        } else if constexpr (kProgram) {
            // On the device of an op that ends, running is still that op; its end starts the next one.
            if (state.running == kNone && is_next(item, device)) push_next(device);
        } else if (state.running == kNone) {
            s_.heap.push(start_op(state, device, item, op));
        } else {
            state.queue.append(item, next_op_);
        }
    }

    Event start_op(DeviceState& state, DeviceId device, std::uint32_t item, OpId op) {
        const OpRecord& record = ops_[op];
        state.running = item;
        const double start_s = kProgram ? start_of(item, op) : now_s_;
        const double duration_s = kProgram ? general_duration_s(op, device) : record.duration_s;
        if constexpr (kTraced) note_start(start_s, state.start_s, state.started_by);
        state.busy_s += duration_s;
        if constexpr (Memory::kAllocatesAtStart) allocate(device, record.start_bytes);
        return completion(start_s + duration_s, device);
    }

    /// Whether the order of the batches keeps a ready item out of the queue.
    bool is_held(std::uint32_t item, DeviceId device) const {
        if (l_.options.order == Order::gpipe)
            return l_.phase[op_of(item)] != Phase::forward && s_.forward_left[device] > 0;
        if (l_.options.order != Order::one_forward_one_backward) return false;
        // The first batches may run: as many as have ended there, plus the limit.
        return s_.batch_of[item >> op_bits_] >= std::uint64_t{plan_.limit[device]} + s_.finished[device];
    }

    /// Holds an item; held batches are released in their order.
    void hold_op(std::uint32_t item, DeviceId device) {
        const bool by_batch = l_.options.order == Order::one_forward_one_backward;
        insert_op(s_.held[device], item, by_batch ? s_.batch_of[item >> op_bits_] : 0);
    }

    /// Queues an item; ops start when an event has queued everything that it makes ready, but first come,
    /// first served gives the same result as starting at once.
    void queue_op(std::uint32_t item, DeviceId device) {
        Queue& queue = devices_[device].queue;
        if (l_.ranks_ops()) {
            const std::uint32_t rank = l_.rank[item];
            s_.ready[device].insert(rank);
            if (queue.empty() || rank < l_.rank[queue.head]) queue.head = item;
        } else if (l_.sorts_ops()) {
            insert_op(queue, item, op_key(item));
        } else {
            queue.append(item, next_op_);
        }
    }

    /// Takes the first item of a device's queue.
    std::uint32_t take_ready(DeviceId device) {
        Queue& queue = devices_[device].queue;
        if (!l_.ranks_ops()) return take_op(queue);
        RankSet& ready = s_.ready[device];
        const OpId op = queue.head;
        ready.erase(l_.rank[op]);
        const std::uint32_t next = ready.first();
        queue.head = next == kNone ? kNone : l_.op_of_rank[next];
        return op;
    }

    void insert_op(Queue& queue, std::uint32_t item, std::uint64_t key) {
        s_.op_place[item] = {key, s_.arrivals++};
        queue.insert(item, next_op_, s_.op_child.data(), op_before());
    }

    std::uint32_t take_op(Queue& queue) {
        return l_.sorts_ops() ? queue.take_first(next_op_, s_.op_child.data(), op_before())
                              : queue.take(next_op_);
    }

    auto op_before() const {
        return [places = s_.op_place.data()](std::uint32_t item, std::uint32_t other) {
            return places[item].before(places[other]);
        };
    }

    /// Starts ops from the head of the queue while they fit.
    void start_ops(DeviceId device) {
        DeviceState& state = devices_[device];
        while (!state.queue.empty()) {
            const OpId op = op_of(state.queue.head);
            const bool idle = state.running == kNone;
            std::uint32_t stream = l_.stream_begin[device];
            if (!idle) {
                while (stream < l_.stream_begin[device + 1] && s_.stream_item[stream] != kNone) ++stream;
                if (stream == l_.stream_begin[device + 1]) return;
                if (s_.share_taken[device] + share(op, device) > Tables::kWholeDevice) return;
            }
            const std::uint32_t item = take_ready(device);
            state.running = idle ? 1 : state.running + 1;
            s_.stream_item[stream] = item;
            const double start_s = issued_start(item, op, device);
            if constexpr (kTraced)
                note_start(start_s, s_.stream_start_s[stream], s_.stream_started_by[stream]);
            s_.share_taken[device] += share(op, device);
            const double duration_s = general_duration_s(op, device);
            state.busy_s += duration_s;
            if constexpr (Memory::kAllocatesAtStart) allocate(device, ops_[op].start_bytes);
            s_.heap.push(completion(start_s + duration_s, stream));
        }
    }

    /// When an op of a pipeline starts that may start now: the device's own host issues its ops one after the
    /// other.
    double issued_start(std::uint32_t item, OpId op, DeviceId device) {
        if (l_.host_s == 0) return now_s_;
        if (l_.is_host[device]) {
            if constexpr (kTraced) s_.issues[item] = {};
            return now_s_;
        }
        double& end_s = s_.issued_s[device];
        const double begin_s = end_s;
        end_s += l_.host_op_s[op];
        if constexpr (kTraced) s_.issues[item] = {begin_s, end_s, static_cast<std::uint16_t>(device + 1)};
        return std::max(now_s_, end_s);
    }

    // --- Program order

    bool is_next(std::uint32_t item, DeviceId device) const {
        const auto [position, batch] = s_.cursor[device];
        return position < plan_.program_begin[device + 1] && plan_.program[position] == op_of(item) &&
               s_.batch_of[item >> op_bits_] == batch;
    }

    /// The next item of an idle device, taken if it may start; otherwise kNone.
    std::uint32_t take_next(DeviceId device) {
        auto& [position, batch] = s_.cursor[device];
        if (position == plan_.program_begin[device + 1] || batch >= s_.admitted) return kNone;
        const std::uint32_t item = batch % l_.slots << op_bits_ | plan_.program[position];
        if (waiting_[item].missing > 0 || (l_.host_s > 0 && host_base_s(item) < 0)) return kNone;
        if (++position == plan_.program_begin[device + 1] && batch + 1 < batches_) {
            position = plan_.program_begin[device];
            ++batch;
        }
        return item;
    }

    void push_next(DeviceId device) {
        const std::uint32_t item = take_next(device);
        if (item != kNone) s_.heap.push(start_op(devices_[device], device, item, op_of(item)));
    }

    void push_all_next() {
        for (DeviceId device = 0; device < device_count_; ++device) {
            if (devices_[device].running == kNone) push_next(device);
        }
    }

    /// From when the issue of an item is measured; negative if that is not yet known.
    double host_base_s(std::uint32_t item) const {
        const std::uint32_t slot = item >> op_bits_;
        if (plan_.last_stop == kInvalidOp) return s_.host_base_s[slot];
        const OpId stop = plan_.stop[op_of(item)];
        return stop == kInvalidOp ? s_.host_base_s[slot] : s_.stop_s[slot << op_bits_ | stop];
    }

    double start_of(std::uint32_t item, OpId op) {
        if (l_.host_s == 0) return now_s_;
        const double base_s = host_base_s(item);
        const double end_s = base_s + plan_.host[op].issue_s;
        if constexpr (kTraced) s_.issues[item] = plan_.issue_of(l_, op, base_s);
        return std::max(now_s_, end_s);
    }

    /// Called when the host has issued all of a batch, or will have at a time that is known now: it begins
    /// with the next batch.
    void begin_next(std::uint32_t slot) {
        const std::uint32_t next = s_.batch_of[slot] + 1;
        if (next < s_.admitted) s_.host_base_s[next % l_.slots] = std::max(now_s_, host_end_s(slot));
    }

    /// When the host has issued the last op of a batch; negative if that is not yet known.
    double host_end_s(std::uint32_t slot) const {
        const double base_s = plan_.last_stop == kInvalidOp ? s_.host_base_s[slot]
                                                            : s_.stop_s[slot << op_bits_ | plan_.last_stop];
        return base_s < 0 ? base_s : base_s + plan_.last_issue_s;
    }

    /// Called when an op ends that the host waited for: it issues what comes behind.
    void end_stop(std::uint32_t slot, OpId op) {
        s_.stop_s[slot << op_bits_ | op] = now_s_;
        if (op == plan_.last_stop) begin_next(slot);
    }

    void admit_program() {
        bool admitted = false;
        for (; !s_.free_slots.empty() && s_.admitted < batches_; admitted = true) {
            const std::uint32_t batch = s_.admitted;
            // Batches end in their order, so this one's slot is free.
            std::ranges::iter_swap(std::ranges::find(s_.free_slots, batch % l_.slots),
                                   s_.free_slots.end() - 1);
            if (l_.host_s > 0) begin_host(batch);
            admit_batch();
        }
        if (admitted) push_all_next();
    }

    void begin_host(std::uint32_t batch) {
        const std::uint32_t slot = batch % l_.slots;
        const double end_s = batch == 0 ? 0 : host_end_s((batch - 1) % l_.slots);
        s_.host_base_s[slot] = end_s < 0 ? end_s : std::max(now_s_, end_s);
        for (OpId op = plan_.last_stop; op != kInvalidOp; op = plan_.stop[op])
            s_.stop_s[slot << op_bits_ | op] = -1;
    }

    std::uint32_t share(OpId op, DeviceId device) const {
        return l_.share.empty() ? 0 : l_.share[std::size_t{op} * device_count_ + device];
    }

    double general_duration_s(OpId op, DeviceId device) {
        const double duration_s = ops_[op].duration_s;
        if (!p_.accumulates || p_.graph->op(op).phase != Phase::update) return duration_s;
        const std::uint32_t start = ++s_.updates[op];
        const double added_s = start == 1 ? 0 : p_.accumulate_s[std::size_t{op} * device_count_ + device];
        const double updating_s = p_.time_s(op, device);
        const double host_s = duration_s - updating_s;
        return host_s + added_s + (start == l_.options.batches ? updating_s : 0);
    }

    /// Queues the held items that the end of an op releases; those of a batch in the order in which they
    /// became ready.
    void release_held(DeviceId device, OpId op, std::uint32_t slot) {
        if (l_.options.order == Order::gpipe) {
            if (l_.phase[op] == Phase::forward) --s_.forward_left[device];
        } else if (l_.options.order == Order::one_forward_one_backward) {
            if (--s_.left[std::size_t{slot} * device_count_ + device] == 0) ++s_.finished[device];
        } else {
            return;
        }
        Queue& held = s_.held[device];
        while (!held.empty() && !is_held(held.head, device)) queue_op(take_op(held), device);
    }

    OpId end_op(std::uint32_t stream) {
        const DeviceId device = kGeneral ? l_.stream_device[stream] : static_cast<DeviceId>(stream);
        DeviceState& state = devices_[device];
        const std::uint32_t item = kGeneral ? s_.stream_item[stream] : state.running;
        const std::uint32_t slot = item >> op_bits_;
        const std::uint32_t base = slot << op_bits_;
        const OpId op = item - base;
        if constexpr (kTraced) {
            Span span;
            span.resource = device;
            span.op = op;
            if (p_.streams_to && plan_.placed_on[op] != device) span.from = plan_.placed_on[op];
            span.batch = s_.batch_of[slot];
            span.queued_s = s_.queued_s[item];
            span.start_s = kGeneral ? s_.stream_start_s[stream] : state.start_s;
            span.end_s = now_s_;
            if constexpr (kGeneral)
                span.stream = static_cast<std::uint16_t>(stream - l_.stream_begin[device]);
            trace_->spans.push_back(span);
            trace_->started_by.push_back(kGeneral ? s_.stream_started_by[stream] : state.started_by);
            if (l_.host_s > 0) trace_->issues.push_back(s_.issues[item]);
        }
        ++s_.ops_run;
        if constexpr (kGeneral || kProgram) {
            if constexpr (Memory::kAllocatesAtStart) {
                if (p_.workspace_bytes[op] > 0) release(device, p_.workspace_bytes[op]);
            }
        }
        if constexpr (kGeneral) release_held(device, op, slot);

        const OpRecord* const record = &ops_[op];
        Waiting* const batch = waiting_ + base;
        auto* const departures = s_.departures.data();
        std::size_t departing = 0;
        for (TensorId tensor = record[0].first_output; tensor < record[1].first_output; ++tensor) {
            const TensorRecord* const output = &tensors_[tensor];
            std::uint32_t* const readers = references(slot, tensor);
            std::uint32_t copies = 0;
            for (std::uint32_t i = output[0].first_consumer; i < output[1].first_consumer; ++i) {
                const OpId consumer = consumer_[i];
                Waiting& waiting = batch[consumer];
                if (waiting.device == device) {
                    ++copies;
                    if (--waiting.missing == 0) enqueue_op(base + consumer, consumer, device);
                } else if (readers[waiting.device]++ == 0) {
                    ++copies;
                    departures[departing++] = {tensor, waiting.device};
                }
            }
            readers[device] = copies;
            if constexpr (Memory::kAllocatesAtStart) {
                if (output[0].shares == kNone) {
                    if (copies == 0) release(device, output[0].bytes);
                } else if (copies > 0 && output[0].shares != tensor) {
                    ++references(slot, output[0].shares)[device];
                }
            } else if (copies > 0 && output[0].shares == kNone) {
                allocate(device, output[0].bytes);
            }
        }
        if (departing > 1 && p_.sends_together[op]) {
            depart_together(slot, op, device, departing);
        } else {
            for (std::size_t i = 0; i < departing; ++i) {
                const auto [tensor, target] = departures[i];
                depart(slot, tensor, tensor + 1, device, target);
            }
        }
        if constexpr (kGeneral) start_legs(false);
        if (readers_release()) {
            std::uint32_t* const counts = references_of(slot) + device;
            for (std::uint32_t i = record[0].first_input; i < record[1].first_input; ++i)
                drop(counts, slot, input_[i], device);
        }
        if (!plan_.stream.empty()) end_streamed(slot, op, device);
        settle(device);

        if constexpr (kGeneral) {
            s_.heap.pop();
            s_.stream_item[stream] = kNone;
            state.running = state.running == 1 ? kNone : state.running - 1;
            s_.share_taken[device] -= share(op, device);
            start_ops(device);
        } else if constexpr (kProgram) {
            const bool stop = l_.host_s > 0 && plan_.stops[op];
            if (stop) end_stop(slot, op);
            const std::uint32_t next = take_next(device);
            if (next == kNone) {
                state.running = kNone;
                s_.heap.pop();
            } else {
                s_.heap.replace_top(start_op(state, device, next, op_of(next)));
            }
            if (stop) push_all_next();
        } else if (state.queue.empty()) {
            state.running = kNone;
            s_.heap.pop();
        } else {
            const std::uint32_t next = state.queue.take(next_op_);
            s_.heap.replace_top(start_op(state, device, next, op_of(next)));
        }
        if (--s_.remaining[slot] == 0) end_batch(slot);
        return op;
    }

    // --- Transfers

    /// Sends one message per device, in the order in which the devices first occur in the departures.
    void depart_together(std::uint32_t slot, OpId op, DeviceId from, std::size_t departing) {
        const auto all = std::span(s_.departures).first(departing);
        for (std::size_t i = 0; i < departing; ++i) {
            const DeviceId to = all[i].second;
            const auto first =
                std::ranges::find_if(all, [&](const auto& other) { return other.second == to; });
            if (first == all.begin() + static_cast<std::ptrdiff_t>(i)) {
                depart(slot, p_.output_begin[op], p_.output_begin[op + 1], from, to);
            }
        }
    }

    /// Returns the index of the message.
    std::uint32_t depart(std::uint32_t slot, TensorId tensor, TensorId tensor_end, DeviceId from,
                         DeviceId to) {
        const bool reuse = s_.free_transfer != kNone;
        const std::uint32_t index = reuse ? s_.free_transfer : s_.fresh_transfer++;
        if (reuse) s_.free_transfer = next_transfer_[index << leg_bits_];
        Transfer& transfer = transfers_[index];
        transfer.tensor = tensor;
        transfer.tensor_end = tensor_end;
        transfer.slot = slot;
        transfer.from = from;
        transfer.to = to;
        transfer.left = false;
        const std::uint32_t route = static_cast<std::uint32_t>(from) * device_count_ + to;
        transfer.leg = l_.route_leg[route];
        transfer.last_leg = l_.route_leg[route + 1] - 1;
        transfer.bytes = 0;
        for_each_tensor(transfer, [&](TensorId each) { transfer.bytes += p_.tensor_bytes[each]; });
        if constexpr (kGeneral) transfer.place.key = transfer_key(transfer);
        ++s_.transfers_sent;
        enqueue_leg(index);
        return index;
    }

    // --- Streamed weights

    /// Sends what an op reads; it stays on the CPU, too.
    void send_streamed(std::uint32_t slot, std::size_t position) {
        const auto [op, from] = plan_.stream[position];
        const TensorId tensor = p_.streamed[op];
        const auto to = static_cast<DeviceId>(plan_.fresh[op].device);
        references(slot, tensor)[to] = 1;
        transfers_[depart(slot, tensor, tensor + 1, from, to)].left = true;
    }

    void begin_stream(std::uint32_t slot) {
        const auto first = std::min<std::size_t>(plan_.buffers, plan_.stream.size());
        for (std::size_t position = 0; position < first; ++position) send_streamed(slot, position);
        if constexpr (kGeneral) start_legs(false);
    }

    /// Frees the buffer of an op that has ended and fills it for the next one.
    [[gnu::noinline]] void end_streamed(std::uint32_t slot, OpId op, DeviceId device) {
        const std::uint32_t position = plan_.place_in_stream[op];
        if (position == kNone) return;
        drop_reference(slot, p_.streamed[op], device);
        if (position + plan_.buffers >= plan_.stream.size()) return;
        send_streamed(slot, position + plan_.buffers);
        if constexpr (kGeneral) start_legs(false);
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

    std::uint64_t transfer_key(const Transfer& transfer) {
        if (l_.options.order != Order::critical_path) return 0;
        std::uint32_t best = kNone;
        for_each_tensor(transfer, [&](TensorId tensor) {
            for (auto i = tensors_[tensor].first_consumer; i < tensors_[tensor + 1].first_consumer; ++i) {
                if (plan_.fresh[consumer_[i]].device == transfer.to)
                    best = std::min(best, l_.rank[consumer_[i]]);
            }
        });
        return std::uint64_t{s_.batch_of[transfer.slot]} << 32 | best;
    }

    void enqueue_leg(std::uint32_t index) {
        Transfer& transfer = transfers_[index];
        transfer.duration_s = 0;
        for_each_tensor(transfer,
                        [&](TensorId tensor) { transfer.duration_s += l_.leg_time_s(transfer.leg, tensor); });
        if constexpr (kTraced) s_.leg_times[index].queued_s = now_s_;
        if constexpr (kLegs) {
            const auto links = links_of(transfer.leg);
            if constexpr (!kGeneral) {
                // First come, first served: waiting messages have been considered before, so none of them can
                // start ahead of this one.
                const auto is_free = [this](std::uint32_t link) {
                    return links_[link].queue.empty() && has_room(link);
                };
                if (std::ranges::all_of(links, is_free)) return s_.heap.push(start_leg(index));
            }
            transfer.place.arrival = s_.arrivals++;
            transfer.blocked = 0;
            std::uint32_t node = index << leg_bits_;
            for (const std::uint32_t link : links) {
                if (!append_to(link, node++)) ++transfer.blocked;
            }
            if constexpr (kGeneral) {
                if (transfer.blocked == 0) s_.unblocked.push_back(index);
            }
        } else {
            LinkState& state = links_[links_of(transfer.leg)[0]];
            if (state.running == kNone) {
                s_.heap.push(start_leg(index));
            } else {
                state.queue.append(index, next_transfer_);
            }
        }
    }

    bool has_room(std::uint32_t link) const { return links_[link].room > 0; }

    /// Puts a message into the queue of a link; returns whether this link allows it to start.
    bool append_to(std::uint32_t link, std::uint32_t node) {
        Queue& queue = links_[link].queue;
        if constexpr (kGeneral) {
            if (l_.sorts_transfers()) {
                const std::uint32_t overtaken = queue.head;
                queue.insert(node, next_transfer_, s_.transfer_child.data(), node_before());
                if (queue.head != node || !has_room(link)) return false;
                if (overtaken != kNone) ++transfers_[overtaken >> leg_bits_].blocked;
                return true;
            }
        }
        const bool first = queue.empty();
        queue.append(node, next_transfer_);
        return first && has_room(link);
    }

    void take_leg(Queue& queue) {
        if constexpr (kGeneral) {
            if (l_.sorts_transfers()) {
                queue.take_first(next_transfer_, s_.transfer_child.data(), node_before());
                return;
            }
        }
        queue.take(next_transfer_);
    }

    auto node_before() const {
        return [this](std::uint32_t node, std::uint32_t other) {
            return goes_before(node >> leg_bits_, other >> leg_bits_);
        };
    }

    /// Called when a message has become first in the queue of a link, or the link has room again.
    void unblock_first(std::uint32_t link) {
        const std::uint32_t node = links_[link].queue.head;
        if (node == kNone) return;
        const std::uint32_t index = node >> leg_bits_;
        if (--transfers_[index].blocked == 0) s_.unblocked.push_back(index);
    }

    Event start_leg(std::uint32_t index) {
        const Transfer& transfer = transfers_[index];
        if constexpr (kTraced)
            note_start(now_s_, s_.leg_times[index].start_s, s_.leg_times[index].started_by);
        const auto links = kLegs ? links_of(transfer.leg) : links_of(transfer.leg).first(1);
        links_[links[0]].running = index;
        for (const std::uint32_t link : links) {
            LinkState& state = links_[link];
            if constexpr (kLegs) --state.room;
            state.busy_s += transfer.duration_s;
            state.bytes += transfer.bytes;
            ++state.crossings;
        }
        if constexpr (Memory::kAllocatesAtStart) {
            if (transfer.leg == transfer.last_leg) {
                double copies_bytes = 0;
                for_each_tensor(transfer, [&](TensorId each) { copies_bytes += tensors_[each].bytes; });
                allocate(transfer.to, copies_bytes);
            }
        }
        return completion(now_s_ + transfer.duration_s, stream_count() + links[0]);
    }

    bool goes_before(std::uint32_t index, std::uint32_t other) const {
        const QueueKey& own = transfers_[index].place;
        const QueueKey& others = transfers_[other].place;
        return kGeneral ? own.before(others) : own.arrival < others.arrival;
    }

    /// Starts the messages that are free to start, and those that become free by this, in the order of the
    /// queues. `handled`: the event at the root of the heap has been handled; the first message replaces it.
    /// Returns whether it is still there.
    bool start_legs(bool handled) {
        while (true) {
            std::uint32_t first = kNone;
            for (const std::uint32_t index : s_.unblocked) {
                if (transfers_[index].blocked == 0 && (first == kNone || goes_before(index, first)))
                    first = index;
            }
            if (first == kNone) break;
            Transfer& transfer = transfers_[first];
            transfer.blocked = Transfer::kStarted;
            const auto links = links_of(transfer.leg);
            for (const std::uint32_t link : links) take_leg(links_[link].queue);
            const Event event = start_leg(first);
            if (std::exchange(handled, false)) {
                s_.heap.replace_top(event);
            } else {
                s_.heap.push(event);
            }
            if (!l_.has_roomy_links) continue;
            for (const std::uint32_t link : links) {
                if (has_room(link)) unblock_first(link);
            }
        }
        s_.unblocked.clear();
        return handled;
    }

    /// Handles the end of a leg; returns the index of its message.
    std::uint32_t end_leg(std::uint32_t channel) {
        const std::uint32_t index = links_[channel].running;
        Transfer& transfer = transfers_[index];
        const std::uint32_t leg = transfer.leg;
        if constexpr (kTraced) trace_leg(transfer, s_.leg_times[index]);
        if (!transfer.left) {
            transfer.left = true;
            for_each_tensor(transfer,
                            [&](TensorId tensor) { drop_reference(transfer.slot, tensor, transfer.from); });
        }
        const DeviceId from = transfer.from;
        const DeviceId to = transfer.to;
        if (leg == transfer.last_leg) {
            for_each_tensor(transfer, [&](TensorId tensor) { arrive(transfer, tensor); });
            if constexpr (kGeneral) start_ops(to);
            next_transfer_[index << leg_bits_] = s_.free_transfer;
            s_.free_transfer = index;
        } else {
            ++transfer.leg;
            enqueue_leg(index);
            if constexpr (kGeneral) start_legs(false);
        }
        settle(from);
        settle(to);
        if constexpr (kLegs) {
            for (const std::uint32_t link : links_of(leg)) {
                if (links_[link].room++ == 0) unblock_first(link);
            }
            if (start_legs(true)) s_.heap.pop();
        } else {
            // A route may cross one channel twice; then this same message can be first in the queue now.
            LinkState& state = links_[channel];
            if (state.queue.empty()) {
                state.running = kNone;
                s_.heap.pop();
            } else {
                s_.heap.replace_top(start_leg(state.queue.take(next_transfer_)));
            }
        }
        return index;
    }

    void trace_leg(const Transfer& transfer, const LegTimes& times) {
        Span span;
        span.kind = Span::Kind::transfer;
        span.from = transfer.from;
        span.to = transfer.to;
        span.op = p_.producer[transfer.tensor];
        bool first = true;
        for_each_tensor(transfer, [&](TensorId tensor) {
            if (std::exchange(first, false)) span.tensor = tensor;
        });
        span.bytes = transfer.bytes;
        span.batch = s_.batch_of[transfer.slot];
        span.queued_s = times.queued_s;
        span.start_s = times.start_s;
        span.end_s = now_s_;
        for (const std::uint32_t link : links_of(transfer.leg)) {
            if (link >= p_.channels) break;
            span.resource = static_cast<std::uint16_t>(link);
            trace_->spans.push_back(span);
            trace_->started_by.push_back(times.started_by);
            if (l_.host_s > 0) trace_->issues.emplace_back();
        }
    }

    void arrive(const Transfer& transfer, TensorId tensor) {
        const std::uint32_t base = transfer.slot << op_bits_;
        Waiting* const batch = waiting_ + base;
        const TensorRecord* const record = &tensors_[tensor];
        if constexpr (!Memory::kAllocatesAtStart) allocate(transfer.to, record[0].bytes);
        for (std::uint32_t i = record[0].first_consumer; i < record[1].first_consumer; ++i) {
            const OpId consumer = consumer_[i];
            Waiting& waiting = batch[consumer];
            if (waiting.device == transfer.to && --waiting.missing == 0)
                enqueue_op(base + consumer, consumer, transfer.to);
        }
    }

    // --- Batches

    /// Admits batches. Exprimo's rule (fifo): one batch per call, if there is room and every device that
    /// holds an op without inputs is idle. Other orders fill all room; gpipe does so when the last round is
    /// over.
    void admit() {
        if constexpr (kProgram) {
            admit_program();
        } else if (l_.options.order == Order::fifo) {
            if (s_.free_slots.empty()) return;
            for (const DeviceId device : plan_.source_devices) {
                if (devices_[device].running != kNone) return;
            }
            admit_batch();
            if constexpr (kGeneral) start_all();
        } else if (l_.options.order != Order::gpipe || s_.free_slots.size() == l_.slots) {
            const auto count = std::min<std::size_t>(s_.free_slots.size(), l_.options.batches - s_.admitted);
            if (l_.options.order == Order::gpipe) {
                for (DeviceId device = 0; device < device_count_; ++device) {
                    s_.forward_left[device] = plan_.forward_on[device] * static_cast<std::uint32_t>(count);
                }
            }
            for (std::size_t i = 0; i < count; ++i) admit_batch();
            start_all();
        }
    }

    void start_all() {
        for (DeviceId device = 0; device < device_count_; ++device) start_ops(device);
    }

    void admit_batch() {
        const std::uint32_t slot = s_.free_slots.back();
        s_.free_slots.pop_back();
        s_.batch_of[slot] = s_.admitted++;
        s_.remaining[slot] = p_.ops;
        if (!readers_release()) {
            std::fill_n(references_of(slot), slot_references_, 0);
        }
        if constexpr (kGeneral) {
            if (!s_.left.empty())
                std::ranges::copy(plan_.ops_on, &s_.left[std::size_t{slot} * device_count_]);
        }
        const std::uint32_t base = slot << op_bits_;
        std::ranges::copy(plan_.fresh, waiting_ + base);
        if constexpr (kProgram) {
            if constexpr (kTraced) {
                for (const OpId op : plan_.sources) s_.queued_s[base + op] = now_s_;
            }
        } else {
            for (const OpId op : plan_.sources) enqueue_op(base + op, op, plan_.fresh[op].device);
        }
        if (!plan_.stream.empty()) begin_stream(slot);
    }

    void end_batch(std::uint32_t slot) {
        s_.free_slots.push_back(slot);
        ++s_.ended;
        if (s_.ended == l_.filled) s_.filled_s = now_s_;
        if (s_.ended == l_.drained) s_.drained_s = now_s_;
    }

    const Tables& l_;
    const Problem& p_;
    const PlacedTables& plan_;
    RunState& s_;
    Trace* trace_;
    Hook* hook_;
    double now_s_;

    // Pointers to the tables themselves save one load each compared to their owners, which never resize them
    // during a run.
    const std::uint32_t batches_, device_count_;
    const std::size_t slot_references_;
    const int op_bits_, leg_bits_;
    const OpRecord* const ops_;
    const TensorRecord* const tensors_;
    const OpId* const consumer_;
    const TensorId* const input_;
    const Leg* const legs_;
    const std::uint32_t* const leg_link_;
    Waiting* const waiting_;
    std::uint32_t* const next_op_;
    std::uint32_t* const references_;
    Transfer* const transfers_;
    std::uint32_t* const next_transfer_;
    DeviceState* const devices_;
    LinkState* const links_;

    bool rose_ = false;  ///< whether the last memory sample was an allocation
};

/// The compile-time choices of a loop.
template <class Memory_, Features kFeatures_>
struct Rules {};

/// Calls `run` with the rules for the tables.
template <class Run>
void with_rules(const Tables& tables, Run run) {
    with_memory_rule(tables.problem, [&]<class Memory>(Memory /*rule*/) {
        if (tables.in_program_order) {
            run(Rules<Memory, Features::program>());
        } else if (tables.general) {
            run(Rules<Memory, Features::all>());
        } else if (tables.legs) {
            run(Rules<Memory, Features::legs>());
        } else {
            run(Rules<Memory, Features::none>());
        }
    });
}

}  // namespace placewright::event_loop
