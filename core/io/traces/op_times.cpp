// SPDX-License-Identifier: MIT
#include "core/io/traces/op_times.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/base/text.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {
namespace {

/// The measured part of an op: its forward, or one part of its backward.
struct Measured {
    OpId op = kInvalidOp;
    std::string_view part;  ///< "" for the forward
    bool call =
        false;  ///< whether the event is a call of a module with several calls, whose first op this is

    auto operator<=>(const Measured&) const = default;
};

/// Finds ops by names of events.
class OpNames {
public:
    explicit OpNames(const Graph& graph) : graph_(graph) {
        std::unordered_map<std::string, std::vector<OpId>> scopes;
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            if (op.phase != Phase::forward) continue;
            ops_.try_emplace(dotted(op.name), id);
            if (op.scope.empty() || !kind_info(op.kind).computes) continue;
            scopes[dotted(op.scope)].push_back(id);
        }
        // The time of an outer module includes that of the modules in it.
        std::set<std::string_view> outer;
        for (const auto& [scope, ids] : scopes) {
            for (std::size_t dot = scope.rfind('.'); dot != std::string::npos && dot > 0;
                 dot = scope.rfind('.', dot - 1))
                outer.insert(std::string_view(scope).substr(0, dot));
        }
        for (auto& [scope, ids] : scopes) {
            if (outer.contains(scope)) continue;
            const bool same_kind = std::ranges::all_of(
                ids, [&](OpId id) { return graph.op(id).kind == graph.op(ids.front()).kind; });
            if (ids.size() == 1) {
                ops_.try_emplace(scope, ids.front());
            } else if (same_kind) {
                calls_.try_emplace(scope, std::move(ids));
            }
        }
    }

    /// Returns the ops of each module that is called several times, in the order of the calls, by their first
    /// op.
    std::map<OpId, std::vector<OpId>> calls() const {
        std::map<OpId, std::vector<OpId>> result;
        for (const auto& [scope, ids] : calls_) result.emplace(ids.front(), ids);
        return result;
    }

    std::optional<Measured> find(std::string_view name) const {
        if (const auto found = find(name, "")) return found;
        for (const std::string_view part :
             {std::string_view("/backward"), std::string_view("/weight_gradient")}) {
            if (!name.ends_with(part)) continue;
            if (const auto found = find(name.substr(0, name.size() - part.size()), part)) return found;
        }
        constexpr std::string_view kRuntime = "_kernel_time";
        if (name.ends_with(kRuntime)) return find(name.substr(0, name.size() - kRuntime.size()), "");
        return {};
    }

private:
    std::optional<Measured> find(std::string_view name, std::string_view part) const {
        if (const auto op = graph_.find(name); op && graph_.op(*op).phase == Phase::forward)
            return Measured{*op, part};
        const std::string path = dotted(std::string(name));
        if (const auto found = ops_.find(path); found != ops_.end()) return Measured{found->second, part};
        if (const auto found = calls_.find(path); found != calls_.end())
            return Measured{found->second.front(), part, true};
        return {};
    }

    const Graph& graph_;
    std::unordered_map<std::string, OpId> ops_;                 ///< by dotted name
    std::unordered_map<std::string, std::vector<OpId>> calls_;  ///< ops of a module, by its dotted path
};

class Times {
public:
    Times(const TraceFile& trace, const Graph& graph, const std::string& model)
        : trace_(trace), graph_(graph), model_(model) {}

