// SPDX-License-Identifier: MIT
// Tooltips of a TimelineView.
#include <algorithm>

#include <QTextDocument>

#include "widgets/plain_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
/// Tooltip of a span with the pointer at `position`.
QString TimelineView::toolTipOf(SpanRef ref, QPoint position) const {
    const Machine& machine = *m_data->problem->machine;
    const auto deviceName = [&](DeviceId device) {
        return QString::fromStdString(machine.device(device).name).toHtmlEscaped();
    };
    const TimelineData& shown = dataOf(ref.run);
    const Span& span = spanOf(ref);
    const bool fromRun = ref.run != kSimulated;
    const bool isKnown = !fromRun && !isMeasured();  // waiting and streams are
    QStringList lines;
    const auto line = [&](const QString& name, const QString& value) {
        lines << name.toHtmlEscaped() + QStringLiteral(": ") + value;
    };
    const QString when =
        tr("%1 (%2)").arg(intervalText(span.start_s, span.end_s), secondsText(span.end_s - span.start_s));
    const double queue_s = span.start_s - span.queued_s;
    if (span.kind == Span::Kind::transfer) {
        const QString producer =
            QString::fromStdString(m_data->problem->graph->op(span.op).name).toHtmlEscaped();
        lines << QStringLiteral("<b>%1</b>")
                     .arg(m_data->problem->is_streamed(span.tensor) ? tr("Weights of %1").arg(producer)
                                                                    : tr("Output of %1").arg(producer));
        line(tr("Size"), bytesText(span.bytes));
        line(tr("Route"), tr("%1 → %2").arg(deviceName(span.from), deviceName(span.to)));
        line(tr("Channel"), QString::fromStdString(machine.channels()[span.resource].name).toHtmlEscaped());
    } else {
        QString text = toolTipFor(m_data->forwardOf(span));
        if (text.isEmpty())
            text = QStringLiteral("<b>%1</b>")
                       .arg(QString::fromStdString(m_data->problem->graph->op(span.op).name).toHtmlEscaped());
        if (!Qt::mightBeRichText(text))
            text = text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>"));
        lines << text;
        const std::string_view phase = to_string(m_data->problem->graph->op(span.op).phase);
        if (!isMeasured()) line(tr("Phase"), QString::fromUtf8(phase.data(), static_cast<int>(phase.size())));
        if (span.from != kInvalidDevice) line(tr("Placed on"), deviceName(span.from));
    }
    if (fromRun) {
        line(tr("Measured in"), m_measured->runs[static_cast<std::size_t>(ref.run)].of.name.toHtmlEscaped());
    }
    line(tr("Time"), when);
    const Row* row = rowAt(position);
    if (isKnown && row && row->kind == Row::Kind::device && row->strips.front().lanes > 1)
        line(tr("Stream"), QString::number(span.stream + 1));
    if (isKnown) line(tr("Time in queue"), secondsText(std::max(0.0, queue_s)));
    if (span.kind == Span::Kind::op && !shown.trace.issues.empty()) {
        const Issue& issue = shown.trace.issues[ref.span];
        line(tr("Issued"),
             tr("%1, %2").arg(
                 intervalText(issue.start_s, issue.end_s),
                 QString::fromStdString(host_thread_name(*m_data->problem, issue.thread)).toHtmlEscaped()));
    }
    const bool hasBatches = fromRun ? shown.outcome.step_time_s < shown.outcome.total_time_s
                                    : shown.outcome.ops_run > shown.problem->ops;
    if (hasBatches) line(tr("Batch"), QString::number(span.batch + 1));
    if (!fromRun && !isMeasured() && span.kind == Span::Kind::op)
        lines
            << QStringLiteral("<i>%1</i>")
                   .arg(tr(
                       "Drag it up or down, or by the handle at its left end, to move it to another device"));
    if (const auto count = row ? spansInColumn(*row, ref, position) : 0; count > 1) {
        lines << tr("One of %1 blocks within this pixel; zoom in to separate them.").arg(count);
    }
    return lines.join(QStringLiteral("<br>"));
}

QString TimelineView::measuredTotals(DeviceId device) const {
    QString lines;
    for (const MeasuredRuns::Run& run : measured()) {
        const ComparedSeconds& busy = run.comparison.devices[device];
        const double peak_bytes = run.comparison.memory[device].measured_bytes;
        QStringList parts;
        if (busy.measured_s > 0)
            parts << tr("busy for %1, which is %2 as long as simulated")
                         .arg(secondsText(busy.measured_s), factorText(busy.factor()));
        if (peak_bytes > 0) parts << tr("peak memory %1").arg(bytesText(peak_bytes));
        if (parts.isEmpty()) continue;
        lines += QStringLiteral("<br>") +
                 tr("Measured in %1: %2").arg(run.of.name.toHtmlEscaped(), parts.join(QStringLiteral(", ")));
    }
    return lines;
}

