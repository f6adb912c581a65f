// SPDX-License-Identifier: MIT
#include "app/experiments/experiment.hpp"

#include <algorithm>
#include <array>

#include "core/graph/networks.hpp"
#include "core/io/networks/network_file.hpp"

namespace placewright {

std::shared_ptr<const Graph> ExperimentInputs::network(const std::string& name, std::int64_t batch) const {
    const auto file = network_files.find(name);
    return std::make_shared<const Graph>(file == network_files.end()
                                             ? find_network(name)->build(batch)
                                             : read_network(file->second, batch).graph);
}

void measure_one_gpu(ExperimentCase& item) {
    const auto devices = item.job.machine->devices();
    const auto gpu = std::ranges::find(devices, DeviceKind::gpu, &Device::kind);
    const auto first = static_cast<DeviceId>(gpu - devices.begin());
    const Outcome outcome = Simulator(item.job.problem, item.job.simulation)
                                .run(single_device_placement(*item.job.problem, first));
    item.one_gpu_s = outcome.step_time_s;
    item.one_gpu_fits = outcome.fits;
    if (outcome.fits) item.compared.one_device_s = outcome.step_time_s;
}

Machine gpu_server(unsigned gpus, const Device& cpu, const Device& gpu, const Channel& link,
                   Crossing crossing) {
    std::vector<Device> devices{cpu};
    std::vector<Channel> channels;
    std::vector<Route> routes;
    for (unsigned i = 0; i < gpus; ++i) {
        devices.push_back(gpu);
        devices.back().name += ':' + std::to_string(i);
        for (const char* direction : {"/up", "/down"}) {
            channels.push_back(link);
            channels.back().name += std::to_string(i) + direction;
        }
    }
    const auto up = [](std::size_t device) { return static_cast<ChannelId>(2 * (device - 1)); };
    const auto down = [](std::size_t device) { return static_cast<ChannelId>(2 * (device - 1) + 1); };
    for (std::size_t from = 0; from < devices.size(); ++from) {
        for (std::size_t to = 0; to < devices.size(); ++to) {
            if (to == from) continue;
            Route route{static_cast<DeviceId>(from), static_cast<DeviceId>(to), {}};
            if (from > 0) route.channels.push_back(up(from));
            if (to > 0) route.channels.push_back(down(to));
            routes.push_back(std::move(route));
        }
    }
    const std::string model = gpu.model.substr(gpu.model.find(' ') + 1);
    return {std::to_string(gpus) + "x " + model, std::move(devices), std::move(channels), std::move(routes),
            crossing};
}

void Finding::add(bool ran, bool holds, const std::string& figures) {
    if (!ran) {
        ++missing;
        return;
    }
    if (verdict == Verdict::not_run) verdict = Verdict::holds;
    if (!holds) verdict = Verdict::differs;
    data += (data.empty() ? "" : "; ") + figures + (holds ? "" : " (differs)");
}

std::string_view to_string(Verdict verdict) {
    static constexpr std::array<std::string_view, 4> names{"holds", "differs", "undecided", "not run"};
    return names[static_cast<std::size_t>(verdict)];
}

}  // namespace placewright
