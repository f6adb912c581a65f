// SPDX-License-Identifier: MIT
#include "core/sim/explain.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "core/base/sorted.hpp"
#include "core/sim/memory_rules.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 4> kPathKinds{"compute", "transfer", "queue", "host"};
constexpr std::array<std::string_view, 5> kHeldKinds{"activation", "gradient", "copy", "workspace",
                                                     "weights"};

/// An index of the spans of ops and messages. Refers to the problem and the trace.
class TraceIndex {
public:
    TraceIndex(const Problem& problem, const Trace& trace) : problem_(problem), spans_(trace.spans) {
        for (const Span& span : spans_) batches_ = std::max(batches_, span.batch + 1);
        op_span_.assign(std::size_t{batches_} * problem.ops, kNoSpan);
        last_op_.assign(batches_, kNoSpan);
        for (std::uint32_t i = 0; i < spans_.size(); ++i) {
            if (spans_[i].kind == Span::Kind::op) {
                op_span_[std::size_t{spans_[i].batch} * problem.ops + spans_[i].op] =
                    last_op_[spans_[i].batch] = i;
            } else {
                transfers_.push_back(i);
            }
        }
        std::ranges::sort(transfers_, {}, [this](std::uint32_t i) { return std::pair(key_of(i), i); });
    }

    std::uint32_t batches() const { return batches_; }
    std::uint32_t op_span(std::uint32_t batch, OpId op) const {
        return op_span_[std::size_t{batch} * problem_.ops + op];
    }
    /// The span of the op that ended the batch.
    std::uint32_t last_op(std::uint32_t batch) const { return last_op_[batch]; }
    /// The device that runs the op.
    DeviceId device_of(OpId op) const { return spans_[op_span(0, op)].resource; }
    /// The device that holds what the op keeps.
    DeviceId home_of(OpId op) const {
        const Span& span = spans_[op_span(0, op)];
        return span.from != kInvalidDevice ? span.from : span.resource;
    }
    /// The spans that bring what the op reads, if that is streamed.
    std::span<const std::uint32_t> streamed(std::uint32_t batch, OpId op) const {
        if (!problem_.streams_to || problem_.streamed[op] == kNoTensor || home_of(op) == device_of(op))
            return {};
        return hops(batch, problem_.streamed[op], device_of(op));
    }

    /// The spans that bring a tensor to a device, one per channel of the route.
    std::span<const std::uint32_t> hops(std::uint32_t batch, TensorId tensor, DeviceId to) const {
        const auto found = section_of(transfers_, Key(batch, message_of(tensor), to),
                                      [this](std::uint32_t i) { return key_of(i); });
        return {found.begin(), found.end()};
    }
    std::span<const std::uint32_t> hops(const Span& hop) const { return hops(hop.batch, hop.tensor, hop.to); }

    /// The span that leaves the producer's device, and below the one that arrives; all spans of a cut-through
    /// route end in one event.
    std::uint32_t first_leg(std::span<const std::uint32_t> hops) const {
        return problem_.crossing == Crossing::cut_through ? hops.back() : hops.front();
    }
    static std::uint32_t last_leg(std::span<const std::uint32_t> hops) { return hops.back(); }

    /// The span whose end makes a tensor available on a device.
    std::uint32_t arrival(std::uint32_t batch, TensorId tensor, DeviceId device) const {
        const OpId producer = problem_.producer[tensor];
        return device_of(producer) == device ? op_span(batch, producer)
                                             : last_leg(hops(batch, tensor, device));
    }

private:
    using Key = std::tuple<std::uint32_t, TensorId, DeviceId>;

    /// The number of a tensor's message; tensors that travel together share it.
    TensorId message_of(TensorId tensor) const {
        if (problem_.is_streamed(tensor)) return tensor;
        const OpId producer = problem_.producer[tensor];
        return problem_.sends_together[producer] ? problem_.output_begin[producer] : tensor;
    }
    Key key_of(std::uint32_t i) const {
        return {spans_[i].batch, message_of(spans_[i].tensor), spans_[i].to};
    }

