// SPDX-License-Identifier: MIT
#include "app/window/finder.hpp"

#include <algorithm>
#include <set>

#include "app/window/document.hpp"
#include "widgets/find_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/op_query.hpp"
#include "widgets/ops_view.hpp"
#include "widgets/quantities.hpp"
#include "widgets/timeline_view.hpp"

namespace placewright {

Finder::Finder(Document* document, FindBar* bar, GraphView* graph, TimelineView* timeline, OpsView* ops,
               QObject* parent)
    : QObject(parent), m_document(document), m_bar(bar), m_graph(graph), m_timeline(timeline), m_ops(ops) {
    connect(bar, &FindBar::textChanged, this, &Finder::find);
    connect(bar, &FindBar::stepRequested, this, [this](int direction) { step(direction, true); });
    connect(bar, &FindBar::closed, this, [this] {
        find({});
        m_graph->setFocus();
    });
    // A search changes the screen many times a second; finding in a large network takes a tenth of one.
    m_pace.setSingleShot(true);
    m_pace.setInterval(500);
    connect(&m_pace, &QTimer::timeout, this, &Finder::refresh);
    connect(document, &Document::timelineChanged, this, [this] {
        if (!m_document->isSearching()) return refresh();
        if (!m_text.isEmpty() && !m_pace.isActive()) m_pace.start();
    });
}

void Finder::open() {
    if (!m_document->isOpen()) return;
    const Problem& problem = *m_document->problem();
    std::set<QString> kinds;
    for (const Op& op : problem.forward->ops()) kinds.insert(QString::fromStdString(op.kind));
    QStringList devices;
    for (const Device& device : problem.machine->devices()) devices << QString::fromStdString(device.name);
    m_bar->setChoices(QStringList(kinds.begin(), kinds.end()), devices);
    m_bar->open();
}

void Finder::reset() {
    m_text.clear();
    m_matches.reset();
    m_current = -1;
    m_bar->hide();
    mark();
}

void Finder::mark() {
    m_graph->setMatches(m_matches.value_or(OpList()));
    m_timeline->setMatches(m_matches);
    m_ops->ops()->setMatches(m_matches);
}

void Finder::setValues(std::shared_ptr<const std::vector<double>> values) {
    m_values = std::move(values);
    refresh();
}

void Finder::find(const QString& text) {
    m_text = text;
    m_current = -1;
    refresh();
    if (m_matches && !m_matches->empty()) step(1, false);
}

void Finder::refresh() {
    const OpQuery query(m_text, m_bar->isRegex());
    const bool searches = m_document->isOpen() && !query.isEmpty();
    if (!searches) {
        m_matches.reset();
        m_bar->setMatchCount(0, 0);
        return mark();
    }
    const OpId current = m_current >= 0 ? (*m_matches)[static_cast<std::size_t>(m_current)] : kInvalidOp;
    OpQuery::Found found = query.find(*m_document->problem(), m_document->deviceOfOps(),
                                      m_document->timeline().get(), m_values.get());
    m_where = query.error().isEmpty() ? found.where : query.error();
    if (query.asksForValues() && !m_values)
        m_where = tr("no values: View ▸ Colour the graph by ▸ Values from a file…");
    m_matches = std::move(found.ops);
    m_current = -1;
    if (current != kInvalidOp) {
        const auto at = std::ranges::find(*m_matches, current);
        if (at != m_matches->end()) m_current = at - m_matches->begin();
    }
    mark();
    showCount();
}

void Finder::showCount() {
    const std::size_t count = m_matches->size();
    std::size_t all = 0;
    for (const Op& op : m_document->problem()->graph->ops())
        all += op.phase == Phase::forward && op.forward_op == kInvalidOp;
    QString detail = m_where;
    if (count > 0) {
        const QString of = tr("%L1 of %2").arg(count).arg(opsText(all));
        detail = m_where.isEmpty() ? of : tr("%1 %2").arg(of, m_where);
        if (const auto& timeline = m_document->timeline())
            detail = tr("%1 of the compute time · %2")
                         .arg(percentText(shareOfCompute(*timeline, *m_matches)), detail);
    }
    m_bar->setMatchCount(static_cast<int>(m_current) + 1, static_cast<int>(count), detail);
}

void Finder::step(int direction, bool opens) {
    if (!m_matches || m_matches->empty()) return;
    const auto count = static_cast<std::ptrdiff_t>(m_matches->size());
    m_current = m_current < 0 ? (direction > 0 ? 0 : count - 1) : (m_current + direction + count) % count;
    const OpId op = (*m_matches)[static_cast<std::size_t>(m_current)];
    m_document->setSelection({op});
    m_graph->reveal({op});
    if (opens) m_graph->openRound(op);
    m_timeline->reveal(op);
    showCount();
}

}  // namespace placewright
