// SPDX-License-Identifier: MIT
// What the nodes of a graph are coloured by, where that is not their device.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <QColor>
#include <QString>
#include <QStringList>

#include "widgets/graph_scene.hpp"

class QPainter;
class QPalette;
class QRectF;

namespace placewright {

/// A value for each op.
struct NodeColors {
    QString title;                        ///< what the values are
    std::vector<double> values;           ///< by op; NaN: the op has none
    bool sums = false;                    ///< a closed module has the sum of its ops' values, not their mean
    std::function<QString(double)> text;  ///< a value with its unit
    QStringList categories{};             ///< not empty: values are indices of these names
    std::vector<QColor> own{};            ///< by op, its colour whatever its value; may be empty or invalid
    /// Not empty: the colour of all values up to this one that no earlier threshold covers, ascending.
    std::vector<std::pair<double, QColor>> thresholds{};
    /// Not empty: colours between the least value (0) and the largest (1), in place of the usual ones.
    std::vector<std::pair<double, QColor>> gradient{};
};

/// The colours of a graph's nodes by their values, as a list of inks that nodes share, so that nodes of one
/// colour are painted together.
class NodeInks {
public:
    NodeInks(std::shared_ptr<const NodeColors> colors, const GraphScene& scene);

    struct Part {
        std::uint32_t ink;
        double part;  ///< of the module
    };
    std::size_t size() const { return m_inks.size() + 1; }
    /// The colour of an ink; the last one, of nodes without a value, has none.
    QColor color(std::size_t ink) const { return ink < m_inks.size() ? m_inks[ink] : QColor(); }
    std::uint32_t inkOf(std::uint32_t node) const { return m_inkOf[node]; }
    /// How the values of a module's ops are distributed; empty for ops.
    const std::vector<Part>& partsOf(std::uint32_t node) const { return m_parts[node]; }
    bool hasCategories() const { return !m_colors->categories.isEmpty(); }
    /// "Memory: 12 MB", as rich text.
    QString describe(std::uint32_t node) const;

    /// The place of the legend in a corner of `area`; empty if it would hide too much of the graph.
    QRectF legendRect(const QFont& font, const QRectF& area, Qt::Corner corner) const;
    /// Draws what the colours mean there.
    void paintLegend(QPainter& painter, const QRectF& plate, const QPalette& palette) const;

private:
    std::uint32_t none() const { return static_cast<std::uint32_t>(m_inks.size()); }
    std::uint32_t inkOfValue(double value) const;
    std::uint32_t inkOfOp(OpId op) const;
    void makeInks();
    void colorModule(std::uint32_t node, const GraphScene& scene);
    struct Row {
        QColor color;  ///< invalid: no value
        QString text;
    };
    std::vector<Row> legendRows() const;
    bool hasScale() const;
    bool isGradient() const { return m_colors->categories.isEmpty() && m_colors->thresholds.empty(); }

    std::shared_ptr<const NodeColors> m_colors;
    std::vector<QColor> m_inks;
    std::vector<std::uint32_t> m_own;        ///< by op: its own ink, or none(); empty if no op has one
    std::vector<double> m_values;            ///< by node
    std::vector<std::uint32_t> m_inkOf;      ///< by node
    std::vector<std::vector<Part>> m_parts;  ///< by node
    double m_least = 0, m_largest = 0;       ///< of the values of all nodes
    bool m_lacks = false;                    ///< whether a node has no value
};

}  // namespace placewright