    const Problem& problem_;
    const std::vector<Span>& spans_;
    std::uint32_t batches_ = 0;
    std::vector<std::uint32_t> op_span_;    ///< [batch * ops + op]
    std::vector<std::uint32_t> last_op_;    ///< [batch]
    std::vector<std::uint32_t> transfers_;  ///< transfer spans by message, each in the order of its route
};

class PathFinder {
public:
    PathFinder(const Problem& problem, const Trace& trace)
        : problem_(problem), trace_(trace), index_(problem, trace) {}

    CriticalPath find() {
        path_.device_compute_s.assign(problem_.devices, 0);
        path_.device_queue_s.assign(problem_.devices, 0);
        path_.channel_transfer_s.assign(problem_.channels, 0);
        path_.channel_queue_s.assign(problem_.channels, 0);
        auto at = static_cast<std::uint32_t>(trace_.spans.size()) - 1;
        while (at != kNoSpan) {
            at = pace_setter(at);
            const Span& span = trace_.spans[at];
            add({span.kind == Span::Kind::op ? PathKind::compute : PathKind::transfer, at, kNoSpan,
                 span.resource, span.start_s, span.end_s});
            if (waited_for_host(at)) {
                at = add_host(at);
                continue;
            }
            const std::uint32_t needed = what_it_needed(at);
            const double ready_s = needed == kNoSpan ? 0 : trace_.spans[needed].end_s;
            if (span.start_s > ready_s) add_wait(at, ready_s);
            at = needed;
        }
        std::ranges::reverse(path_.segments);
        return std::move(path_);
    }

private:
    /// Whether an op could have started before it was issued.
    bool waited_for_host(std::uint32_t at) const {
        if (trace_.issues.empty() || trace_.spans[at].kind != Span::Kind::op) return false;
        const std::uint32_t decided = trace_.started_by[at];
        return trace_.spans[at].start_s > (decided == kNoSpan ? 0 : trace_.spans[decided].end_s);
    }

    /// Adds what the host did before it had issued the op, thread by thread; returns what it had waited for.
    std::uint32_t add_host(std::uint32_t at) {
        double end_s = trace_.spans[at].start_s;
        std::uint32_t last = at;  // issued at the end of the current segment
        for (std::uint32_t issue = at;;) {
            const double start_s = trace_.issues[issue].start_s;
            const std::uint32_t before = waited_for(start_s, trace_.spans[issue].batch);
            const std::uint32_t previous = before == kNoSpan ? issued_at(start_s, issue) : kNoSpan;
            const bool goes_on =
                previous != kNoSpan && trace_.issues[previous].thread == trace_.issues[issue].thread;
            if (!goes_on) {
                const double from_s = before == kNoSpan && previous == kNoSpan ? 0 : start_s;
                add({PathKind::host, last, kNoSpan, trace_.issues[issue].thread, from_s, end_s});
                end_s = start_s;
                last = previous;
            }
            if (previous == kNoSpan) return before;
            issue = previous;
        }
    }

    /// What the host waited for until a time, to issue an op of a batch: its own op of this batch, or the end
    /// of an earlier batch.
    std::uint32_t waited_for(double time_s, std::uint32_t batch) const {
        if (time_s == 0) return kNoSpan;
        const auto is_host = [&](const Span& span) {
            return problem_.machine->device(span.resource).kind == DeviceKind::cpu &&
                   span.end_s > span.start_s &&
                   trace_.issues[index_.op_span(span.batch, span.op)].thread == 0;
        };
        const auto ended = section_of(trace_.spans, time_s, &Span::end_s);
        for (auto span = ended.end(); span != ended.begin();) {
            --span;
            if (span->kind != Span::Kind::op) continue;
            const auto at = static_cast<std::uint32_t>(span - trace_.spans.begin());
            if (span->batch == batch ? is_host(*span)
                                     : span->batch < batch && index_.last_op(span->batch) == at)
                return at;
        }
        return kNoSpan;
    }

