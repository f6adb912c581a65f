// SPDX-License-Identifier: MIT
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/proposals.hpp"

namespace placewright {
namespace {

struct SingleDeviceOptions {
    bool allow_cpu = false;
};

const OptionSchema<SingleDeviceOptions>& schema() {
    static const auto schema =
        OptionSchema<SingleDeviceOptions>{}.add("allow_cpu", &SingleDeviceOptions::allow_cpu, kAllowCpuHelp);
    return schema;
}

}  // namespace

AlgorithmInfo single_device_algorithm() {
    return {"single-device", "Single device",
            "Everything on one device: each device in turn, the fastest first.", schema().infos(),
            [](const SearchContext& context, const OptionValues& values) {
                return propose_in_turn(
                    DeviceChoices(context.problem, schema().parse(values).allow_cpu).on_each_device());
            }};
}

}  // namespace placewright
