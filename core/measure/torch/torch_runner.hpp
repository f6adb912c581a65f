// SPDX-License-Identifier: MIT
#pragma once

#include "core/measure/network_runner.hpp"

namespace placewright {

std::vector<std::string> unsupported_ops(const Problem& problem);
std::unique_ptr<NetworkRunner> make_torch_runner(std::shared_ptr<const Problem> problem,
                                                 std::span<const DeviceId> placement,
                                                 std::span<const PhysicalDevice> devices,
                                                 const NetworkRunnerOptions& options);

}  // namespace placewright
