// SPDX-License-Identifier: MIT
#include "app/cli/explain_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <unistd.h>

#include "app/cli/console.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr std::size_t kStretches = 10;
constexpr std::size_t kHeldThings = 5;
constexpr std::size_t kMoves = 10;

/// Names of the ops, devices and channels of spans and segments.
class Names {
public:
    explicit Names(const Problem& problem) : problem_(problem) {}

    const std::string& op(OpId id) const { return problem_.graph->op(id).name; }
    const std::string& device(DeviceId id) const { return problem_.machine->device(id).name; }
    const std::string& channel(ChannelId id) const { return problem_.machine->channels()[id].name; }
    const std::string& resource(const Span& span) const {
        return span.kind == Span::Kind::op ? device(span.resource) : channel(span.resource);
    }
    std::string host_thread(std::uint16_t thread) const { return host_thread_name(problem_, thread); }
    /// A group is named after its first op that the network file has.
    const std::string& group(GroupId id) const {
        const std::vector<OpId>& members = problem_.grouping.members[id];
        const auto own =
            std::ranges::find_if(members, [&](OpId member) { return !problem_.graph->op(member).autocast; });
        return op(own != members.end() ? *own : members.front());
    }

private:
    const Problem& problem_;
};

/// JSON description of a span: an op on a device, or a transfer over a channel.
Json span_json(const Names& names, const Span& span) {
    Json json{{"op", names.op(span.op)}, {"batch", span.batch}};
    if (span.kind == Span::Kind::op) {
        json["device"] = names.device(span.resource);
        return json;
    }
    json["channel"] = names.channel(span.resource);
    json["from"] = names.device(span.from);
    json["to"] = names.device(span.to);
    json["bytes"] = span.bytes;
    return json;
}

Json path_json(const Problem& problem, const Trace& trace, const CriticalPath& path) {
    const Names names(problem);
    Json devices = Json::array();
    for (DeviceId i = 0; i < problem.devices; ++i) {
        devices.push_back({{"name", names.device(i)},
                           {"compute_s", path.device_compute_s[i]},
                           {"queue_s", path.device_queue_s[i]}});
    }
    Json channels = Json::array();
    for (std::uint32_t i = 0; i < problem.channels; ++i) {
        channels.push_back({{"name", names.channel(static_cast<ChannelId>(i))},
                            {"transfer_s", path.channel_transfer_s[i]},
                            {"queue_s", path.channel_queue_s[i]}});
    }
    Json segments = Json::array();
    for (const PathSegment& segment : path.segments) {
        Json json{{"kind", to_string(segment.kind)}, {"start_s", segment.start_s}, {"end_s", segment.end_s}};
        json.update(span_json(names, trace.spans[segment.span]));
        if (segment.kind == PathKind::host) json["thread"] = names.host_thread(segment.resource);
        if (segment.blocker != kNoSpan) json["blocked_by"] = span_json(names, trace.spans[segment.blocker]);
        segments.push_back(std::move(json));
    }
    return {{"compute_s", path.compute_s},    {"transfer_s", path.transfer_s},
            {"queue_s", path.queue_s},        {"host_s", path.host_s},
            {"devices", std::move(devices)},  {"channels", std::move(channels)},
            {"segments", std::move(segments)}};
}

Json memory_json(const Problem& problem, const std::vector<MemoryPeak>& peaks) {
    const Names names(problem);
    Json list = Json::array();
    for (const MemoryPeak& peak : peaks) {
        Json alive = Json::array();
        for (const Held& held : peak.held) {
            Json json{{"kind", to_string(held.kind)}, {"op", names.op(held.op)}};
            if (held.tensor != kNoTensor) json["output"] = held.tensor - problem.output_begin[held.op];
            json["batch"] = held.batch;
            json["bytes"] = held.bytes;
            json["since_s"] = held.since_s;
            alive.push_back(std::move(json));
        }
        list.push_back({{"device", names.device(peak.device)},
                        {"peak_bytes", peak.bytes},
                        {"time_s", peak.time_s},
                        {"parameter_bytes", peak.parameter_bytes},
                        {"optimizer_bytes", peak.optimizer_bytes},
                        {"accumulated_gradient_bytes", peak.accumulated_gradient_bytes},
                        {"other_resident_bytes", peak.other_resident_bytes},
                        {"alive", std::move(alive)}});
    }
    return list;
}