    /// The op whose issue takes time and ends when that of another one begins, by the same thread if there is
    /// a choice; kNoSpan if there is none.
    std::uint32_t issued_at(double time_s, std::uint32_t other) {
        if (issued_.empty()) {
            for (std::uint32_t i = 0; i < trace_.issues.size(); ++i) {
                if (trace_.issues[i].end_s > trace_.issues[i].start_s) issued_.push_back(i);
            }
            std::ranges::stable_sort(issued_, {}, [this](std::uint32_t i) { return trace_.issues[i].end_s; });
        }
        const auto found =
            section_of(issued_, time_s, [this](std::uint32_t i) { return trace_.issues[i].end_s; });
        std::uint32_t best = kNoSpan;
        for (const std::uint32_t i : found) {
            if (trace_.spans[i].batch > trace_.spans[other].batch) continue;
            if (best == kNoSpan || trace_.issues[i].thread == trace_.issues[other].thread) best = i;
        }
        return best;
    }

    void add(const PathSegment& segment) {
        const double duration_s = segment.duration_s();
        if (segment.kind == PathKind::host) {
            path_.host_s += duration_s;
            path_.segments.push_back(segment);
            return;
        }
        const bool channel = trace_.spans[segment.span].kind == Span::Kind::transfer;
        if (segment.kind == PathKind::queue) {
            path_.queue_s += duration_s;
            (channel ? path_.channel_queue_s : path_.device_queue_s)[segment.resource] += duration_s;
        } else {
            (channel ? path_.transfer_s : path_.compute_s) += duration_s;
            (channel ? path_.channel_transfer_s : path_.device_compute_s)[segment.resource] += duration_s;
        }
        path_.segments.push_back(segment);
    }

    void add_wait(std::uint32_t at, double ready_s) {
        const std::uint32_t blocker = trace_.started_by[at];
        std::uint32_t waiting = at;
        if (crosses_at_once(at) && blocker != kNoSpan && trace_.spans[blocker].kind == Span::Kind::transfer) {
            for (const std::uint32_t hop : index_.hops(trace_.spans[at])) {
                if (trace_.spans[hop].resource == trace_.spans[blocker].resource) waiting = hop;
            }
        }
        add({PathKind::queue, waiting, blocker, trace_.spans[waiting].resource, ready_s,
             trace_.spans[at].start_s});
    }

    bool crosses_at_once(std::uint32_t at) const {
        return problem_.crossing == Crossing::cut_through && trace_.spans[at].kind == Span::Kind::transfer;
    }

    /// The span of the slowest channel of a cut-through route; any other span itself.
    std::uint32_t pace_setter(std::uint32_t at) const {
        if (!crosses_at_once(at)) return at;
        return *std::ranges::max_element(index_.hops(trace_.spans[at]), {},
                                         [this](std::uint32_t hop) { return pace_s(trace_.spans[hop]); });
    }

    /// Seconds that a message needs on the channel of this span, without latency.
    double pace_s(const Span& hop) const {
        const auto crossing_s = [&](TensorId tensor) {
            return problem_.transfer_s[std::size_t{tensor} * problem_.channel_classes +
                                       problem_.channel_class[hop.resource]] -
                   problem_.channel_latency_s[hop.resource];
        };
        if (!problem_.sends_together[hop.op] || problem_.is_streamed(hop.tensor))
            return crossing_s(hop.tensor);
        double sum_s = 0;
        for (TensorId tensor = problem_.output_begin[hop.op]; tensor < problem_.output_begin[hop.op + 1];
             ++tensor) {
            const auto readers =
                std::span(problem_.consumer)
                    .subspan(problem_.consumer_begin[tensor],
                             problem_.consumer_begin[tensor + 1] - problem_.consumer_begin[tensor]);
            if (std::ranges::any_of(readers, [&](OpId op) { return index_.device_of(op) == hop.to; }))
                sum_s += crossing_s(tensor);
        }
        return sum_s;
    }

