// SPDX-License-Identifier: MIT
#include "widgets/timeline_sums.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <QCoreApplication>
#include <QStringList>

#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostKinds = 8;

QString sumWords(const char* text) {
    return QCoreApplication::translate("TimelineSums", text);
}

/// A row of a table: name, time, share of `whole_s`, and a count.
QString sumRow(const QString& name, double seconds, double whole_s, const QString& count) {
    const auto cell = [](const QString& text) {
        return QStringLiteral("<td align='right' style='padding-left:10px'>%1</td>").arg(unbroken(text));
    };
    return QStringLiteral("<tr><td>%1</td>").arg(name) + cell(secondsText(seconds)) +
           cell(whole_s > 0 ? percentText(seconds / whole_s) : QString()) + cell(count) +
           QStringLiteral("</tr>");
}

QString sumTable(const QString& title, const QString& rows) {
    return QStringLiteral("<b>%1</b><table cellspacing='0' cellpadding='0'>%2</table>").arg(title, rows);
}

}  // namespace

std::size_t TimelineSums::devices() const {
    return static_cast<std::size_t>(std::ranges::count(resources, true, &Resource::isDevice));
}

TimelineSums TimelineSums::of(const TimelineData& data, double start_s, double end_s,
                              const std::vector<DeviceId>& devices, const std::vector<ChannelId>& channels) {
    TimelineSums sums;
    sums.start_s = start_s;
    sums.end_s = end_s;
    const Graph& graph = *data.problem->graph;
    const std::vector<Span>& spans = data.trace.spans;
    std::map<std::string_view, Kind> kinds;
    const auto inside = [&](std::span<const TimelineData::Lane> lanes) {
        std::vector<std::uint32_t> found;
        for (const TimelineData::Lane& lane : lanes) {
            auto at = std::ranges::partition_point(
                lane.spans, [&](std::uint32_t span) { return spans[span].end_s <= start_s; });
            for (; at != lane.spans.end() && spans[*at].start_s < end_s; ++at) found.push_back(*at);
        }
        std::ranges::sort(found, {}, [&](std::uint32_t span) { return spans[span].start_s; });
        return found;
    };
    const auto add = [&](Resource resource, std::span<const TimelineData::Lane> lanes) {
        double until_s = start_s;
        for (const std::uint32_t index : inside(lanes)) {
            const Span& span = spans[index];
            const double from_s = std::max(span.start_s, start_s), to_s = std::min(span.end_s, end_s);
            resource.busy_s += std::max(0.0, to_s - std::max(from_s, until_s));
            until_s = std::max(until_s, to_s);
            ++resource.count;
            if (!resource.isDevice) continue;
            const OpId op = data.forwardOf(span);
            Kind& kind = kinds[graph.op(op).kind];
            kind.seconds += to_s - from_s;
            ++kind.count;
            sums.ops.push_back(op);
        }
        sums.count += resource.count;
        (resource.isDevice ? sums.compute_s : sums.transfer_s) += resource.busy_s;
        sums.resources.push_back(resource);
    };
    for (const DeviceId device : devices) add({true, device}, data.lanesOf(device));
    for (const ChannelId channel : channels)
        add({false, channel}, std::span(&data.channelLane(channel), std::size_t{1}));
    for (auto& [name, kind] : kinds) {
        kind.name = name;
        sums.kinds.push_back(std::move(kind));
    }
    std::ranges::stable_sort(sums.kinds, std::greater<>(), &Kind::seconds);
    std::ranges::sort(sums.ops);
    sums.ops.erase(std::unique(sums.ops.begin(), sums.ops.end()), sums.ops.end());
    return sums;
}

QString sumsText(const TimelineSums& sums, const TimelineData& data) {
    const Machine& machine = *data.problem->machine;
    const double span_s = sums.duration_s();
    const double devices_s = static_cast<double>(sums.devices()) * span_s;
    std::size_t computing = 0, used = 0;
    QString byResource;
    for (const TimelineSums::Resource& resource : sums.resources) {
        const std::string& name = resource.isDevice ? machine.device(static_cast<DeviceId>(resource.id)).name
                                                    : machine.channels()[resource.id].name;
        if (resource.isDevice) {
            computing += resource.count;
        } else if (resource.count == 0) {
            continue;  // idle channels would fill the table
        } else {
            ++used;
        }
        byResource += sumRow(QString::fromStdString(name).toHtmlEscaped(), resource.busy_s, span_s,
                             resource.isDevice ? opsText(resource.count) : transfersText(resource.count));
    }
    QString totals;
    if (devices_s > 0) {
        totals += sumRow(sumWords("compute"), sums.compute_s, devices_s, opsText(computing));
        totals += sumRow(sumWords("idle"), sums.idle_s(), devices_s, QString());
    }
    if (used > 0)
        totals += sumRow(sumWords("transfer"), sums.transfer_s, static_cast<double>(used) * span_s,
                         transfersText(sums.count - computing));
    QString byKind;
    const std::size_t told = std::min(kMostKinds, sums.kinds.size());
    for (const TimelineSums::Kind& kind : std::span(sums.kinds).first(told))
        byKind += sumRow(QString::fromStdString(kind.name).toHtmlEscaped(), kind.seconds, devices_s,
                         QStringLiteral("%L1").arg(kind.count));
    double rest_s = 0;
    std::size_t rest = 0;
    for (const TimelineSums::Kind& kind : std::span(sums.kinds).subspan(told)) {
        rest_s += kind.seconds;
        rest += kind.count;
    }
    if (rest > 0)
        byKind += sumRow(sumWords("%1 more kinds").arg(sums.kinds.size() - told), rest_s, devices_s,
                         QStringLiteral("%L1").arg(rest));

    QString text =
        QStringLiteral(
            "<b>%1</b> %2<table cellspacing='0' cellpadding='0'><tr>"
            "<td style='padding-right:24px'>%3%4</td><td>%5</td></tr></table>")
            .arg(sumWords("ΔT %1").arg(unbroken(secondsText(span_s))),
                 intervalText(sums.start_s, sums.end_s).toHtmlEscaped(), sumTable(sumWords("In all"), totals),
                 byResource.isEmpty() ? QString() : sumTable(sumWords("By device and channel"), byResource),
                 byKind.isEmpty() ? QString() : sumTable(sumWords("By kind of op"), byKind));
    if (!sums.ops.empty())
        text += QStringLiteral("<a href='select'>%1</a>")
                    .arg(sumWords("Select these %1").arg(opsText(sums.ops.size())));
    return text;
}

}  // namespace placewright
