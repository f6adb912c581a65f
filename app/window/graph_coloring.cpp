// SPDX-License-Identifier: MIT
#include "app/window/graph_coloring.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <QFileInfo>
#include <QLocale>

#include "app/window/document.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

QString valueText(double value) {
    return QLocale().toString(value, 'g', 4);
}

/// The colours of the file; what is no colour is left to the value.
NodeColors colorsOf(const NodeValues& file, const MatchedValues& matched) {
    NodeColors colors;
    colors.title = toQString(file.title);
    colors.values = matched.values;
    colors.text = valueText;
    for (const std::string& color : matched.colors) colors.own.emplace_back(toQString(color));
    for (const auto& [value, color] : file.thresholds)
        if (const QColor named(toQString(color)); named.isValid())
            colors.thresholds.emplace_back(value, named);
    for (const auto& [share, color] : file.gradient)
        if (const QColor named(toQString(color)); named.isValid()) colors.gradient.emplace_back(share, named);
    return colors;
}

}  // namespace

std::vector<double> secondsOnDevices(const Problem& problem, const std::vector<DeviceId>& devices) {
    std::vector<double> seconds(problem.ops, kNoValue);
    for (OpId op = 0; op < problem.ops && op < devices.size(); ++op) {
        double& sum = seconds[representative(problem, op)];
        sum = (std::isnan(sum) ? 0 : sum) + problem.time_s(op, devices[op]);
    }
    return seconds;
}

std::vector<double> bytesOfOps(const Problem& problem) {
    std::vector<double> bytes(problem.ops, kNoValue);
    for (OpId op = 0; op < problem.ops; ++op) {
        const OpId shown = representative(problem, op);
        double& sum = bytes[shown];
        sum = (std::isnan(sum) ? 0 : sum) + problem.end_bytes(op);
        if (op != shown) continue;  // outputs of backward ops do not stay
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor)
            sum += problem.output_bytes[tensor];
    }
    return bytes;
}

NodeColors colorsByKind(const Problem& problem) {
    std::map<std::string, std::size_t> counts;
    for (OpId op = 0; op < problem.ops; ++op)
        if (representative(problem, op) == op) ++counts[problem.graph->op(op).kind];
    std::vector<std::pair<std::string, std::size_t>> kinds(counts.begin(), counts.end());
    std::ranges::stable_sort(kinds, std::greater<>(), &std::pair<std::string, std::size_t>::second);
    std::map<std::string, double> index;
    NodeColors colors;
    colors.title = GraphColoring::tr("Kind of op");
    for (const auto& [kind, count] : kinds) {
        index[kind] = static_cast<double>(colors.categories.size());
        colors.categories << toQString(kind);
    }
    for (OpId op = 0; op < problem.ops; ++op) colors.values.push_back(index[problem.graph->op(op).kind]);
    colors.text = valueText;
    return colors;
}

GraphColoring::GraphColoring(Document* document, GraphView* graph, QObject* parent)
    : QObject(parent), m_document(document), m_graph(graph) {
    connect(document, &Document::problemChanged, this, &GraphColoring::showProblem);
    connect(document, &Document::placementChanged, this, [this] {
        if (m_by == ColorBy::time) show();
    });
}

std::shared_ptr<const std::vector<double>> GraphColoring::values() const {
    if (m_file.isEmpty()) return nullptr;
    return std::make_shared<const std::vector<double>>(m_matched.values);
}

void GraphColoring::choose(ColorBy by) {
    if (by == m_by || (by == ColorBy::file && m_file.isEmpty())) return;
    m_by = by;
    m_fixed.reset();
    show();
    Q_EMIT changed();
}

std::shared_ptr<const NodeColors> GraphColoring::colors() const {
    const Problem& problem = *m_document->problem();
    NodeColors colors;
    switch (m_by) {
        case ColorBy::device:
            return nullptr;
        case ColorBy::kind:
            colors = colorsByKind(problem);
            break;
        case ColorBy::time:
            colors = {tr("Time on its device"), secondsOnDevices(problem, m_document->deviceOfOps()), true,
                      secondsText};
            break;
        case ColorBy::memory:
            colors = {tr("Memory of parameters and outputs"), bytesOfOps(problem), true, bytesText};
            break;
        case ColorBy::file:
            colors = colorsOf(m_read, m_matched);
            break;
    }
    return std::make_shared<const NodeColors>(std::move(colors));
}

void GraphColoring::show() {
    if (!m_document->isOpen() || (m_by == ColorBy::time && m_document->placement().empty())) return;
    if (m_by == ColorBy::time || !m_fixed) m_fixed = colors();
    m_graph->setColors(m_fixed);
}

void GraphColoring::showProblem() {
    if (!m_document->isOpen() || m_problem == m_document->problem()) return;
    m_problem = m_document->problem();
    m_fixed.reset();
    if (!m_file.isEmpty()) {
        m_matched = match(m_read, *m_problem->graph);
        if (m_matched.matched == 0) {  // another network
            m_file.clear();
            if (m_by == ColorBy::file) m_by = ColorBy::device;
        }
        Q_EMIT changed();
    }
    show();
}

void GraphColoring::open(const QString& file) {
    if (!m_document->isOpen()) return;
    struct Read {
        NodeValues values;
        MatchedValues matched;
    };
    const auto problem = m_document->problem();
    m_background.run(
        m_lane,
        [file, problem](std::stop_token) {
            Read read{read_node_values(file.toStdString(), problem->graph->name()), {}};
            read.matched = match(read.values, *problem->graph);
            return read;
        },
        [this, file, problem](Read read) {
            if (problem != m_document->problem()) return open(file);  // the network or its options changed
            const MatchedValues& matched = read.matched;
            if (matched.matched == 0)
                return void(Q_EMIT failed(
                    tr("%1: none of its names is an op of %2: it has %3, the network has "
                       "\"%4\". Name the ops as Edit ▸ Copy names or rows does.")
                        .arg(file, toQString(problem->graph->name()), toQString(matched.examples),
                             toQString(problem->graph->op(0).name))));
            const QString lost =
                matched.unknown == 0
                    ? QString()
                    : (matched.unknown == 1 ? tr(" %L1 of its names is not an op of the network: %2.")
                                            : tr(" %L1 of its names are not ops of the network: %2."))
                          .arg(matched.unknown)
                          .arg(toQString(matched.examples));
            const QString said =
                tr("%1 has values of %2.%3").arg(QFileInfo(file).fileName(), opsText(matched.matched), lost);
            m_read = std::move(read.values);
            m_matched = std::move(read.matched);
            m_file = file;
            m_by = ColorBy::file;
            m_fixed.reset();
            show();
            Q_EMIT changed();
            Q_EMIT opened(said);
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

}  // namespace placewright
