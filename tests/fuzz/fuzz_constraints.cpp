// SPDX-License-Identifier: MIT
// Rules for placements: read, written again, and applied to a network.
#include <cstdlib>

#include "core/cost/problem.hpp"
#include "core/graph/networks.hpp"
#include "core/io/placements/constraints_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    Constraints constraints;
    try {
        constraints = read_constraints(file.path());
    } catch (const InputError&) {
        return 0;
    }
    if (constraints_from_text(constraints_text(constraints), "again").rules != constraints.rules)
        std::abort();
    static const Graph network = find_network("alexnet")->build(1);
    static const Machine machine = test::uniform_machine(3);
    ProblemOptions options;
    options.constraints = constraints;
    try {
        const auto problem = test::problem(network, machine, options);
        check_placement(*problem, single_device_placement(*problem));
    } catch (const ConstraintError&) {
        // Names that there are not, or contradictions.
    }
    return 0;
}

std::vector<std::string> seeds() {
    const auto file = [](const char* rules) {
        return R"({"format":"placewright.constraints","version":1,"rules":[)" + std::string(rules) + "]}";
    };
    return {
        file(R"({"rule":"pin","ops":["features/conv1","features/conv2"],"devices":["gpu:0","gpu"]})"),
        file(
            R"({"rule":"together","ops":["features/conv1","features/pool1"]},{"rule":"apart","ops":["features/conv2","features/conv3","features/conv4"]})"),
        file(
            R"({"rule":"pin","modules":["features"],"devices":["gpu:1","gpu:2"]},{"rule":"apart","ops":["features/conv1","features/relu1"]})"),
        file("")};
}
