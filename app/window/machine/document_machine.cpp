// SPDX-License-Identifier: MIT
// Edits of the document's machine.
#include <utility>

#include "app/window/document.hpp"
#include "widgets/quantities.hpp"

namespace placewright {

QString Document::editHindrance() const {
    if (!isOpen()) return tr("Open a network first: edits of a machine are shown on its placement.");
    if (job().own_machine)
        return tr("%1 is a workload with a machine and times of its own, which cannot be edited.")
            .arg(QString::fromStdString(problem()->network->name()));
    if (m_openLane.busy()) return tr("Wait until loading ends, then edit the machine.");
    return {};
}

WhatIf Document::whatIf() const {
    if (!m_machineSteps.empty()) return m_machineSteps.back().factors;
    return m_scenario->whatIf ? m_scenario->whatIf->factors : WhatIf();
}

std::shared_ptr<const Machine> Document::whatIfBase() const {
    if (!m_machineSteps.empty()) return m_machineSteps.back().base;
    return m_scenario->whatIf ? m_scenario->whatIf->base->job.machine : job().machine;
}

void Document::editMachine(const QString& title, MachineEdit edit) {
    if (const QString why = editHindrance(); !why.isEmpty()) {
        Q_EMIT message(true, why);
        return;
    }
    WhatIf factors = after_edit(whatIf(), *whatIfBase(), edit);
    addMachineStep({title, std::make_shared<const Machine>(std::move(edit.machine)), std::move(factors),
                    std::move(edit.from)});
}

void Document::setWhatIf(const WhatIf& factors) {
    if (!editHindrance().isEmpty() || factors == whatIf()) return;
    MachineStep step{tr("What if"), whatIfBase(), factors, {}};
    m_whatIfEnds = false;
    // The first step is under way; of those that wait only the latest factors matter.
    if (m_machineSteps.size() > 1 && m_machineSteps.back().from.empty()) m_machineSteps.pop_back();
    addMachineStep(std::move(step));
}

void Document::endWhatIf() {
    m_whatIfEnds = true;
    if (m_machineSteps.empty()) finishWhatIf();
}

void Document::finishWhatIf() {
    m_whatIfEnds = false;
    m_whatIf = nullptr;
    storeMachine(m_scenario);
}

void Document::storeMachine(const std::shared_ptr<const Scenario>& scenario) {
    if (scenario->editedFrom.isEmpty()) return;
    m_background.run(
        m_storeLane,
        [scenario](std::stop_token) {
            storeEdited(*scenario);
            return true;
        },
        [](bool) {}, [this](const QString& error) { Q_EMIT message(true, error); });
}

void Document::addMachineStep(MachineStep step) {
    // A search runs on the machine before; its improvements would also delay the step.
    if (isSearching()) {
        m_machineStops = m_machineStops || isOptimizing();
        m_runs.cancelAll();
    }
    m_machineSteps.push_back(std::move(step));
    if (!m_machineLane.busy()) startMachineStep();
}

void Document::dropMachineSteps() {
    m_machineLane.cancel();
    const bool stops = std::exchange(m_machineStops, false);
    if (m_machineSteps.empty()) return;
    const QString title = m_machineSteps.back().title;
    m_machineSteps.clear();
    Q_EMIT machineChanged();
    QString text = tr("“%1” was dropped: another change came before it was applied.").arg(title);
    if (stops) text += tr(" It has stopped the searches; their best placements stay in Runs.");
    Q_EMIT message(false, text);
}

void Document::startMachineStep() {
    m_background.run(
        m_machineLane,
        [step = m_machineSteps.front(), open = m_scenario, now = m_placement](std::stop_token) {
            const auto& base = open->whatIf ? open->whatIf->base : open;
            return step.from.empty() ? withFactors(base, step.factors, now)
                                     : editedScenario(*base, step.base, step.from, step.factors, now);
        },
        [this](EditedScenario edited) {
            const MachineStep step = m_machineSteps.front();
            m_machineSteps.pop_front();
            adoptMachine(step, std::move(edited));
            if (!m_machineSteps.empty()) return startMachineStep();
            if (m_whatIfEnds) finishWhatIf();
        },
        [this](const QString& error) {
            m_machineSteps.clear();
            Q_EMIT machineChanged();
            Q_EMIT message(true, std::exchange(m_machineStops, false)
                                     ? tr("%1. The searches were stopped; their best placements stay in "
                                          "Runs.")
                                           .arg(error)
                                     : error);
        });
}

void Document::adoptMachine(const MachineStep& step, EditedScenario edited) {
    // Ops were moved while the machine was computed: that comes first.
    if (edited.before != m_placement) {
        m_machineSteps.push_front(step);
        return;
    }
    std::optional<RunRequest> waiting = takeWaitingSearch();
    QStringList notes;
    if (std::exchange(m_machineStops, false))
        notes << tr(
            "Searches were stopped, because the machine has changed; their best placements stay in Runs");
    QStringList moves;
    for (const std::string& move : edited.moves) moves << QString::fromStdString(move);
    if (!moves.isEmpty()) notes << tr("Moved %1; Ctrl+Z undoes this").arg(moves.join(QStringLiteral(", ")));
    Screen next{std::move(edited.scenario), std::move(edited.placement), std::move(edited.simulated), 0};
    m_adoptsMachine = true;
    if (step.from.empty()) {
        changeWhatIf(std::move(next));
    } else {
        change(step.title, std::move(next));
    }
    m_adoptsMachine = false;
    report(notes);
    if (waiting) search(*std::move(waiting));
}

void Document::compareWithoutFactors() {
    if (!m_scenario->whatIf) return;
    m_background.run(
        m_factorsLane,
        [base = m_scenario->whatIf->base, now = m_placement](std::stop_token) {
            const Assessment found =
                assess(base->job, now, Simulator(base->job.problem, base->job.simulation).run(now));
            return found.is_defined() ? std::optional(found.score.value_s) : std::nullopt;
        },
        [this](std::optional<double> value_s) {
            m_valueWithoutFactors = value_s;
            Q_EMIT valueWithoutFactorsChanged();
        },
        [this](const QString& error) { Q_EMIT message(true, error); });
}

}  // namespace placewright
