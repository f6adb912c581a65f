// SPDX-License-Identifier: MIT
// Any bytes as each of the JSON files: network, machine, catalogue, placement and device map.
#include <functional>

#include "core/cost/problem.hpp"
#include "core/graph/networks.hpp"
#include "core/io/files.hpp"
#include "core/io/input_error.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/graphs.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const auto file = placewright::fuzz::memory_file(data, size);
    static const auto problem =
        placewright::test::problem(placewright::find_network("alexnet")->build(1), placewright::test::uniform_machine(2));
    const std::function<void()> readers[] = {
        [&] { placewright::file_content(file); },
        [&] { placewright::read_network(file); },
        [&] { placewright::read_machine(file); },
        [&] { placewright::read_catalogue(file); },
        [&] { placewright::read_placement(file, *problem); },
        [&] { placewright::placed_in_parts(file, *problem->forward); },
    };
    for (const auto& read : readers) {
        try {
            read();
        } catch (const placewright::InputError&) {
            // What is refused is refused in this way alone.
        }
    }
    return 0;
}
