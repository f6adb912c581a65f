// SPDX-License-Identifier: MIT
#include "core/io/networks/network_file.hpp"

#include <algorithm>
#include <limits>

#include "core/base/text.hpp"
#include "core/graph/batch.hpp"
#include "core/io/language/gguf.hpp"
#include "core/io/language/language_file.hpp"
#include "core/io/networks/dot_file.hpp"
#include "core/io/networks/exprimo.hpp"
#include "core/io/networks/no_network.hpp"
#include "core/io/networks/op_json.hpp"
#include "core/io/networks/workload.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/pytorch/exported_program.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/io/traces/trace_file.hpp"

namespace placewright {
namespace {

constexpr std::string_view kGraphFormat = "placewright.graph";
constexpr std::int64_t kGraphVersion = 1;
constexpr std::int64_t kMostOfGraph = std::numeric_limits<std::int64_t>::max();

/// Reads a word that `from` converts.
template <class Enum>
Enum word(const JsonValue& value, std::optional<Enum> (*from)(std::string_view), const char* expected) {
    const std::string text = value.text();
    if (const auto known = from(text)) return *known;
    value.fail("is " + in_quotes(text) + ", expected " + expected);
}

DType read_dtype(const JsonValue& value) {
    return word(value, dtype_from,
                "float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8 or bool");
}

Tensor read_size(const JsonValue& value) {
    const auto bytes = value.find("bytes");
    const auto shape = value.find("shape");
    const auto dtype = value.find("dtype");
    if (!shape) {
        if (!bytes) value.fail("has neither \"shape\" nor \"bytes\", expected one of them");
        Tensor tensor;
        tensor.bytes = bytes->whole(0, kMostOfGraph);
        if (dtype) tensor.dtype = read_dtype(*dtype);
        return tensor;
    }
    std::vector<std::int64_t> extents;
    shape->for_each_item([&](const JsonValue& extent) { extents.push_back(extent.whole(0, kMostOfGraph)); });
    Tensor tensor;
    try {
        tensor = make_tensor(std::move(extents), read_dtype(value.at("dtype")));
    } catch (const std::invalid_argument& error) {
        value.fail(printable(error.what(), 400));
    }
    if (bytes && bytes->whole() != tensor.bytes) {
        bytes->fail("is " + std::to_string(bytes->whole()) + ", expected " + std::to_string(tensor.bytes) +
                    " as shape and dtype say");
    }
    return tensor;
}

Tensor read_output(const JsonValue& value) {
    Tensor tensor = read_size(value);
    if (const auto transfer = value.find("transfer_s")) tensor.transfer_s = transfer->number();
    return tensor;
}

MeasuredTime read_times(const JsonValue& value) {
    MeasuredTime time;
    if (const auto forward = value.find("forward")) time.forward_s = forward->number();
    if (const auto backward = value.find("backward")) time.backward_s = backward->number();
    if (const auto weights = value.find("weight_gradient")) time.weight_gradient_s = weights->number();
    if (const auto update = value.find("update")) time.update_s = update->number();
    return time;
}

/// Returns the place of an op, such as `ops[12] "Mixed_5b/conv"`.
std::string op_place(std::size_t index, const std::string& name) {
    const std::string item = "ops[" + std::to_string(index) + ']';
    return name.empty() ? item : item + ' ' + in_quotes(name);
}

/// Returns the name of an op in the file, if it has one.
std::string op_name(const JsonValue& op) {
    if (!op.json().is_object()) return {};
    const auto name = op.json().find("name");
    return name != op.json().end() && name->is_string() ? name->get<std::string>() : std::string();
}

NetworkFile read_own(const JsonFile& file, std::optional<std::int64_t> batch) {
    file.require_format(
        kGraphFormat,
        ", or \"layers\" in a network of Exprimo, or \"maxFPGAs\" in a workload of dnn-partitioning");
    const Json json = file.parse();
    const JsonValue root(file, json);
    JsonFile::require_version(root, kGraphVersion);

    const std::string name = root.at("name").text();
    const std::int64_t file_batch = root.at("batch").whole(1, kMostOfGraph);
    const Training training = word(root.at("training"), training_from, "implicit, explicit or none");
    const JsonValue ops = root.at("ops");
    const std::size_t count = ops.size();
    if (count == 0) ops.fail("is empty, expected at least one op");
    // Places of ops, for faults that are found after reading.
    const auto place = [&](const std::string& op) {
        for (std::size_t i = 0; i < count; ++i) {
            if (op_name(ops.at(i)) == op) return op_place(i, op);
        }
        return std::string("ops");
    };
    GraphBuilder builder(name, file_batch, training);
    for (std::size_t i = 0; i < count; ++i) {
        const JsonValue item = ops.at(i);
        const JsonValue value = item.placed_at(op_place(i, op_name(item)));
        Op op = read_op(value);
        std::vector<std::string> inputs;
        value.at("inputs").for_each_item([&](const JsonValue& input) { inputs.push_back(input.text()); });
        const std::string op_text = op.name;
        try {
            builder.add(std::move(op), std::move(inputs));
        } catch (const GraphError& error) {
            value.fail(printable(without_prefix(error.what(), "op " + in_quotes(op_text) + ": "), 400));
        }
    }
    NetworkFile network{build_graph(
                            file, [&] { return builder.build(); }, place),
                        {},
                        {}};
    network.fixed_batch = fixed_batch_reason(network.graph);
    network.batch_is_open = network.fixed_batch.empty();
    if (batch && *batch != file_batch) {
        try {
            network.graph = with_batch(network.graph, *batch);
        } catch (const GraphError& error) {
            file.fail("", "the batch size of this file is fixed at " + std::to_string(file_batch) + ", not " +
                              std::to_string(*batch) + ": " + printable(error.what(), 400) +
                              "; export the network again with that batch size");
        }
    }
    return network;
}

/// Returns whether `text` ends in a colon and digits.
bool names_output(std::string_view text) {
    const std::size_t digits =
        text.size() - 1 - std::min(text.find_last_not_of("0123456789"), text.size() - 1);
    return digits > 0 && digits < text.size() && text[text.size() - digits - 1] == ':';
}

Json output_json(const Tensor& tensor) {
    Json output = Json::object();
    if (tensor.shape) {
        output["shape"] = *tensor.shape;
        output["dtype"] = to_string(tensor.dtype);
    } else {
        output["bytes"] = tensor.bytes;
        if (tensor.dtype != DType::float32) output["dtype"] = to_string(tensor.dtype);
    }
    if (tensor.transfer_s) output["transfer_s"] = json_number(*tensor.transfer_s);
    return output;
}

}  // namespace

Op read_op(const JsonValue& value) {
    Op op;
    op.name = value.at("name").text();
    op.kind = value.at("kind").text();
    op.scope = value.text_or("scope", "");
    if (const auto phase = value.find("phase"))
        op.phase = word(*phase, phase_from, "forward, backward or update");
    op.flops = value.at("flops").number();
    if (const auto backward = value.find("backward_flops")) op.backward_flops = backward->number();
    op.parameter_bytes = value.at("parameter_bytes").whole();
    if (const auto dtype = value.find("parameter_dtype")) op.parameter_dtype = read_dtype(*dtype);
    if (const auto resident = value.find("resident_bytes")) op.resident_bytes = resident->whole();
    if (const auto read = value.find("read_bytes")) op.read_bytes = read->whole();
    if (const auto workspace = value.find("workspace_bytes")) op.workspace_bytes = workspace->whole();
    if (const auto in_place = value.find("in_place")) op.in_place = in_place->truth();
    if (const auto autocast = value.find("autocast")) op.autocast = autocast->truth();
    value.at("outputs").for_each_item(
        [&](const JsonValue& output) { op.outputs.push_back(read_output(output)); });
    op.colocate = value.text_or("colocate", "");
    if (const auto devices = value.find("devices")) {
        devices->for_each_item([&](const JsonValue& device) { op.devices.push_back(device.text()); });
    }
    if (const auto times = value.find("time_s")) {
        times->for_each_member(
            [&](const std::string& model, const JsonValue& time) { op.time_s[model] = read_times(time); });
    }
    if (const auto attributes = value.find("attributes")) {
        attributes->for_each_member(
            [&](const std::string& key, const JsonValue& item) { op.attributes[key] = item.json().dump(); });
    }
    return op;
}

std::string input_name(const std::string& op, std::uint32_t output,
                       const std::function<bool(const std::string&)>& is_op) {
    if (output == 0 && !names_output(op)) return op;
    // Zeros are put before the number until no op has this name.
    std::string digits = std::to_string(output);
    while (is_op(op + ':' + digits)) digits.insert(digits.begin(), '0');
    return op + ':' + digits;
}

Json op_json(const Op& op, Json inputs) {
    Json json{{"name", op.name}, {"kind", op.kind}};
    if (!op.scope.empty()) json["scope"] = op.scope;
    if (op.phase != Phase::forward) json["phase"] = to_string(op.phase);
    if (!inputs.is_null()) json["inputs"] = std::move(inputs);
    Json& outputs = json["outputs"] = Json::array();
    for (const Tensor& output : op.outputs) outputs.push_back(output_json(output));
    json["parameter_bytes"] = op.parameter_bytes;
    if (op.parameter_dtype) json["parameter_dtype"] = to_string(*op.parameter_dtype);
    if (op.resident_bytes != 0) json["resident_bytes"] = op.resident_bytes;
    if (op.read_bytes) json["read_bytes"] = *op.read_bytes;
    if (op.workspace_bytes != 0) json["workspace_bytes"] = op.workspace_bytes;
    if (op.in_place) json["in_place"] = true;
    if (op.autocast) json["autocast"] = true;
    json["flops"] = json_number(op.flops);
    if (op.backward_flops) json["backward_flops"] = json_number(*op.backward_flops);
    if (!op.colocate.empty()) json["colocate"] = op.colocate;
    if (!op.devices.empty()) json["devices"] = op.devices;
    for (const auto& [model, time] : op.time_s) {
        Json& times = json["time_s"][model] = Json::object();
        if (time.forward_s) times["forward"] = json_number(*time.forward_s);
        if (time.backward_s) times["backward"] = json_number(*time.backward_s);
        if (time.weight_gradient_s) times["weight_gradient"] = json_number(*time.weight_gradient_s);
        if (time.update_s) times["update"] = json_number(*time.update_s);
    }
    for (const auto& [key, text] : op.attributes) {
        Json value = json_value(text);
        json["attributes"][key] = value.is_discarded() ? Json(text) : std::move(value);
    }
    return json;
}

namespace {

void refuse_examples(const Path& path, const ReadOptions& options) {
    if (options.inputs.empty()) return;
    throw InputError(printable(path.string(), 4096), "",
                     "defines the sizes of its inputs itself: --input is only for TorchScript models");
}

void refuse_extents(const Path& path, const ReadOptions& options) {
    if (options.dims.empty()) return;
    throw InputError(
        printable(path.string(), 4096), "",
        "this file has no open extent, so " + in_quotes(options.dims.begin()->first) + " cannot be set");
}

}  // namespace

Graph build_graph(const JsonFile& file, const std::function<Graph()>& build,
                  const std::function<std::string(const std::string&)>& place) {
    try {
        return build();
    } catch (const GraphError& error) {
        file.fail(error.op().empty() ? "" : place(error.op()),
                  printable(without_prefix(error.what(), "op " + in_quotes(error.op()) + ": "), 400));
    }
}

NetworkFile read_network(const Path& path, const ReadOptions& options) {
    refuse_no_network(path);
    if (is_model_folder(path) || is_gguf(path)) {
        refuse_examples(path, options);
        refuse_extents(path, options);
        return read_language_model(path, options.batch, options.language);
    }
    if (is_onnx(path)) {
        refuse_examples(path, options);
        return read_onnx(path, options.batch, options.dims);
    }
    if (is_archive(path)) {
        const Archive archive(path);
        if (is_exported_program(archive)) {
            refuse_examples(path, options);
            return read_exported_program(archive, options);
        }
        refuse_extents(path, options);
        return read_torchscript(archive, options);
    }
    refuse_extents(path, options);
    refuse_examples(path, options);
    if (is_dot(path)) return read_dot(path, options.batch);
    if (is_trace(path))
        throw InputError(printable(path.string(), 4096), "",
                         "is a trace of a run, not a network: --times, or Run > Simulation in the window, "
                         "takes op times from it");
    const JsonFile file(path);
    const JsonFile::Outline& outline = file.outline();
    if (!outline.has_format && outline.has_model_type)
        return read_language_model(file, options.batch, options.language);
    if (outline.format == "placewright.placement" || (!outline.has_format && outline.only_devices))
        file.fail("",
                  "is a placement, not a network: in the window, open its network first; "
                  "placewright-cli takes it with --placement FILE");
    if (!outline.has_format && outline.has_layers) return read_exprimo_network(file, options.batch);
    if (!outline.has_format && outline.has_max_fpgas) return read_workload(file, options.batch);
    return read_own(file, options.batch);
}

void write_network(const Graph& graph, const Path& file) {
    Json root{{"format", kGraphFormat},
              {"version", kGraphVersion},
              {"name", graph.name()},
              {"batch", graph.batch()},
              {"training", to_string(graph.training())}};
    Json ops = Json::array();
    const auto is_op = [&](const std::string& name) { return graph.find(name).has_value(); };
    for (const Op& op : graph.ops()) {
        Json inputs = Json::array();
        for (const TensorRef& input : op.inputs)
            inputs.push_back(input_name(graph.op(input.op).name, input.output, is_op));
        ops.push_back(op_json(op, std::move(inputs)));
    }
    root["ops"] = std::move(ops);
    write_file(file, file_text(root));
}

}  // namespace placewright
