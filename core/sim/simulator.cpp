// SPDX-License-Identifier: MIT
#include "core/sim/simulator.hpp"

#include <array>

#include "core/sim/event_loop.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 4> kOrders{"fifo", "critical-path", "gpipe", "1f1b"};

struct NoHook {
    static constexpr bool kActive = false;
};

}  // namespace

struct Simulator::State {
    event_loop::Layout layout;
    event_loop::Plan plan;
    event_loop::Progress progress;
    Outcome outcome;

    State(std::shared_ptr<const Problem> problem, const SimulationOptions& options)
        : layout(std::move(problem), options), plan(layout), progress(layout), outcome(event_loop::empty_outcome(layout.problem)) {}

    template <bool kTraced>
    const Outcome& run(std::span<const DeviceId> placement, Trace* trace) {
        plan.set(layout, placement);
        progress.reset(layout, plan);
        if constexpr (kTraced) begin_trace(*trace);
        event_loop::with_rules(layout, [&]<class Memory, event_loop::Features kFeatures>(event_loop::Rules<Memory, kFeatures>) {
            event_loop::Loop<kTraced, Memory, kFeatures, NoHook> loop(layout, plan, progress, trace);
            loop.start();
            loop();
        });
        event_loop::collect(layout, plan, progress, outcome);
        return outcome;
    }

    void begin_trace(Trace& trace) {
        trace.spans.clear();
        trace.started_by.clear();
        trace.memory.clear();
        progress.queued_s.resize(progress.waiting.size());
        progress.leg_times.resize(progress.transfers.size());
        for (DeviceId device = 0; device < layout.problem.devices; ++device) {
            trace.memory.push_back({device, 0, progress.devices[device].memory_bytes});
        }
    }
};

std::string_view to_string(Order order) {
    return kOrders[static_cast<std::size_t>(order)];
}

std::optional<Order> order_from(std::string_view text) {
    const auto* const found = std::ranges::find(kOrders, text);
    if (found == kOrders.end()) return {};
    return static_cast<Order>(found - kOrders.begin());
}

Simulator::Simulator(std::shared_ptr<const Problem> problem, SimulationOptions options)
    : state_(std::make_unique<State>(std::move(problem), options)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

const Problem& Simulator::problem() const {
    return state_->layout.problem;
}
const SimulationOptions& Simulator::options() const {
    return state_->layout.options;
}

const Outcome& Simulator::run(std::span<const DeviceId> placement) {
    return state_->run<false>(placement, nullptr);
}

const Outcome& Simulator::run(std::span<const DeviceId> placement, Trace& trace) {
    return state_->run<true>(placement, &trace);
}

}  // namespace placewright
