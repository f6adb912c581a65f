// SPDX-License-Identifier: MIT
// Arbitrary bytes as Graphviz DOT.
#include "core/base/path.hpp"
#include "core/io/networks/dot_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

int fuzz(const std::uint8_t* data, std::size_t size) {
    const MemoryFile memory(data, size);
    const placewright::Path file = memory.path();
    placewright::is_dot(file);
    try {
        placewright::read_dot(file, {});
    } catch (const placewright::InputError&) {
        // Invalid input may only be refused with this exception.
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        R"(digraph g { a [kind="conv2d", flops=10, parameter_bytes=4, bytes=8]; b [label="relu", shape="2x3"]; a -> b; })",
        "strict graph { a -- b -- c }",
        "digraph { subgraph cluster_0 { node [bytes=4]; \"x:1\" } \"x:1\" -> y:out /* no */ -> z // yes\n }"};
}
