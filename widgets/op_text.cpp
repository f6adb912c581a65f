// SPDX-License-Identifier: MIT
#include "widgets/op_text.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <QCoreApplication>
#include <QStringList>

#include "core/graph/constrained_ops.hpp"
#include "core/graph/scope_tree.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostLinks = 12;

class Text {
    Q_DECLARE_TR_FUNCTIONS(OpText)

public:
    Text(const Problem& problem, const TimelineData* timeline) : m_problem(problem), m_timeline(timeline) {}

    QString describe(OpId op, DeviceId device) const {
        const Op& of = graph().op(op);
        QStringList scope{escaped(of.kind)};
        if (!of.scope.empty()) scope << tr("in %1").arg(escaped(of.scope));
        QString html =
            QStringLiteral("<h3>%1</h3><p>%2</p>").arg(escaped(of.name), scope.join(QLatin1Char(' ')));

        html += tableStart();
        if (device != kInvalidDevice) html += row(tr("Device"), deviceTitle(device));
        html += row(of.outputs.size() > 1 ? tr("Outputs") : tr("Output"), outputs(of));
        html += row(tr("Computes"), computes(op));
        if (of.parameter_bytes > 0) html += row(tr("Parameters"), parameters(op));
        html += movesWith({op});
        html += QStringLiteral("</table>");

        const bool derives = family(op).size() > 1;
        html += heading(derives ? tr("Time on each device (forward + backward, update)")
                                : tr("Time on each device"));
        html += timeTable(op, device) + timesWhenRun(op);
        html +=
            neighbours(tr("Reads"), graph().producers(op)) + neighbours(tr("Read by"), graph().consumers(op));
        return html;
    }

    QString summarize(OpId op, DeviceId device) const {
        const Op& of = graph().op(op);
        QStringList lines{QStringLiteral("<b>%1</b>").arg(escaped(of.name)), escaped(of.kind)};
        if (!of.outputs.empty() && of.outputs.front().shape)
            lines.back() += QStringLiteral(" · ") + shape(of.outputs.front());
        if (device != kInvalidDevice) {
            const Times times = timesOn(op, device);
            lines << tr("On %1: %2").arg(deviceName(device), secondsText(times.sum()));
            if (times.derived_s > 0) {
                lines.back() += tr(" (forward %1, backward and update %2)")
                                    .arg(secondsText(times.forward_s), secondsText(times.derived_s));
            }
        }
        for (const DeviceClass& each : deviceClasses(op)) {
            if (lines.size() > 6) break;
            if (each.devices.size() == 1 && each.devices.front() == device) continue;
            lines << tr("On %1: %2")
                         .arg(names(each.devices),
                              each.allowed ? secondsText(each.times.sum()) : tr("not allowed"));
        }
        lines << tr("Output %1, read by %2")
                     .arg(bytesText(outputBytes(op)), opsText(forwardOnly(graph().consumers(op)).size()));
        return lines.join(QStringLiteral("<br>"));
    }

    QString describe(const OpList& ops, const std::vector<DeviceId>& devices) const {
        struct Share {
            std::size_t ops = 0;
            double time_s = 0, end_bytes = 0;
        };
        std::vector<Share> shares(m_problem.devices);
        Share sum;
        double forward_flops = 0;
        std::int64_t parameter_bytes = 0;
        for (const OpId op : ops) {
            forward_flops += graph().op(op).flops;
            parameter_bytes += graph().op(op).parameter_bytes;
            ++sum.ops;
            const DeviceId device = op < devices.size() ? devices[op] : kInvalidDevice;
            if (device >= m_problem.devices) continue;
            const double time_s = timesOn(op, device).sum();
            sum.time_s += time_s;
            shares[device].time_s += time_s;
            ++shares[device].ops;
            for (const OpId member : family(op)) shares[device].end_bytes += m_problem.end_bytes(member);
        }
        QString html =
            QStringLiteral("<h3>%1</h3>").arg(tr("%1 selected").arg(opsText(sum.ops))) + tableStart();
        html += row(tr("Time"), tr("%1 total on current devices").arg(secondsText(sum.time_s)));
        html += row(tr("Computes"), tr("%1 forward").arg(flopsText(forward_flops)));
        html += row(tr("Parameters"), bytesText(static_cast<double>(parameter_bytes)));
        if (const std::string module = commonScope(ops); !module.empty())
            html += row(tr("Module"), escaped(module));
        html += movesWith(ops) + QStringLiteral("</table>");

        html += heading(tr("By device")) + tableStart();
        for (DeviceId device = 0; device < shares.size(); ++device) {
            const Share& share = shares[device];
            if (share.ops == 0) continue;
            html += row(deviceName(device), opsText(share.ops), secondsText(share.time_s),
                        tr("holds %1").arg(bytesText(share.end_bytes)));
        }
        return html + QStringLiteral("</table>") + neighbours(tr("Ops"), ops);
    }

private:
    struct Times {
        double forward_s = 0, derived_s = 0;
        double sum() const { return forward_s + derived_s; }
        bool operator==(const Times&) const = default;
    };
    /// Devices that are equivalent for an op.
    struct DeviceClass {
        std::vector<DeviceId> devices;
        Times times;
        bool allowed = true;
    };

