// SPDX-License-Identifier: MIT
#include "app/window/scenario.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <QCoreApplication>
#include <QStringList>

#include "app/window/language_text.hpp"
#include "app/window/option_text.hpp"
#include "core/cost/problem_fingerprint.hpp"
#include "core/graph/fingerprint.hpp"

namespace placewright {

void complete(Scenario& scenario) {
    scenario.fingerprint = problem_fingerprint(*scenario.job.problem);
    scenario.graphFingerprint = graph_fingerprint(*scenario.job.problem->network);
    scenario.singleDevice_s = scoreOf(scenario.job, scenario.job.single_device);
}

bool sameScenario(const Scenario& a, const Scenario& b) {
    return a.networkFile == b.networkFile && a.machineFile == b.machineFile && a.options == b.options &&
           a.fingerprint == b.fingerprint;
}

bool sameBeforeEdits(const Scenario& a, const Scenario& b) {
    const auto original = [](const Scenario& of) {
        return of.editedFrom.isEmpty() ? of.machineFile : of.editedFrom;
    };
    return original(a) == original(b);
}

bool sameNetwork(const Scenario& a, const Scenario& b) {
    return a.networkFile == b.networkFile &&
           (a.graphFingerprint == b.graphFingerprint || a.options.reading != b.options.reading ||
            a.options.supplements != b.options.supplements);
}

namespace {

/// Of the problem's own tensors: a language model may have types of its own, and a workload has.
Precision precisionOf(const Scenario& scenario) {
    const Job& job = scenario.job;
    const bool takes = !job.own_machine && (!job.language || takes_precision(*job.language));
    return takes ? scenario.options.problem.precision : Precision::as_given;
}

bool sameWork(const Op& a, const Op& b) {
    const auto bytes = [](const Tensor& tensor) { return std::tuple(tensor.bytes, tensor.dtype); };
    return a.name == b.name && a.kind == b.kind && a.phase == b.phase && a.flops == b.flops &&
           a.parameter_dtype == b.parameter_dtype && a.inputs == b.inputs &&
           std::ranges::equal(a.outputs, b.outputs, {}, bytes, bytes);
}

}  // namespace

bool sameStep(const Scenario& a, const Scenario& b) {
    const Problem &one = *a.job.problem, &other = *b.job.problem;
    if (one.inference != other.inference || one.optimizer_states != other.optimizer_states ||
        precisionOf(a) != precisionOf(b))
        return false;
    if (one.graph == other.graph) return true;
    // Sizes that are read from a file of weights say more of the same network.
    const bool sameSizes = a.options.supplements.parameters == b.options.supplements.parameters;
    return std::ranges::equal(one.graph->ops(), other.graph->ops(), [&](const Op& op, const Op& of) {
        return sameWork(op, of) && (!sameSizes || op.parameter_bytes == of.parameter_bytes);
    });
}

QString stepText(const Scenario& of, const Scenario& from) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("Scenario", text); };
    const Problem &problem = *of.job.problem, &other = *from.job.problem;
    const ProblemOptions &options = of.options.problem, &others = from.options.problem;
    QStringList parts;
    if (problem.network->batch() != other.network->batch())
        parts << tr("batch size %1").arg(problem.network->batch());
    if (problem.inference != other.inference) parts << (problem.inference ? tr("inference") : tr("training"));
    if (precisionOf(of) != precisionOf(from)) parts << precisionTitle(precisionOf(of)).toLower();
    if (of.options.reading.language != from.options.reading.language && of.job.language)
        parts << phaseTitle(of.job.language->phase) << tokensText(of.job.language->sequence.value_or(0));
    if (options.recomputation != others.recomputation)
        parts << recomputationTitle(options.recomputation).toLower();
    if (problem.inference == other.inference && problem.optimizer_states != other.optimizer_states)
        parts << optimizerTitle(problem.optimizer_states);
    if (of.graphFingerprint != from.graphFingerprint && of.options.reading == from.options.reading &&
        parts.isEmpty())
        parts << tr("another version of the network");
    return parts.isEmpty() ? tr("other options") : parts.join(QStringLiteral(", "));
}

