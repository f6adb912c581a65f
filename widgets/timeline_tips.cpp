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
        lines << QStringLiteral("<b>%1</b>").arg(tr("Output of %1").arg(producer));
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

QString TimelineView::toolTipAt(QPoint position) const {
    if (!m_data) return {};
    if (const auto device = peakAt(position)) return peakText(*why(), *device, false);
    if (const auto span = spanAt(position)) return toolTipOf(*span, position);
    if (position.y() < m_rulerHeight) {
        return tr("Zoom: Ctrl+wheel or W, S. Pan: drag or A, D. Fit: F. Measure a time span: Shift+drag.");
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
    const double limit_bytes = m_data->problem->memory_limit_bytes[row->resource];
    if (!plotRect().contains(position)) {
        const QString sums =
            tr("%1: busy for %2, peak memory %3")
                .arg(row->name, secondsText(m_data->outcome.device_busy_s[row->resource]),
                     shareOfBytesText(m_data->outcome.peak_bytes[row->resource], limit_bytes));
        const QString totals = measuredTotals(row->resource);
        if (!why() && totals.isEmpty()) return plainToolTip(sums);
        return sums.toHtmlEscaped() + totals +
               (why() ? QStringLiteral("<br>") + peakText(*why(), row->resource, false) : QString());
    }
    if (position.y() <= rowTop(*row) + row->stripsEnd() + 1) return {};
    return memoryText(*row, std::max(0.0, m_axis.toTime(position.x())));
}

}  // namespace placewright
