// SPDX-License-Identifier: MIT
#include "core/sim/run_loop.hpp"

#include "core/sim/event_loop.hpp"

namespace placewright::event_loop {
void run_loop(const Tables& tables, const PlacedTables& placed, RunState& state) {
    with_rules(tables, [&]<class Memory, Features kFeatures>(Rules<Memory, kFeatures>) {
        Loop<false, Memory, kFeatures, NoHook> loop(tables, placed, state);
        loop.start();
        loop();
    });
}

}  // namespace placewright::event_loop
