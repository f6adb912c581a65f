// SPDX-License-Identifier: MIT
// In place of all that reads and writes ONNX models, in a build without ONNX.
#include "core/base/missing_part.hpp"
#include "core/base/text.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/onnx/onnx_placement.hpp"

namespace placewright {
namespace {

[[noreturn]] void refuse_onnx(const Path& file) {
    throw InputError(printable(file.string(), 4096), "",
                     "is an ONNX model, and " + missing_part_text("ONNX", "PLACEWRIGHT_WITH_ONNX"));
}

}  // namespace

NetworkFile read_onnx(const Path& file, std::optional<std::int64_t>,
                      const std::map<std::string, std::int64_t>&) {
    refuse_onnx(file);
}

OnnxPlacement onnx_placement(const Path& model, const Placement&, const Problem&, bool) {
    refuse_onnx(model);
}

std::optional<std::string> onnx_placement_text(const Path& file) {
    refuse_onnx(file);
}

std::string layer_assignment_settings(const Problem&, const Placement&) {
    return {};  // for a model that was written
}

}  // namespace placewright
