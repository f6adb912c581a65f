// SPDX-License-Identifier: MIT
#include "widgets/measured_runs.hpp"

#include <algorithm>

#include "widgets/quantities.hpp"

namespace placewright {

std::shared_ptr<const TimelineData> measuredTimeline(std::shared_ptr<const Problem> problem,
                                                     const MeasuredRun& run) {
    Outcome outcome = measured_outcome(*problem, run);
    Trace trace;
    trace.spans = run.trace.spans;
    trace.memory = run.trace.memory;
    return TimelineData::build(std::move(problem), std::move(trace), std::move(outcome),
                               TimelineData::Source::measured);
}

const RunComparison& MeasuredRuns::comparison(int id) const {
    const auto found = std::ranges::find(runs, id, [](const Run& run) { return run.of.id; });
    return found == runs.end() ? all : found->comparison;
}

/// Puts the simulation of the placement that a run had in the place of the one on screen.
static void compareWithOwnPlacement(RunComparison& comparison, const NamedRun& run) {
    if (run.placement_s <= 0) return;
    comparison.step.simulated_s = run.placement_s;
    for (std::size_t device = 0; device < run.active_s.size(); ++device)
        comparison.devices[device].simulated_s = run.active_s[device];
    for (std::size_t device = 0; device < run.peak_bytes.size(); ++device)
        comparison.memory[device].simulated_bytes = run.peak_bytes[device];
}

std::shared_ptr<const MeasuredRuns> MeasuredRuns::build(std::shared_ptr<const TimelineData> simulated,
                                                        std::vector<NamedRun> runs) {
    auto result = std::make_shared<MeasuredRuns>();
    const Problem& problem = *simulated->problem;
    std::vector<const MeasuredRun*> every;
    for (NamedRun& of : runs) {
        Run run;
        const MeasuredRun* const measured = of.run.get();
        every.push_back(measured);
        run.comparison = compare_runs(problem, simulated->trace, simulated->outcome, std::span(&measured, 1));
        compareWithOwnPlacement(run.comparison, of);
        if (measured->placement != every.front()->placement) result->samePlacement = false;
        const TimelineData& data = *of.timeline;
        run.longer.resize(data.lanes.size());
        run.shorter.resize(data.lanes.size());
        for (std::size_t lane = 0; lane < data.first_lane[problem.devices]; ++lane) {
            for (const std::uint32_t span : data.lanes[lane].spans) {
                switch (run.comparison.difference(data.forwardOf(data.trace.spans[span]))) {
                    case RunComparison::Difference::longer:
                        run.longer[lane].push_back(span);
                        break;
                    case RunComparison::Difference::shorter:
                        run.shorter[lane].push_back(span);
                        break;
                    case RunComparison::Difference::none:
                        break;
                }
            }
        }
        run.of = std::move(of);
        result->runs.push_back(std::move(run));
    }
    if (result->runs.size() == 1) {
        result->all = result->runs.front().comparison;
    } else {
        result->all = compare_runs(problem, simulated->trace, simulated->outcome, every);
        if (result->samePlacement) compareWithOwnPlacement(result->all, result->runs.front().of);
    }
    result->simulated = std::move(simulated);
    return result;
}

QString factorText(double factor) {
    if (factor <= 0) return QStringLiteral("–");
    return QCoreApplication::translate("MeasuredRuns", "%1 ×")
        .arg(factor, 0, 'f',
             factor < 9.995   ? 2
             : factor < 99.95 ? 1
                              : 0);
}

QString measuredText(const RunComparison& comparison, const Problem& problem, OpId op) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("MeasuredRuns", text); };
    if (op >= comparison.ops.size() || comparison.ops[op].runs == 0) return {};
    const ComparedOp& of = comparison.ops[op];
    const ComparedSeconds& time = of.time;
    QStringList lines{
        tr("Measured %1, simulated %2: %3")
            .arg(secondsText(time.measured_s), secondsText(time.simulated_s), factorText(time.factor()))};
    if (of.runs > 1) lines.front() += tr(" (mean of %1 runs)").arg(of.runs);
    if (of.elsewhere) {
        lines << tr("Measured on %1, and compared with the simulation of it there")
                     .arg(QString::fromStdString(problem.machine->device(of.device).name).toHtmlEscaped());
    }
    const auto difference = comparison.difference(op);
    if (difference != RunComparison::Difference::none) {
        lines
            << (difference == RunComparison::Difference::longer
                    ? tr("Marked as longer: ops typically take %1 as long as simulated, this one at least %2 "
                         "times more")
                    : tr("Marked as shorter: ops typically take %1 as long as simulated, this one at least "
                         "%2 times less"))
                   .arg(factorText(comparison.typical_factor))
                   .arg(RunComparison::kMarkedFactor);
    }
    return lines.join(QStringLiteral("<br>"));
}

}  // namespace placewright
