// SPDX-License-Identifier: MIT
// Any bytes as Graphviz DOT.
#include "core/io/input_error.hpp"
#include "core/io/readers.hpp"
#include "tests/fuzz/memory_file.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const auto file = placewright::fuzz::memory_file(data, size);
    placewright::is_dot(file);
    try {
        placewright::read_dot(file, {});
    } catch (const placewright::InputError&) {
        // What is refused is refused in this way alone.
    }
    return 0;
}
