// SPDX-License-Identifier: MIT
#include "tests/examples/device_lists.hpp"

#include "core/io/text/json.hpp"

namespace placewright::examples {
namespace {

// 1. What is written. Names are only data: the JSON library escapes them.
WrittenPlacement device_lists(const PlacedNetwork& placed) {
    const Problem& problem = *placed.problem;
    Json lists = Json::object();
    for (OpId op = 0; op < problem.forward->size(); ++op) {
        const DeviceId device = placed.placement[problem.grouping.group_of[op]];
        Json& ops = lists[problem.machine->device(device).name];
        ops.push_back(problem.forward->op(op).name);
    }
    return {lists.dump(1) + '\n', {}};
}

// 2. Code that loads it, for the user to copy.
std::string device_lists_snippet(const std::string& path, const PlacedNetwork&) {
    return "import json\n\nops_of = json.load(open(" + Json(path).dump() + "))\n";
}

}  // namespace

// 3. Its description, which the table of formats takes.
const PlacementFormat& device_lists_format() {
    static const PlacementFormat format{.id = "device-lists",
                                        .title = "Lists of ops",
                                        .help = "The names of the ops of each device, as JSON",
                                        .suffix = ".devices.json",
                                        .snippet = device_lists_snippet,
                                        .write = device_lists};
    return format;
}

}  // namespace placewright::examples
