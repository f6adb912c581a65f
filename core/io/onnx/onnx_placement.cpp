// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_placement.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/onnx/onnx_model.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/stages.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Keys in the metadata of the model and of its nodes; tools show the properties of nodes.
constexpr const char* kPlacementKey = "placewright.placement";
constexpr const char* kSettingsKey = "placewright.layer_assignment_settings";
constexpr const char* kDeviceKey = "placewright.device";
constexpr const char* kLayerKey = "layer_ann";  // ONNX Runtime's
constexpr const char* kConfiguration = "placewright";

constexpr std::int64_t kMultiDeviceVersion = 11;  ///< of the IR, for configurations of devices

/// Returns the group of nodes on a device: its name, unless that has characters of the settings' grammar.
std::string layer_of(const Machine& machine, DeviceId device) {
    const std::string& name = machine.device(device).name;
    const bool plain = !name.empty() && name.find_first_of(",;()=\t\r\n") == std::string::npos &&
                       name.front() != ' ' && name.back() != ' ';
    return plain ? name : "device-" + std::to_string(device);
}

std::string text_of(const UnknownFieldSet& fields) {
    std::string text;
    fields.SerializeToString(&text);
    return text;
}

/// Returns a NodeDeviceConfigurationProto: each output unsplit on the device, and the stage if there are
/// stages.
std::string device_configuration(const onnx::NodeProto& node, DeviceId device,
                                 const std::optional<std::vector<DeviceId>>& stages) {
    UnknownFieldSet fields;
    fields.AddLengthDelimited(1, kConfiguration);
    for (const std::string& output : node.output()) {
        if (output.empty()) continue;  // an output that is left out
        UnknownFieldSet sharding;
        sharding.AddLengthDelimited(1, output);
        sharding.AddVarint(2, device);
        fields.AddLengthDelimited(2, text_of(sharding));
    }
    if (stages) {
        const auto stage = std::ranges::find(*stages, device);
        if (stage != stages->end()) fields.AddVarint(3, static_cast<std::uint64_t>(stage - stages->begin()));
    }
    return text_of(fields);
}

/// Returns a DeviceConfigurationProto with the devices of the machine.
std::string configuration(const Machine& machine) {
    UnknownFieldSet fields;
    fields.AddLengthDelimited(1, kConfiguration);
    fields.AddVarint(2, machine.devices().size());
    for (const Device& device : machine.devices()) fields.AddLengthDelimited(3, device.name);
    return text_of(fields);
}

