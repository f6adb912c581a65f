// SPDX-License-Identifier: MIT
#include "tests/support/reference_simulator.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace placewright::test {
namespace {

/// An output of an op in one batch.
struct Value {
    std::uint32_t batch = 0;
    OpId op = 0;
    std::uint32_t output = 0;

    auto operator<=>(const Value&) const = default;
};

/// Something that a resource does; `span` says what, when it was queued and when it started.
struct Work {
    Span span;
    Value value;  ///< of a transfer
    std::size_t hop = 0;
    std::uint64_t started_as = 0;  ///< how many pieces of work had started before
};

struct Resource {
    std::deque<Work> queue;
    std::optional<Work> running;
};

class ReferenceSimulator {
public:
    ReferenceSimulator(const Problem& problem, std::span<const DeviceId> placement, const SimulationOptions& options)
        : problem_(problem), graph_(*problem.graph), machine_(*problem.machine), placement_(placement), options_(options) {
        const std::size_t devices = machine_.devices().size();
        const std::size_t channels = machine_.channels().size();
        devices_.resize(devices);
        channels_.resize(channels);
        Outcome& outcome = run_.outcome;
        outcome.device_busy_s.resize(devices);
        outcome.resident_bytes.resize(devices);
        outcome.channel_busy_s.resize(channels);
        outcome.channel_bytes.resize(channels);
        outcome.channel_transfers.resize(channels);
        for (OpId op = 0; op < graph_.size(); ++op) outcome.resident_bytes[device_of(op)] += problem.resident_bytes[op];
        outcome.peak_bytes = outcome.resident_bytes;
    }

    ReferenceRun run() {
        admit_if_possible();
        while (Resource* next = next_to_end()) {
            Work done = *next->running;
            now_ = done.span.end_s;
            run_.spans.push_back(done.span);
            if (done.span.kind == Span::Kind::op)
                op_ended(done);
            else
                hop_ended(done);
            next->running.reset();
            if (!next->queue.empty()) {
                Work work = next->queue.front();
                next->queue.pop_front();
                start(*next, work);
            }
            admit_if_possible();
        }
        Outcome& outcome = run_.outcome;
        outcome.total_time_s = now_;
        outcome.step_time_s = now_ / options_.batches;
        for (std::size_t device = 0; device < devices_.size(); ++device) {
            if (outcome.peak_bytes[device] > machine_.devices()[device].memory_bytes) outcome.fits = false;
        }
        return run_;
    }

private:
    DeviceId device_of(OpId op) const { return placement_[problem_.grouping.group_of[op]]; }

    double bytes_of(const Value& value) const { return static_cast<double>(graph_.op(value.op).outputs[value.output].bytes); }

    TensorId tensor_of(const Value& value) const {
        TensorId tensor = value.output;
        for (OpId op = 0; op < value.op; ++op) tensor += static_cast<TensorId>(graph_.op(op).outputs.size());
        return tensor;
    }

    bool reads(OpId op, const Value& value) const {
        return std::ranges::count(graph_.op(op).inputs, TensorRef{value.op, value.output}) > 0;
    }

    std::vector<OpId> readers(const Value& value) const {
        std::vector<OpId> result;
        for (OpId op = 0; op < graph_.size(); ++op) {
            if (reads(op, value)) result.push_back(op);
        }
        return result;
    }

    /// The resource whose work ends first; of those that end at the same time the one that started first.
    Resource* next_to_end() {
        Resource* best = nullptr;
        const auto consider = [&](Resource& resource) {
            if (!resource.running) return;
            const auto key = [](const Resource& r) { return std::pair(r.running->span.end_s, r.running->started_as); };
            if (best == nullptr || key(resource) < key(*best)) best = &resource;
        };
        std::ranges::for_each(devices_, consider);
        std::ranges::for_each(channels_, consider);
        return best;
    }

    void queue(Resource& resource, Work work) {
        work.span.queued_s = now_;
        if (resource.running)
            resource.queue.push_back(work);
        else
            start(resource, work);
    }

    void start(Resource& resource, Work work) {
        Outcome& outcome = run_.outcome;
        Span& span = work.span;
        double duration_s = 0;
        if (span.kind == Span::Kind::op) {
            duration_s = problem_.time_s(span.op, span.resource);
            outcome.device_busy_s[span.resource] += duration_s;
            for (std::uint32_t k = 0; k < graph_.op(span.op).outputs.size(); ++k) hold({span.batch, span.op, k}, span.resource);
            note_peak(span.resource);
        } else {
            const double bytes = bytes_of(work.value);
            duration_s = problem_.transfer_s[span.tensor * problem_.channel_classes + problem_.channel_class[span.resource]];
            outcome.channel_busy_s[span.resource] += duration_s;
            outcome.channel_bytes[span.resource] += bytes;
            ++outcome.channel_transfers[span.resource];
            if (work.hop + 1 == machine_.route(span.from, span.to).size()) {
                hold(work.value, span.to);
                note_peak(span.to);
            }
        }
        span.start_s = now_;
        span.end_s = now_ + duration_s;
        work.started_as = started_++;
        resource.running = work;
    }

