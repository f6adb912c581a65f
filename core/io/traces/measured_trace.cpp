// SPDX-License-Identifier: MIT
#include "core/io/traces/measured_trace.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/sorted.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/text/name_list.hpp"
#include "core/io/traces/op_runs.hpp"

namespace placewright {
namespace {

std::optional<std::size_t> number_in(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return number;
}

/// The device with this number among the CPUs, or among all others.
std::optional<DeviceId> numbered(const Machine& machine, std::size_t number, bool is_cpu) {
    for (DeviceId device = 0; device < machine.devices().size(); ++device) {
        if ((machine.device(device).kind == DeviceKind::cpu) == is_cpu && number-- == 0) return device;
    }
    return {};
}

/// The device that a process or a thread is named after.
std::optional<DeviceId> device_named(const Machine& machine, std::string_view name) {
    if (const std::size_t model = name.find(" ("); model != std::string_view::npos)
        name = name.substr(0, model);
    if (const auto device = machine.find(name)) return device;
    std::string lower(name);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const std::string_view kind : {"gpu", "cuda", "cpu"}) {
        if (lower.size() < kind.size() + 2 || !lower.starts_with(kind)) continue;
        const char between = lower[kind.size()];
        if (between != ' ' && between != ':') continue;
        if (const auto number = number_in(std::string_view(lower).substr(kind.size() + 1)))
            return numbered(machine, *number, kind == "cpu");
    }
    return {};
}

constexpr std::size_t kMostStreams = 64;  // of a device; spans that overlap more are cut

class Measurement {
public:
    Measurement(const TraceFile& trace, const Problem& problem, std::span<const DeviceId> placement)
        : trace_(trace), problem_(problem), graph_(*problem.graph), placement_(placement) {}

    MeasuredTrace make(const std::stop_token& stop) {
        auto [runs, marks] = op_runs(trace_, graph_, MatchedOps::all);
        if (stop.stop_requested()) return {};
        marks_ = std::move(marks);
        find_devices();
        keep_runs(std::move(runs));
        choose_step();
        if (stop.stop_requested()) return {};
        add_ops();
        if (!result_.run.trace.spans.empty()) {
            add_transfers();
            add_memory();
            set_streams();
            set_placement();
        }
        count();
        result_.run.name = trace_.file.filename().string();
        return std::move(result_);
    }

private:
    struct Step {
        std::int64_t start_ns = std::numeric_limits<std::int64_t>::max(), end_ns = 0;
        std::size_t runs = 0;
    };

    /// A device of the machine for each lane that is named after one.
    void find_devices() {
        const Machine& machine = *problem_.machine;
        std::vector<bool> has_kernels(trace_.lanes.size());
        for (const TraceEvent& event : trace_.events) {
            if (trace_.names[event.category] == "kernel") has_kernels[event.lane] = true;
        }
        for (std::size_t lane = 0; lane < trace_.lanes.size(); ++lane) {
            const TraceLane& of = trace_.lanes[lane];
            auto device = device_named(machine, of.process);
            if (!device) device = device_named(machine, of.thread);
            // The process of a GPU's stream is its number (pytorch/kineto, libkineto/src/output_json.cpp).
            if (const auto number = number_in(of.process); !device && number && has_kernels[lane])
                device = numbered(machine, *number, false);
            device_of_.push_back(device);
        }
        has_kernels_ = std::ranges::find(has_kernels, true) != has_kernels.end();
    }

    /// The op of the graph that a run is of; nothing if the graph has no such part.
    std::optional<OpId> op_of(const OpRun& run) const {
        if (run.part.empty()) return run.op;
        const std::string& name = graph_.op(run.op).name;
        if (run.part != "sequence") return graph_.find(name + std::string(run.part));
        const auto backward = graph_.find(name + "/backward");
        return backward ? backward : graph_.find(name + "/weight_gradient");
    }

