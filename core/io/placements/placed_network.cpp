// SPDX-License-Identifier: MIT
#include "core/io/placements/placed_network.hpp"

#include "core/base/units.hpp"

namespace placewright {

std::string note_run(WrittenPlacement& written, const PlacedNetwork& placed, const Placement& run) {
    Simulator simulator(placed.problem, placed.simulation);
    written.outcome = simulator.run(run);
    const std::string loaded = format_seconds(written.outcome->step_time_s),
                      wanted = format_seconds(simulator.run(placed.placement).step_time_s);
    return "a step takes " + loaded + (loaded == wanted ? " either way" : " instead of " + wanted);
}

}  // namespace placewright