    OpTimes run() {
        index();
        const OpNames names(graph_);
        std::vector<std::optional<Measured>> measured_by(trace_.names.size());
        for (std::size_t i = 0; i < trace_.names.size(); ++i) measured_by[i] = names.find(trace_.names[i]);
        std::map<std::pair<std::uint32_t, Measured>, std::int64_t>
            until;  // by lane: an event within one for the same is part of it
        std::unordered_map<std::uint32_t, std::int64_t> backward_until;  // by lane
        for (std::size_t i = 0; i < trace_.events.size(); ++i) {
            const TraceEvent& event = trace_.events[i];
            const auto& measured = measured_by[event.name];
            if (trace_.names[event.name].starts_with("autograd::engine::evaluate_function")) {
                std::int64_t& end = backward_until[event.lane];
                end = std::max(end, event.end_ns());
            }
            if (!measured || is_left_out(event)) continue;
            // A forward within a backward is computed again (torch.utils.checkpoint); the simulation adds it
            // itself when it recomputes.
            const bool is_again = measured->part.empty() && event.start_ns < backward_until[event.lane];
            const auto [end, is_first] = until.try_emplace({event.lane, *measured}, event.end_ns());
            if (!is_first && event.start_ns < end->second) continue;
            end->second = event.end_ns();
            if (!measured->call) {
                add(*measured, i, is_again);
            } else if (!is_again) {
                calls_[*measured].push_back(i);
            }
        }
        add_calls(names.calls());
        return result();
    }

private:
    /// Times that belong to one step.
    struct Sample {
        std::int64_t start_ns, duration_ns;
        std::string model;
        bool on_cpu = false;
    };
    struct Kernels {
        std::int64_t duration_ns = 0;
        std::uint32_t lane = 0;
    };

    std::string_view category(const TraceEvent& event) const { return trace_.names[event.category]; }
    bool runs_on_device(const TraceEvent& event) const {
        const auto kind = category(event);
        return kind == "kernel" || kind == "gpu_memcpy" || kind == "gpu_memset";
    }
    /// Returns whether an event is one of a thread, by Kineto's category (pytorch/kineto,
    /// libkineto/include/ActivityType.h) or the process name of PyTorch 1 (EventList.export_chrome_trace in
    /// torch/autograd/profiler_util.py).
    bool runs_on_cpu(const TraceEvent& event) const {
        const auto kind = category(event);
        return trace_.lanes[event.lane].process == "CPU functions" || kind == "cpu_op" ||
               kind == "user_annotation" || kind == "python_function";
    }
    /// Returns whether an event is ignored: transfers have the name of the op whose output they carry, and
    /// annotations of a GPU's stream repeat those of the thread.
    bool is_left_out(const TraceEvent& event) const {
        const auto kind = category(event);
        return kind == "transfer" || kind == "gpu_user_annotation" || kind == "gpu_memcpy";
    }

    void index() {
        for (std::size_t i = 0; i < trace_.events.size(); ++i) {
            const TraceEvent& event = trace_.events[i];
            if (runs_on_device(event)) {
                const auto note = [&](auto& map, std::int64_t id) {
                    if (id < 0) return;
                    Kernels& kernels = map[id];
                    kernels.duration_ns += event.duration_ns;
                    kernels.lane = event.lane;
                };
                note(by_correlation_, event.correlation);
                note(by_external_id_, event.external_id);
            } else if (event.sequence >= 0 && is_backward(event)) {
                // The event of the autograd engine contains that of the function.
                const auto [known, is_new] = backward_.try_emplace(event.sequence, i);
                if (!is_new && trace_.events[known->second].duration_ns < event.duration_ns)
                    known->second = i;
            }
            if (trace_.names[event.name].starts_with("ProfilerStep#") &&
                category(event) != "gpu_user_annotation")
                step_begins_.push_back(event.start_ns);
        }
        std::ranges::sort(step_begins_);
    }
    bool is_backward(const TraceEvent& event) const {
        return trace_.names[event.name].find("Backward") != std::string::npos;
    }