    DeviceId placed_on(OpId op) const { return placement_[problem_.grouping.group_of[op]]; }
    bool is_on_cpu(OpId op) const { return problem_.machine->device(placed_on(op)).kind == DeviceKind::cpu; }

    /// Keeps the runs of ops of the graph that took time on a device.
    void keep_runs(std::vector<OpRun> runs) {
        for (OpRun& run : runs) {
            const auto op = op_of(run);
            if (!op) continue;
            run.op = *op;
            const bool launched_none = has_kernels_ && !run.on_device;
            if (launched_none && !device_of_[trace_.events[run.events.front()].lane] && !is_on_cpu(run.op))
                continue;
            runs_.push_back(std::move(run));
        }
        // What precedes the first mark is part of a step only if nothing else is.
        if (!marks_.empty() && std::ranges::any_of(runs_, [](const OpRun& run) { return run.step > 0; }))
            std::erase_if(runs_, [](const OpRun& run) { return run.step == 0; });
    }

    void choose_step() {
        std::map<std::size_t, Step> steps;
        for (const OpRun& run : runs_) {
            Step& step = steps[run.step];
            ++step.runs;
            for (const std::uint32_t event : run.events) {
                step.start_ns = std::min(step.start_ns, trace_.events[event].start_ns);
                step.end_ns = std::max(step.end_ns, trace_.events[event].end_ns());
            }
        }
        result_.steps = steps.size();
        if (steps.empty()) return;
        if (overlap(steps)) {
            from_ns_ = std::ranges::min_element(steps, {}, [](const auto& each) {
                           return each.second.start_ns;
                       })->second.start_ns;
            std::int64_t end_ns = 0;
            for (const auto& [number, step] : steps) end_ns = std::max(end_ns, step.end_ns);
            batches_ = steps.size();
            result_.run.step_times_s = {seconds(end_ns - from_ns_) / static_cast<double>(batches_)};
            return;
        }
        std::size_t most = 0;
        for (const auto& [number, step] : steps) most = std::max(most, step.runs);
        std::vector<std::size_t> counted;
        for (const auto& [number, step] : steps) {
            if (10 * step.runs >= 9 * most) counted.push_back(number);
        }
        if (counted.size() > 1 && counted.front() == steps.begin()->first) counted.erase(counted.begin());
        const auto length_ns = [&](std::size_t number) {
            const Step& step = steps.at(number);
            if (number == 0 || number > marks_.size()) return step.end_ns - step.start_ns;
            const ProfilerStep& mark = marks_[number - 1];
            return (number < marks_.size() ? marks_[number].start_ns : mark.end_ns) - mark.start_ns;
        };
        for (const std::size_t number : counted)
            result_.run.step_times_s.push_back(seconds(length_ns(number)));
        std::ranges::nth_element(counted, counted.begin() + static_cast<std::ptrdiff_t>(counted.size() / 2),
                                 {}, length_ns);
        step_ = counted[counted.size() / 2];
        from_ns_ = steps.at(step_).start_ns;
        // A simulated step begins before its first op if the host issues that.
        if (trace_.is_ours() && steps.size() == 1) from_ns_ = 0;
        to_ns_ = steps.at(step_).end_ns;
    }

    /// Whether steps overlap as the batches of a pipeline do.
    bool overlap(const std::map<std::size_t, Step>& steps) const {
        if (!marks_.empty() || steps.size() < 2) return false;
        std::size_t overlapping = 0;
        for (auto next = std::next(steps.begin()); next != steps.end(); ++next) {
            const Step &before = std::prev(next)->second, &step = next->second;
            overlapping += 2 * step.start_ns < before.start_ns + before.end_ns;
        }
        return 2 * overlapping > steps.size() - 1;
    }

    static double seconds(std::int64_t time_ns) { return static_cast<double>(time_ns) * 1e-9; }
    void place(Span& span, const TraceEvent& event) const {
        span.start_s = span.queued_s = seconds(event.start_ns - from_ns_);
        span.end_s = seconds(event.end_ns() - from_ns_);
    }