Json moves_json(const Problem& problem, const Placement& placement, const SingleMoves& moves) {
    const Names names(problem);
    Json list = Json::array();
    for (const SingleMove& move : moves.moves) {
        const bool defined = move.score != kUndefinedScore;
        list.push_back({{"op", names.group(move.group)},
                        {"from", names.device(placement[move.group])},
                        {"to", names.device(move.device)},
                        {"objective_s", objective_json(move.score)},
                        {"delta_s", defined ? Json(move.delta_s) : Json(nullptr)},
                        {"score_s", score_json(move.score)},
                        {"fits", move.score.fits}});
    }
    return list;
}

std::string what(const Names& names, const Trace& trace, const PathSegment& segment) {
    const Span& span = trace.spans[segment.span];
    const std::string& resource = names.resource(span);
    switch (segment.kind) {
        case PathKind::compute:
            return names.op(span.op) + " on " + resource;
        case PathKind::transfer:
            return names.op(span.op) + " over " + resource + ", from " + names.device(span.from) + " to " +
                   names.device(span.to);
        case PathKind::host:
            return "the host issues ops up to " + names.op(span.op) + ", " +
                   names.host_thread(segment.resource);
        case PathKind::queue:
            break;
    }
    const std::string waiting = names.op(span.op) + " waits for " + resource;
    return segment.blocker == kNoSpan
               ? waiting
               : waiting + " until " + names.op(trace.spans[segment.blocker].op) + " is done";
}

void print_path(const Problem& problem, const Trace& trace, const CriticalPath& path) {
    const Names names(problem);
    const double total_s = path.total_s();
    const auto share = [&](double seconds) { return percent(total_s > 0 ? seconds / total_s : 0); };
    std::cout << "\nCritical path: " << share(path.compute_s) << " computing, " << share(path.transfer_s)
              << " transferring, " << share(path.queue_s) << " waiting for a busy device or channel";
    if (path.host_s > 0) std::cout << ", " << share(path.host_s) << " waiting for the host";
    std::cout << "\n\n";
    std::vector<Row> rows{
        {path.host_s > 0 ? "device, channel or host" : "device or channel", "busy", "waited for", "share"}};
    const auto add = [&](const std::string& name, double work_s, double queue_s) {
        if (work_s + queue_s > 0)
            rows.push_back({name, format_seconds(work_s), format_seconds(queue_s), share(work_s + queue_s)});
    };
    for (DeviceId i = 0; i < problem.devices; ++i)
        add(names.device(i), path.device_compute_s[i], path.device_queue_s[i]);
    for (std::uint32_t i = 0; i < problem.channels; ++i)
        add(names.channel(static_cast<ChannelId>(i)), path.channel_transfer_s[i], path.channel_queue_s[i]);
    add("host", path.host_s, 0);
    std::cout << table("lrrr", rows);

    std::vector<PathSegment> longest = path.segments;
    std::ranges::stable_sort(longest, std::greater<>(), &PathSegment::duration_s);
    longest.resize(std::min(longest.size(), kStretches));
    std::cout << "\nLongest segments of the critical path\n";
    rows = {{"duration", "start", "event"}};
    for (const PathSegment& segment : longest)
        rows.push_back({format_seconds(segment.duration_s()), format_seconds(segment.start_s),
                        what(names, trace, segment)});
    std::cout << table("rrl", rows);
}

