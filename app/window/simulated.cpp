// SPDX-License-Identifier: MIT
#include "app/window/simulated.hpp"

#include <QObject>

#include "widgets/quantities.hpp"

namespace placewright {

std::shared_ptr<const Simulated> Simulated::make(const Job& job, Simulator& simulator,
                                                 std::shared_ptr<const Placement> placement) {
    Trace trace;
    const Outcome outcome = simulator.run(*placement, trace);
    Assessment assessment = assess(job, *placement, outcome);
    const std::optional<StepError> error = StepError::of(job.problem, *placement, outcome, job.simulation);
    const std::optional<CpuLoad> cpu = dominating_cpu(*job.problem, *placement, outcome);
    auto timeline = TimelineData::build(job.problem, std::move(trace), outcome);
    return std::make_shared<const Simulated>(
        Simulated{std::move(placement), std::move(timeline), std::move(assessment), error, cpu});
}

std::shared_ptr<const Simulated> Simulated::make(const Job& job, const Placement& placement) {
    Simulator simulator(job.problem, job.simulation);
    return make(job, simulator, std::make_shared<const Placement>(placement));
}

Misfit misfit(const Problem& problem, const Assessment& assessment) {
    DeviceId worst = 0;
    double most_bytes = 0;
    int lacking = 0;
    for (DeviceId device = 0; device < assessment.device_bytes.size(); ++device) {
        const double missing_bytes = assessment.device_bytes[device] - problem.memory_limit_bytes[device];
        if (missing_bytes <= 0) continue;
        ++lacking;
        if (missing_bytes <= most_bytes) continue;
        most_bytes = missing_bytes;
        worst = device;
    }
    if (lacking == 0) return {0, QObject::tr("does not fit the memory")};
    const QString name = QString::fromStdString(problem.machine->device(worst).name);
    const QString missing = QObject::tr("does not fit: %1 lacks %2").arg(name, bytesText(most_bytes));
    return {most_bytes,
            lacking == 1 ? missing : QObject::tr("%1, %2 more over the limit").arg(missing).arg(lacking - 1)};
}

}  // namespace placewright
