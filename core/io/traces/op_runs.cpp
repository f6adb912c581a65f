// SPDX-License-Identifier: MIT
#include "core/io/traces/op_runs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/sorted.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// The measured part of an op: its forward, one part of its backward, or its update.
struct Measured {
    OpId op = kInvalidOp;
    std::string_view part;  ///< "" for the forward
    bool call =
        false;  ///< whether the event is a call of a module with several calls, whose first op this is
    std::size_t piece = 0;  ///< from 1: the event is that of a node that the op stands for

    auto operator<=>(const Measured&) const = default;
};

/// Finds ops by names of events.
class OpNames {
public:
    OpNames(const Graph& graph, MatchedOps matched) : graph_(graph), matched_(matched) {
        std::unordered_map<std::string, std::vector<OpId>> scopes;
        for (OpId id = 0; id < graph.size(); ++id) {
            const Op& op = graph.op(id);
            if (!matches(op)) continue;
            ops_.try_emplace(dotted(op.name), id);
            add_pieces(op, id);
            if (op.phase != Phase::forward || op.autocast || op.scope.empty() || !kind_info(op.kind).computes)
                continue;
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
            const std::string& kind = graph.op(ids.front()).kind;
            const bool same_kind =
                std::ranges::all_of(ids, [&](OpId id) { return graph.op(id).kind == kind; });
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
        // An addition to the gradient of a shared parameter.
        constexpr std::string_view kAddition = "/weight_gradient#";
        if (const std::size_t at = name.rfind(kAddition); at != std::string_view::npos)
            name = name.substr(0, at + kAddition.size() - 1);
        for (const std::string_view part : {kBackward, kWeightGradient, kUpdate}) {
            if (!name.ends_with(part)) continue;
            if (const auto found = find(name.substr(0, name.size() - part.size()), part)) return found;
        }
        constexpr std::string_view kRuntime = "_kernel_time";
        if (name.ends_with(kRuntime)) return find(name.substr(0, name.size() - kRuntime.size()), "");
        return {};
    }

private:
    bool matches(const Op& op) const { return matched_ == MatchedOps::all || op.phase == Phase::forward; }

    /// The nodes of a file that a forward op stands for (known_chains.hpp), by their names.
    void add_pieces(const Op& op, OpId id) {
        const auto merged = op.attributes.find("merged");
        if (merged == op.attributes.end() || op.phase != Phase::forward) return;
        std::size_t piece = 0;
        for (const Json& name : json_value(merged->second)) {
            if (name.is_string())
                pieces_.try_emplace(dotted(name.get<std::string>()), Measured{id, "", false, ++piece});
        }
    }

    std::optional<Measured> find(std::string_view name, std::string_view part) const {
        const auto piece = pieces_.find(dotted(std::string(name)));
        if (part.empty() && piece != pieces_.end()) return piece->second;
        if (const auto op = graph_.find(name); op && matches(graph_.op(*op))) return Measured{*op, part};
        const std::string path = dotted(std::string(name));
        if (const auto found = ops_.find(path); found != ops_.end()) return Measured{found->second, part};
        if (const auto found = calls_.find(path); found != calls_.end())
            return Measured{found->second.front(), part, true};
        return {};
    }

    const Graph& graph_;
    MatchedOps matched_;
    std::unordered_map<std::string, OpId> ops_;                 ///< by dotted name
    std::unordered_map<std::string, std::vector<OpId>> calls_;  ///< ops of a module, by its dotted path
    std::unordered_map<std::string, Measured> pieces_;          ///< by dotted name
};

class Runs {
public:
    Runs(const TraceFile& trace, const Graph& graph, MatchedOps matched)
        : trace_(trace), graph_(graph), matched_(matched) {}

    OpRuns find() {
        index();
        const OpNames names(graph_, matched_);
        std::vector<std::optional<Measured>> measured_by(trace_.names.size());
        for (std::size_t i = 0; i < trace_.names.size(); ++i) measured_by[i] = names.find(trace_.names[i]);
        std::map<std::pair<std::uint32_t, Measured>, std::int64_t>
            until;  // by lane: an event within one for the same is part of it
        std::unordered_map<std::uint32_t, std::int64_t> backward_until;  // by lane
        for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
            const TraceEvent& event = trace_.events[i];
            const auto& measured = measured_by[event.name];
            if (trace_.names[event.name].starts_with("autograd::engine::evaluate_function")) {
                std::int64_t& end = backward_until[event.lane];
                end = std::max(end, event.end_ns());
            }
            if (!measured || is_left_out(event)) continue;
            // A forward within a backward is computed again (torch.utils.checkpoint); the simulation adds it
            // itself when it recomputes.
            const bool is_again = is_forward(*measured) && event.start_ns < backward_until[event.lane];
            const auto [end, is_first] = until.try_emplace({event.lane, *measured}, event.end_ns());
            if (!is_first && event.start_ns < end->second) continue;
            end->second = event.end_ns();
            if (measured->piece > 0) {
                if (!is_again) pieces_[measured->op][measured->piece].push_back(i);
            } else if (!measured->call) {
                add(*measured, i, is_again);
            } else if (!is_again) {
                calls_[*measured].push_back(i);
            }
        }
        add_calls(names.calls());
        add_pieces();
        return result();
    }

private:
    using IdOfEvent = std::pair<std::int64_t, std::uint32_t>;  ///< common number, index of a kernel

