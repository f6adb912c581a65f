// SPDX-License-Identifier: MIT
#include "app/window/best_measuring.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/algorithms.hpp"

namespace placewright {
namespace {

double simulatedStep_s(const ScoredPlacement& each) {
    return each.score.value_s;
}

/// The mean of the placements of a request.
double meanStep_s(const BestRequest& request) {
    double sum_s = 0;
    for (const ScoredPlacement& each : request.placements) sum_s += simulatedStep_s(each);
    return request.placements.empty() ? 0 : sum_s / static_cast<double>(request.placements.size());
}

/// How much of a request is done, in simulated time.
class Countdown {
public:
    explicit Countdown(const BestRequest& request)
        : m_mean_s(meanStep_s(request)),
          m_all_s(m_mean_s * static_cast<double>(request.wanted())),
          m_stepShare(1.0 / std::max(1U, request.options.steps)) {}

    void stepTook() { m_part = std::min(1.0, m_part + m_stepShare); }
    void placementTook(double simulated_s, bool proposed) {
        m_done_s += proposed ? m_mean_s : simulated_s;
        m_part = 0;
    }
    double left_s() const {
        const double done_s = m_done_s + m_part * m_mean_s;
        const double took_s = std::chrono::duration<double>(Clock::now() - m_start).count();
        return done_s > 0 ? took_s / done_s * std::max(0.0, m_all_s - done_s) : 0;
    }

private:
    using Clock = std::chrono::steady_clock;
    double m_mean_s, m_all_s, m_stepShare, m_done_s = 0, m_part = 0;
    Clock::time_point m_start = Clock::now();
};

}  // namespace

double BestRequest::estimate_s() const {
    return meanStep_s(*this) * static_cast<double>(wanted()) * (options.steps + options.warm_up);
}

void measureBest(const BestRequest& request, const std::stop_token& stop, const BestReport& report,
                 const BestProgress& progress) {
    Countdown countdown(request);
    Simulator simulator(request.job.problem, request.job.simulation);
    std::size_t done = 0;
    MeasureOptions options = request.options;
    options.step_told = [&](double) {
        countdown.stepTook();
        progress(countdown.left_s());
    };
    const auto told = [&](const MeasuredPlacement& measured) {
        MeasuredPlacements::Each each;
        each.proposed = done++ >= request.placements.size();
        each.placement = std::make_shared<const Placement>(measured.placement);
        // As on screen: with the options of the simulation.
        each.simulated = request.job.penalty.score(*request.job.problem, simulator.run(measured.placement));
        each.measured = measured.score;
        each.warning = QString::fromStdString(measured.warning);
        each.coresForAccelerators = measured.cores_for_accelerators;
        // 0 if no step ended.
        const Spread step = measured.step.value_or(Spread());
        each.measured.value_s = step.median_s;
        each.low_s = step.low_s;
        each.high_s = step.high_s;
        countdown.placementTook(each.simulated.value_s, each.proposed);
        report(std::move(each));
        progress(countdown.left_s());
    };
    std::vector<Placement> placements;
    for (const ScoredPlacement& each : request.placements) placements.push_back(each.placement);
    const auto measured = measure_placements(request.job.problem, placements, request.devices, options,
                                             request.job.penalty, stop, told, request.runner);
    if (request.evaluations == 0 || stop.stop_requested()) return;
    const AlgorithmInfo* algorithm = find_algorithm(request.algorithm);
    if (algorithm == nullptr) throw std::runtime_error("there is no algorithm " + request.algorithm);
    std::vector<Placement> starts;
    for (const MeasuredPlacement& each : measured) {
        if (starts.size() < kMeasuredStarts) starts.push_back(each.placement);
    }
    continue_measured(request.job.problem, *algorithm, request.values, request.seed, starts,
                      request.evaluations, request.devices, options, request.job.penalty, stop, told,
                      measured, request.runner);
}

}  // namespace placewright