    /// The last span to end of those that had to end before this one was queued.
    std::uint32_t what_it_needed(std::uint32_t at) const {
        const Span& span = trace_.spans[at];
        if (span.kind == Span::Kind::transfer) return what_hop_needed(at);
        const auto weights = index_.streamed(span.batch, span.op);
        std::uint32_t last = weights.empty() ? 0 : TraceIndex::last_leg(weights);
        if (problem_.input_begin[span.op] == problem_.input_begin[span.op + 1])
            return weights.empty() ? admission(span) : last;
        for (auto i = problem_.input_begin[span.op]; i < problem_.input_begin[span.op + 1]; ++i)
            last = std::max(last, index_.arrival(span.batch, problem_.input[i], span.resource));
        return last;
    }

    std::uint32_t what_hop_needed(std::uint32_t at) const {
        const Span& span = trace_.spans[at];
        const auto hops = index_.hops(span);
        if (problem_.crossing == Crossing::cut_through || hops.front() == at)
            return problem_.is_streamed(span.tensor) ? what_freed_buffer(span)
                                                     : index_.op_span(span.batch, span.op);
        return *std::prev(std::ranges::find(hops, at));
    }

    /// The op whose end freed the buffer of what is streamed, or admitted its batch.
    std::uint32_t what_freed_buffer(const Span& copy) const {
        std::uint32_t last = kNoSpan;
        const auto ended = section_of(trace_.spans, copy.queued_s, &Span::end_s);
        for (auto span = ended.begin(); copy.queued_s > 0 && span != ended.end(); ++span) {
            if (span->kind != Span::Kind::op) continue;
            const auto at = static_cast<std::uint32_t>(span - trace_.spans.begin());
            if (span->batch == copy.batch ? !index_.streamed(span->batch, span->op).empty()
                                          : index_.last_op(span->batch) == at)
                last = at;
        }
        return last;
    }

    /// The span whose end admitted the batch of an op without inputs. It is known if one of these ops started
    /// at once; otherwise the batch waited for the last op of another batch.
    std::uint32_t admission(const Span& source) const {
        if (source.queued_s == 0) return kNoSpan;
        std::uint32_t first = kNoSpan;
        for (const OpId op : problem_.sources) {
            const std::uint32_t at = index_.op_span(source.batch, op);
            if (trace_.spans[at].start_s == source.queued_s) first = std::min(first, trace_.started_by[at]);
        }
        if (first != kNoSpan) return first;
        const auto ended = section_of(trace_.spans, source.queued_s, &Span::end_s);
        const auto last_of_batch = std::ranges::find_if(ended, [this](const Span& span) {
            return span.kind == Span::Kind::op &&
                   index_.last_op(span.batch) == index_.op_span(span.batch, span.op);
        });
        if (last_of_batch == ended.end()) return kNoSpan;
        return static_cast<std::uint32_t>(last_of_batch - trace_.spans.begin());
    }

    const Problem& problem_;
    const Trace& trace_;
    TraceIndex index_;
    CriticalPath path_;
    std::vector<std::uint32_t> issued_;  ///< spans whose issue takes time, by its end
};

/// An event is the number of the last span that ended in it. On each device an event frees memory before it
/// allocates.
using Event = std::int64_t;
constexpr Event kStart = -1;
constexpr Event kNever = std::numeric_limits<Event>::max();

/// Memory that is held on a device from one event to another.
struct Holding {
    DeviceId device = 0;
    Event from = kStart, until = kNever;
    Held what;
};

/// Replays the memory rules of the simulator on a trace.
class MemoryReplay {
public:
    MemoryReplay(const Problem& problem, const Trace& trace)
        : problem_(problem), trace_(trace), index_(problem, trace) {}