    /// Calls `use` for an event and all events nested in it on its lane.
    void within(std::size_t index, auto use) {
        const TraceEvent& outer = trace_.events[index];
        for (std::size_t i = index; i < trace_.events.size(); ++i) {
            const TraceEvent& event = trace_.events[i];
            if (event.lane != outer.lane || (i > index && event.start_ns >= outer.end_ns())) return;
            if (++visited_ > kMostVisits * (trace_.events.size() + 10'000))
                throw InputError(trace_.file.string(), "",
                                 "too many events of ops are nested in each other to compute their times; "
                                 "expected ops that few other ops call");
            if (event.end_ns() <= outer.end_ns()) use(event);
        }
    }

    Sample sample(std::size_t index) {
        const TraceEvent& event = trace_.events[index];
        const auto model_of = [&](std::uint32_t lane) {
            return model_.empty() ? trace_.lanes[lane].model : model_;
        };
        if (runs_on_device(event)) return {event.start_ns, event.duration_ns, model_of(event.lane)};
        std::set<std::int64_t> correlations, external_ids;
        within(index, [&](const TraceEvent& inner) {
            if (by_correlation_.contains(inner.correlation)) correlations.insert(inner.correlation);
            if (by_external_id_.contains(inner.external_id)) external_ids.insert(inner.external_id);
        });
        const bool by_launch = !correlations.empty();
        const auto& ids = by_launch ? correlations : external_ids;
        const auto& kernels = by_launch ? by_correlation_ : by_external_id_;
        if (ids.empty()) return {event.start_ns, event.duration_ns, model_of(event.lane), runs_on_cpu(event)};
        Sample result{event.start_ns, 0, {}};
        for (const std::int64_t id : ids) {
            result.duration_ns += kernels.at(id).duration_ns;
            result.model = model_of(kernels.at(id).lane);
        }
        return result;
    }

    /// Adds the time of an event. Of an op that is computed again (`is_again`), only the backward is added.
    void add(const Measured& measured, std::size_t index, bool is_again = false) {
        if (!is_again) samples_[measured].push_back(sample(index));
        if (!measured.part.empty()) return;
        std::set<std::size_t> backward;
        within(index, [&](const TraceEvent& inner) {
            const auto found =
                inner.sequence >= 0 && !is_backward(inner) ? backward_.find(inner.sequence) : backward_.end();
            if (found != backward_.end()) backward.insert(found->second);
        });
        for (const std::size_t event : backward) {
            // Several forwards may share a backward, whose events are visited only once.
            const auto [known, is_new] = backward_samples_.try_emplace(event);
            if (is_new) known->second = sample(event);
            Sample of_backward = known->second;
            of_backward.start_ns = trace_.events[index].start_ns;  // counts in the step of the forward
            samples_[{measured.op, "sequence"}].push_back(std::move(of_backward));
        }
    }

    std::size_t step_of(std::int64_t start_ns) const {
        return static_cast<std::size_t>(std::ranges::upper_bound(step_begins_, start_ns) -
                                        step_begins_.begin());
    }

    /// Returns the number of runs of most ops; if no op has events of its own, that of most modules' ops.
    std::size_t usual_runs(const std::map<OpId, std::vector<OpId>>& ops_by_first) const {
        std::map<std::size_t, std::size_t> ops_by_runs;
        for (const auto& [measured, samples] : samples_) {
            if (measured.part.empty()) ++ops_by_runs[samples.size()];
        }
        if (ops_by_runs.empty()) {
            for (const auto& [measured, events] : calls_) {
                const std::size_t ops = ops_by_first.at(measured.op).size();
                if (measured.part.empty() && events.size() % ops == 0)
                    ops_by_runs[events.size() / ops] += ops;
            }
        }
        const auto usual =
            std::ranges::max_element(ops_by_runs, {}, [](const auto& entry) { return entry.second; });
        return usual == ops_by_runs.end() ? 0 : usual->first;
    }

    /// Assigns the calls of a module in a step to its ops in their order, and their backwards in reverse
    /// order. A step with another number of calls is ignored: a single call with several ops takes the time
    /// of all.
    void add_calls(const std::map<OpId, std::vector<OpId>>& ops_by_first) {
        const std::size_t runs = usual_runs(ops_by_first);
        for (auto& [measured, events] : calls_) {
            const std::vector<OpId>& ops = ops_by_first.at(measured.op);
            std::ranges::stable_sort(events, {},
                                     [&](std::size_t event) { return trace_.events[event].start_ns; });
            std::map<std::size_t, std::vector<std::size_t>> by_step;
            if (step_begins_.empty() && events.size() != runs * ops.size()) continue;
            for (std::size_t i = 0; i < events.size(); ++i)
                by_step[step_begins_.empty() ? i / ops.size() : step_of(trace_.events[events[i]].start_ns)]
                    .push_back(events[i]);
            for (const auto& [step, calls] : by_step) {
                if (calls.size() != ops.size()) continue;
                for (std::size_t i = 0; i < calls.size(); ++i)
                    add({measured.part.empty() ? ops[i] : ops[ops.size() - 1 - i], measured.part}, calls[i]);
            }
        }
    }

    OpTimes result() {
        OpTimes times;
        std::set<OpId> without_model;
        for (auto& [measured, samples] : samples_) {
            std::ranges::stable_sort(samples, {}, &Sample::start_ns);
            std::map<std::string, std::map<std::size_t, std::int64_t>> by_step;
            std::int64_t last_start = -1;
            std::size_t run = 0;
            for (const Sample& sample : samples) {
                // All parts of one backward count as beginning at the same time.
                if (sample.start_ns != last_start) ++run;
                last_start = sample.start_ns;
                const std::size_t step = step_begins_.empty() ? run : step_of(sample.start_ns);
                by_step[sample.model][step] += sample.duration_ns;
            }
            for (const auto& [model, steps] : by_step) {
                if (model.empty()) {
                    without_model.insert(measured.op);
                    continue;
                }
                auto counted = steps.begin();
                if (steps.size() > 1) ++counted;
                double sum_s = 0;
                const auto count = static_cast<double>(std::distance(counted, steps.end()));
                for (; counted != steps.end(); ++counted)
                    sum_s += static_cast<double>(counted->second) * 1e-9;
                times.steps = std::max(times.steps, steps.size());
                MeasuredTime& time = times.by_op[graph_.op(measured.op).name][model];
                if (measured.part.empty()) {
                    time.forward_s = sum_s / count;
                } else {
                    time.backward_s = time.backward_s.value_or(0) + sum_s / count;
                }
            }
        }
        times.without_model = without_model.size();
        times.only_cpu = !samples_.empty() && std::ranges::all_of(samples_, [](const auto& measured) {
            return std::ranges::all_of(measured.second, &Sample::on_cpu);
        });
        return times;
    }

    const TraceFile& trace_;
    const Graph& graph_;
    const std::string& model_;
    std::unordered_map<std::int64_t, Kernels> by_correlation_, by_external_id_;
    std::unordered_map<std::int64_t, std::size_t> backward_;    ///< event by sequence number
    std::unordered_map<std::size_t, Sample> backward_samples_;  ///< by index of the event
    std::vector<std::int64_t> step_begins_;
    std::map<Measured, std::vector<Sample>> samples_;
    std::map<Measured, std::vector<std::size_t>> calls_;  ///< indices of events
    /// Maximum number of visits per event; a few are normal, because modules that call ops are nested.
    static constexpr std::size_t kMostVisits = 100;
    std::size_t visited_ = 0;
};

}  // namespace

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
    return Times(trace, graph, model).run();
}

Graph with_times(const Graph& graph, const OpTimes& times) {
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        if (const auto found = times.by_op.find(op.name); found != times.by_op.end()) {
            for (const auto& [model, measured] : found->second) {
                MeasuredTime& time = op.time_s[model];
                if (measured.forward_s) time.forward_s = measured.forward_s;
                if (measured.backward_s) time.backward_s = measured.backward_s;
            }
        }
        builder.add(std::move(op));
    }
    return builder.build();
}

}  // namespace placewright
