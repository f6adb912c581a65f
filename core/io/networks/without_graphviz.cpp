// SPDX-License-Identifier: MIT
// In place of dot_file.cpp in a build without Graphviz.
#include "core/base/missing_part.hpp"
#include "core/base/text.hpp"
#include "core/io/networks/dot_file.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {

NetworkFile read_dot(const Path& file, std::optional<std::int64_t>) {
    throw InputError(
        printable(file.string(), 4096), "",
        "is a graph of Graphviz, and " + missing_part_text("Graphviz", "PLACEWRIGHT_WITH_GRAPHVIZ"));
}

}  // namespace placewright
