// SPDX-License-Identifier: MIT
#include "widgets/timeline_why.hpp"

#include <algorithm>
#include <map>

#include <QStringList>

#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::size_t kTold = 8;

QString translated(const char* text) {
    return QCoreApplication::translate("TimelineWhy", text);
}
QString escaped(const std::string& name) {
    return QString::fromStdString(name).toHtmlEscaped();
}

/// Indices of the longest segments that `wanted` accepts, at most kTold.
template <class Wanted>
std::vector<std::size_t> longest(const std::vector<PathSegment>& segments, Wanted wanted) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (wanted(segments[i]) && segments[i].duration_s() > 0) chosen.push_back(i);
    }
    const auto count = static_cast<std::ptrdiff_t>(std::min(chosen.size(), kTold));
    const auto longer = [&](std::size_t a, std::size_t b) {
        const double a_s = segments[a].duration_s(), b_s = segments[b].duration_s();
        return a_s != b_s ? a_s > b_s : a < b;
    };
    std::ranges::partial_sort(chosen, chosen.begin() + count, longer);
    chosen.resize(static_cast<std::size_t>(count));
    return chosen;
}

std::vector<TimelineWhy::Share> sharesOf(const CriticalPath& path, const Trace& trace) {
    std::vector<TimelineWhy::Share> shares;
    const std::size_t devices = path.device_compute_s.size();
    for (std::size_t i = 0; i < devices; ++i)
        shares.push_back(
            {true, static_cast<std::uint16_t>(i), path.device_compute_s[i], path.device_queue_s[i]});
    for (std::size_t i = 0; i < path.channel_transfer_s.size(); ++i)
        shares.push_back(
            {false, static_cast<std::uint16_t>(i), path.channel_transfer_s[i], path.channel_queue_s[i]});
    std::vector<double> longest_s(shares.size(), -1);
    for (std::size_t i = 0; i < path.segments.size(); ++i) {
        const PathSegment& segment = path.segments[i];
        if (segment.kind == PathKind::host) continue;
        const bool isDevice = trace.spans[segment.span].kind == Span::Kind::op;
        const std::size_t at = segment.resource + (isDevice ? 0 : devices);
        if (segment.duration_s() <= longest_s[at]) continue;
        longest_s[at] = segment.duration_s();
        shares[at].longest = i;
    }
    std::erase_if(shares, [](const TimelineWhy::Share& share) { return share.total_s() <= 0; });
    std::ranges::stable_sort(shares, std::greater<>(), &TimelineWhy::Share::total_s);
    return shares;
}

QString heldName(HeldKind kind) {
    switch (kind) {
        case HeldKind::activation:
            return translated("output of %1");
        case HeldKind::gradient:
            return translated("gradient from %1");
        case HeldKind::copy:
            return translated("copy of the output of %1");
        case HeldKind::workspace:
            return translated("workspace of %1");
        case HeldKind::weights:
            return translated("streamed weights of %1");
    }
    return {};
}

}  // namespace

std::shared_ptr<const TimelineWhy> TimelineWhy::build(std::shared_ptr<const TimelineData> timeline) {
    auto why = std::make_shared<TimelineWhy>();
    why->timeline = std::move(timeline);
    const auto& [problem, trace] = std::tie(*why->timeline->problem, why->timeline->trace);
    why->path = critical_path(problem, trace);
    why->peaks = memory_peaks(problem, trace);
    const auto waits = [](const PathSegment& segment) { return segment.kind == PathKind::queue; };
    why->longest_waits = longest(why->path.segments, waits);
    why->longest_work = longest(why->path.segments, std::not_fn(waits));
    why->shares = sharesOf(why->path, trace);
    return why;
}

std::vector<OpId> TimelineWhy::ops() const {
    std::vector<OpId> ops;
    for (const PathSegment& segment : path.segments)
        ops.push_back(timeline->forwardOf(timeline->trace.spans[segment.span]));
    std::ranges::sort(ops);
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    return ops;
}

QString pathSummary(const TimelineWhy& why) {
    const CriticalPath& path = why.path;
    const double total_s = path.total_s();
    const auto share = [&](double seconds) { return percentText(total_s > 0 ? seconds / total_s : 0); };
    const QString text =
        translated("%1: %2 computing, %3 transferring, %4 waiting for a busy device or channel")
            .arg(secondsText(total_s), share(path.compute_s), share(path.transfer_s), share(path.queue_s));
    return path.host_s > 0 ? translated("%1, %2 waiting for the host").arg(text, share(path.host_s)) : text;
}

QString segmentText(const TimelineWhy& why, std::size_t index) {
    const PathSegment& segment = why.path.segments[index];
    const std::vector<Span>& spans = why.timeline->trace.spans;
    const Span& span = spans[segment.span];
    const Problem& problem = *why.timeline->problem;
    const Machine& machine = *problem.machine;
    const auto op = [&](const Span& of) { return escaped(problem.graph->op(of.op).name); };
    if (segment.kind == PathKind::host) {
        return translated("The host issues ops up to %1 (%2)")
            .arg(op(span), escaped(host_thread_name(problem, segment.resource)));
    }
    const bool isOp = span.kind == Span::Kind::op;
    const QString resource =
        escaped(isOp ? machine.device(segment.resource).name : machine.channels()[segment.resource].name);
    if (segment.kind == PathKind::queue) {
        if (segment.blocker == kNoSpan) return translated("%1 waits for %2").arg(op(span), resource);
        return translated("%1 waits for %2 until %3 is done")
            .arg(op(span), resource, op(spans[segment.blocker]));
    }
    if (isOp) return translated("%1 on %2").arg(op(span), resource);
    return translated("%1 over %2, %3 → %4")
        .arg(op(span), resource, escaped(machine.device(span.from).name),
             escaped(machine.device(span.to).name));
}

QString peakText(const TimelineWhy& why, DeviceId device, bool linked) {
    constexpr std::size_t kMostHeld = 5;
    const MemoryPeak& peak = why.peaks[device];
    const Problem& problem = *why.timeline->problem;
    QString text = translated("Peak %1 at %2").arg(bytesText(peak.bytes), secondsText(peak.time_s));
    QStringList rows;
    const auto row = [&](double bytes, const QString& what) {
        if (bytes > 0)
            rows << QStringLiteral(
                        "<tr><td align='right' style='white-space:nowrap'>%1</td><td "
                        "style='padding-left:6px'>%2</td></tr>")
                        .arg(bytesText(bytes), what);
    };
    row(peak.parameter_bytes, translated("parameters"));
    row(peak.optimizer_bytes, translated("optimizer state"));
    row(peak.accumulated_gradient_bytes, translated("accumulated gradients"));
    row(peak.other_resident_bytes, translated("other, held throughout"));
    const std::size_t told = std::min(kMostHeld, peak.held.size());
    for (const Held& held : std::span(peak.held).first(told)) {
        QString name = escaped(problem.graph->op(held.op).name);
        if (linked)
            name = QStringLiteral("<a href='op:%1'>%2</a>").arg(forwardOf(*problem.graph, held.op)).arg(name);
        QString what = heldName(held.kind).arg(name);
        if (why.timeline->outcome.ops_run > problem.ops) what += translated(", batch %1").arg(held.batch + 1);
        row(held.bytes, what);
    }
    double rest_bytes = 0;
    for (const Held& held : std::span(peak.held).subspan(told)) rest_bytes += held.bytes;
    row(rest_bytes, translated("%1 more").arg(peak.held.size() - told));
    return text + QStringLiteral("<table cellspacing='0'>") + rows.join(QString()) +
           QStringLiteral("</table>");
}

}  // namespace placewright
