// SPDX-License-Identifier: MIT
// Descriptions of sweeps.
#include "app/cli/sweep_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    try {
        read_sweep(file.path()).searches();
    } catch (const InputError&) {
        // Invalid input may only be refused with this exception.
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        R"({"format":"placewright.sweep","version":1,"networks":["alexnet","net.json"],"machines":["2x-v100-pcie"],)"
        R"("algorithms":["hill-climbing","genetic"],"options":[{"batch":64,"precision":"amp-fp16","accumulate":true},)"
        R"({"set":["genetic.population_size=20","genetic.rate=0.5"]}],"seeds":[1,2,9223372036854775807],"evaluations":1000})",
        R"({"format":"placewright.sweep","version":1,"networks":["alexnet"],"machines":["1x-v100"],"algorithms":["random"],"seeds":3})"};
}
