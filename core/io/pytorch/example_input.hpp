// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// A tensor of zeros that a model is called with.
struct ExampleInput {
    std::vector<std::int64_t> shape;
    DType dtype = DType::float32;

    bool operator==(const ExampleInput&) const = default;
};

/// Reads "1x3x224x224" or "1x128:int64". Throws std::invalid_argument.
ExampleInput example_input_from(const std::string& text);
/// Returns a text that example_input_from() reads.
std::string to_text(const ExampleInput& input);

}  // namespace placewright
