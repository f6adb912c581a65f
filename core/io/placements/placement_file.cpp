// SPDX-License-Identifier: MIT
#include "core/io/placements/placement_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "core/base/text.hpp"
#include "core/io/networks/dot_file.hpp"
#include "core/io/networks/exprimo.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/onnx/onnx_placement.hpp"
#include "core/io/placements/constraints_file.hpp"
#include "core/io/placements/device_map_reader.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/placements/split_points.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/name_list.hpp"
#include "core/io/text/option_json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/io/traces/trace_file.hpp"

namespace placewright {
namespace {

constexpr std::string_view kPlacementFormat = "placewright.placement";
constexpr std::int64_t kPlacementVersion = 1;

/// Collects a placement and all names that do not match.
class Matcher {
public:
    explicit Matcher(const Problem& problem)
        : problem_(problem), placement_(problem.groups, kInvalidDevice), placed_by_(problem.groups) {}

    /// `device` is nothing if it is not in the machine.
    void add(const std::string& name, std::optional<DeviceId> device, const std::string& device_text) {
        const auto op = problem_.graph->find(name);
        if (!op) {
            // Inference leaves out backward ops.
            if (!problem_.forward->find(name)) unknown_ops_.add(name);
            return;
        }
        if (!device) {
            unknown_devices_.add(device_text);
            return;
        }
        const GroupId group = problem_.grouping.group_of[*op];
        const auto allowed = problem_.allowed_devices(group);
        if (!std::binary_search(allowed.begin(), allowed.end(), *device))
            not_allowed_.add(name, "on", device_text);
        DeviceId& placed = placement_[group];
        if (placed != kInvalidDevice && placed != *device) apart_.add(placed_by_[group], "and", name);
        if (placed == kInvalidDevice) placed_by_[group] = name;
        placed = *device;
    }

