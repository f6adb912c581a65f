// SPDX-License-Identifier: MIT
#include "core/io/file_content.hpp"

#include "core/io/language/gguf.hpp"
#include "core/io/language/language_file.hpp"
#include "core/io/networks/dot_file.hpp"
#include "core/io/networks/no_network.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/text/archive.hpp"
#include "core/io/text/json.hpp"
#include "core/io/traces/trace_file.hpp"

namespace placewright {
FileContent file_content(const Path& file) {
    refuse_no_network(file);
    if (is_model_folder(file) || is_gguf(file)) return FileContent::network;
    if (is_onnx(file) || is_archive(file) || is_dot(file)) return FileContent::network;
    if (is_trace(file)) return FileContent::trace;
    const JsonFile::Outline outline = JsonFile(file).outline();
    if (outline.format == "placewright.graph" ||
        (!outline.has_format && (outline.has_layers || outline.has_model_type)))
        return FileContent::network;
    if (outline.format == "placewright.machine" || (!outline.has_format && outline.has_comm_channels))
        return FileContent::machine;
    if (outline.format == "placewright.placement") return FileContent::placement;
    if (outline.format == "placewright.constraints") return FileContent::constraints;
    if (!outline.has_format && outline.has_max_fpgas) return FileContent::workload;
    // A placement of Exprimo or TensorFlow, or a device map; an op in it may have the name "format".
    if (outline.only_devices && (outline.format.empty() || TensorFlowDevice::from(outline.format)))
        return FileContent::placement;
    return FileContent::unknown;
}

}  // namespace placewright