    std::vector<MemoryPeak> peaks() {
        for (std::uint32_t batch = 0; batch < index_.batches(); ++batch) hold_batch(batch);
        std::vector<MemoryPeak> peaks(problem_.devices);
        for (DeviceId device = 0; device < problem_.devices; ++device) peaks[device].device = device;
        for (OpId op = 0; op < problem_.ops; ++op) add_resident(op, peaks[index_.home_of(op)]);

        std::vector<std::vector<std::pair<Event, double>>> changes(problem_.devices);
        for (const Holding& holding : holdings_) {
            changes[holding.device].emplace_back(holding.from, holding.what.bytes);
            if (holding.until != kNever)
                changes[holding.device].emplace_back(holding.until, -holding.what.bytes);
        }
        std::vector<Event> instants;
        for (DeviceId device = 0; device < problem_.devices; ++device)
            instants.push_back(find_peak(changes[device], peaks[device]));
        for (const Holding& holding : holdings_) {
            const Event instant = instants[holding.device];
            if (holding.from <= instant && instant < holding.until)
                peaks[holding.device].held.push_back(holding.what);
        }
        for (MemoryPeak& peak : peaks) {
            std::ranges::sort(peak.held, {}, [](const Held& held) {
                return std::tuple(-held.bytes, held.op, held.tensor, held.batch);
            });
        }
        return peaks;
    }

private:
    void add_resident(OpId id, MemoryPeak& peak) const {
        const Op& op = problem_.graph->op(id);
        const double parameters =
            allocated_bytes(problem_.allocator, static_cast<double>(op.parameter_bytes));
        const double states = parameters * problem_.optimizer_states;
        const double gradients = problem_.accumulated_bytes[id];
        peak.parameter_bytes += parameters;
        peak.optimizer_bytes += states;
        peak.accumulated_gradient_bytes += gradients;
        peak.other_resident_bytes += problem_.resident_bytes[id] - parameters - states - gradients;
    }

    /// Finds the first event after which the most memory is held.
    Event find_peak(std::vector<std::pair<Event, double>>& changes, MemoryPeak& peak) const {
        double bytes = peak.parameter_bytes + peak.optimizer_bytes + peak.accumulated_gradient_bytes +
                       peak.other_resident_bytes;
        peak.bytes = bytes;
        Event instant = kStart;
        std::ranges::sort(changes);
        for (std::size_t i = 0; i < changes.size(); ++i) {
            bytes += changes[i].second;
            const bool complete = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
            if (!complete || bytes <= peak.bytes) continue;
            peak.bytes = bytes;
            instant = changes[i].first;
        }
        peak.time_s = instant == kStart ? 0 : trace_.spans[static_cast<std::size_t>(instant)].end_s;
        return instant;
    }

    /// The event in which the result of a span is allocated.
    Event allocation(std::uint32_t at) const {
        if (!allocates_at_start(problem_)) return at;
        return trace_.started_by[at] == kNoSpan ? kStart : Event{trace_.started_by[at]};
    }
    double allocation_s(std::uint32_t at) const {
        if (!allocates_at_start(problem_)) return trace_.spans[at].end_s;
        // Before its start, if it still has to be issued.
        const std::uint32_t event = trace_.started_by[at];
        return event == kNoSpan ? 0 : trace_.spans[event].end_s;
    }

    void hold(Holding holding) {
        if (holding.what.bytes > 0 && holding.from < holding.until) holdings_.push_back(holding);
    }