    /// Returns the placement. Throws InputError if anything did not match; `made_for` begins the message: the
    /// network and machine of the file, if they are others.
    Placement finish(const JsonFile& file, const std::string& made_for) && {
        NameList missing;
        // An op on an unknown device does not lack a device.
        if (unknown_devices_.empty()) {
            for (const auto& members : problem_.grouping.members) {
                if (placement_[problem_.grouping.group_of[members.front()]] == kInvalidDevice)
                    missing.add(problem_.graph->op(members.front()).name);
            }
        }
        const std::array<std::pair<const char*, const NameList*>, 5> faults{
            {{"ops that are not in the network: ", &unknown_ops_},
             {"devices that are not in the machine: ", &unknown_devices_},
             {"ops without a device: ", &missing},
             {"ops on devices that they do not allow: ", &not_allowed_},
             {"ops that belong together on different devices: ", &apart_}}};
        std::string problem;
        for (const auto& [what, names] : faults) {
            if (!names->empty()) problem += (problem.empty() ? "" : "; ") + std::string(what) + names->text();
        }
        if (!missing.empty() && unknown_ops_.empty())
            problem += "; add them: each op of the network needs a device";
        const bool grouped = problem_.groups < group_by_constraints(*problem_.graph).size();
        if (!apart_.empty() && grouped) problem += "; without grouping they may be on different devices";
        if (problem.empty()) return std::move(placement_);
        problem.insert(0, made_for);
        if (!unknown_ops_.empty())
            problem += "; the network has ops such as " + in_quotes(problem_.network->op(0).name);
        if (!unknown_devices_.empty()) {
            NameList devices;
            for (const Device& device : problem_.machine->devices()) devices.add(device.name);
            problem += "; the machine has " + devices.text();
        }
        file.fail("placement", problem);
    }

private:
    const Problem& problem_;
    Placement placement_;
    std::vector<std::string> placed_by_;
    NameList unknown_ops_, unknown_devices_, not_allowed_, apart_;
};

Placement read_own(const JsonFile& file, const JsonValue& root, const Problem& problem) {
    file.require_format(kPlacementFormat);
    JsonFile::require_version(root, kPlacementVersion);
    std::string made_for;
    const auto compare = [&](const char* key, const std::string& here) {
        const std::string there = root.text_or(key, here);
        if (there != here)
            made_for += std::string(made_for.empty() ? "was made for the " : ", the ") + key + ' ' +
                        in_quotes(there) + ", not " + in_quotes(here);
    };
    compare("graph", problem.forward->name());
    compare("machine", problem.machine->name());
    if (!made_for.empty()) made_for += " (open what it was made for first): ";

    Matcher matcher(problem);
    root.at("placement").for_each_member([&](const std::string& name, const JsonValue& device) {
        const std::string text = device.text();
        matcher.add(name, problem.machine->find(text), text);
    });
    return std::move(matcher).finish(file, made_for);
}

/// Reads {"op": device index}. A list has the devices of the parts of a split op; an op that is not split is
/// on the first of them.
Placement read_flat(const JsonFile& file, const JsonValue& root, const Problem& problem) {
    Matcher matcher(problem);
    const auto add = [&](const std::string& name, std::int64_t index) {
        std::optional<DeviceId> device;
        if (index >= 0 && index < std::int64_t{problem.devices}) device = static_cast<DeviceId>(index);
        matcher.add(name, device, std::to_string(index));
    };
    root.for_each_member([&](const std::string& name, const JsonValue& value) {
        const bool list = value.json().is_array();
        if (list && value.size() == 0) value.fail("is an empty list, expected the index of a device");
        if (problem.forward->find(name) || !problem.forward->find(shard_name(name, 0))) {
            add(name, list ? value.at(std::size_t{0}).whole() : value.whole());
            return;
        }
        std::size_t part = 0;
        for (; problem.forward->find(shard_name(name, part)); ++part) {
            if (list && part < value.size()) add(shard_name(name, part), value.at(part).whole());
            if (!list) add(shard_name(name, part), value.whole());
        }
        if (list && part != value.size()) {
            value.fail("has " + std::to_string(value.size()) + " devices, but the op is split into " +
                       std::to_string(part) + " parts");
        }
    });
    return std::move(matcher).finish(file, "");
}

bool is_tensorflow(const JsonValue& root) {
    return root.json().is_object() && std::ranges::any_of(root.json(), [](const Json& value) {
               return value.is_string() && TensorFlowDevice::from(value.get_ref<const std::string&>());
           });
}

/// Reads {"op": "/device:GPU:0"}.
Placement read_tensorflow(const JsonFile& file, const JsonValue& root, const Problem& problem,
                          std::vector<std::string>* notes) {
    Matcher matcher(problem);
    std::optional<std::string> task;  // the task of all ops, if given
    root.for_each_member([&](const std::string& name, const JsonValue& value) {
        const std::string text = value.text();
        const auto device = TensorFlowDevice::from(text);
        if (!device)
            value.fail("is " + in_quotes(text) + ", expected a device of TensorFlow (\"/device:GPU:0\")");
        if (!device->task.empty() && task.value_or(device->task) != device->task) {
            value.fail("is in " + in_quotes(device->task) + ", other ops in " + in_quotes(*task) +
                       ": a placement is for one host, expected one job, replica and task");
        }
        if (!device->task.empty()) task = device->task;
        matcher.add(name, device->in(*problem.machine), text);
    });
    Placement placement = std::move(matcher).finish(file, "");
    if (notes != nullptr)
        notes->push_back("read as TensorFlow devices of " + std::to_string(root.json().size()) + " ops");
    return placement;
}

/// Reads the devices of the layers in an Exprimo network.
Placement read_own_devices(const JsonFile& file, const Problem& problem) {
    const auto devices = read_exprimo_network(file, {}).device_index;
    if (devices.empty()) file.fail("layers", "have no \"device\", expected the index of one");
    Matcher matcher(problem);
    for (const auto& [name, index] : devices) {
        std::optional<DeviceId> device;
        if (index < std::int64_t{problem.devices}) device = static_cast<DeviceId>(index);
        matcher.add(name, device, std::to_string(index));
    }
    return std::move(matcher).finish(file, "");
}

/// Returns whether the file is a flat object; an op in it may have the name "format".
bool is_flat(const JsonValue& root) {
    const auto format = root.find("format");
    return !format || format->json().is_number() || format->json().is_array() ||
           (format->json().is_string() &&
            TensorFlowDevice::from(format->json().get_ref<const std::string&>()));
}

/// Throws InputError for export formats that only display a placement.
void refuse_pictures(const Path& path) {
    const auto refuse = [&](const std::string& what) {
        throw InputError(printable(path.string(), 4096), "",
                         "is " + what +
                             ", from which no placement can be read: export the placement itself as "
                             "placewright.placement");
    };
    if (is_trace(path)) refuse("a trace of a run in Chrome's format");
    if (is_dot(path)) refuse("a Graphviz graph, which is a network");
    std::ifstream stream = open_regular_file(path);
    std::string begin(std::string_view("op,kind,").size(), '\0');
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    if (begin == "op,kind,") refuse("a table of ops (CSV)");
}

/// Returns the file, or the placement file in the metadata of an ONNX model.
JsonFile placement_file(const Path& path) {
    regular_file_size(path);  // refuses a pipe, which would block
    refuse_pictures(path);
    if (!is_onnx(path)) return JsonFile(path);
    auto text = onnx_placement_text(path);
    if (!text)
        throw InputError(printable(path.string(), 4096), "metadata_props",
                         "hold no placement, expected \"placewright.placement\"");
    return {path, *std::move(text)};
}

/// Adds a number unless it is not finite, as JSON has no infinity.
void add_finite(Json& object, const std::string& key, double value) {
    if (std::isfinite(value)) object[key] = json_number(value);
}

Placement read_any(const JsonFile& file, const Problem& problem, std::vector<std::string>* notes) {
    const Json json = file.parse();
    const JsonValue root(file, json);
    if (file.outline().format == "placewright.graph")
        file.fail("", "is a network, not a placement: export one, or let optimize --out write one");
    if (!is_flat(root)) return read_own(file, root, problem);
    refuse_split_points(file, root);
    if (is_tensorflow(root)) return read_tensorflow(file, root, problem, notes);
    if (root.find("placement")) file.fail("", "has no \"format\", expected " + in_quotes(kPlacementFormat));
    const auto layers = root.find("layers");
    if (layers && layers->json().is_object()) return read_own_devices(file, problem);
    return is_device_map(root, problem) ? read_device_map(file, root, problem, notes)
                                        : read_flat(file, root, problem);
}

}  // namespace

Placement read_placement(const Path& path, const Problem& problem, std::vector<std::string>* notes) {
    const JsonFile file = placement_file(path);
    Placement placement = read_any(file, problem, notes);
    if (const std::string rule = broken_rule(problem, placement); !rule.empty())
        file.fail("placement", "breaks the constraint \"" + rule + '"');
    return placement;
}

std::vector<ShardRequest> placed_in_parts(const Path& path, const Graph& graph) {
    const JsonFile file = placement_file(path);
    const Json json = file.parse();
    const JsonValue root(file, json);
    std::vector<ShardRequest> requests;
    if (!is_flat(root)) return requests;
    root.for_each_member([&](const std::string& name, const JsonValue& value) {
        const auto op = graph.find(name);
        if (!op || !value.json().is_array() || value.size() == 0 || graph.op(*op).kind != "conv2d") return;
        requests.push_back({name, static_cast<std::int64_t>(value.size())});
    });
    return requests;
}

std::vector<std::pair<std::string, std::string>> placement_by_name(const Placement& placement,
                                                                   const Problem& problem) {
    // The finest groups are used, so that the file can be read under any grouping.
    const Grouping finest = group_by_constraints(*problem.graph);
    std::vector<bool> has_forward(finest.size(), false);
    for (OpId op = 0; op < problem.graph->size(); ++op) {
        if (problem.graph->op(op).phase == Phase::forward) has_forward[finest.group_of[op]] = true;
    }
    std::vector<std::pair<std::string, std::string>> result;
    for (OpId op = 0; op < problem.graph->size(); ++op) {
        if (problem.graph->op(op).autocast) continue;
        if (problem.graph->op(op).phase != Phase::forward && has_forward[finest.group_of[op]]) continue;
        const GroupId group = problem.grouping.group_of[op];
        result.emplace_back(problem.graph->op(op).name, problem.machine->device(placement[group]).name);
    }
    return result;
}

std::string placement_json(const Placement& placement, const Problem& problem, const PlacementFile& about) {
    Json root{{"format", kPlacementFormat},
              {"version", kPlacementVersion},
              {"graph", problem.forward->name()},
              {"machine", problem.machine->name()}};
    Json by_name = Json::object();
    for (auto& [op, device] : placement_by_name(placement, problem)) append_member(by_name, op, device);
    root["placement"] = std::move(by_name);
    if (!problem.constraints.rules.empty()) root["constraints"] = constraints_json(problem.constraints);
    if (about.predicted) {
        Json predicted = Json::object();
        add_finite(predicted, "step_time_s", about.predicted->step_time_s);
        if (about.predicted->interval) {
            add_finite(predicted, "step_time_low_s", about.predicted->interval->low_s);
            add_finite(predicted, "step_time_high_s", about.predicted->interval->high_s);
        }
        if (about.predicted->lower_bound_s)
            add_finite(predicted, "lower_bound_s", *about.predicted->lower_bound_s);
        if (!about.predicted->peak_bytes.empty()) {
            Json& peaks = predicted["peak_bytes"] = Json::object();
            for (const auto& [device, bytes] : about.predicted->peak_bytes) add_finite(peaks, device, bytes);
        }
        predicted["fits"] = about.predicted->fits;
        root["predicted"] = std::move(predicted);
    }
    if (about.produced_by) {
        root["produced_by"] = Json{{"algorithm", about.produced_by->algorithm},
                                   {"seed", about.produced_by->seed},
                                   {"evaluations", about.produced_by->evaluations},
                                   {"options", options_json(about.produced_by->options)}};
    }
    return file_text(root);
}

void write_placement(const Placement& placement, const Problem& problem, const PlacementFile& about,
                     const Path& file) {
    write_file(file, placement_json(placement, problem, about));
}

}  // namespace placewright
