// SPDX-License-Identifier: MIT
#include "app/experiment.hpp"

#include <algorithm>
#include <array>

#include "core/graph/networks.hpp"

namespace placewright {

std::shared_ptr<const Graph> ExperimentInputs::network(const std::string& name, std::int64_t batch) const {
    const auto file = network_files.find(name);
    return std::make_shared<const Graph>(file == network_files.end() ? find_network(name)->build(batch)
                                                                     : read_network(file->second, batch).graph);
}

void measure_one_gpu(ExperimentCase& item) {
    const auto devices = item.job.machine->devices();
    const auto gpu = std::ranges::find(devices, DeviceKind::gpu, &Device::kind);
    const auto first = static_cast<DeviceId>(gpu - devices.begin());
    const Outcome outcome = Simulator(item.job.problem, item.job.simulation).run(single_device_placement(*item.job.problem, first));
    item.one_gpu_s = outcome.step_time_s;
    item.one_gpu_fits = outcome.fits;
    if (outcome.fits) item.compared.one_device_s = outcome.step_time_s;
}

std::string_view to_string(Verdict verdict) {
    static constexpr std::array<std::string_view, 3> names{"holds", "differs", "not run"};
    return names[static_cast<std::size_t>(verdict)];
}

}  // namespace placewright
