// SPDX-License-Identifier: MIT
#include "core/measure/execution_plan.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/base/text.hpp"
#include "core/machine/machine.hpp"

namespace placewright {
namespace {

class Planner {
public:
    Planner(const std::shared_ptr<const Problem>& shared, std::span<const DeviceId> placement)
        : problem_(*shared), graph_(*problem_.graph) {
        check_placement(problem_, placement);
        plan_.device_of.resize(problem_.ops);
        for (OpId op = 0; op < problem_.ops; ++op)
            plan_.device_of[op] = placement[problem_.grouping.group_of[op]];
        Simulator simulator(shared);
        simulator.run(placement, trace_);
    }

    ExecutionPlan run() {
        order_ops();
        list_transfers();
        sort_channels();
        link();
        count_readers();
        return std::move(plan_);
    }

private:
    /// In the order of their ends, which is one in which nothing comes before what it reads; on a device with
    /// one stream it is that of their starts. Updates come behind all ops that still read the parameters.
    void order_ops() {
        std::vector<std::uint32_t> place(problem_.ops);
        std::vector<std::uint32_t> last_reader(problem_.ops);  // [forward op]
        std::uint32_t at = 0;
        for (const Span& span : trace_.spans) {
            if (span.kind != Span::Kind::op) continue;
            place[span.op] = at++;
            const Op& op = graph_.op(span.op);
            if (op.phase != Phase::update && op.forward_op != kInvalidOp)
                last_reader[op.forward_op] = std::max(last_reader[op.forward_op], place[span.op]);
        }
        std::vector<std::pair<std::uint64_t, OpId>> sorted;
        for (OpId op = 0; op < problem_.ops; ++op) {
            const Op& each = graph_.op(op);
            std::uint64_t key = std::uint64_t{place[op]} << 1U;
            if (each.phase == Phase::update && each.forward_op != kInvalidOp)
                key = std::max(key, (std::uint64_t{last_reader[each.forward_op]} << 1U) + 1);
            sorted.emplace_back(key, op);
        }
        std::ranges::sort(sorted);
        plan_.ops.resize(problem_.devices);
        for (const auto& [key, op] : sorted) plan_.ops[plan_.device_of[op]].push_back(op);
    }

    void list_transfers() {
        plan_.channel_transfers.resize(problem_.channels);
        plan_.sends.resize(problem_.ops);
        // A transfer has a span for each leg, or for each channel of a cut-through leg.
        std::map<std::pair<TensorId, DeviceId>, std::uint32_t> known;
        for (const Span& span : trace_.spans) {
            // Weights are where their op runs: only what is simulated streams them.
            if (span.kind != Span::Kind::transfer || problem_.is_streamed(span.tensor)) continue;
            const auto [found, added] =
                known.try_emplace({span.tensor, span.to}, static_cast<std::uint32_t>(plan_.transfers.size()));
            if (added) {
                PlannedTransfer transfer;
                transfer.producer = span.op;
                transfer.from = span.from;
                transfer.to = span.to;
                transfer.channel = problem_.machine->route(span.from, span.to).front();
                transfer.bytes = span.bytes;
                transfer.tensors = tensors_of(span);
                plan_.sends[span.op].push_back(found->second);
                plan_.channel_transfers[transfer.channel].push_back(found->second);
                plan_.transfers.push_back(std::move(transfer));
            }
            std::vector<PlannedTransfer::Leg>& legs = plan_.transfers[found->second].legs;
            if (legs.empty() || problem_.crossing == Crossing::store_and_forward) legs.emplace_back();
            legs.back().channels.push_back(span.resource);
            legs.back().simulated_s = std::max(legs.back().simulated_s, span.end_s - span.start_s);
        }
    }

    void sort_channels() {
        for (PlannedTransfer& transfer : plan_.transfers) {
            for (PlannedTransfer::Leg& leg : transfer.legs) std::ranges::sort(leg.channels);
        }
    }

    std::vector<TensorId> tensors_of(const Span& span) const {
        if (!problem_.sends_together[span.op]) return {span.tensor};
        std::vector<TensorId> tensors;
        for (TensorId tensor = problem_.output_begin[span.op]; tensor < problem_.output_begin[span.op + 1];
             ++tensor) {
            if (is_read_on(tensor, span.to)) tensors.push_back(tensor);
        }
        return tensors;
    }

    std::span<const OpId> readers_of(TensorId tensor) const {
        return std::span(problem_.consumer)
            .subspan(problem_.consumer_begin[tensor],
                     problem_.consumer_begin[tensor + 1] - problem_.consumer_begin[tensor]);
    }

    bool is_read_on(TensorId tensor, DeviceId device) const {
        return std::ranges::any_of(readers_of(tensor),
                                   [&](OpId reader) { return plan_.device_of[reader] == device; });
    }

    void link() {
        plan_.inputs_awaited.resize(problem_.ops);
        plan_.local_readers.resize(problem_.ops);
        plan_.arrivals.resize(plan_.transfers.size());
        for (TensorId tensor = 0; tensor < problem_.tensors; ++tensor) {
            const OpId producer = problem_.producer[tensor];
            for (const OpId reader : readers_of(tensor)) {
                ++plan_.inputs_awaited[reader];
                if (plan_.device_of[reader] == plan_.device_of[producer])
                    plan_.local_readers[producer].push_back(reader);
            }
        }
        for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
            for (const TensorId tensor : plan_.transfers[index].tensors) {
                for (const OpId reader : readers_of(tensor)) {
                    if (plan_.device_of[reader] == plan_.transfers[index].to)
                        plan_.arrivals[index].push_back(reader);
                }
            }
        }
    }

    void count_readers() {
        plan_.op_reads.resize(problem_.ops);
        plan_.transfer_reads.resize(plan_.transfers.size());
        std::map<std::pair<TensorId, DeviceId>, std::uint32_t> known;
        const auto held = [&](TensorId tensor, DeviceId device) {
            const auto [found, added] =
                known.try_emplace({tensor, device}, static_cast<std::uint32_t>(plan_.held.size()));
            if (added) {
                plan_.held.push_back({tensor, device});
                plan_.readers.push_back(0);
            }
            ++plan_.readers[found->second];
            return found->second;
        };
        for (TensorId tensor = 0; tensor < problem_.tensors; ++tensor) {
            for (const OpId reader : readers_of(tensor))
                plan_.op_reads[reader].push_back(held(tensor, plan_.device_of[reader]));
        }
        for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
            for (const TensorId tensor : plan_.transfers[index].tensors)
                plan_.transfer_reads[index].push_back(held(tensor, plan_.transfers[index].from));
        }
    }

    const Problem& problem_;
    const Graph& graph_;
    Trace trace_;
    ExecutionPlan plan_;
};

}  // namespace

double PlannedTransfer::simulated_s() const {
    double sum_s = 0;
    for (const Leg& leg : legs) sum_s += leg.simulated_s;
    return sum_s;
}

ExecutionPlan make_execution_plan(const std::shared_ptr<const Problem>& problem,
                                  std::span<const DeviceId> placement) {
    return Planner(problem, placement).run();
}

}  // namespace placewright
