// SPDX-License-Identifier: MIT
#include "app/window/machine/edited_scenario.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>

#include "app/window/settings.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

constexpr auto kEditedFolder = "edited-machines";

/// Runs and other windows name an edited machine by its file, so that its content must not change.
QString fileOfEdited(const Machine& machine) {
    const QByteArray hash = QCryptographicHash::hash(QByteArray::fromStdString(machine_json(machine)),
                                                     QCryptographicHash::Sha256);
    return fileBesideSettings(
        QStringLiteral("%1/%2.json").arg(kEditedFolder, QString::fromLatin1(hash.toHex().left(16))));
}

std::shared_ptr<const Scenario> onMachine(const Scenario& open,
                                          const std::shared_ptr<const Machine>& machine) {
    Scenario next = open;
    next.machineFile = fileOfEdited(*machine);
    if (next.editedFrom.isEmpty()) next.editedFrom = open.machineFile;
    next.whatIf.reset();
    next.job = make_job(open.job.problem->network, machine, open.options, open.job.language);
    next.job.batch_is_open = open.job.batch_is_open;
    next.job.fixed_batch = open.job.fixed_batch;
    next.job.estimated = open.job.estimated;
    next.job.notes = open.job.notes;
    complete(next);
    return std::make_shared<const Scenario>(std::move(next));
}

/// The device of the same kind with the least work that may hold the group; the fallback if there is none.
DeviceId leastBusy(const Problem& to, GroupId group, DeviceKind kind, std::span<const double> busy_s,
                   DeviceId fallback) {
    DeviceId least = kInvalidDevice;
    for (const DeviceId device : to.allowed_devices(group)) {
        if (to.machine->device(device).kind != kind) continue;
        if (least == kInvalidDevice || busy_s[device] < busy_s[least]) least = device;
    }
    return least == kInvalidDevice ? fallback : least;
}

void carry(const Problem& from, const Job& next, const std::vector<DeviceId>& devices,
           EditedScenario& edited) {
    const Problem& to = *next.problem;
    edited.placement = next.single_device;
    if (to.grouping.group_of != from.grouping.group_of) {
        if (auto found = carried(edited.before, from, to, next.single_device))
            edited.placement = std::move(found->placement);
        return;
    }
    std::vector<DeviceId> now(from.devices, kInvalidDevice);
    for (std::size_t device = 0; device < devices.size(); ++device) {
        if (devices[device] != kInvalidDevice) now[devices[device]] = static_cast<DeviceId>(device);
    }
    std::vector<GroupId> homeless;
    std::vector<double> busy_s(to.devices);
    for (GroupId group = 0; group < to.groups; ++group) {
        const DeviceId device = now[edited.before[group]];
        if (device == kInvalidDevice || !mayHold(to, group, device)) {
            homeless.push_back(group);
            continue;
        }
        edited.placement[group] = device;
        for (const OpId op : to.grouping.members[group])
            busy_s[device] += to.op_time_s[std::size_t{op} * to.devices + device];
    }
    // All from one device stay together.
    std::map<std::pair<DeviceId, DeviceId>, std::size_t> moved;
    std::map<DeviceId, DeviceId> targets;
    for (const GroupId group : homeless) {
        const DeviceId before = edited.before[group];
        auto target = targets.find(before);
        if (target == targets.end() || !mayHold(to, group, target->second)) {
            const DeviceId found =
                leastBusy(to, group, from.machine->device(before).kind, busy_s, next.single_device[group]);
            target = targets.insert_or_assign(before, found).first;
        }
        edited.placement[group] = target->second;
        for (const OpId op : to.grouping.members[group])
            moved[{before, target->second}] += to.graph->op(op).phase == Phase::forward ? 1 : 0;
    }
    edited.placement = obeying(to, std::move(edited.placement));
    for (const auto& [way, ops] : moved) {
        edited.moves.push_back(std::to_string(ops) + (ops == 1 ? " op of " : " ops of ") +
                               from.machine->device(way.first).name + " to " +
                               to.machine->device(way.second).name);
    }
}

}  // namespace

EditedScenario editedScenario(const Scenario& open, const std::shared_ptr<const Machine>& machine,
                              const std::vector<DeviceId>& from, const WhatIf& factors,
                              const Placement& placement) {
    EditedScenario edited{onMachine(open, machine), placement, {}, nullptr, {}};
    carry(*open.job.problem, edited.scenario->job, from, edited);
    storeEdited(*edited.scenario);
    EditedScenario result = withFactors(edited.scenario, factors, edited.placement);
    if (result.scenario != edited.scenario) storeEdited(*result.scenario);
    result.before = std::move(edited.before);
    result.moves = std::move(edited.moves);
    return result;
}

EditedScenario withFactors(const std::shared_ptr<const Scenario>& base, const WhatIf& factors,
                           const Placement& placement) {
    EditedScenario edited{base, placement, placement, nullptr, {}};
    if (!factors.is_none()) {
        const auto machine = std::make_shared<const Machine>(what_if(*base->job.machine, factors));
        Scenario next = *onMachine(*base, machine);
        next.whatIf = std::make_shared<const AppliedWhatIf>(AppliedWhatIf{factors, base});
        edited.scenario = std::make_shared<const Scenario>(std::move(next));
    }
    edited.simulated = Simulated::make(edited.scenario->job, edited.placement);
    return edited;
}

QString storeEdited(const Machine& machine) {
    constexpr int kMostKept = 200;
    QString file = fileOfEdited(machine);
    if (QFileInfo::exists(file)) return file;
    QDir folder = QFileInfo(file).dir();
    folder.mkpath(QStringLiteral("."));
    write_machine(machine, file.toStdString());
    const QFileInfoList files = folder.entryInfoList({QStringLiteral("*.json")}, QDir::Files, QDir::Time);
    for (int i = kMostKept; i < files.size(); ++i) folder.remove(files[i].fileName());
    return file;
}

bool isMachinePath(const QString& machine) {
    return machine.contains(QLatin1Char('/')) || machine.endsWith(QLatin1String(".json"));
}

QString titleOfMachine(const QString& machine) {
    if (!isMachinePath(machine)) return machine;
    const QFileInfo info(machine);
    if (info.absolutePath() == QFileInfo(fileBesideSettings(kEditedFolder)).absoluteFilePath()) {
        try {
            return QString::fromStdString(read_machine(machine.toStdString()).name());
        } catch (const InputError&) {
            // Whoever opens it is told what is wrong.
        }
    }
    return info.completeBaseName();
}

void storeEdited(const Scenario& scenario) {
    if (!scenario.editedFrom.isEmpty()) storeEdited(*scenario.job.machine);
}

}  // namespace placewright