    void hold_batch(std::uint32_t batch) {
        // Views come after the tensors that they are views of; in reverse order it is known how long views
        // keep these alive.
        kept_until_.assign(std::size_t{problem_.tensors} * problem_.devices, kStart);
        for (TensorId tensor = problem_.tensors; tensor > 0; --tensor) hold_tensor(batch, tensor - 1);
        for (OpId op = 0; op < problem_.ops; ++op) {
            const std::uint32_t at = index_.op_span(batch, op);
            const Held workspace{HeldKind::workspace, op, kNoTensor, batch, problem_.workspace_bytes[op],
                                 allocation_s(at)};
            hold({trace_.spans[at].resource, allocation(at), at, workspace});
            const auto copy = index_.streamed(batch, op);
            if (copy.empty()) continue;
            const std::uint32_t arrival = TraceIndex::last_leg(copy);
            hold({trace_.spans[at].resource,
                  allocation(arrival),
                  at,
                  {HeldKind::weights, op, kNoTensor, batch, problem_.copy_bytes[problem_.streamed[op]],
                   allocation_s(arrival)}});
        }
    }

    /// The event until which views keep the tensor alive on a device.
    Event& kept_until(TensorId tensor, DeviceId device) {
        return kept_until_[std::size_t{tensor} * problem_.devices + device];
    }

    void hold_tensor(std::uint32_t batch, TensorId tensor) {
        const OpId producer = problem_.producer[tensor];
        const std::uint32_t made = index_.op_span(batch, producer);
        const DeviceId home = trace_.spans[made].resource;
        // A copy is held until its last reader on the device is done.
        last_read_.assign(problem_.devices, kStart);
        for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i) {
            const std::uint32_t reader = index_.op_span(batch, problem_.consumer[i]);
            Event& last = last_read_[trace_.spans[reader].resource];
            last = readers_release(problem_) ? std::max<Event>(last, reader) : kNever;
        }
        Event until = std::max(last_read_[home], allocates_at_start(problem_) ? Event{made} : kStart);
        for (DeviceId device = 0; device < problem_.devices; ++device) {
            if (device == home || last_read_[device] == kStart) continue;
            const auto hops = index_.hops(batch, tensor, device);
            const std::uint32_t arrival = TraceIndex::last_leg(hops);
            until = std::max<Event>(until, index_.first_leg(hops));
            hold({device,
                  allocation(arrival),
                  std::max(last_read_[device], kept_until(tensor, device)),
                  {HeldKind::copy, producer, tensor, batch, problem_.copy_bytes[tensor],
                   allocation_s(arrival)}});
        }
        until = std::max(until, kept_until(tensor, home));
        if (const TensorId base = problem_.alias_of[tensor]; base != kNoTensor) {
            kept_until(base, home) = std::max(kept_until(base, home), until);
            return;
        }
        if (problem_.output_bytes[tensor] == 0) return;  // parameters: resident
        if (problem_.tensor_stays(tensor)) {
            // With several batches it is there from the beginning.
            const bool once = index_.batches() == 1;
            if (!once && batch > 0) return;
            hold({home,
                  once ? allocation(made) : kStart,
                  kNever,
                  {HeldKind::gradient, producer, tensor, batch, problem_.copy_bytes[tensor],
                   once ? allocation_s(made) : 0}});
            return;
        }
        const bool forward = runs_forward(problem_.graph->op(producer));
        hold({home,
              allocation(made),
              until,
              {forward ? HeldKind::activation : HeldKind::gradient, producer, tensor, batch,
               problem_.copy_bytes[tensor], allocation_s(made)}});
    }

    const Problem& problem_;
    const Trace& trace_;
    TraceIndex index_;
    std::vector<Holding> holdings_;
    std::vector<Event> kept_until_;  ///< [tensor * devices + device], of the current batch
    std::vector<Event> last_read_;   ///< [device], of the current tensor
};

}  // namespace

std::string_view to_string(PathKind kind) {
    return kPathKinds[static_cast<std::size_t>(kind)];
}

std::string_view to_string(HeldKind kind) {
    return kHeldKinds[static_cast<std::size_t>(kind)];
}

CriticalPath critical_path(const Problem& problem, const Trace& trace) {
    return PathFinder(problem, trace).find();
}

std::vector<MemoryPeak> memory_peaks(const Problem& problem, const Trace& trace) {
    return MemoryReplay(problem, trace).peaks();
}

}  // namespace placewright
