// SPDX-License-Identifier: MIT
// The traced loop, apart from the other one so that both compile at the same time.
#include "core/sim/event_loop.hpp"
#include "core/sim/run_loop.hpp"

namespace placewright::event_loop {
void run_loop(const Tables& tables, const PlacedTables& placed, RunState& state, Trace& trace) {
    with_rules(tables, [&]<class Memory, Features kFeatures>(Rules<Memory, kFeatures>) {
        Loop<true, Memory, kFeatures, NoHook> loop(tables, placed, state, &trace);
        loop.start();
        loop();
    });
}

}  // namespace placewright::event_loop
