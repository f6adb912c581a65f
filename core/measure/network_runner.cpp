// SPDX-License-Identifier: MIT
#include "core/measure/network_runner.hpp"

#include "core/base/torch_library.hpp"

namespace placewright {

std::string to_string(const PhysicalDevice& device) {
    const std::string index = std::to_string(device.index);
    return device.kind == PhysicalDevice::Kind::cuda ? "CUDA device " + index
                                                     : "core " + index + " of this computer's CPU";
}

const MeasureModule& measure_module() {
    static const MeasureModule* const module = reinterpret_cast<MeasureModuleFunction>(
        torch_library_symbol("libplacewright_measure.so", kMeasureModuleSymbol))();
    return *module;
}

}  // namespace placewright
