// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {

/// An ONNX model leaves a named extent open, and no value was given for it.
class ExtentNeeded : public InputError {
public:
    ExtentNeeded(const std::string& file, const std::string& where, const std::string& problem,
                 std::string extent)
        : InputError(file, where, problem), extent_(std::move(extent)) {}
    const std::string& extent() const { return extent_; }

private:
    std::string extent_;
};

/// Reads a model in ONNX (Open Neural Network Exchange) of operator set 7 or later.
///
/// Shapes come from the shape inference of the ONNX library, extended by the numbers that the model computes
/// from shapes; where these give no shape, it is that stated in the file. Ops are named after the nodes, and
/// kinds are PyTorch's. Parameters are the initializers, whose values are not read; in a model that was
/// exported without parameters, they are the inputs with names as in a state_dict ("layer1.0.conv1.weight").
/// A call of a function, If, Loop or Scan is a single op with the FLOPs of its body.
///
/// `batch` sets the first extent of inputs that leave it open, `dims` the open extents that have names.
/// Throws BatchNeeded or ExtentNeeded if one of them is missing, and InputError with the node for any other
/// fault.
NetworkFile read_onnx(const Path& file, std::optional<std::int64_t> batch,
                      const std::map<std::string, std::int64_t>& dims);

/// Returns whether the file begins like a serialized ModelProto (with its ir_version), or is named "*.onnx".
bool is_onnx(const Path& file);

}  // namespace placewright
