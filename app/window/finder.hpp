// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QTimer>

#include "widgets/op_view.hpp"

namespace placewright {

class Document;
class FindBar;
class GraphView;
class OpsView;
class TimelineView;

/// Finds ops of the open network by what is typed into the find bar, and marks them in graph, timeline and
/// table of ops. A step from match to match selects it and scrolls it into view.
class Finder : public QObject {
    Q_OBJECT
public:
    Finder(Document* document, FindBar* bar, GraphView* graph, TimelineView* timeline, OpsView* ops,
           QObject* parent);

    /// Opens the bar, with the kinds and devices of the open network in its menu.
    void open();
    /// Forgets the matches and hides the bar: another network is open.
    void reset();
    /// Values by op that can be asked for; null: there are none.
    void setValues(std::shared_ptr<const std::vector<double>> values);
    /// Marks the matches again, in a new drawing of the graph.
    void mark();

private:
    void find(const QString& text);
    /// Finds again what depends on a placement that has changed.
    void refresh();
    /// `opens`: also opens the modules around the match; false while the user is still typing.
    void step(int direction, bool opens);
    void showCount();

    Document* m_document;
    FindBar* m_bar;
    GraphView* m_graph;
    TimelineView* m_timeline;
    OpsView* m_ops;
    std::shared_ptr<const std::vector<double>> m_values;
    QString m_text;
    std::optional<OpList> m_matches;  ///< nothing: there is no search
    QString m_where;
    std::ptrdiff_t m_current = -1;
    QTimer m_pace;  ///< until what a search changes is found again
};

}  // namespace placewright
