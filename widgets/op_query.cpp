// SPDX-License-Identifier: MIT
#include "widgets/op_query.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <QCoreApplication>
#include <QStringList>

namespace placewright {
namespace {

QString queryWords(const char* text) {
    return QCoreApplication::translate("OpQuery", text);
}

double computeSeconds(const TimelineData& timeline, OpId op) {
    double seconds = 0;
    if (op >= timeline.op_spans.size()) return 0;
    for (const std::uint32_t index : timeline.op_spans[op]) {
        const Span& span = timeline.trace.spans[index];
        if (span.kind == Span::Kind::op) seconds += span.end_s - span.start_s;
    }
    return seconds;
}

}  // namespace

OpQuery::OpQuery(const QString& text, bool regex) {
    for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts)) add(word, regex);
}

void OpQuery::add(const QString& word, bool regex) {
    static const QRegularExpression duration(QStringLiteral("^([<>])(=?)([0-9]*\\.?[0-9]+)(ns|us|µs|ms|s)$"),
                                             QRegularExpression::CaseInsensitiveOption);
    if (word.startsWith(QLatin1Char('<')) || word.startsWith(QLatin1Char('>'))) {
        const QRegularExpressionMatch match = duration.match(word);
        if (!match.hasMatch()) {
            m_error = queryWords("%1 is not a duration, such as >10ms").arg(word);
            return;
        }
        const QString unit = match.captured(4).toLower();
        const double scale = unit == QLatin1String("s")    ? 1
                             : unit == QLatin1String("ms") ? 1e-3
                             : unit == QLatin1String("ns") ? 1e-9
                                                           : 1e-6;
        const bool equal = !match.captured(2).isEmpty();
        Part part;
        part.field = match.captured(1) == QLatin1String(">") ? (equal ? Field::atLeast : Field::longer)
                                                             : (equal ? Field::atMost : Field::shorter);
        part.seconds = match.captured(3).toDouble() * scale;
        m_parts.push_back(part);
        return;
    }
    static const QRegularExpression value(
        QStringLiteral("^value([<>])(=?)([-+]?[0-9]*\\.?[0-9]+(e[-+]?[0-9]+)?)$"),
        QRegularExpression::CaseInsensitiveOption);
    if (const QRegularExpressionMatch match = value.match(word); match.hasMatch()) {
        const bool equal = !match.captured(2).isEmpty();
        Part part;
        part.field = match.captured(1) == QLatin1String(">") ? (equal ? Field::atLeast : Field::longer)
                                                             : (equal ? Field::atMost : Field::shorter);
        part.seconds = match.captured(3).toDouble();
        part.isValue = true;
        m_parts.push_back(part);
        return;
    }
    Part part;
    QString rest = word;
    static constexpr std::array<std::pair<const char*, Field>, 4> fields{{{"kind:", Field::kind},
                                                                          {"name:", Field::name},
                                                                          {"module:", Field::module},
                                                                          {"device:", Field::device}}};
    for (const auto& [prefix, field] : fields) {
        if (!word.startsWith(QLatin1String(prefix), Qt::CaseInsensitive)) continue;
        part.field = field;
        rest = word.mid(QLatin1String(prefix).size());
    }
    if (rest.isEmpty()) return;  // a filter that is still being typed
    part.text = rest;
    part.pattern = QRegularExpression(regex ? rest : QRegularExpression::escape(rest),
                                      QRegularExpression::CaseInsensitiveOption);
    if (part.field != Field::device && !part.pattern.isValid()) {
        m_error = queryWords("%1: %2").arg(rest, part.pattern.errorString());
        return;
    }
    m_parts.push_back(std::move(part));
}

bool OpQuery::asksForValues() const {
    return std::ranges::any_of(m_parts, &Part::isValue);
}