    const Graph& graph() const { return *m_problem.graph; }

    /// The innermost module that contains all ops; empty if there is none.
    std::string commonScope(const OpList& ops) const {
        std::string scope = ops.empty() ? std::string() : graph().op(ops.front()).scope;
        for (const OpId op : ops) scope = common_scope(scope, graph().op(op).scope);
        return scope;
    }

    /// Row with the number of other ops that move with `ops`, because groups move as a whole.
    QString movesWith(const OpList& ops) const {
        std::set<GroupId> groups;
        for (const OpId op : ops) groups.insert(m_problem.grouping.group_of[op]);
        std::size_t more = 0;
        for (const GroupId group : groups) more += forwardOnly(m_problem.grouping.members[group]).size();
        return more > ops.size()
                   ? row(tr("Moves with"), tr("%1 of the same group").arg(opsText(more - ops.size())))
                   : QString();
    }
    const Device& device(DeviceId id) const { return m_problem.machine->device(id); }

    // Keeps a number on the same line as its unit.
    static QString unbroken(QString text) { return text.replace(QLatin1Char(' '), QChar(QChar::Nbsp)); }
    static QString secondsText(double seconds) { return unbroken(placewright::secondsText(seconds)); }
    static QString bytesText(double bytes) { return unbroken(placewright::bytesText(bytes)); }
    static QString flopsText(double flops) { return unbroken(placewright::flopsText(flops)); }

    static QString escaped(std::string_view text) {
        return QString::fromUtf8(text.data(), static_cast<int>(text.size())).toHtmlEscaped();
    }
    static QString heading(const QString& text) {
        return QStringLiteral("<h4 style='margin-bottom:2px'>%1</h4>").arg(text);
    }
    static QString tableStart() { return QStringLiteral("<table cellspacing='0' cellpadding='1'>"); }
    template <class... Cells>
    static QString row(const Cells&... cells) {
        QString html = QStringLiteral("<tr>");
        ((html += QStringLiteral("<td style='padding-right:10px'>") + cells + QStringLiteral("</td>")), ...);
        return html + QStringLiteral("</tr>");
    }

    QString deviceName(DeviceId id) const { return escaped(device(id).name); }
    QString deviceTitle(DeviceId id) const {
        return device(id).model.empty()
                   ? deviceName(id)
                   : QStringLiteral("%1 (%2)").arg(deviceName(id), escaped(device(id).model));
    }
    QString names(const std::vector<DeviceId>& devices) const {
        // Shortens a long list to "gpu:0…gpu:7".
        if (devices.size() > 3)
            return QStringLiteral("%1…%2").arg(deviceName(devices.front()), deviceName(devices.back()));
        QStringList list;
        for (const DeviceId id : devices) list << deviceName(id);
        return list.join(QStringLiteral(", "));
    }
    QString link(OpId op) const {
        return QStringLiteral("<a href=\"%1\">%2</a>").arg(op).arg(escaped(graph().op(op).name));
    }

    /// The op and its derived ops.
    std::vector<OpId> family(OpId op) const {
        std::vector<OpId> ops;
        for (const OpId member : m_problem.grouping.members[m_problem.grouping.group_of[op]]) {
            if (forwardOf(graph(), member) == op) ops.push_back(member);
        }
        return ops;
    }

    Times timesOn(OpId op, DeviceId id) const {
        Times times;
        for (const OpId member : family(op))
            (member == op ? times.forward_s : times.derived_s) += m_problem.time_s(member, id);
        return times;
    }

    std::vector<DeviceClass> deviceClasses(OpId op) const {
        const auto allowed = m_problem.allowed_devices(m_problem.grouping.group_of[op]);
        std::vector<DeviceClass> classes;
        for (DeviceId id = 0; id < m_problem.devices; ++id) {
            const Times times = timesOn(op, id);
            const bool isAllowed = std::ranges::binary_search(allowed, id);
            const auto alike = std::ranges::find_if(classes, [&](const DeviceClass& each) {
                return each.times == times && each.allowed == isAllowed &&
                       device(each.devices.front()).model == device(id).model;
            });
            if (alike == classes.end()) {
                classes.push_back({{id}, times, isAllowed});
            } else {
                alike->devices.push_back(id);
            }
        }
        return classes;
    }

