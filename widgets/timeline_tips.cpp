// SPDX-License-Identifier: MIT
// Tooltips of a TimelineView.
#include <algorithm>

#include <QTextDocument>

#include "widgets/plain_text.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {
/// Tooltip of a span with the pointer at `position`.
QString TimelineView::toolTipOf(std::uint32_t index, QPoint position) const {
    const Machine& machine = *m_data->problem->machine;
    const auto deviceName = [&](DeviceId device) {
        return QString::fromStdString(machine.device(device).name).toHtmlEscaped();
    };
    const Span& span = m_data->trace.spans[index];
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
    line(tr("Time"), when);
    if (const Row* row = rowOf(span); row && row->lanes > 1 && !isMeasured())
        line(tr("Stream"), QString::number(span.stream + 1));
    if (!isMeasured()) line(tr("Time in queue"), secondsText(std::max(0.0, queue_s)));
    if (span.kind == Span::Kind::op && !m_data->trace.issues.empty()) {
        const Issue& issue = m_data->trace.issues[index];
        line(tr("Issued"),
             tr("%1, %2").arg(
                 intervalText(issue.start_s, issue.end_s),
                 QString::fromStdString(host_thread_name(*m_data->problem, issue.thread)).toHtmlEscaped()));
    }
    if (m_data->outcome.ops_run > m_data->problem->ops) line(tr("Batch"), QString::number(span.batch + 1));
    if (const auto count = spansInColumn(position); count > 1) {
        lines << tr("One of %1 blocks within this pixel; zoom in to separate them.").arg(count);
    }
    return lines.join(QStringLiteral("<br>"));
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
    if (isMeasured()) {
        if (plotRect().contains(position)) return {};
        return plainToolTip(
            tr("%1: busy for %2").arg(row->name, secondsText(m_data->outcome.device_busy_s[row->resource])));
    }
    const double limit_bytes = m_data->problem->memory_limit_bytes[row->resource];
    if (!plotRect().contains(position)) {
        const QString sums =
            tr("%1: busy for %2, peak memory %3")
                .arg(row->name, secondsText(m_data->outcome.device_busy_s[row->resource]),
                     shareOfBytesText(m_data->outcome.peak_bytes[row->resource], limit_bytes));
        return why() ? sums.toHtmlEscaped() + QStringLiteral("<br>") + peakText(*why(), row->resource, false)
                     : plainToolTip(sums);
    }
    if (position.y() <= rowTop(*row) + 4 + row->bar) return {};
    const double time_s = std::clamp(m_axis.toTime(position.x()), 0.0, m_data->outcome.total_time_s);
    return plainToolTip(tr("%1 at %2: %3 of memory in use")
                            .arg(row->name, secondsText(time_s),
                                 shareOfBytesText(m_data->bytesAt(row->resource, time_s), limit_bytes)));
}

}  // namespace placewright
