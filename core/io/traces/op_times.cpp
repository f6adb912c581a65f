// SPDX-License-Identifier: MIT
#include "core/io/traces/op_times.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <vector>

#include "core/base/text.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/text/name_list.hpp"
#include "core/io/traces/op_runs.hpp"

namespace placewright {
std::string OpTimes::report(const Graph& graph) const {
    std::size_t computing = 0, matched = 0, backward = 0;
    std::set<std::string> models;
    NameList missing;
    for (const Op& op : graph.ops()) {
        if (op.phase != Phase::forward || !kind_info(op.kind).computes) continue;
        ++computing;
        const auto found = by_op.find(op.name);
        if (found == by_op.end()) {
            missing.add(op.name);
            continue;
        }
        ++matched;
        backward += std::ranges::any_of(found->second,
                                        [](const auto& time) { return time.second.backward_s.has_value(); });
        for (const auto& [model, time] : found->second) models.insert(model);
    }
    std::string text = "times of " + std::to_string(matched) + " of " + std::to_string(computing) +
                       " ops that compute, " + std::to_string(backward) + " with a backward";
    if (backward < matched && graph.training() == Training::implicit)
        text += " (in training the roofline estimates that of the others)";
    std::string on;
    for (const std::string& model : models) on += (on.empty() ? " on " : ", ") + printable(model, 80);
    text += on;
    if (steps == 2) text += "; of the second of two steps";
    if (steps > 2) text += "; mean over up to " + std::to_string(steps - 1) + " steps, the first is left out";
    if (steps == 1) text += "; one step";
    if (without_model > 0)
        text +=
            "; " + std::to_string(without_model) + " ops ran on devices of unknown model and are left out";
    if (matched > 0 && !missing.empty())
        text += "; none of " + missing.text() + ", which the roofline estimates";
    return text;
}

OpTimes op_times(const TraceFile& trace, const Graph& graph, const std::string& model) {
    const std::vector<OpRun> runs = op_runs(trace, graph).runs;
    OpTimes times;
    std::set<OpId> without_model;
    for (auto first = runs.begin(); first != runs.end();) {
        const auto last = std::find_if(first, runs.end(), [&](const OpRun& run) {
            return run.op != first->op || run.part != first->part;
        });
        std::map<std::string, std::map<std::size_t, std::int64_t>> by_step;  // by device model
        for (const OpRun& run : std::span(first, last)) {
            const std::string& recorded = trace.lanes[trace.events[run.events.back()].lane].model;
            std::int64_t& duration_ns = by_step[model.empty() ? recorded : model][run.step];
            for (const std::uint32_t event : run.events) duration_ns += trace.events[event].duration_ns;
        }
        for (const auto& [on, steps] : by_step) {
            if (on.empty()) {
                without_model.insert(first->op);
                continue;
            }
            auto counted = steps.begin();
            if (steps.size() > 1) ++counted;
            double sum_s = 0;
            const auto count = static_cast<double>(std::distance(counted, steps.end()));
            for (; counted != steps.end(); ++counted) sum_s += static_cast<double>(counted->second) * 1e-9;
            times.steps = std::max(times.steps, steps.size());
            MeasuredTime& time = times.by_op[graph.op(first->op).name][on];
            if (first->part.empty()) {
                time.forward_s = sum_s / count;
            } else if (first->part == kUpdate) {
                time.update_s = sum_s / count;
            } else {
                time.backward_s = time.backward_s.value_or(0) + sum_s / count;
                if (first->part == kWeightGradient) time.weight_gradient_s = sum_s / count;
            }
        }
        first = last;
    }
    times.without_model = without_model.size();
    times.only_cpu = !runs.empty() && std::ranges::all_of(runs, &OpRun::on_cpu);
    return times;
}

Graph with_times(const Graph& graph, const OpTimes& times) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        if (const auto found = times.by_op.find(op.name); found != times.by_op.end()) {
            for (const auto& [model, measured] : found->second) {
                MeasuredTime& time = op.time_s[model];
                if (measured.forward_s) time.forward_s = measured.forward_s;
                if (measured.backward_s) {
                    time.backward_s = measured.backward_s;
                    time.weight_gradient_s = measured.weight_gradient_s;
                }
                if (measured.update_s) time.update_s = measured.update_s;
            }
        }
        builder.add(std::move(op));
    }
    return builder.build();
}

}  // namespace placewright
