// SPDX-License-Identifier: MIT
#include "core/io/networks/exprimo.hpp"

#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/graph/sharding.hpp"
#include "core/io/networks/exprimo_layers.hpp"
#include "core/io/networks/op_json.hpp"

namespace placewright {
namespace {

/// A name of a layer as used in a block.
struct Reference {
    std::string block;  ///< full name of the block; empty outside any block
    std::string name;
};

struct Layer {
    std::string name;  ///< "block/layer"
    JsonValue value;
    std::vector<Reference> parents;
    std::vector<std::int64_t> devices;  ///< never empty
    bool split = false;                 ///< whether "device" is a list
};

struct LayerList {
    std::vector<Layer> layers;
    std::unordered_map<std::string, std::string>
        endpoints;  ///< endpoint of each block, by full name; empty if it has none
    bool has_devices = false;
};

std::string joined(const std::string& block, const std::string& name) {
    return block.empty() ? name : block + '/' + name;
}

/// Reads the devices of a layer. A convolution is split over a list of devices; any other layer is on the
/// first of them.
void read_devices(const JsonValue& value, Layer& layer) {
    constexpr std::int64_t kMost = std::numeric_limits<DeviceId>::max();
    layer.split = value.json().is_array();
    if (!layer.split) {
        layer.devices = {value.whole(0, kMost)};
        return;
    }
    if (value.size() == 0) value.fail("is an empty list, expected the index of a device");
    layer.devices.clear();
    value.for_each_item([&](const JsonValue& device) { layer.devices.push_back(device.whole(0, kMost)); });
}

/// Collects layers, including those in blocks. A layer of a block that has no parents or devices of its own
/// gets those of the block.
void collect(const JsonValue& layers, const Layer& block, LayerList& list) {
    layers.for_each_member([&](const std::string& key, const JsonValue& member) {
        const std::string name = joined(block.name, key);
        const JsonValue value = member.placed_at("layer " + in_quotes(name));
        Layer layer{name, value, {}, block.devices, block.split};
        value.at("parents").for_each_item([&](const JsonValue& parent) {
            layer.parents.push_back({block.name, parent.text()});
        });
        if (layer.parents.empty()) layer.parents = block.parents;
        if (const auto given = value.find("device")) {
            read_devices(*given, layer);
            list.has_devices = true;
        }
        if (value.at("type").text() == "Block") {
            const std::string endpoint = value.text_or("endpoint", "");
            list.endpoints[name] = endpoint.empty() ? "" : joined(name, endpoint);
            collect(value.at("layers"), layer, list);
        } else {
            list.layers.push_back(std::move(layer));
        }
    });
}

/// Resolves a reference to the full name of a layer. The innermost enclosing block is searched first; the
/// name of a block stands for its endpoint.
class Resolver {
public:
    explicit Resolver(const LayerList& list) : list_(list) {
        for (const Layer& layer : list.layers) names_.insert(layer.name);
    }

    std::string operator()(const Layer& reader, const Reference& reference) const {
        std::string block = reference.block;
        while (true) {
            if (const auto found = find(reader, joined(block, reference.name)); !found.empty()) return found;
            if (block.empty()) break;
            const std::size_t slash = block.rfind('/');
            block = slash == std::string::npos ? "" : block.substr(0, slash);
        }
        reader.value.fail("has the parent " + in_quotes(reference.name) + ", expected the name of a layer");
    }

private:
    std::string find(const Layer& reader, std::string name) const {
        // A chain of endpoints is as long as blocks are nested.
        for (auto block = list_.endpoints.find(name); block != list_.endpoints.end();
             block = list_.endpoints.find(name)) {
            if (block->second.empty())
                reader.value.fail("has the block " + in_quotes(name) +
                                  " as parent, which names no \"endpoint\"");
            name = block->second;
        }
        return names_.contains(name) ? name : std::string();
    }