    void add_ops() {
        for (const OpRun& run : runs_) {
            if (batches_ == 0 && run.step != step_) continue;
            for (const std::uint32_t event : run.events) {
                Span span;
                const auto device = device_of_[trace_.events[event].lane];
                span.resource = device.value_or(placed_on(run.op));
                span.op = run.op;
                span.batch = batches_ > 0 ? static_cast<std::uint32_t>(run.step - 1) : 0;
                place(span, trace_.events[event]);
                result_.run.trace.spans.push_back(span);
                if (!device) unnamed_.push_back(forward_of(run.op));
            }
        }
    }

    OpId forward_of(OpId op) const {
        const OpId forward = graph_.op(op).forward_op;
        return forward == kInvalidOp ? op : forward;
    }

    /// Whether a time lies in the step that is shown.
    bool in_step(std::int64_t time_ns) const {
        return batches_ > 0 || result_.steps == 1 || (time_ns >= from_ns_ && time_ns < to_ns_);
    }

    void add_transfers() {
        const Machine& machine = *problem_.machine;
        std::unordered_map<std::string_view, ChannelId> channels;
        for (ChannelId channel = 0; channel < problem_.channels; ++channel)
            channels.emplace(machine.channels()[channel].name, channel);
        for (const TraceEvent& event : trace_.events) {
            if (event.transfer >= trace_.transfers.size() || !in_step(event.start_ns)) continue;
            const TraceTransfer& transfer = trace_.transfers[event.transfer];
            const auto channel = channels.find(trace_.lanes[event.lane].thread);
            const auto op = graph_.find(trace_.names[event.name]);
            const auto from = machine.find(trace_.names[transfer.from]),
                       to = machine.find(trace_.names[transfer.to]);
            if (channel == channels.end() || !op || !from || !to ||
                problem_.output_begin[*op] == problem_.output_begin[*op + 1])
                continue;
            Span span;
            span.kind = Span::Kind::transfer;
            span.resource = channel->second;
            span.from = *from;
            span.to = *to;
            span.op = *op;
            span.tensor = problem_.output_begin[*op];
            span.bytes = transfer.bytes;
            place(span, event);
            result_.run.trace.spans.push_back(span);
        }
    }

    void add_memory() {
        std::map<std::uint32_t, std::optional<DeviceId>> devices;  // by name
        for (const TraceMemory& sample : trace_.memory) {
            const auto [known, is_new] = devices.try_emplace(sample.process);
            if (is_new) known->second = device_named(*problem_.machine, trace_.names[sample.process]);
            if (!known->second || !in_step(sample.time_ns)) continue;
            result_.run.trace.memory.push_back(
                {*known->second, seconds(sample.time_ns - from_ns_), sample.bytes});
        }
        if (result_.run.trace.memory.empty()) return;
        result_.run.peak_bytes.assign(problem_.devices, 0);
        for (const MemorySample& sample : result_.run.trace.memory) {
            double& peak = result_.run.peak_bytes[sample.device];
            peak = std::max(peak, sample.bytes);
        }
    }

    /// Puts spans of a device or a channel that overlap on different streams, and all in the order in which
    /// they end. A channel has one stream: of transfers that overlap there, the later is cut.
    void set_streams() {
        std::vector<Span>& spans = result_.run.trace.spans;
        std::ranges::stable_sort(spans, {}, [](const Span& span) {
            return std::tuple(span.kind, span.resource, span.start_s, span.end_s);
        });
        std::vector<double> ends_s;  // by stream
        const Span* before = nullptr;
        for (Span& span : spans) {
            if (before == nullptr || before->kind != span.kind || before->resource != span.resource)
                ends_s.clear();
            before = &span;
            if (span.kind == Span::Kind::transfer) {
                if (ends_s.empty()) ends_s.push_back(0);
                span.start_s = std::max(span.start_s, ends_s.front());
                ends_s.front() = span.end_s = std::max(span.start_s, span.end_s);
                continue;
            }
            auto stream = std::ranges::find_if(ends_s, [&](double end_s) { return end_s <= span.start_s; });
            if (stream == ends_s.end() && ends_s.size() < kMostStreams) {
                stream = ends_s.insert(stream, 0);
            } else if (stream == ends_s.end()) {
                stream = std::ranges::min_element(ends_s);
                span.start_s = *stream;
                span.end_s = std::max(span.start_s, span.end_s);
            }
            span.stream = static_cast<std::uint16_t>(stream - ends_s.begin());
            *stream = span.end_s;
        }
        std::ranges::stable_sort(spans, {}, &Span::end_s);
    }

