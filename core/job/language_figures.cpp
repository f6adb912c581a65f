// SPDX-License-Identifier: MIT
#include "core/job/language_figures.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/algorithms.hpp"
#include "core/graph/blocks.hpp"
#include "core/job/token_rate.hpp"

namespace placewright {
namespace {

/// Three rounds of batches, of which the second has neither filling nor draining.
constexpr std::uint32_t kRounds = 3;

/// The outcome with the time between the ends of two batches.
Outcome in_steady_state(const Job& job, const Placement& placement, const Outcome& outcome) {
    if (job.simulation.batches_in_flight() <= 1 || outcome.steady_step_time_s ||
        job.language->phase == LanguagePhase::training)
        return outcome;
    SimulationOptions longer = job.simulation;
    longer.in_flight = job.simulation.batches_in_flight();
    longer.batches = kRounds * longer.in_flight;
    return Simulator(job.problem, longer).run(placement);
}

double alone_s(const Job& job, const Placement& placement, const Outcome& outcome) {
    if (job.simulation.batches <= 1) return outcome.step_time_s;
    SimulationOptions once = job.simulation;
    once.batches = once.in_flight = 1;
    return Simulator(job.problem, once).run(placement).step_time_s;
}

}  // namespace

std::optional<PhaseFigures> phase_figures(const Job& job, const Placement& placement,
                                          const Outcome& outcome) {
    if (!job.language) return std::nullopt;
    const std::int64_t batch = job.problem->network->batch();
    PhaseFigures figures{job.language->phase, batch, job.language->sequence.value_or(0)};
    figures.in_flight = job.simulation.batches_in_flight();
    figures.step_time_s = outcome.step_time_s;
    figures.fits = outcome.fits;
    const Outcome steady = in_steady_state(job, placement, outcome);
    figures.tokens_per_s = placewright::tokens_per_s(*job.language, batch, steady);
    figures.alone_s = alone_s(job, placement, outcome);
    figures.latency_s = figures.in_flight > 1
                            ? figures.in_flight * steady.steady_step_time_s.value_or(steady.step_time_s)
                            : figures.alone_s;
    for (OpId op = 0; op < job.problem->ops; ++op) figures.cache_bytes += job.problem->cache_bytes(op);
    return figures;
}

std::optional<PhaseFigures> other_phase(const Job& job, const Placement& placement, const Path& file,
                                        const std::string& machine, const JobOptions& options) {
    if (!job.language || job.language->phase == LanguagePhase::training) return std::nullopt;
    const LanguagePhase other =
        job.language->phase == LanguagePhase::decode ? LanguagePhase::prefill : LanguagePhase::decode;
    JobOptions changed = options;
    changed.reading.language.phase = other;
    NetworkFile network = read_network(file, changed.reading);
    if (!network.language || network.language->phase != other) return std::nullopt;
    const Job there = load_job(file, std::move(network), machine, changed);
    const std::optional<Placement> same = by_op_names(placement, *job.problem, *there.problem);
    if (!same) return std::nullopt;
    return phase_figures(there, *same, Simulator(there.problem, there.simulation).run(*same));
}

std::vector<FrameworkSplit> framework_splits(const Job& job) {
    if (!has_blocks(*job.problem->graph)) return {};
    std::vector<FrameworkSplit> splits;
    Simulator simulator(job.problem, job.simulation);
    for (const auto& [id, framework, streams] :
         {std::tuple("sequential-fill", "Hugging Face Accelerate", true),
          std::tuple("memory-proportional", "llama.cpp", false)}) {
        FrameworkSplit split{find_algorithm(id), framework, {}, false};
        const std::unique_ptr<Optimizer> optimizer =
            split.algorithm->make({job.problem, 1, {}, {}, job.objective, job.simulation}, {});
        bool scored = false;
        while (!scored || !split.score.fits) {
            const std::span<const Placement> asked = optimizer->ask(1);
            if (asked.empty()) break;
            split.score = assess(job, asked.front(), simulator.run(asked.front())).score;
            split.would_stream =
                streams && std::ranges::any_of(asked.front(), [&](DeviceId device) {
                    return job.machine->device(job.problem->runs_on(device)).kind == DeviceKind::cpu;
                });
            scored = true;
            optimizer->tell(std::span(&split.score, 1));
        }
        if (scored) splits.push_back(split);
    }
    return splits;
}

}  // namespace placewright
