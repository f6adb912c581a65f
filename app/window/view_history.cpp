// SPDX-License-Identifier: MIT
#include "app/window/view_history.hpp"

#include <utility>

#include "app/window/document.hpp"

namespace placewright {
namespace {

constexpr int kRestMs = 350;
constexpr std::size_t kMostPlaces = 100;

}  // namespace

ViewHistory::ViewHistory(Document* document, GraphView* graph, TimelineView* timeline, QObject* parent)
    : QObject(parent), m_document(document), m_graph(graph), m_timeline(timeline) {
    m_rest.setSingleShot(true);
    m_rest.setInterval(kRestMs);
    connect(&m_rest, &QTimer::timeout, this, &ViewHistory::keep);
    connect(graph, &GraphView::zoomChanged, this, &ViewHistory::rest);
    connect(timeline, &TimelineView::zoomChanged, this, &ViewHistory::rest);
    connect(document, &Document::timelineChanged, this, [this] {
        if (m_awaitedTimeline) {
            m_showing = true;
            m_timeline->setZoom(*std::exchange(m_awaitedTimeline, std::nullopt));
            m_showing = false;
        }
        if (m_places.empty()) keep();
    });
    connect(document, &Document::sceneChanged, this, [this] {
        if (m_places.empty()) keep();
        if (!m_awaited) return rest();
        m_showing = true;
        m_graph->setZoom(*std::exchange(m_awaited, std::nullopt));
        m_showing = false;
        if (m_places.empty()) keep();
    });
}

bool ViewHistory::isReady() const {
    return m_document->isOpen() && m_document->scene() && m_document->timeline() && !m_awaited;
}

ViewHistory::Place ViewHistory::current() const {
    return {m_graph->zoom(), m_document->scene()->closed, m_timeline->zoom()};
}

void ViewHistory::rest() {
    if (!m_showing) m_rest.start();
}

void ViewHistory::keep() {
    if (!isReady()) return;
    Place place = current();
    if (!m_places.empty()) {
        Place& last = m_places[m_now];
        // A search changes how long a step is: a view of the whole stays one.
        if (last.timeline.fitted && place.timeline.fitted) last.timeline = place.timeline;
        if (last.graph.fitted && place.graph.fitted) last.graph = place.graph;
        if (last == place) return;
        m_places.resize(m_now + 1);
    }
    m_places.push_back(std::move(place));
    if (m_places.size() > kMostPlaces) m_places.erase(m_places.begin());
    m_now = m_places.size() - 1;
    Q_EMIT changed();
}

void ViewHistory::back() {
    if (m_rest.isActive()) {
        m_rest.stop();
        keep();
    }
    if (canGoBack()) show(m_now - 1);
}

void ViewHistory::forward() {
    if (m_rest.isActive()) {
        m_rest.stop();
        keep();
    }
    if (canGoForward()) show(m_now + 1);
}

void ViewHistory::show(std::size_t index) {
    m_now = index;
    const Place place = m_places[index];
    m_showing = true;
    m_timeline->setZoom(place.timeline);
    if (m_document->scene() && m_document->scene()->closed == place.closed) {
        m_document->setClosedModules(place.closed);  // cancels what is being laid out
        m_graph->setZoom(place.graph);
    } else {
        m_awaited = place.graph;
        m_document->setClosedModules(place.closed);
    }
    m_showing = false;
    Q_EMIT changed();
}

void ViewHistory::await(const GraphZoom& graph, const TimelineZoom& timeline) {
    m_awaited = graph;
    m_awaitedTimeline = timeline;
}

void ViewHistory::clear() {
    m_rest.stop();
    m_awaited.reset();
    m_awaitedTimeline.reset();
    m_places.clear();
    m_now = 0;
    Q_EMIT changed();
}

}  // namespace placewright