    QString timeTable(OpId op, DeviceId present) const {
        const auto classes = deviceClasses(op);
        const bool derives = family(op).size() > 1;
        QString html = tableStart();
        for (const DeviceClass& each : classes) {
            const bool isHere = std::ranges::find(each.devices, present) != each.devices.end();
            const QString title =
                isHere ? QStringLiteral("<b>%1</b>").arg(names(each.devices)) : names(each.devices);
            if (!each.allowed) {
                html += row(title, tr("not allowed"));
            } else if (derives) {
                html += row(title, secondsText(each.times.sum()),
                            QStringLiteral("%1 + %2").arg(secondsText(each.times.forward_s),
                                                          secondsText(each.times.derived_s)));
            } else {
                html += row(title, secondsText(each.times.forward_s));
            }
        }
        html += QStringLiteral("</table>");
        for (const Constraint& rule : m_problem.constraints.rules) {
            if (is_about(rule, graph().op(op)))
                html +=
                    QStringLiteral("<p>%1</p>").arg(tr("Constraint: %1").arg(escaped(constraint_text(rule))));
        }
        const auto& group = m_problem.grouping.members[m_problem.grouping.group_of[op]];
        const auto together = std::ranges::count_if(group, [&](OpId member) {
            return graph().op(member).forward_op == kInvalidOp && !graph().op(member).autocast;
        });
        if (together > 1) {
            html += QStringLiteral("<p>%1</p>")
                        .arg(tr("Moves as a group of %1.").arg(opsText(static_cast<std::size_t>(together))));
        }
        return html;
    }

    QString shape(const Tensor& tensor) const {
        QStringList extents;
        for (const std::int64_t extent : *tensor.shape) extents << QString::number(extent);
        return extents.isEmpty() ? tr("scalar") : extents.join(QStringLiteral("×"));
    }

    QString outputs(const Op& op) const {
        QStringList list;
        for (const Tensor& tensor : op.outputs) {
            const QString type = escaped(to_string(tensor.dtype)),
                          bytes = bytesText(static_cast<double>(tensor.bytes));
            list << (tensor.shape ? QStringLiteral("%1 %2, %3").arg(shape(tensor), type, bytes) : bytes);
        }
        return list.isEmpty() ? tr("none") : list.join(QStringLiteral("<br>"));
    }

    double outputBytes(OpId op) const {
        double bytes = 0;
        for (const Tensor& tensor : graph().op(op).outputs) bytes += static_cast<double>(tensor.bytes);
        return bytes;
    }

    QString computes(OpId op) const {
        double derived = 0;
        for (const OpId member : family(op)) derived += member == op ? 0 : graph().op(member).flops;
        const QString forward = flopsText(graph().op(op).flops);
        return derived > 0 ? tr("%1 forward, %2 backward and update").arg(forward, flopsText(derived))
                           : forward;
    }

    QString parameters(OpId op) const {
        const double parameter_bytes = static_cast<double>(graph().op(op).parameter_bytes);
        double held_bytes = 0, gradient_bytes = 0, state_bytes = 0;
        for (const OpId member : family(op)) {
            held_bytes += m_problem.end_bytes(member);
            gradient_bytes += m_problem.end_bytes(member) - m_problem.resident_bytes[member] +
                              m_problem.accumulated_bytes[member];
        }
        if (parameter_bytes > 0) state_bytes = m_problem.optimizer_states * parameter_bytes;
        const QString text = bytesText(parameter_bytes), held = bytesText(held_bytes);
        return gradient_bytes > 0 && state_bytes > 0
                   ? tr("%1, with gradient and optimizer state %2").arg(text, held)
               : gradient_bytes > 0 ? tr("%1, with gradient %2").arg(text, held)
               : state_bytes > 0    ? tr("%1, with optimizer state %2").arg(text, held)
                                    : text;
    }

    /// Leaves out derived ops: a backward op that reads a tensor again belongs to its forward op.
    std::vector<OpId> forwardOnly(std::span<const OpId> ops) const {
        std::vector<OpId> forward;
        std::ranges::copy_if(ops, std::back_inserter(forward),
                             [&](OpId op) { return graph().op(op).forward_op == kInvalidOp; });
        return forward;
    }

    QString neighbours(const QString& title, std::span<const OpId> ops) const {
        const std::vector<OpId> distinct = forwardOnly(ops);
        if (distinct.empty()) return {};
        QStringList links;
        for (const OpId op : std::span(distinct).first(std::min(distinct.size(), kMostLinks)))
            links << link(op);
        if (distinct.size() > kMostLinks) links << tr("and %1 more").arg(distinct.size() - kMostLinks);
        return heading(title) +
               QStringLiteral("<p style='margin-top:2px'>%1</p>").arg(links.join(QStringLiteral("<br>")));
    }