    void set_placement() {
        Placement placement(placement_.begin(), placement_.end());
        for (const Span& span : result_.run.trace.spans) {
            if (span.kind == Span::Kind::op) placement[problem_.grouping.group_of[span.op]] = span.resource;
        }
        for (GroupId group = 0; group < problem_.groups; ++group) {
            if (!std::ranges::binary_search(problem_.allowed_devices(group), placement[group])) return;
        }
        if (broken_rule(problem_, placement).empty()) result_.run.placement = std::move(placement);
    }

    void count() {
        std::vector<bool> is_measured(problem_.ops);
        for (const Span& span : result_.run.trace.spans) {
            if (span.kind == Span::Kind::op) is_measured[forward_of(span.op)] = true;
        }
        NameList missing;
        for (OpId op = 0; op < problem_.ops; ++op) {
            const Op& of = graph_.op(op);
            if (of.forward_op != kInvalidOp || of.autocast || !kind_info(of.kind).computes) continue;
            ++result_.computing;
            if (is_measured[op]) {
                ++result_.matched;
            } else {
                missing.add(of.name);
            }
        }
        result_.missing = missing.empty() ? std::string() : missing.text();
        std::ranges::sort(unnamed_);
        erase_repeats(unnamed_);
        result_.by_placement = unnamed_.size();
    }

    const TraceFile& trace_;
    const Problem& problem_;
    const Graph& graph_;
    std::span<const DeviceId> placement_;
    std::vector<ProfilerStep> marks_;
    std::vector<std::optional<DeviceId>> device_of_;  ///< by lane
    bool has_kernels_ = false;
    std::vector<OpRun> runs_;
    std::size_t step_ = 0;
    std::size_t batches_ = 0;  ///< number of steps that overlap; 0 if they follow each other
    std::int64_t from_ns_ = 0, to_ns_ = 0;
    std::vector<OpId> unnamed_;  ///< forward ops on lanes that are named after no device
    MeasuredTrace result_;
};

}  // namespace

std::string MeasuredTrace::report() const {
    std::string text = std::to_string(matched) + " of " + std::to_string(computing) +
                       (matched == 1 ? " op that computes is in it" : " ops that compute are in it");
    if (matched > 0 && !missing.empty()) text += ", without " + missing;
    const std::size_t counted = run.step_times_s.size();
    if (counted > 1) text += "; the step of median length of " + std::to_string(counted) + " is shown";
    if (counted > 0 && counted < steps && steps > 1) {
        text += counted == 1 && steps == 2 ? "; the second of two steps is shown"
                                           : "; " + std::to_string(steps - counted) + " of " +
                                                 std::to_string(steps) + " steps warm up or are cut off";
    }
    if (by_placement > 0)
        text += "; the trace does not say the device of " + std::to_string(by_placement) +
                (by_placement == 1 ? " op, which is" : " ops, which are") + " shown where placed";
    return text;
}

MeasuredTrace measured_trace(const TraceFile& trace, const Problem& problem,
                             std::span<const DeviceId> placement, const std::stop_token& stop) {
    return Measurement(trace, problem, placement).make(stop);
}

}  // namespace placewright
