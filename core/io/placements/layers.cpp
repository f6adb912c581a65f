// SPDX-License-Identifier: MIT
#include "core/io/placements/layers.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "core/graph/blocks.hpp"

namespace placewright {
namespace {

std::string chain_of(std::string_view block) {
    return std::string(block.substr(0, block.rfind('/')));
}

bool is_attention(const Op& op) {
    return op.kind == "scaled_dot_product_attention";
}

}  // namespace

std::string name_of(const PlacedNetwork& placed, DeviceId device) {
    return placed.problem->machine->device(device).name;
}

std::int64_t sequences_of(const PlacedNetwork& placed) {
    return std::max<std::int64_t>(1, placed.problem->forward->batch()) *
           placed.simulation.batches_in_flight();
}

bool is_cpu(const PlacedNetwork& placed, DeviceId device) {
    return placed.problem->machine->device(device).kind == DeviceKind::cpu;
}

std::string refusal_of_layers(const Graph& network) {
    std::set<std::string> chains;
    for (const Op& op : network.ops()) {
        if (const std::string_view block = block_of(op); !block.empty()) chains.insert(chain_of(block));
    }
    if (chains.empty())
        return "the network has no layers: this format is for language models that are read from "
               "config.json, "
               "a model folder or a GGUF file";
    const bool encodes = std::ranges::any_of(network.ops(), [](const Op& op) {
        const auto causal = op.attributes.find("causal");
        return causal != op.attributes.end() && causal->second == "false";
    });
    if (encodes)
        return "the network is an encoder: this format is for language models that generate text; export a "
               "device map";
    if (chains.size() > 1)
        return "the network has more than one chain of layers (" + *chains.begin() + ", " +
               *std::next(chains.begin()) + "); export a device map";
    return {};
}

Layers layers_of(const PlacedNetwork& placed) {
    const Graph& graph = *placed.problem->forward;
    if (const std::string refusal = refusal_of_layers(graph); !refusal.empty()) throw PlacementError(refusal);
    const auto device_of = [&](OpId id) { return placed.placement[placed.problem->grouping.group_of[id]]; };
    Layers layers;
    std::map<std::int64_t, std::vector<OpId>> by_number;
    std::vector<bool> behind(graph.size(), false);
    bool has_input = false;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase != Phase::forward) continue;
        layers.output = device_of(id);
        if (!has_input && op.parameter_bytes > 0) {
            layers.input = device_of(id);
            has_input = true;
        }
        const std::string_view block = block_of(op);
        behind[id] = !block.empty() ||
                     std::ranges::any_of(op.inputs, [&](const TensorRef& input) { return behind[input.op]; });
        if (block.empty()) {
            (behind[id] ? layers.after : layers.before).push_back(id);
        } else {
            layers.prefix = chain_of(block);
            by_number[*block_number(block)].push_back(id);
        }
    }
    for (auto& [number, ops] : by_number) {
        if (number != static_cast<std::int64_t>(layers.devices.size()))
            throw PlacementError("layer " + std::to_string(layers.devices.size()) + " of " + layers.prefix +
                                 " is missing");
        const auto attention = std::ranges::find_if(ops, [&](OpId id) { return is_attention(graph.op(id)); });
        const DeviceId home = device_of(attention == ops.end() ? ops.front() : *attention);
        if (!std::ranges::all_of(ops, [&](OpId id) { return device_of(id) == home; }))
            layers.cut.push_back(layers.devices.size());
        layers.devices.push_back(home);
        layers.ops.push_back(std::move(ops));
    }
    return layers;
}

/// "0 to 9, 20".
std::string ranges_of(const std::vector<std::size_t>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
        if (last > i) text += " to " + std::to_string(numbers[last]);
        i = last + 1;
    }
    return text;
}

std::vector<std::size_t> layers_on(const Layers& layers, DeviceId device) {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < layers.devices.size(); ++i) {
        if (layers.devices[i] == device) numbers.push_back(i);
    }
    return numbers;
}

void put(const PlacedNetwork& placed, Placement& placement, const std::vector<OpId>& ops, DeviceId device) {
    for (const OpId op : ops) placement[placed.problem->grouping.group_of[op]] = device;
}

}  // namespace placewright
