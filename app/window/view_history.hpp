// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include <QObject>
#include <QTimer>

#include "core/graph/scope_tree.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {

class Document;

/// What was looked at before, as a browser keeps it: zoom and scroll of the graph, its closed modules, and
/// zoom and scroll of the timeline. Separate from undo: it changes nothing but the view. A place is kept once
/// the view has rested there for a moment.
class ViewHistory : public QObject {
    Q_OBJECT
public:
    ViewHistory(Document* document, GraphView* graph, TimelineView* timeline, QObject* parent);

    bool canGoBack() const { return m_now > 0; }
    bool canGoForward() const { return m_now + 1 < m_places.size(); }
    void back();
    void forward();
    /// Shows these as soon as graph and timeline of a network that has just been opened are drawn.
    void await(const GraphZoom& graph, const TimelineZoom& timeline);
    /// Whether the graph is to be shown at a place once it is drawn.
    bool isAwaiting() const { return m_awaited.has_value(); }
    /// Forgets all places: another network is open.
    void clear();

Q_SIGNALS:
    void changed();

private:
    struct Place {
        GraphZoom graph;
        ClosedScopes closed;
        TimelineZoom timeline;

        bool operator==(const Place&) const = default;
    };
    bool isReady() const;
    Place current() const;
    void rest();
    void keep();
    void show(std::size_t place);

    Document* m_document;
    GraphView* m_graph;
    TimelineView* m_timeline;
    std::vector<Place> m_places;
    std::size_t m_now = 0;
    bool m_showing = false;              ///< a place is being shown: what changes is no new place
    std::optional<GraphZoom> m_awaited;  ///< of the graph, once the modules of the shown place are drawn
    std::optional<TimelineZoom> m_awaitedTimeline;
    QTimer m_rest;
};

}  // namespace placewright