    std::string_view category(const TraceEvent& event) const { return trace_.names[event.category]; }
    bool is_forward(const Measured& measured) const {
        return measured.part.empty() && graph_.op(measured.op).phase == Phase::forward;
    }
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
    /// Returns whether an event is ignored: transfers have the name of the op whose output they carry, the
    /// host of a simulation that of the op that it issues, and annotations of a GPU's stream repeat those of
    /// the thread.
    bool is_left_out(const TraceEvent& event) const {
        const auto kind = category(event);
        return kind == "transfer" || kind == "gpu_user_annotation" || kind == "gpu_memcpy" ||
               (kind == "host" && trace_.is_ours());
    }

    void index() {
        for (std::uint32_t i = 0; i < trace_.events.size(); ++i) {
            const TraceEvent& event = trace_.events[i];
            if (runs_on_device(event)) {
                if (event.correlation >= 0) by_correlation_.emplace_back(event.correlation, i);
                if (event.external_id >= 0) by_external_id_.emplace_back(event.external_id, i);
            } else if (event.sequence >= 0 && is_backward(event)) {
                // The event of the autograd engine contains that of the function.
                const auto [known, is_new] = backward_.try_emplace(event.sequence, i);
                if (!is_new && trace_.events[known->second].duration_ns < event.duration_ns)
                    known->second = i;
            }
            if (trace_.names[event.name].starts_with("ProfilerStep#") &&
                category(event) != "gpu_user_annotation")
                steps_.push_back({event.start_ns, event.end_ns()});
        }
        std::ranges::sort(by_correlation_);
        std::ranges::sort(by_external_id_);
        std::ranges::sort(steps_, {}, &ProfilerStep::start_ns);
    }
    bool is_backward(const TraceEvent& event) const {
        return trace_.names[event.name].find("Backward") != std::string::npos;
    }
    /// The kernels with a number, in the order of their events.
    static auto kernels_of(const std::vector<IdOfEvent>& kernels, std::int64_t id) {
        return section_of(kernels, id, &IdOfEvent::first);
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

    OpRun run_of(const Measured& measured, std::uint32_t index) {
        const TraceEvent& event = trace_.events[index];
        OpRun run{measured.op, measured.part, event.start_ns, 0, {}, true, false};
        if (runs_on_device(event)) {
            run.events = {index};
            return run;
        }
        std::set<std::int64_t> correlations, external_ids;
        within(index, [&](const TraceEvent& inner) {
            if (inner.correlation >= 0 && !kernels_of(by_correlation_, inner.correlation).empty())
                correlations.insert(inner.correlation);
            if (inner.external_id >= 0 && !kernels_of(by_external_id_, inner.external_id).empty())
                external_ids.insert(inner.external_id);
        });
        const bool by_launch = !correlations.empty();
        for (const std::int64_t id : by_launch ? correlations : external_ids) {
            for (const IdOfEvent& kernel : kernels_of(by_launch ? by_correlation_ : by_external_id_, id))
                run.events.push_back(kernel.second);
        }
        if (run.events.empty()) {
            run.events = {index};
            run.on_device = false;
            run.on_cpu = runs_on_cpu(event);
        }
        return run;
    }

    /// Adds the run of an event. Of an op that is computed again (`is_again`), only the backward is added.
    void add(const Measured& measured, std::uint32_t index, bool is_again = false) {
        if (!is_again) runs_.push_back(run_of(measured, index));
        if (!is_forward(measured)) return;
        std::set<std::uint32_t> backward;
        within(index, [&](const TraceEvent& inner) {
            const auto found =
                inner.sequence >= 0 && !is_backward(inner) ? backward_.find(inner.sequence) : backward_.end();
            if (found != backward_.end()) backward.insert(found->second);
        });
        for (const std::uint32_t event : backward) {
            // Several forwards may share a backward, whose events are visited only once.
            const auto [known, is_new] = backward_runs_.try_emplace(event);
            if (is_new) known->second = run_of({measured.op, "sequence"}, event);
            OpRun of_backward = known->second;
            of_backward.op = measured.op;
            of_backward.start_ns = trace_.events[index].start_ns;  // counts in the step of the forward
            runs_.push_back(std::move(of_backward));
        }
    }

    std::size_t step_of(std::int64_t start_ns) const {
        return static_cast<std::size_t>(
            std::ranges::upper_bound(steps_, start_ns, {}, &ProfilerStep::start_ns) - steps_.begin());
    }

    /// Returns the number of runs of most ops; if no op has events of its own, that of most modules' ops.
    std::size_t usual_runs(const std::map<OpId, std::vector<OpId>>& ops_by_first) const {
        std::map<OpId, std::size_t> runs_by_op;
        for (const OpRun& run : runs_) {
            if (is_forward({run.op, run.part})) ++runs_by_op[run.op];
        }
        std::map<std::size_t, std::size_t> ops_by_runs;
        for (const auto& [op, runs] : runs_by_op) ++ops_by_runs[runs];
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
                                     [&](std::uint32_t event) { return trace_.events[event].start_ns; });
            std::map<std::size_t, std::vector<std::uint32_t>> by_step;
            if (steps_.empty() && events.size() != runs * ops.size()) continue;
            for (std::size_t i = 0; i < events.size(); ++i)
                by_step[steps_.empty() ? i / ops.size() : step_of(trace_.events[events[i]].start_ns)]
                    .push_back(events[i]);
            for (const auto& [step, calls] : by_step) {
                if (calls.size() != ops.size()) continue;
                for (std::size_t i = 0; i < calls.size(); ++i)
                    add({measured.part.empty() ? ops[i] : ops[ops.size() - 1 - i], measured.part}, calls[i]);
            }
        }
    }

    /// Puts the events of the nodes that an op stands for together: the first of each are its first run. A
    /// last run of which some are missing is cut off.
    void add_pieces() {
        for (auto& [op, events_by_piece] : pieces_) {
            std::size_t runs = std::numeric_limits<std::size_t>::max();
            for (auto& [piece, events] : events_by_piece) {
                std::ranges::stable_sort(events, {},
                                         [&](std::uint32_t event) { return trace_.events[event].start_ns; });
                runs = std::min(runs, events.size());
            }
            for (std::size_t i = 0; i < runs; ++i) {
                std::optional<OpRun> whole;
                for (const auto& [piece, events] : events_by_piece) {
                    OpRun run = run_of({op, ""}, events[i]);
                    if (!whole) {
                        whole = std::move(run);
                        continue;
                    }
                    whole->start_ns = std::min(whole->start_ns, run.start_ns);
                    whole->on_device = whole->on_device || run.on_device;
                    whole->on_cpu = whole->on_cpu && run.on_cpu;
                    whole->events.insert(whole->events.end(), run.events.begin(), run.events.end());
                }
                if (whole) runs_.push_back(*std::move(whole));
            }
        }
    }

    OpRuns result() {
        std::ranges::stable_sort(runs_, {},
                                 [](const OpRun& run) { return std::tuple(run.op, run.part, run.start_ns); });
        const OpRun* before = nullptr;
        std::size_t number = 0;
        for (OpRun& run : runs_) {
            if (before == nullptr || before->op != run.op || before->part != run.part) {
                number = 1;
            } else if (before->start_ns != run.start_ns) {
                ++number;  // all parts of one backward count as beginning at the same time
            }
            run.step = steps_.empty() ? number : step_of(run.start_ns);
            before = &run;
        }
        return {std::move(runs_), std::move(steps_)};
    }

    const TraceFile& trace_;
    const Graph& graph_;
    MatchedOps matched_;
    std::vector<IdOfEvent> by_correlation_, by_external_id_;    ///< kernels, sorted
    std::unordered_map<std::int64_t, std::uint32_t> backward_;  ///< event by sequence number
    std::unordered_map<std::uint32_t, OpRun> backward_runs_;    ///< by index of the event
    std::vector<ProfilerStep> steps_;
    std::vector<OpRun> runs_;
    std::map<Measured, std::vector<std::uint32_t>> calls_;  ///< indices of events
    std::map<OpId, std::map<std::size_t, std::vector<std::uint32_t>>>
        pieces_;  ///< indices of events, by op and Measured::piece
    /// Maximum number of visits per event; a few are normal, because modules that call ops are nested.
    static constexpr std::size_t kMostVisits = 100;
    std::size_t visited_ = 0;
};

}  // namespace

OpRuns op_runs(const TraceFile& trace, const Graph& graph, MatchedOps matched) {
    return Runs(trace, graph, matched).find();
}

}  // namespace placewright
