// SPDX-License-Identifier: MIT
#include "app/window/pair/pinned_placement.hpp"

#include <algorithm>

#include "app/window/option_text.hpp"
#include "app/window/run_list.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

PairSide sideOf(const QString& placement, const Job& job, std::shared_ptr<const Simulated> simulated) {
    return {PinnedPlacement::tr("%1 on %2").arg(placement, toQString(job.problem->machine->name())),
            job.objective->is_step_time() ? QString() : objectiveTitle(*job.objective), std::move(simulated)};
}

}  // namespace

PinnedPlacement::PinnedPlacement(Document* document) : QObject(document), m_document(document) {
    const auto update = [this] {
        m_pair.reset();
        if (isPinned()) Q_EMIT changed();
    };
    connect(document, &Document::timelineChanged, this, update);
    connect(document, &Document::problemChanged, this, update);
}

void PinnedPlacement::set(std::optional<PinnedSide> side) {
    m_side = std::move(side);
    m_a.reset();
    if (m_side) m_a = sideOf(m_side->name, m_side->scenario->job, m_side->simulated);
    m_pair.reset();
    Q_EMIT changed();
}

void PinnedPlacement::pinScreen() {
    if (!m_document->isOpen() || !m_document->simulated()) return;
    const Run* run = m_document->shownRun();
    pin({run != nullptr ? runTitle(*run) : tr("Placement by hand"), m_document->scenario(),
         m_document->simulated()});
}

void PinnedPlacement::pinRun(int id) {
    for (const auto& run : m_document->runs()) {
        if (run->id() == id && run->simulated())
            pin({runTitle(*run), m_document->scenarioOf(*run), run->simulated()});
    }
}

void PinnedPlacement::pin(const PinnedSide& side) {
    set(side);
}

void PinnedPlacement::clear() {
    if (isPinned()) set({});
}

std::shared_ptr<const Pair> PinnedPlacement::pair() {
    const auto& simulated = m_document->simulated();
    if (!m_a || !m_document->isOpen() || !simulated || simulated->timeline->problem != m_document->problem())
        return nullptr;
    if (!m_pair || m_pair->b.simulated != simulated) {
        const Run* run = m_document->shownRun();
        Pair pair{
            *m_a,
            sideOf(run != nullptr ? runTitle(*run) : tr("Placement by hand"), m_document->job(), simulated),
            {}};
        pair.differences = differencesOf(pair.a, pair.b);
        m_pair = std::make_shared<const Pair>(std::move(pair));
    }
    return m_pair;
}

OpList PinnedPlacement::moved() {
    OpList ops;
    const auto both = pair();
    if (!both || !both->differences.same_network) return ops;
    for (const PairOp& op : both->differences.ops) {
        if (op.moved) ops.push_back(op.b);
    }
    std::ranges::sort(ops);
    return ops;
}

bool PinnedPlacement::canShow() const {
    return m_a && m_document->isOpen() && m_a->simulated->timeline->problem == m_document->problem();
}

void PinnedPlacement::show() {
    if (canShow()) m_document->showPlacement(*m_a->simulated->placement, tr("Show %1").arg(m_a->title));
}

}  // namespace placewright
