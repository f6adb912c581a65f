// SPDX-License-Identifier: MIT
#include <fstream>

#include "core/io/onnx/onnx.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {

bool is_onnx(const Path& file) {
    if (file.extension() == ".onnx") return true;
    // Field 1, a number: writers put fields in their order. No JSON text begins with a backspace.
    return open_regular_file(file).get() == 0x08;
}

}  // namespace placewright