QString factorsText(const WhatIf& factors) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("Scenario", text); };
    QStringList parts;
    const auto add = [&](const QString& name, const std::vector<double>& each) {
        if (std::ranges::all_of(each, [](double factor) { return factor == 1; })) return;
        const bool same = std::ranges::all_of(each, [&](double factor) { return factor == each.front(); });
        parts << (same ? tr("%1 ×%2").arg(name).arg(each.front(), 0, 'f', 2) : tr("%1 of some").arg(name));
    };
    add(tr("bandwidth"), factors.bandwidth);
    add(tr("memory"), factors.memory);
    add(tr("speed"), factors.speed);
    return parts.join(QStringLiteral(", "));
}

QString differenceText(const Scenario& of, const Scenario& from) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("Scenario", text); };
    QStringList parts;
    if (of.machineFile != from.machineFile) {
        const Scenario& machine = of.whatIf ? *of.whatIf->base : of;
        parts << QString::fromStdString(machine.job.machine->name());
        if (of.whatIf) parts.last() += QStringLiteral(", ") + factorsText(of.whatIf->factors);
    }
    if (of.options != from.options) {
        JobOptions constrained = of.options;
        constrained.problem.constraints = from.options.problem.constraints;
        const QStringList options = changedOptions(of.options, of.job.language);
        parts << (constrained == from.options && of.options.problem.constraints.rules.empty()
                      ? tr("no constraints")
                  : options.isEmpty() ? tr("default options")
                                      : options.join(QStringLiteral(" · ")));
    }
    return parts.isEmpty() ? tr("an earlier version") : parts.join(QStringLiteral(" · "));
}

bool mayHold(const Problem& problem, GroupId group, DeviceId device) {
    return std::ranges::binary_search(problem.allowed_devices(group), device);
}

double scoreOf(const Job& job, const Placement& placement) {
    return assess(job, placement, Simulator(job.problem, job.simulation).run(placement)).score.penalised_s;
}

namespace {

/// The device of the first op that the group reads, among those in `known` groups, if it may hold the group.
std::optional<DeviceId> besideProducer(const Problem& problem, GroupId group, const Placement& placement,
                                       const std::vector<bool>& known) {
    for (const OpId member : problem.grouping.members[group]) {
        for (const TensorRef& input : problem.graph->op(member).inputs) {
            const GroupId producer = problem.grouping.group_of[input.op];
            if (known[producer] && mayHold(problem, group, placement[producer])) return placement[producer];
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Carried> carried(const Placement& placement, const Problem& from, const Problem& to,
                               const Placement& fallback) {
    Carried result{fallback, 0};
    std::vector<std::size_t> ops_on(to.devices);
    std::vector<bool> known(to.groups, false);
    for (GroupId group = 0; group < to.groups; ++group) {
        std::ranges::fill(ops_on, 0);
        std::vector<DeviceId> devices;  // in the order of the ops
        std::vector<DeviceId> own;      // the same without ops that are derived from others
        for (const OpId member : to.grouping.members[group]) {
            const Op& op = to.graph->op(member);
            const auto before = from.graph->find(op.name);
            if (!before) continue;
            const auto device =
                to.machine->find(from.machine->device(placement[from.grouping.group_of[*before]]).name);
            if (!device) return {};
            ++ops_on[*device];
            if (op.forward_op == kInvalidOp && !op.autocast) own.push_back(*device);
            if (mayHold(to, group, *device)) devices.push_back(*device);
        }
        if (std::ranges::all_of(ops_on, [](std::size_t ops) { return ops == 0; })) continue;
        known[group] = true;
        if (devices.empty()) {
            // The rules that are new say where these ops go; all others stay.
            if (from.constraints == to.constraints) return {};
            result.moved += own.size();
            continue;
        }
        const DeviceId most =
            *std::ranges::max_element(devices, {}, [&](DeviceId device) { return ops_on[device]; });
        result.placement[group] = most;
        result.moved += own.size() - static_cast<std::size_t>(std::ranges::count(own, most));
    }
    for (GroupId group = 0; group < to.groups; ++group) {
        if (known[group]) continue;
        const auto device = besideProducer(to, group, result.placement, known);
        if (!device) continue;
        result.placement[group] = *device;
        known[group] = true;
    }
    const Placement before = std::exchange(result.placement, obeying(to, result.placement));
    for (GroupId group = 0; group < to.groups; ++group) {
        if (before[group] != result.placement[group])
            result.moved +=
                static_cast<std::size_t>(std::ranges::count_if(to.grouping.members[group], [&](OpId op) {
                    return to.graph->op(op).forward_op == kInvalidOp && !to.graph->op(op).autocast;
                }));
    }
    return result;
}

}  // namespace placewright