    void op_ended(const Work& work) {
        const auto [batch, op, device] = std::tuple(work.span.batch, work.span.op, work.span.resource);
        ++run_.outcome.ops_run;
        std::vector<Work> transfers;
        for (std::uint32_t k = 0; k < graph_.op(op).outputs.size(); ++k) {
            const Value value{batch, op, k};
            arrived(value, device);
            std::set<DeviceId> targets;
            for (const OpId reader : readers(value)) {
                const DeviceId target = device_of(reader);
                if (target == device || !targets.insert(target).second) continue;
                Work transfer;
                transfer.span.kind = Span::Kind::transfer;
                transfer.span.from = device;
                transfer.span.to = target;
                transfer.span.op = op;
                transfer.span.tensor = tensor_of(value);
                transfer.span.bytes = problem_.tensor_bytes[transfer.span.tensor];
                transfer.span.batch = batch;
                transfer.value = value;
                transfers.push_back(transfer);
                ++leaving_[{value, device}];
            }
        }
        ended_.insert({batch, op});
        for (Work& transfer : transfers) {
            ++run_.outcome.transfers;
            queue_hop(transfer);
        }
        drop_what_nobody_needs();
    }

    void hop_ended(Work work) {
        const Span& span = work.span;
        if (work.hop == 0) {
            --leaving_[{work.value, span.from}];
            drop_what_nobody_needs();
        }
        if (++work.hop == machine_.route(span.from, span.to).size())
            arrived(work.value, span.to);
        else
            queue_hop(work);
    }

    void queue_hop(Work work) {
        work.span.resource = machine_.route(work.span.from, work.span.to)[work.hop];
        queue(channels_[work.span.resource], work);
    }

    /// Queues the readers there that were waiting for nothing else.
    void arrived(const Value& value, DeviceId device) {
        present_.insert({value, device});
        for (const OpId op : readers(value)) {
            const auto& inputs = graph_.op(op).inputs;
            const bool ready = device_of(op) == device && std::ranges::all_of(inputs, [&](const TensorRef& input) {
                                   return present_.contains({{value.batch, input.op, input.output}, device});
                               });
            if (ready) queue_op(value.batch, op);
        }
    }

    void queue_op(std::uint32_t batch, OpId op) {
        Work work;
        work.span.resource = device_of(op);
        work.span.op = op;
        work.span.batch = batch;
        queue(devices_[work.span.resource], work);
    }

    void admit_if_possible() {
        std::uint32_t under_way = 0;
        for (std::uint32_t batch = 0; batch < admitted_; ++batch) {
            const auto first = ended_.lower_bound({batch, 0});
            const auto last = ended_.lower_bound({batch + 1, 0});
            if (static_cast<std::size_t>(std::distance(first, last)) < graph_.size()) ++under_way;
        }
        if (admitted_ == options_.batches || under_way >= options_.in_flight) return;
        for (OpId op = 0; op < graph_.size(); ++op) {
            if (graph_.op(op).inputs.empty() && devices_[device_of(op)].running) return;
        }
        const std::uint32_t batch = admitted_++;
        for (DeviceId device = 0; device < devices_.size(); ++device) {
            for (OpId op = 0; op < graph_.size(); ++op) {
                if (graph_.op(op).inputs.empty() && device_of(op) == device) queue_op(batch, op);
            }
        }
    }

    void hold(const Value& value, DeviceId device) { held_.insert({value, device}); }

    /// A value stays on its producer's device while the producer runs, and on every device until its readers there have ended and its
    /// transfers from there have crossed their first channel.
    void drop_what_nobody_needs() {
        std::erase_if(held_, [&](const std::pair<Value, DeviceId>& copy) {
            const auto& [value, device] = copy;
            const bool made = ended_.contains({value.batch, value.op});
            const bool leaving = leaving_.contains(copy) && leaving_.at(copy) > 0;
            const auto list = readers(value);
            const bool read = std::ranges::any_of(list, [&, batch = value.batch, on = device](OpId op) {
                return device_of(op) == on && !ended_.contains({batch, op});
            });
            return made && !leaving && !read;
        });
    }

    void note_peak(DeviceId device) {
        double bytes = run_.outcome.resident_bytes[device];
        for (const auto& [value, holder] : held_) {
            if (holder == device) bytes += bytes_of(value);
        }
        run_.outcome.peak_bytes[device] = std::max(run_.outcome.peak_bytes[device], bytes);
    }

    const Problem& problem_;
    const Graph& graph_;
    const Machine& machine_;
    std::span<const DeviceId> placement_;
    SimulationOptions options_;

    double now_ = 0;
    std::uint64_t started_ = 0;
    std::uint32_t admitted_ = 0;
    std::vector<Resource> devices_, channels_;
    std::set<std::pair<std::uint32_t, OpId>> ended_;     ///< (batch, op)
    std::set<std::pair<Value, DeviceId>> present_;       ///< complete there
    std::set<std::pair<Value, DeviceId>> held_;          ///< takes memory there
    std::map<std::pair<Value, DeviceId>, int> leaving_;  ///< transfers whose first hop is not done
    ReferenceRun run_;
};

}  // namespace

ReferenceRun reference_run(const Problem& problem, std::span<const DeviceId> placement, const SimulationOptions& options) {
    return ReferenceSimulator(problem, placement, options).run();
}

}  // namespace placewright::test
