// SPDX-License-Identifier: MIT
#include "core/io/pytorch/example_input.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace placewright {
std::string to_text(const ExampleInput& input) {
    std::string text;
    for (const std::int64_t extent : input.shape) {
        if (!text.empty()) text += 'x';
        text += std::to_string(extent);
    }
    return input.dtype == DType::float32 && !text.empty() ? text
                                                          : text + ':' + std::string(to_string(input.dtype));
}

ExampleInput example_input_from(const std::string& text) {
    ExampleInput input;
    const auto refuse = [&] {
        throw std::invalid_argument("\"" + text +
                                    "\" is not a shape, expected for example 1x3x224x224 or 1x128:int64");
    };
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (colon < text.size()) {
        const auto dtype = dtype_from(text.substr(colon + 1));
        if (!dtype) refuse();
        input.dtype = *dtype;
    }
    const char* at = text.data();
    const char* const end = at + colon;
    // A number has no sizes: ":int64".
    while (at != end) {
        std::int64_t extent = 0;
        const auto [next, error] = std::from_chars(at, end, extent);
        if (error != std::errc() || extent < 0 || (next != end && (*next != 'x' || next + 1 == end)))
            refuse();
        input.shape.push_back(extent);
        at = next == end ? end : next + 1;
    }
    if (colon == 0 && colon == text.size()) refuse();
    try {
        make_tensor(input.shape, input.dtype);
    } catch (const std::invalid_argument&) {
        refuse();
    }
    return input;
}

}  // namespace placewright