/// Removes the messages of an earlier placement. All three kinds of messages begin with their name.
void remove_own(UnknownFieldSet& fields, int number, const std::string& name) {
    for (int i = fields.field_count() - 1; i >= 0; --i) {
        const UnknownField& field = fields.field(i);
        if (field.number() != number || field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
        UnknownFieldSet content;
        if (!content.ParseFromString(field.length_delimited())) continue;
        const bool own = content.field_count() > 0 &&
                         content.field(0).type() == UnknownField::TYPE_LENGTH_DELIMITED &&
                         content.field(0).number() == 1 && content.field(0).length_delimited() == name;
        if (own) fields.DeleteSubrange(i, 1);
    }
}

void add_node_property(UnknownFieldSet& fields, const char* key, const std::string& value) {
    UnknownFieldSet entry;
    entry.AddLengthDelimited(1, key);
    entry.AddLengthDelimited(2, value);
    fields.AddLengthDelimited(kNodeMetadata, text_of(entry));
}

const onnx::TensorProto* external_tensor(const onnx::GraphProto& graph) {
    const auto found = std::ranges::find(graph.initializer(), onnx::TensorProto::EXTERNAL,
                                         [](const auto& tensor) { return tensor.data_location(); });
    return found == graph.initializer().end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> onnx_placement_text(const Path& file) {
    const onnx::ModelProto model = read_onnx_model(file);
    for (const auto& entry : model.metadata_props()) {
        if (entry.key() == kPlacementKey) return entry.value();
    }
    return {};
}

std::string layer_assignment_settings(const Problem& problem, const Placement& placement) {
    std::set<DeviceId> used;
    for (OpId id = 0; id < problem.forward->size(); ++id)
        used.insert(placement[problem.grouping.group_of[id]]);
    std::string settings;
    for (const auto& [kind, provider] :
         {std::pair(DeviceKind::gpu, "gpu"), std::pair(DeviceKind::accelerator, "accelerator"),
          std::pair(DeviceKind::cpu, "cpu")}) {
        std::string groups;
        for (const DeviceId device : used) {
            if (problem.machine->device(device).kind != kind) continue;
            groups += (groups.empty() ? "=" : ", =") + layer_of(*problem.machine, device);
        }
        if (!groups.empty())
            settings += (settings.empty() ? "" : "; ") + std::string(provider) + '(' + groups + ')';
    }
    return settings;
}

OnnxPlacement onnx_placement(const Path& model_file, const Placement& placement, const Problem& problem,
                             bool multi_device) {
    onnx::ModelProto model = read_whole_onnx_model(model_file);
    auto& properties = *model.mutable_metadata_props();
    properties.erase(std::remove_if(properties.begin(), properties.end(),
                                    [](const auto& entry) {
                                        return entry.key() == kPlacementKey || entry.key() == kSettingsKey;
                                    }),
                     properties.end());
    const auto add_property = [&](const char* key, const std::string& value) {
        auto& property = *properties.Add();
        property.set_key(key);
        property.set_value(value);
    };
    add_property(kPlacementKey, placement_json(placement, problem, {}));
    add_property(kSettingsKey, layer_assignment_settings(problem, placement));

    std::unordered_map<std::string, std::string> device_of;
    for (auto& [op, device] : placement_by_name(placement, problem)) {
        // The nodes that the op stands for (known_chains.hpp) are with it.
        if (const auto id = problem.graph->find(op)) {
            const auto& attributes = problem.graph->op(*id).attributes;
            const auto merged = attributes.find("merged");
            const Json names = merged == attributes.end() ? Json() : json_value(merged->second);
            for (const Json& name : names) {
                if (name.is_string()) device_of.emplace(name.get<std::string>(), device);
            }
        }
        device_of.emplace(op, device);
    }
    const std::vector<std::string> names = onnx_op_names(model.graph());
    const auto stages = chain_of_stages(problem, placement);
    std::size_t placed = 0;
    for (int i = 0; i < model.graph().node_size(); ++i) {
        onnx::NodeProto& node = *model.mutable_graph()->mutable_node(i);
        UnknownFieldSet& fields = *onnx::NodeProto::GetReflection()->MutableUnknownFields(&node);
        remove_own(fields, kNodeMetadata, kDeviceKey);
        remove_own(fields, kNodeMetadata, kLayerKey);
        remove_own(fields, kNodeDeviceConfigurations, kConfiguration);
        const auto device = device_of.find(names[static_cast<std::size_t>(i)]);
        if (device == device_of.end()) continue;  // constants, and nodes that no output depends on
        ++placed;
        const DeviceId id = *problem.machine->find(device->second);
        add_node_property(fields, kDeviceKey, device->second);
        add_node_property(fields, kLayerKey, layer_of(*problem.machine, id));
        if (multi_device)
            fields.AddLengthDelimited(kNodeDeviceConfigurations, device_configuration(node, id, stages));
    }
    if (placed == 0)
        throw InputError(printable(model_file.string(), 4096), "",
                         "has no node that is an op of the network that was placed");
    UnknownFieldSet& fields = *onnx::ModelProto::GetReflection()->MutableUnknownFields(&model);
    remove_own(fields, kModelConfiguration, kConfiguration);
    if (multi_device) {
        fields.AddLengthDelimited(kModelConfiguration, configuration(*problem.machine));
        model.set_ir_version(std::max(model.ir_version(), kMultiDeviceVersion));
    }
    OnnxPlacement written;
    if (const onnx::TensorProto* tensor = external_tensor(model.graph()))
        written.external_tensor = tensor->name();
    if (!model.SerializeToString(&written.content)) {
        throw InputError(printable(model_file.string(), 4096), "",
                         "exceeds 2 GB with the placement; save it with its weights in external data");
    }
    return written;
}

}  // namespace placewright
