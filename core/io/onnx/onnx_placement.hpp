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
/// ONNX Runtime reads "layer_ann" there, whose groups session.layer_assignment_settings assigns to providers;
/// the settings are in the metadata of the model, too ("placewright.layer_assignment_settings").
/// `multi_device` adds the multi-device hints of IR version 11: the devices as a configuration, and for each
/// node the device of its outputs, none of which is split, and its stage if the placement is a chain of
/// stages. This raises the IR version, so that older programs refuse the model. Weights in external files
/// stay there. Throws InputError for a model that cannot be read.
OnnxPlacement onnx_placement(const Path& model, const Placement& placement, const Problem& problem,
                             bool multi_device = false);

/// Returns the value of the session entry session.layer_assignment_settings with which ONNX Runtime obeys the
/// metadata "layer_ann" of a placement: "gpu(=gpu:0, =gpu:1); cpu(=cpu:0)" for the devices that hold forward
/// ops. "=" asks for equal names; without it gpu:1 would mean gpu:10, too. A session has one provider of each
/// type, so it runs the groups of several GPUs on one of them. Source: microsoft/onnxruntime,
/// docs/annotated_partitioning/PartitioningWithAnnotationsAndMemoryConstraints.md and
/// onnxruntime/core/framework/layering_annotations.cc (pull requests 27595 and 27972).
std::string layer_assignment_settings(const Problem& problem, const Placement& placement);

/// Returns the text of the placement file in the metadata of an ONNX model; nothing if there is none.
std::optional<std::string> onnx_placement_text(const Path& file);

}  // namespace placewright
