// SPDX-License-Identifier: MIT
#include <torch/cuda.h>
#include <torch/version.h>

#include "core/measure/torch/torch_runner.hpp"

namespace placewright {
namespace {

int cuda_devices() {
    return torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0;
}

std::string version() {
    return "LibTorch " TORCH_VERSION;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const MeasureModule* placewright_measure_module() {
    static const MeasureModule module{&cuda_devices, &version, &unsupported_ops, &make_torch_runner};
    return &module;
}

}  // namespace placewright
