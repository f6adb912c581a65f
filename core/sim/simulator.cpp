// SPDX-License-Identifier: MIT
#include "core/sim/simulator.hpp"

#include <array>

#include "core/sim/run_loop.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 4> kOrders{"fifo", "critical-path", "gpipe", "1f1b"};
constexpr std::array<std::string_view, 3> kRuntimes{"ideal", "eager", "compiled"};

}  // namespace

struct Simulator::State {
    event_loop::Tables tables;
    event_loop::PlacedTables placed;
    event_loop::RunState run_state;
    Outcome outcome;

    State(std::shared_ptr<const Problem> problem, const SimulationOptions& options)
        : tables(std::move(problem), options),
          placed(tables),
          run_state(tables),
          outcome(event_loop::empty_outcome(tables.problem)) {}

    const Outcome& run(std::span<const DeviceId> placement, Trace* trace) {
        placed.set(tables, placement);
        run_state.reset(tables, placed);
        if (trace == nullptr) {
            event_loop::run_loop(tables, placed, run_state);
        } else {
            begin_trace(*trace);
            event_loop::run_loop(tables, placed, run_state, *trace);
        }
        event_loop::collect(tables, placed, run_state, outcome);
        return outcome;
    }

    void begin_trace(Trace& trace) {
        trace.spans.clear();
        trace.started_by.clear();
        trace.memory.clear();
        trace.issues.clear();
        if (tables.host_s > 0) run_state.issues.resize(run_state.waiting.size());
        run_state.queued_s.resize(run_state.waiting.size());
        run_state.leg_times.resize(run_state.transfers.size());
        for (DeviceId device = 0; device < tables.problem.devices; ++device) {
            trace.memory.push_back({device, 0, run_state.devices[device].memory_bytes});
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

std::string_view to_string(Runtime runtime) {
    return kRuntimes[static_cast<std::size_t>(runtime)];
}

std::optional<Runtime> runtime_from(std::string_view text) {
    const auto* const found = std::ranges::find(kRuntimes, text);
    if (found == kRuntimes.end()) return {};
    return static_cast<Runtime>(found - kRuntimes.begin());
}

std::string host_thread_name(const Problem& problem, std::uint16_t thread) {
    return thread == 0 ? "main thread"
                       : "thread of " + problem.machine->device(static_cast<DeviceId>(thread - 1)).name;
}

Simulator::Simulator(std::shared_ptr<const Problem> problem, SimulationOptions options)
    : state_(std::make_unique<State>(std::move(problem), options)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

const Problem& Simulator::problem() const {
    return state_->tables.problem;
}
const SimulationOptions& Simulator::options() const {
    return state_->tables.options;
}

const Outcome& Simulator::run(std::span<const DeviceId> placement) {
    return state_->run(placement, nullptr);
}

const Outcome& Simulator::run(std::span<const DeviceId> placement, Trace& trace) {
    return state_->run(placement, &trace);
}

}  // namespace placewright
