// SPDX-License-Identifier: MIT
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct SingleDeviceOptions {
    bool allow_cpu = false;
};

const OptionSchema<SingleDeviceOptions>& single_device_schema() {
    static const auto schema =
        OptionSchema<SingleDeviceOptions>{}.add("allow_cpu", &SingleDeviceOptions::allow_cpu, kAllowCpuHelp);
    return schema;
}

}  // namespace

AlgorithmInfo single_device_algorithm() {
    return describe(
        "single-device", "Single device", "Everything on one device: each device in turn, the fastest first.",
        single_device_schema(), [](const SearchContext& context, const SingleDeviceOptions& options) {
            return propose_in_turn(DeviceChoices(context.problem, options.allow_cpu).on_each_device());
        });
}

}  // namespace placewright
