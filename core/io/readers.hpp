// SPDX-License-Identifier: MIT
// What the readers of the different formats share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/io/files.hpp"
#include "core/io/input_error.hpp"
#include "core/io/json.hpp"

namespace placewright {

/// Networks and device graphs of Exprimo (Lagostra, 2020), whose networks follow Paleo (Qi, Sparks, Talwalkar, 2017). A file is taken
/// for one if it has "layers" or "comm_channels", and no "format".
NetworkFile read_exprimo_network(const JsonFile& file, std::optional<std::int64_t> batch);
Machine read_exprimo_machine(const JsonFile& file);

/// A workload of dnn-partitioning (Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020):
/// nodes and edges with their times, and how many accelerators there are. A file is taken for one if it has "maxFPGAs" and no "format".
///
/// Graph. Ops are named by the ids of the nodes, in milliseconds and bytes in the file. An op's time stands by device model
/// ("cpu", "accelerator"), what the output of an op costs to transfer ("cost" of the edges that leave it, which must agree to 1e-6) in its
/// tensor, which has no bytes of its own, and what the node takes (its "size", outputs included) in resident_bytes. A colour class is
/// a colocation label. Nodes that no accelerator supports are for the CPU alone. With backward nodes the training is explicit.
/// Machine. Device 0 is the CPU, whose memory holds everything; then the accelerators, each with a channel of its own to the CPU,
/// over which both directions go; between accelerators tensors cross both channels. Speeds and bandwidth are nominal: all times are given.
/// With "maxCPUs" 0 no op may be on the CPU; otherwise CPUs count as one device.
NetworkFile read_workload(const JsonFile& file, std::optional<std::int64_t> batch);

/// An ONNX model that leaves an extent open, read without one; it has a name.
class ExtentNeeded : public InputError {
public:
    ExtentNeeded(const std::string& file, const std::string& where, const std::string& problem, std::string extent)
        : InputError(file, where, problem), extent_(std::move(extent)) {}
    const std::string& extent() const { return extent_; }

private:
    std::string extent_;
};

/// A model in ONNX (Open Neural Network Exchange) of operator set 7 or later.
///
/// Shapes come from the shape inference of the ONNX library with the numbers that the model computes from shapes; where that knows none,
/// from what the file says. Ops are named by the nodes, kinds are PyTorch's, parameters the initializers, whose values are not read.
/// Where a model was exported without parameters, those are the inputs that are called as in a state_dict ("layer1.0.conv1.weight").
/// Functions, If, Loop and Scan are single ops with the FLOPs of their bodies.
///
/// `batch` is the first extent of the inputs that leave it open, `dims` the extents that have names. Throws BatchNeeded, ExtentNeeded, or
/// InputError with the node.
NetworkFile read_onnx(const Path& file, std::optional<std::int64_t> batch, const std::map<std::string, std::int64_t>& dims);

/// Whether the file begins like a serialized ModelProto (with its ir_version), or is called "*.onnx".
bool is_onnx(const Path& file);

/// The placement file in the metadata of an ONNX model; nothing if it has none.
std::optional<std::string> onnx_placement_text(const Path& file);

/// Bytes of a file that can be read. Throws InputError where there is none, or an empty one, a folder or a device.
std::uintmax_t regular_file_size(const Path& file);

/// An op as placewright.graph writes it, inputs left aside. `value` is an object with at least name, kind, flops, parameter_bytes, outputs.
Op read_op(const JsonValue& value);
/// The members of an op as placewright.graph has them; without inputs unless they are given.
Json op_json(const Op& op, Json inputs = nullptr);
/// An input as files write it: the name of an op, or "op:k" for its output k; unambiguous even if the names of ops end in ":1".
std::string input_name(const std::string& op, std::uint32_t output, const std::function<bool(const std::string&)>& is_op);

/// Graphviz DOT: see dot_file.hpp.
bool is_dot(const Path& file);
NetworkFile read_dot(const Path& file, std::optional<std::int64_t> batch);

/// A device of a machine, or of a catalogue, where it has no name.
Device read_device(const JsonValue& value);
Channel read_channel(const JsonValue& value);

/// Calls `build`; a GraphError becomes an InputError at `place(name of the op)`.
Graph build_graph(const JsonFile& file, const std::function<Graph()>& build, const std::function<std::string(const std::string&)>& place);

/// The machine; a MachineError becomes an InputError.
Machine build_machine(const JsonFile& file, std::string name, std::vector<Device> devices, std::vector<Channel> channels,
                      std::vector<Route> routes, Crossing crossing = Crossing::store_and_forward);

}  // namespace placewright
