// SPDX-License-Identifier: MIT
#include "core/io/placements/dot_placement.hpp"

#include <algorithm>
#include <array>

#include "core/base/text.hpp"
#include "core/io/networks/op_json.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// Returns JSON with backslashes only before letters: DOT unescapes \" but not \\, so that \\ would be read
/// as two backslashes.
std::string plain_json(const Json& json) {
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace), result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            result += text[i];
            continue;
        }
        ++i;
        result += text[i] == '"' ? "\\u0022" : text[i] == '\\' ? "\\u005c" : std::string{'\\', text[i]};
    }
    return result;
}

std::string plain_text(const std::string& text) {
    const bool plain =
        !text.starts_with('"') && !text.starts_with('%') &&
        std::ranges::none_of(text, [](char c) { return c == '\\' || static_cast<unsigned char>(c) < 0x20; });
    return plain && !text.empty() ? text : plain_json(text);
}

std::string in_dot(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"') result += '\\';
        result += c;
    }
    return result + '"';
}

/// Returns text for a label, in which a backslash begins an escape.
std::string label_text(const std::string& text) {
    std::string result;
    for (const char c : printable(text, 200)) {
        if (c == '\\') result += '\\';
        result += c;
    }
    return result;
}

/// Returns the fill colour of a device: lighter colours of Okabe and Ito (2008), on which black text is
/// legible; grey for CPUs.
std::string device_fill(const Machine& machine, DeviceId device) {
    constexpr std::array kFills{"#8cc4e8", "#f5cd73", "#7fcfb4", "#e3b8cf",
                                "#bfe3f7", "#ee9f6a", "#f6ee9a", "#c99bb0"};
    if (machine.device(device).kind == DeviceKind::cpu) return "#d0d0d0";
    return kFills[gpu_number(machine, device) % kFills.size()];
}

}  // namespace

std::string dot_text(const PlacedNetwork& placed) {
    // As it was simulated: in another precision, ops have other types.
    const Graph& graph = *placed.problem->forward;
    const Machine& machine = *placed.problem->machine;
    std::string text = "digraph " + in_dot(plain_text(graph.name())) +
                       " {\n  batch=" + std::to_string(graph.batch()) +
                       " training=" + std::string(to_string(graph.training())) +
                       "\n  node [shape=box style=filled fontname=\"sans-serif\"]\n";
    for (const Op& op : graph.ops()) {
        const auto id = placed.problem->graph->find(op.name);  // inference leaves backward ops out
        std::string label = label_text(op.name) + "\\n" + label_text(op.kind);
        std::string drawn;
        if (id) {
            const DeviceId device = placed.placement[placed.problem->grouping.group_of[*id]];
            label += " on " + label_text(machine.device(device).name);
            drawn = " device=" + in_dot(plain_text(machine.device(device).name)) +
                    " fillcolor=" + in_dot(device_fill(machine, device));
        }
        text += "  " + in_dot(plain_text(op.name)) + " [label=" + in_dot(label) + drawn;
        const Json json = op_json(op);
        for (const auto& [key, value] : json.items()) {
            if (key == "name") continue;
            text += ' ' + key + '=' +
                    in_dot(value.is_string() ? plain_text(value.get<std::string>()) : plain_json(value));
        }
        text += "]\n";
    }
    for (const Op& op : graph.ops()) {
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            text += "  " + in_dot(plain_text(graph.op(op.inputs[i].op).name)) + " -> " +
                    in_dot(plain_text(op.name)) + " [input=" + std::to_string(i) +
                    " output=" + std::to_string(op.inputs[i].output) + "]\n";
        }
    }
    return text + "}\n";
}

}  // namespace placewright