    /// Times at which the op and its derived ops ran in the first batch.
    QString timesWhenRun(OpId op) const {
        if (!m_timeline || op >= m_timeline->op_spans.size()) return {};
        QString paragraphs;
        for (const std::uint32_t index : m_timeline->op_spans[op]) {
            const Span& span = m_timeline->trace.spans[index];
            if (span.kind != Span::Kind::op || span.batch != 0) continue;
            QStringList lines{
                QStringLiteral("<b>%1</b>: %2")
                    .arg(partName(op, span.op), unbroken(intervalText(span.start_s, span.end_s)))};
            const QString reason = whatItWaitedFor(span);
            if (!reason.isEmpty()) lines << reason;
            paragraphs += QStringLiteral("<p style='margin-top:2px; margin-bottom:4px'>%1</p>")
                              .arg(lines.join(QStringLiteral("<br>")));
        }
        if (paragraphs.isEmpty()) return {};
        const bool several = m_timeline->outcome.ops_run > m_problem.ops;
        return heading(several ? tr("When it ran, in the first batch") : tr("When it ran")) + paragraphs;
    }

    /// "forward", or the part that a derived op adds to the name of its forward op ("weight gradient").
    QString partName(OpId op, OpId part) const {
        if (part == op) return escaped(to_string(graph().op(op).phase));
        const std::string &whole = graph().op(part).name, &stem = graph().op(op).name;
        if (!whole.starts_with(stem + "/")) return escaped(whole);
        return escaped(std::string_view(whole).substr(stem.size() + 1))
            .replace(QLatin1Char('_'), QLatin1Char(' '));
    }

    QString whatItWaitedFor(const Span& span) const {
        struct Arrival {
            OpId producer = kInvalidOp;
            DeviceId from = kInvalidDevice;
            double time_s = -1;
        };
        Arrival last;
        for (std::uint32_t i = m_problem.input_begin[span.op]; i < m_problem.input_begin[span.op + 1]; ++i) {
            const TensorId tensor = m_problem.input[i];
            const OpId producer = m_problem.producer[tensor];
            Arrival arrival{producer, kInvalidDevice, -1};
            for (const std::uint32_t index : m_timeline->op_spans[forwardOf(graph(), producer)]) {
                const Span& other = m_timeline->trace.spans[index];
                if (other.batch != span.batch) continue;
                const bool isProducer = other.kind == Span::Kind::op && other.op == producer;
                const bool isTransfer =
                    other.kind == Span::Kind::transfer && other.tensor == tensor && other.to == span.resource;
                if ((isProducer || isTransfer) && other.end_s >= arrival.time_s) {
                    arrival.time_s = other.end_s;
                    if (isTransfer) arrival.from = other.from;
                }
            }
            if (arrival.time_s > last.time_s) last = arrival;
        }
        QStringList parts;
        for (const std::uint32_t index : m_timeline->op_spans[forwardOf(graph(), span.op)]) {
            const Span& copy = m_timeline->trace.spans[index];
            const bool isOwn = copy.kind == Span::Kind::transfer && m_problem.is_streamed(copy.tensor) &&
                               copy.op == span.op && copy.batch == span.batch;
            if (!isOwn || copy.end_s < last.time_s) continue;
            last = {kInvalidOp, copy.from, copy.end_s};
            parts = {
                tr("its weights from %1 arrived at %2")
                    .arg(deviceName(copy.from), unbroken(momentText(copy.end_s, span.end_s - span.start_s)))};
        }
        if (last.producer != kInvalidOp) {
            const OpId forward = forwardOf(graph(), last.producer);
            QString name = link(forward);
            if (forward != last.producer)
                name += QStringLiteral(" (%1)").arg(partName(forward, last.producer));
            const QString when = unbroken(momentText(last.time_s, span.end_s - span.start_s));
            parts
                << (last.from == kInvalidDevice
                        ? tr("last input: %1 at %2").arg(name, when)
                        : tr("last input: %1 from %2 arrived at %3").arg(name, deviceName(last.from), when));
        }
        const double queue_s = span.start_s - span.queued_s;
        if (queue_s > 0) parts << tr("then %1 in the queue").arg(secondsText(queue_s));
        return parts.join(QStringLiteral(", "));
    }

    const Problem& m_problem;
    const TimelineData* m_timeline;
};

}  // namespace

QString describeOp(const Problem& problem, OpId op, DeviceId device, const TimelineData* timeline) {
    return Text(problem, timeline).describe(op, device);
}

QString summarizeOp(const Problem& problem, OpId op, DeviceId device, const TimelineData* timeline) {
    return Text(problem, timeline).summarize(op, device);
}

QString describeOps(const Problem& problem, const OpList& ops, const std::vector<DeviceId>& devices) {
    return Text(problem, nullptr).describe(ops, devices);
}

}  // namespace placewright