OpQuery::Found OpQuery::find(const Problem& problem, const std::vector<DeviceId>& devices,
                             const TimelineData* timeline, const std::vector<double>* values) const {
    Found found;
    if (!m_error.isEmpty() || m_parts.empty()) return found;
    const Graph& graph = *problem.graph;
    OpList& ops = found.ops;
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).phase == Phase::forward && graph.op(op).forward_op == kInvalidOp) ops.push_back(op);
    }
    const auto text = [](const std::string& of) { return QString::fromStdString(of); };
    const double batches =
        timeline != nullptr ? std::max(1.0, static_cast<double>(timeline->batches.size())) : 1;
    bool byKind = false, byName = false, byModule = false;
    for (const Part& part : m_parts) {
        const auto has = [&](const std::string& of) { return part.pattern.match(text(of)).hasMatch(); };
        const auto keep = [&](const auto& holds) { std::erase_if(ops, [&](OpId op) { return !holds(op); }); };
        // NaN, which no comparison holds for, where there is none.
        const auto amount = [&](OpId op) {
            if (part.isValue)
                return values != nullptr && op < values->size() ? (*values)[op]
                                                                : std::numeric_limits<double>::quiet_NaN();
            return timeline != nullptr ? computeSeconds(*timeline, op) / batches
                                       : std::numeric_limits<double>::quiet_NaN();
        };
        switch (part.field) {
            case Field::kind:
                keep([&](OpId op) { return has(graph.op(op).kind); });
                break;
            case Field::name:
                keep([&](OpId op) { return has(graph.op(op).name); });
                break;
            case Field::module:
                keep([&](OpId op) { return has(graph.op(op).scope); });
                break;
            case Field::device: {
                // The device of this name, else those whose names begin so: all GPUs for "gpu".
                const bool exact = problem.machine->find(part.text.toStdString()).has_value();
                keep([&](OpId op) {
                    if (op >= devices.size() || devices[op] >= problem.devices) return false;
                    const QString name = text(problem.machine->device(devices[op]).name);
                    return exact ? name == part.text : name.startsWith(part.text, Qt::CaseInsensitive);
                });
                break;
            }
            case Field::longer:
                keep([&](OpId op) { return amount(op) > part.seconds; });
                break;
            case Field::atLeast:
                keep([&](OpId op) { return amount(op) >= part.seconds; });
                break;
            case Field::shorter:
                keep([&](OpId op) { return amount(op) < part.seconds; });
                break;
            case Field::atMost:
                keep([&](OpId op) { return amount(op) <= part.seconds; });
                break;
            case Field::any: {
                const auto inKind = [&](OpId op) { return has(graph.op(op).kind); };
                const auto inLeaf = [&](OpId op) {
                    const std::string& name = graph.op(op).name;
                    const bool whole = part.text.contains(QLatin1Char('/'));
                    return has(whole ? name : name.substr(name.rfind('/') + 1));
                };
                const auto inModule = [&](OpId op) {
                    return has(graph.op(op).scope) || has(graph.op(op).name);
                };
                const bool kind = std::ranges::any_of(ops, inKind), name = std::ranges::any_of(ops, inLeaf);
                byKind = byKind || kind;
                byName = byName || name;
                byModule = byModule || (!kind && !name);
                if (kind || name) {
                    keep([&](OpId op) { return inKind(op) || inLeaf(op); });
                } else {
                    keep(inModule);
                }
                break;
            }
        }
    }
    if (ops.empty()) return found;
    QStringList where;
    if (byKind) where << queryWords("kind");
    if (byName) where << queryWords("name");
    if (byModule) where << queryWords("module");
    if (!where.isEmpty()) found.where = queryWords("by %1").arg(where.join(queryWords(" or ")));
    return found;
}

double shareOfCompute(const TimelineData& timeline, const OpList& ops) {
    double all_s = 0, own_s = 0;
    for (const double busy_s : timeline.outcome.device_busy_s) all_s += busy_s;
    for (const OpId op : ops) own_s += computeSeconds(timeline, op);
    return all_s > 0 ? own_s / all_s : 0;
}

}  // namespace placewright