void print_peaks(const Problem& problem, const std::vector<MemoryPeak>& peaks) {
    const Names names(problem);
    std::cout << "\nPeak memory, and the largest tensors and other items alive at the peak\n";
    std::vector<Row> rows{{"device", "bytes", "since", "content"}};
    for (const MemoryPeak& peak : peaks) {
        if (peak.bytes == 0) continue;
        rows.push_back(
            {names.device(peak.device), format_bytes(peak.bytes), format_seconds(peak.time_s), "peak"});
        const auto add_resident = [&](double bytes, const char* text) {
            if (bytes > 0) rows.push_back({"", format_bytes(bytes), "", text});
        };
        add_resident(peak.parameter_bytes, "parameters");
        add_resident(peak.optimizer_bytes, "optimizer state");
        add_resident(peak.accumulated_gradient_bytes, "accumulated gradients");
        add_resident(peak.other_resident_bytes, "other resident bytes");
        const std::size_t shown = std::min(peak.held.size(), kHeldThings);
        for (const Held& held : std::span(peak.held).first(shown)) {
            rows.push_back({"", format_bytes(held.bytes), format_seconds(held.since_s),
                            std::string(to_string(held.kind)) +
                                (held.kind == HeldKind::copy ? " from " : " of ") + names.op(held.op)});
        }
        double rest_bytes = 0;
        for (const Held& held : std::span(peak.held).subspan(shown)) rest_bytes += held.bytes;
        if (rest_bytes > 0)
            rows.push_back(
                {"", format_bytes(rest_bytes), "", std::to_string(peak.held.size() - shown) + " more"});
    }
    std::cout << table("lrrl", rows);
}

void print_moves(const Problem& problem, const Objective& objective, const Placement& placement,
                 const SingleMoves& moves) {
    if (moves.moves.empty()) {
        std::cout << "\nNo op can be moved.\n";
        return;
    }
    const Names names(problem);
    const auto better = std::ranges::count_if(
        moves.moves, [&](const SingleMove& move) { return move.score.penalised_s < moves.now.penalised_s; });
    std::cout << "\nThe best of " << moves.moves.size() << " single moves (better than now: " << better
              << ")\n";
    std::vector<Row> rows{{std::string(objective.id), "change", "memory", "from", "to", "op"}};
    for (const SingleMove& move : std::span(moves.moves).first(std::min(moves.moves.size(), kMoves))) {
        if (move.score == kUndefinedScore) continue;
        rows.push_back({format_seconds(move.score.value_s),
                        std::string(move.delta_s < 0 ? "-" : "+") + format_seconds(std::abs(move.delta_s)),
                        move.score.fits ? "fits" : "too much", names.device(placement[move.group]),
                        names.device(move.device), names.group(move.group)});
    }
    std::cout << table("rrllll", rows);
}

}  // namespace

Explanation explain(const Job& job, const Placement& placement, const Trace& trace, std::stop_token stop) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    MovesCallback report;
    if (terminal)
        report = [](std::size_t done, std::size_t total) {
            std::fprintf(stderr, "\r\x1b[K%zu of %zu moves evaluated", done, total);
        };
    const auto evaluator = evaluator_of(job);
    Explanation explanation{critical_path(*job.problem, trace), memory_peaks(*job.problem, trace),
                            single_moves(*evaluator, *job.problem, placement, std::move(stop), report)};
    if (terminal) std::fputs("\r\x1b[K", stderr);
    return explanation;
}

Json explanation_json(const Job& job, const Placement& placement, const Trace& trace,
                      const Explanation& explanation) {
    return {{"critical_path", path_json(*job.problem, trace, explanation.path)},
            {"memory", memory_json(*job.problem, explanation.peaks)},
            {"moves",
             explanation.moves ? moves_json(*job.problem, placement, *explanation.moves) : Json(nullptr)}};
}

void print_explanation(const Job& job, const Placement& placement, const Trace& trace,
                       const Explanation& explanation) {
    print_path(*job.problem, trace, explanation.path);
    print_peaks(*job.problem, explanation.peaks);
    if (explanation.moves) print_moves(*job.problem, *job.objective, placement, *explanation.moves);
}

}  // namespace placewright
