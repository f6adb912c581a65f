// SPDX-License-Identifier: MIT
#include "widgets/idle_gaps.hpp"

#include <algorithm>

#include <QCoreApplication>
#include <QStringList>

#include "widgets/quantities.hpp"

namespace placewright {
namespace {

QString gapWords(const char* text) {
    return QCoreApplication::translate("IdleGap", text);
}

/// Splits the gap of an op that waits for a tensor into the time until the tensor is computed, and the times
/// in which it waits for channels and crosses them.
void splitInput(const TimelineData& data, IdleGap& gap) {
    const std::vector<Span>& spans = data.trace.spans;
    const Span& last = spans[gap.by];
    double computed_s = last.queued_s;
    double crossing_s = 0, crossed_until_s = gap.start_s;
    std::vector<const Span*> legs;
    for (const std::uint32_t index : data.op_spans[data.forwardOf(last)]) {
        const Span& leg = spans[index];
        if (leg.kind == Span::Kind::transfer && leg.tensor == last.tensor && leg.to == last.to &&
            leg.batch == last.batch && leg.end_s <= gap.end_s)
            legs.push_back(&leg);
    }
    std::ranges::sort(legs, {}, &Span::start_s);
    for (const Span* leg : legs) {
        computed_s = std::min(computed_s, leg->queued_s);
        // The channels of a cut-through route are crossed at the same time.
        crossing_s += std::max(0.0, leg->end_s - std::max(leg->start_s, crossed_until_s));
        crossed_until_s = std::max(crossed_until_s, leg->end_s);
    }
    gap.compute_s = std::clamp(computed_s - gap.start_s, 0.0, gap.duration_s());
    gap.transfer_s = std::min(crossing_s, gap.duration_s() - gap.compute_s);
    gap.queue_s = gap.duration_s() - gap.compute_s - gap.transfer_s;
}

void explainGap(const TimelineData& data, IdleGap& gap) {
    if (gap.next == kNoSpan) {
        gap.cause = IdleGap::Cause::nothing;
        return;
    }
    const Trace& trace = data.trace;
    if (data.source != TimelineData::Source::simulated || trace.started_by.size() != trace.spans.size())
        return;
    const Span& next = trace.spans[gap.next];
    gap.by = trace.started_by[gap.next];
    const bool wasReady = next.queued_s < next.start_s;
    if (!trace.issues.empty() && (gap.by == kNoSpan || wasReady)) {
        gap.cause = IdleGap::Cause::host;
    } else if (gap.by == kNoSpan) {
        gap.cause = IdleGap::Cause::unknown;
    } else if (trace.spans[gap.by].kind == Span::Kind::transfer && trace.spans[gap.by].to == gap.device) {
        gap.cause = IdleGap::Cause::input;
        splitInput(data, gap);
    } else {
        gap.cause = IdleGap::Cause::order;
    }
}

/// The first span of a device that ends after a time, over all its streams.
std::uint32_t firstAfter(const TimelineData& data, DeviceId device, double time_s) {
    const std::vector<Span>& spans = data.trace.spans;
    std::uint32_t first = kNoSpan;
    for (const TimelineData::Lane& lane : data.lanesOf(device)) {
        const auto at = std::ranges::partition_point(
            lane.spans, [&](std::uint32_t span) { return spans[span].end_s <= time_s; });
        if (at != lane.spans.end() && (first == kNoSpan || spans[*at].start_s < spans[first].start_s))
            first = *at;
    }
    return first;
}

double lastEndBefore(const TimelineData& data, DeviceId device, double time_s) {
    const std::vector<Span>& spans = data.trace.spans;
    double end_s = 0;
    for (const TimelineData::Lane& lane : data.lanesOf(device)) {
        const auto at = std::ranges::partition_point(
            lane.spans, [&](std::uint32_t span) { return spans[span].end_s <= time_s; });
        if (at != lane.spans.begin()) end_s = std::max(end_s, spans[*std::prev(at)].end_s);
    }
    return end_s;
}

}  // namespace

std::optional<IdleGap> idleGapAt(const TimelineData& data, DeviceId device, double time_s) {
    if (time_s < 0 || time_s >= data.outcome.total_time_s) return std::nullopt;
    const std::uint32_t next = firstAfter(data, device, time_s);
    if (next != kNoSpan && data.trace.spans[next].start_s <= time_s) return std::nullopt;
    IdleGap gap{.device = device};
    gap.start_s = lastEndBefore(data, device, time_s);
    gap.end_s = next == kNoSpan ? data.outcome.total_time_s : data.trace.spans[next].start_s;
    gap.next = next;
    explainGap(data, gap);
    return gap;
}

std::vector<IdleGap> idleGaps(const TimelineData& data, DeviceId device) {
    const std::vector<Span>& spans = data.trace.spans;
    std::vector<std::uint32_t> all;
    for (const TimelineData::Lane& lane : data.lanesOf(device))
        all.insert(all.end(), lane.spans.begin(), lane.spans.end());
    std::ranges::sort(all, {}, [&](std::uint32_t span) { return spans[span].start_s; });
    std::vector<IdleGap> gaps;
    double busy_until_s = 0;
    const auto add = [&](double until_s, std::uint32_t next) {
        if (until_s <= busy_until_s) return;
        IdleGap gap{.device = device, .start_s = busy_until_s, .end_s = until_s, .next = next};
        explainGap(data, gap);
        gaps.push_back(gap);
    };
    for (const std::uint32_t span : all) {
        add(spans[span].start_s, span);
        busy_until_s = std::max(busy_until_s, spans[span].end_s);
    }
    add(data.outcome.total_time_s, kNoSpan);
    return gaps;
}

QString gapText(const TimelineData& data, const IdleGap& gap, bool linked) {
    const Problem& problem = *data.problem;
    const auto deviceName = [&](DeviceId device) {
        return QString::fromStdString(problem.machine->device(device).name).toHtmlEscaped();
    };
    const auto opName = [&](std::uint32_t span) {
        const OpId op = data.trace.spans[span].op;
        const QString name = QString::fromStdString(problem.graph->op(op).name).toHtmlEscaped();
        return linked ? QStringLiteral("<a href=\"%1\">%2</a>").arg(forwardOf(*problem.graph, op)).arg(name)
                      : name;
    };
    QString text = gapWords("<b>%1 is idle for %2</b>")
                       .arg(deviceName(gap.device), unbroken(secondsText(gap.duration_s())));
    const auto because = [&](const QString& reason) { text += QStringLiteral(": ") + reason; };
    switch (gap.cause) {
        case IdleGap::Cause::nothing:
            because(gap.start_s > 0 ? gapWords("nothing left to run")
                                    : gapWords("no op is placed on this device"));
            return text;
        case IdleGap::Cause::host:
            because(gapWords("waits for the host to issue %1").arg(opName(gap.next)));
            return text;
        case IdleGap::Cause::order:
            because(gapWords("%1 may not start before %2 on %3 ends (order of ops and batches)")
                        .arg(opName(gap.next), opName(gap.by),
                             deviceName(data.trace.spans[gap.by].kind == Span::Kind::op
                                            ? data.trace.spans[gap.by].resource
                                            : data.trace.spans[gap.by].from)));
            return text;
        case IdleGap::Cause::unknown:
            because(gapWords("next is %1").arg(opName(gap.next)));
            return text;
        case IdleGap::Cause::input:
            break;
    }
    const Span& transfer = data.trace.spans[gap.by];
    because(gapWords("waits for the transfer of %1 from %2").arg(opName(gap.by), deviceName(transfer.from)));
    QStringList parts;
    const auto part = [&](double seconds, const QString& what) {
        if (seconds > 0) parts << what.arg(unbroken(secondsText(seconds)));
    };
    part(gap.compute_s, gapWords("%1 until it is computed"));
    part(gap.queue_s, gapWords("%1 until its channel is free"));
    part(gap.transfer_s, gapWords("%1 to transfer %2").arg(QStringLiteral("%1"), bytesText(transfer.bytes)));
    if (!parts.isEmpty()) text += QStringLiteral("<br>") + parts.join(QStringLiteral(", "));
    return text + QStringLiteral("<br>") + gapWords("Then it runs %1").arg(opName(gap.next));
}

QString idleText(const TimelineData& data, DeviceId device) {
    double idle_s = 0, compute_s = 0, transfer_s = 0, order_s = 0, host_s = 0, nothing_s = 0;
    for (const IdleGap& gap : idleGaps(data, device)) {
        idle_s += gap.duration_s();
        compute_s += gap.compute_s;
        transfer_s += gap.queue_s + gap.transfer_s;
        if (gap.cause == IdleGap::Cause::order) order_s += gap.duration_s();
        if (gap.cause == IdleGap::Cause::host) host_s += gap.duration_s();
        if (gap.cause == IdleGap::Cause::nothing) nothing_s += gap.duration_s();
    }
    if (idle_s <= 0 || data.outcome.total_time_s <= 0) return gapWords("Never idle");
    const QString total = gapWords("Idle for %1 (%2)")
                              .arg(secondsText(idle_s), percentText(idle_s / data.outcome.total_time_s));
    QStringList parts;
    const auto part = [&](double seconds, const char* what) {
        if (seconds > 0) parts << gapWords(what).arg(unbroken(secondsText(seconds)));
    };
    part(compute_s, "%1 until ops of other devices are done");
    part(transfer_s, "%1 for transfers");
    part(order_s, "%1 by the order of ops and batches");
    part(host_s, "%1 for the host");
    part(nothing_s, "%1 with nothing left to run");
    return parts.isEmpty() ? total : total + QStringLiteral(": ") + parts.join(QStringLiteral(", "));
}

}  // namespace placewright