    const LayerList& list_;
    std::unordered_set<std::string> names_;
};

bool is_split(const Layer& layer) {
    return layer.split && layer.value.at("type").text() == "Convolution";
}

std::vector<ShardRequest> shard_requests(const LayerList& list) {
    std::vector<ShardRequest> requests;
    for (const Layer& layer : list.layers) {
        if (is_split(layer))
            requests.push_back({layer.name, static_cast<std::int64_t>(layer.devices.size())});
    }
    return requests;
}

/// Returns the device of each op of `graph`, some of which are parts of split layers.
std::map<std::string, std::int64_t> device_indices(const LayerList& list, const Graph& graph) {
    std::map<std::string, std::int64_t> result;
    for (const Layer& layer : list.layers) {
        if (!is_split(layer)) {
            result[layer.name] = layer.devices.front();
            continue;
        }
        for (std::size_t i = 0; i < layer.devices.size(); ++i)
            result[shard_name(layer.name, i)] = layer.devices[i];
    }
    // A concatenation is on the device of the op that reads it.
    for (OpId id = 0; id < graph.size(); ++id) {
        if (!result.contains(graph.op(id).name))
            result[graph.op(id).name] = result.at(graph.op(graph.consumers(id).front()).name);
    }
    return result;
}

}  // namespace

NetworkFile read_exprimo_network(const JsonFile& file, std::optional<std::int64_t> batch) {
    const Json json = file.parse();
    const JsonValue root(file, json);
    LayerList list;
    collect(root.at("layers"), {"", root, {}, {0}}, list);
    const std::string name = root.text_or("name", file.path().stem().string());

    // A graph of the names alone gives the order in which shapes are computed, and finds faults in the names.
    const auto place = [](const std::string& layer) { return "layer " + in_quotes(layer); };
    std::unordered_map<std::string, const Layer*> layer_of;
    const Graph order = build_graph(
        file,
        [&] {
            const Resolver resolve(list);
            GraphBuilder builder(name);
            for (const Layer& layer : list.layers) {
                std::vector<std::string> inputs;
                for (const Reference& parent : layer.parents) inputs.push_back(resolve(layer, parent));
                Op op;
                op.name = layer.name;
                op.outputs.resize(1);
                builder.add(std::move(op), std::move(inputs));
                layer_of.emplace(layer.name, &layer);
            }
            return builder.build();
        },
        place);

    if (!batch) {
        for (const Layer& layer : list.layers) {
            if (!layer.parents.empty() || layer.value.at("type").text() != "Input") continue;
            const JsonValue tensor = layer.value.at("tensor");
            if (tensor.size() == 0) tensor.fail("is empty, expected the batch size at least");
            batch = tensor.at(std::size_t{0}).whole(1, exprimo::kMaxExtent);
            break;
        }
    }
    if (batch && (*batch < 1 || *batch > exprimo::kMaxExtent)) {
        file.fail("", "cannot have a batch size of " + std::to_string(*batch) + ", expected 1 to " +
                          std::to_string(exprimo::kMaxExtent));
    }

    NetworkFile result;
    result.batch_is_open = true;
    result.graph = build_graph(
        file,
        [&] {
            GraphBuilder builder(name, batch.value_or(1), Training::implicit);
            std::vector<exprimo::Shape> shapes;
            for (const Op& bare : order.ops()) {
                const Layer& layer = *layer_of.at(bare.name);
                const exprimo::LayerType& type = exprimo::layer_type(layer.value);
                if (bare.inputs.size() < type.least_parents || bare.inputs.size() > type.most_parents) {
                    layer.value.fail("has " + std::to_string(bare.inputs.size()) +
                                     (bare.inputs.size() == 1 ? " parent" : " parents") + ", expected " +
                                     (type.most_parents == exprimo::kAny ? "at least " : "") +
                                     std::to_string(type.least_parents));
                }
                std::vector<exprimo::Shape> inputs;
                for (const TensorRef& parent : bare.inputs) inputs.push_back(shapes[parent.op]);

                Op op;
                op.name = layer.name;
                op.kind = type.kind;
                op.scope = layer.name.substr(
                    0, layer.name.find_last_of('/') == std::string::npos ? 0 : layer.name.find_last_of('/'));
                op.inputs = bare.inputs;
                op.attributes = exprimo::layer_attributes(layer.value);
                exprimo::Inference inference{layer.value, inputs, batch.value_or(1), op};
                type.infer(inference);
                op.outputs = {exprimo::channels_first(inference)};
                shapes.push_back(std::move(inference.output));
                builder.add(std::move(op));
            }
            return shard(builder.build(), shard_requests(list));
        },
        place);
    if (list.has_devices) result.device_index = device_indices(list, result.graph);
    return result;
}

}  // namespace placewright
