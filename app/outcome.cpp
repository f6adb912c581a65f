// SPDX-License-Identifier: MIT
#include "app/outcome.hpp"

#include <algorithm>
#include <iostream>

#include "app/console.hpp"
#include "core/base/units.hpp"

namespace placewright {

void print_outcome(const Job& job, const Outcome& outcome) {
    const Machine& machine = *job.problem->machine;
    std::cout << job.problem->graph->name() << " on " << machine.name() << '\n' << "step time " << format_seconds(outcome.step_time_s);
    if (job.simulation.batches > 1) std::cout << " a batch, " << format_seconds(outcome.total_time_s) << " for " << job.simulation.batches;
    if (outcome.steady_step_time_s) std::cout << ", " << format_seconds(*outcome.steady_step_time_s) << " with a full pipeline";
    // For another goal other bytes tell that.
    if (job.goal->is_step_time()) std::cout << (outcome.fits ? ", fits the memory" : ", does not fit the memory");
    std::cout << "; " << outcome.ops_run << " ops run, " << outcome.transfers << " transfers\n\n";
    std::vector<Row> rows{{"device", "busy", "share", "peak", "memory"}};
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        rows.push_back(
            {machine.devices()[i].name, format_seconds(outcome.device_busy_s[i]),
             percent(outcome.total_time_s > 0 ? outcome.device_busy_s[i] / (outcome.total_time_s * machine.devices()[i].streams) : 0) +
                 (machine.devices()[i].streams > 1 ? " of " + std::to_string(machine.devices()[i].streams) + " streams" : ""),
             format_bytes(outcome.peak_bytes[i]), format_bytes(job.problem->memory_limit_bytes[i])});
    }
    std::cout << table("lrrrr", rows);
    rows = {{"channel", "busy", "share", "bytes", "transfers"}};
    for (std::size_t i = 0; i < machine.channels().size(); ++i) {
        if (outcome.channel_transfers[i] == 0) continue;
        rows.push_back({machine.channels()[i].name, format_seconds(outcome.channel_busy_s[i]),
                        percent(outcome.total_time_s > 0 ? outcome.channel_busy_s[i] / outcome.total_time_s : 0),
                        format_bytes(outcome.channel_bytes[i]), std::to_string(outcome.channel_transfers[i])});
    }
    if (rows.size() == 1) return;
    std::cout << '\n' << table("lrrrr", rows);
}

std::string single_device_name(const Job& job) {
    const Machine& machine = *job.problem->machine;
    const DeviceId device = job.single_device.front();
    const bool one = std::ranges::all_of(job.single_device, [&](DeviceId other) { return other == device; });
    return one ? machine.device(device).name + " alone" : "one device";
}

}  // namespace placewright
