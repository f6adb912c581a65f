// SPDX-License-Identifier: MIT
#include "app/window/pair/differences.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <QObject>

#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

/// [op]: seconds that it computes, with the ops derived from it.
std::vector<double> secondsOfOps(const TimelineData& timeline) {
    std::vector<double> seconds(timeline.op_spans.size());
    for (std::size_t op = 0; op < seconds.size(); ++op) {
        for (const std::uint32_t index : timeline.op_spans[op]) {
            const Span& span = timeline.trace.spans[index];
            if (span.kind == Span::Kind::op) seconds[op] += span.end_s - span.start_s;
        }
    }
    return seconds;
}

std::vector<OpId> forwardOps(const Graph& graph) {
    std::vector<OpId> ops;
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).phase == Phase::forward) ops.push_back(op);
    }
    return ops;
}

/// What one device does on one side.
struct Load {
    double busy_s = kNone, held_bytes = kNone, ops = kNone;
};

std::vector<Load> loads(const PairSide& side) {
    const TimelineData& timeline = *side.simulated->timeline;
    std::vector<Load> loads(side.problem().devices);
    for (DeviceId device = 0; device < loads.size(); ++device)
        loads[device] = {timeline.active_s[device], side.simulated->assessment.device_bytes[device], 0};
    for (const OpId op : forwardOps(*side.problem().graph)) ++loads[side.deviceOf(op)].ops;
    return loads;
}

}  // namespace

std::vector<DeviceId> PairSide::deviceOfOps() const {
    std::vector<DeviceId> devices(problem().ops);
    for (OpId op = 0; op < devices.size(); ++op) devices[op] = deviceOf(op);
    return devices;
}

PairDifferences differencesOf(const PairSide& a, const PairSide& b) {
    PairDifferences result;
    using Unit = PairFigure::Unit;
    const auto add = [&](const QString& name, Unit unit, double of_a, double of_b) {
        result.figures.push_back({name, unit, of_a, of_b});
    };
    const Outcome &before = a.simulated->timeline->outcome, &after = b.simulated->timeline->outcome;
    add(QObject::tr("Step time"), Unit::seconds, before.step_time_s, after.step_time_s);
    const Assessment &score_a = a.simulated->assessment, &score_b = b.simulated->assessment;
    if (!a.objective.isEmpty() && a.objective == b.objective) {
        add(a.objective, Unit::seconds, score_a.is_defined() ? score_a.score.value_s : kNone,
            score_b.is_defined() ? score_b.score.value_s : kNone);
    }
    add(QObject::tr("Transfers"), Unit::count, static_cast<double>(before.transfers),
        static_cast<double>(after.transfers));
    add(QObject::tr("Bytes over all channels"), Unit::bytes, sum(before.channel_bytes),
        sum(after.channel_bytes));
    add(QObject::tr("Time of all channels"), Unit::seconds, sum(before.channel_busy_s),
        sum(after.channel_busy_s));

    // Devices are the same if they have the same name; those of A alone follow those of B.
    const Machine &machine_a = *a.problem().machine, &machine_b = *b.problem().machine;
    const std::vector<Load> loads_a = loads(a), loads_b = loads(b);
    std::unordered_map<std::string_view, DeviceId> device_of_a;
    for (DeviceId device = 0; device < loads_a.size(); ++device)
        device_of_a.emplace(machine_a.device(device).name, device);
    const auto add_device = [&](const std::string& name, const Load& of_a, const Load& of_b) {
        add(QObject::tr("%1 busy").arg(toQString(name)), Unit::seconds, of_a.busy_s, of_b.busy_s);
        add(QObject::tr("%1 memory").arg(toQString(name)), Unit::bytes, of_a.held_bytes, of_b.held_bytes);
        add(QObject::tr("%1 ops").arg(toQString(name)), Unit::count, of_a.ops, of_b.ops);
    };
    for (DeviceId device = 0; device < loads_b.size(); ++device) {
        const auto found = device_of_a.find(machine_b.device(device).name);
        add_device(machine_b.device(device).name,
                   found == device_of_a.end() ? Load{} : loads_a[found->second], loads_b[device]);
        if (found != device_of_a.end()) device_of_a.erase(found);
    }
    for (DeviceId device = 0; device < loads_a.size(); ++device) {
        const std::string& name = machine_a.device(device).name;
        if (device_of_a.contains(name)) add_device(name, loads_a[device], {});
    }

    const Graph &graph_a = *a.problem().graph, &graph_b = *b.problem().graph;
    const std::vector<double> seconds_a = secondsOfOps(*a.simulated->timeline),
                              seconds_b = secondsOfOps(*b.simulated->timeline);
    const std::vector<OpId> ops_a = forwardOps(graph_a), ops_b = forwardOps(graph_b);
    std::unordered_map<std::string_view, OpId> op_of_a;
    for (const OpId op : ops_a) op_of_a.emplace(graph_a.op(op).name, op);
    for (const OpId op : ops_b) {
        const auto found = op_of_a.find(graph_b.op(op).name);
        if (found == op_of_a.end()) continue;
        PairOp row{
            .a = found->second, .b = op, .device_a = a.deviceOf(found->second), .device_b = b.deviceOf(op)};
        row.a_s = seconds_a[row.a];
        row.b_s = seconds_b[row.b];
        row.moved = machine_a.device(row.device_a).name != machine_b.device(row.device_b).name;
        result.moved += row.moved;
        result.ops.push_back(row);
    }
    result.same_network = result.ops.size() == ops_a.size() && ops_a.size() == ops_b.size();
    if (!result.same_network && graph_a.name() != graph_b.name())
        result.other_network = toQString(graph_a.name());
    return result;
}

QString figureText(double value, PairFigure::Unit unit) {
    if (std::isnan(value)) return QStringLiteral("–");
    switch (unit) {
        case PairFigure::Unit::seconds:
            return secondsText(value);
        case PairFigure::Unit::bytes:
            return bytesText(value);
        case PairFigure::Unit::count:
            break;
    }
    return QStringLiteral("%L1").arg(value, 0, 'f', 0);
}

QString changeText(double a, double b, PairFigure::Unit unit) {
    if (std::isnan(a) || std::isnan(b)) return QStringLiteral("–");
    if (a == b) return QStringLiteral("0");
    return (b > a ? QStringLiteral("+") : QStringLiteral("−")) + figureText(std::abs(b - a), unit);
}

QString changePercentText(double a, double b) {
    if (std::isnan(a) || std::isnan(b) || a <= 0 || a == b) return {};
    const double percent = (b / a - 1) * 100;
    return (percent > 0 ? QStringLiteral("+") : QStringLiteral("−")) +
           QStringLiteral("%L1 %").arg(std::abs(percent), 0, 'f', std::abs(percent) < 0.05 ? 2 : 1);
}

}  // namespace placewright