/// What is in use at a time, of the simulation and of the runs that lie there; empty where nothing is known.
QString TimelineView::memoryText(const Row& row, double time_s) const {
    const auto used = [&](const TimelineData& shown) {
        const double bytes = shown.bytesAt(row.resource, time_s);
        return isMeasured() ? bytesText(bytes)
                            : shareOfBytesText(bytes, m_data->problem->memory_limit_bytes[row.resource]);
    };
    const auto reaches = [&](const TimelineData& shown) {
        return !shown.memory[row.resource].empty() && time_s <= shown.outcome.total_time_s;
    };
    QStringList lines;
    if (isMeasured() ? reaches(*m_data) : time_s <= m_data->outcome.total_time_s)
        lines << tr("%1 at %2: %3 of memory in use").arg(row.name, secondsText(time_s), used(*m_data));
    for (const MeasuredRuns::Run& run : measured()) {
        const TimelineData& shown = *run.of.timeline;
        if (reaches(shown)) {
            lines << tr("Measured in %1 at %2: %3").arg(run.of.name, secondsText(time_s), used(shown));
        } else if (shown.memory[row.resource].empty() && shown.outcome.peak_bytes[row.resource] > 0) {
            lines << tr("Measured in %1: at most %2")
                         .arg(run.of.name, bytesText(shown.outcome.peak_bytes[row.resource]));
        }
    }
    return lines.isEmpty() ? QString() : plainToolTip(lines.join(QLatin1Char('\n')));
}

/// Sums over a device: busy, idle by cause, memory.
QString TimelineView::deviceToolTip(const Row& row) const {
    const DeviceId device = row.resource;
    const QString sums = tr("%1: busy for %2, peak memory %3")
                             .arg(row.name, secondsText(m_data->outcome.device_busy_s[device]),
                                  shareOfBytesText(m_data->outcome.peak_bytes[device],
                                                   m_data->problem->memory_limit_bytes[device]));
    return sums.toHtmlEscaped() + QStringLiteral("<br>") + idleText(*m_data, device) +
           measuredTotals(device) +
           (why() ? QStringLiteral("<br>") + peakText(*why(), device, false) : QString());
}

QString TimelineView::toolTipAt(QPoint position) const {
    if (!m_data) return {};
    if (const auto device = peakAt(position)) return peakText(*why(), *device, false);
    if (const auto span = spanAt(position)) return toolTipOf(*span, position);
    if (const auto gap = gapAt(position)) return gapText(*m_data, *gap, false);
    if (position.y() < m_rulerHeight) {
        if (batchRect().contains(position))
            return plainToolTip(batchText() + QLatin1Char('\n') +
                                tr("The time of one batch is the mean from the end of a batch to the end of "
                                   "the next; batches in flight overlap."));
        return plainToolTip(
            tr("Drag here to select a span of time and see its sums; Shift+drag over the rows for some rows "
               "only; Esc clears.\nZoom: Ctrl+wheel or W, S. Pan: drag the chart or A, D. Fit: F.\nMove an "
               "op: drag its block up or down, or by its handle.\nPin a row: the pin beside its name."));
    }
    const Row* row = rowAt(position);
    if (!row) return {};
    if (row->kind == Row::Kind::idle_channels)
        return m_idleShown ? tr("Click to hide the idle channels")
                           : tr("No data crosses these channels. Click to show them.");
    if (row->kind == Row::Kind::channel) {
        return plainToolTip(tr("%1: %2 in %3, busy for %4")
                                .arg(row->name, bytesText(m_data->outcome.channel_bytes[row->resource]),
                                     transfersText(m_data->outcome.channel_transfers[row->resource]),
                                     secondsText(m_data->outcome.channel_busy_s[row->resource])));
    }
    if (isMeasured() && !plotRect().contains(position)) {
        QString sums =
            tr("%1: busy for %2").arg(row->name, secondsText(m_data->outcome.device_busy_s[row->resource]));
        if (const double peak_bytes = m_data->outcome.peak_bytes[row->resource]; peak_bytes > 0)
            sums += tr(", peak memory %1").arg(bytesText(peak_bytes));
        return plainToolTip(sums);
    }
    if (!plotRect().contains(position)) return deviceToolTip(*row);
    if (position.y() <= rowTop(*row) + row->stripsEnd() + 1) return {};
    return memoryText(*row, std::max(0.0, m_axis.toTime(position.x())));
}

}  // namespace placewright
