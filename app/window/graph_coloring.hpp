// SPDX-License-Identifier: MIT
// What the nodes of the graph are coloured by: their device, kind, time, memory, or values from a file.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/background.hpp"
#include "core/io/networks/node_values.hpp"
#include "widgets/node_colors.hpp"

namespace placewright {

class Document;
class GraphView;

/// The values of settings::graphColors.
enum class ColorBy { device, kind, time, memory, file };

/// The seconds that each op, with what is derived from it, takes on its device; by op, NaN for an op without
/// a node of its own.
std::vector<double> secondsOnDevices(const Problem& problem, const std::vector<DeviceId>& devices);
/// The bytes of the parameters, with gradients and optimizer state, and of the outputs of each op.
std::vector<double> bytesOfOps(const Problem& problem);
/// The kinds of the ops as categories, the most frequent first.
NodeColors colorsByKind(const Problem& problem);

/// Colours the graph by what was chosen, and follows the placement and the network.
class GraphColoring : public QObject {
    Q_OBJECT
public:
    GraphColoring(Document* document, GraphView* graph, QObject* parent);

    ColorBy by() const { return m_by; }
    void choose(ColorBy by);
    /// Reads values in the background and colours the graph by them. Requires an open network.
    void open(const QString& file);
    /// The file whose values can be chosen; empty: none.
    const QString& file() const { return m_file; }
    /// Its values by op, for the open network; null: there are none.
    std::shared_ptr<const std::vector<double>> values() const;
    bool isReading() const { return m_lane.busy(); }

Q_SIGNALS:
    /// Another choice, or other values to choose.
    void changed();
    /// A file was read; what it has.
    void opened(const QString& what);
    void failed(const QString& why);

private:
    void show();
    void showProblem();
    std::shared_ptr<const NodeColors> colors() const;

    Document* m_document;
    GraphView* m_graph;
    ColorBy m_by = ColorBy::device;
    QString m_file;
    NodeValues m_read;
    MatchedValues m_matched;  ///< of m_read, for the open network
    std::shared_ptr<const Problem> m_problem;
    std::shared_ptr<const NodeColors> m_fixed;  ///< what does not depend on the placement; null: make it
    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work in the lane
};

}  // namespace placewright
