// SPDX-License-Identifier: MIT
// Arbitrary bytes as each of the JSON files: network, machine, catalogue, placement and device map.
#include <functional>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/networks.hpp"
#include "core/io/file_content.hpp"
#include "core/io/machines/catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/state/safetensors.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/graphs.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const MemoryFile memory(data, size);
    const placewright::Path file = memory.path();
    static const auto problem = placewright::test::problem(placewright::find_network("alexnet")->build(1),
                                                           placewright::test::uniform_machine(2));
    const std::function<void()> readers[] = {
        [&] { placewright::file_content(file); },
        [&] {
            placewright::with_parameter_sizes(placewright::read_network(file).graph, {{"a.weight", 4}});
        },
        [&] { placewright::read_machine(file); },
        [&] { placewright::read_catalogue(file); },
        [&] { placewright::read_placement(file, *problem); },
        [&] { placewright::placed_in_parts(file, *problem->forward); },
    };
    for (const auto& read : readers) {
        try {
            read();
        } catch (const placewright::InputError&) {
            // Invalid input may only be refused with this exception.
        }
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        R"({"format":"placewright.graph","version":1,"name":"g","batch":2,"training":"implicit","ops":[{"name":"a","kind":"conv2d","inputs":[],"outputs":[{"shape":[2,3],"dtype":"float32"}],"parameter_bytes":4,"flops":8,"attributes":{"kernel":[1,1],"parameters":["a.weight"],"parameter_bytes":[4],"buffers":[]}},{"name":"b","kind":"relu","inputs":["a:0"],"outputs":[{"bytes":8}],"parameter_bytes":0,"flops":1}]})",
        R"({"format":"placewright.machine","version":1,"name":"m","devices":[{"name":"cpu:0","kind":"cpu","model":"c","peak_flops":1e12,"memory_bandwidth":1e10,"memory_bytes":1e9,"efficiency":1}],"channels":[{"name":"p","bandwidth":1e9,"latency_s":0,"efficiency":1,"efficiency_by_bytes":[[1,0.5],[10,1]]}],"routes":[]})",
        R"({"format":"placewright.placement","version":1,"graph":"alexnet","machine":"m","placement":{"conv1":"gpu:0"},"predicted":{"step_time_s":1,"fits":true}})",
        R"({"conv1":0,"conv2":[0,1]})",
        R"({"":"cuda:0","features.0":1})",
        R"({"conv1":"/job:worker/replica:0/task:0/device:GPU:0","format":"/device:CPU:0","relu1":"/gpu:1"})",
        R"({"split_spec":{"features.3":"BEGINNING"},"stage_to_rank":[0,1],"devices":["cuda:0","cuda:1"]})",
        R"({"layers":{"a":{"parents":[],"type":"Input","tensor":[1,2,2,3]},"b":{"parents":["a"],"type":"Convolution","filter":[3,3,3,4],"strides":[1,1,1,1],"padding":"SAME","device":0}}})",
        R"({"maxFPGAs":2,"maxCPUs":1,"maxSizePerFPGA":100,"nodes":[{"id":1,"cpuLatency":1,"fpgaLatency":0.5,"size":4,"supportedOnFpga":1,"isBackwardNode":0,"colorClass":1}],"edges":[]})"};
}
