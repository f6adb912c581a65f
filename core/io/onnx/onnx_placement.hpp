// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// An ONNX model with a placement in it.
struct OnnxPlacement {
    std::string content;
    std::string external_tensor;  ///< a tensor whose numbers are in another file, so that the content must be
                                  ///< written to the model's folder; empty if there is none
};
/// Adds a placement to the ONNX model that the problem's network was read from: as placewright.placement in
/// the metadata of the model, and as the device's name in the metadata of each node ("placewright.device").
/// `multi_device` adds the multi-device hints of IR version 11: the devices as a configuration, and for each
/// node the device of its outputs, none of which is split, and its stage if the placement is a chain of
/// stages. This raises the IR version, so that older programs refuse the model. Weights in external files
/// stay there. Throws InputError for a model that cannot be read.
OnnxPlacement onnx_placement(const Path& model, const Placement& placement, const Problem& problem,
                             bool multi_device = false);

/// Returns the text of the placement file in the metadata of an ONNX model; nothing if there is none.
std::optional<std::string> onnx_placement_text(const Path& file);

}  // namespace placewright
