// SPDX-License-Identifier: MIT
#include "core/io/placements/layer_split.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/graph/blocks.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// The layers of a language model and their devices.
struct Layers {
    std::string prefix;             ///< "model/layers"
    std::vector<DeviceId> devices;  ///< [layer]
    DeviceId input = 0;             ///< of the first op with parameters, the embedding
    DeviceId output = 0;            ///< of the last op behind the layers, the head
};

std::string name_of(const PlacedNetwork& placed, DeviceId device) {
    return placed.problem->machine->device(device).name;
}

bool is_cpu(const PlacedNetwork& placed, DeviceId device) {
    return placed.problem->machine->device(device).kind == DeviceKind::cpu;
}

Layers layers_of(const PlacedNetwork& placed) {
    const Graph& graph = *placed.problem->forward;
    std::map<std::string, std::map<std::int64_t, DeviceId>> chains;
    Layers layers;
    bool has_input = false;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase != Phase::forward) continue;
        const DeviceId device = placed.placement[placed.problem->grouping.group_of[id]];
        layers.output = device;
        if (!has_input && op.parameter_bytes > 0) {
            layers.input = device;
            has_input = true;
        }
        if (const auto number = block_number(op))
            chains[op.colocate.substr(0, op.colocate.rfind('/'))][*number] = device;
    }
    if (chains.empty())
        throw PlacementError(
            "the network has no layers that stay whole: this format is for language models "
            "that are read from config.json, a model folder or a GGUF file, without --split-layers");
    if (chains.size() > 1)
        throw PlacementError("the network has more than one chain of layers (" + chains.begin()->first +
                             ", " + std::next(chains.begin())->first + "); export a device map");
    layers.prefix = chains.begin()->first;
    for (const auto& [number, device] : chains.begin()->second) {
        if (number != static_cast<std::int64_t>(layers.devices.size()))
            throw PlacementError("layer " + std::to_string(layers.devices.size()) + " of " + layers.prefix +
                                 " is missing");
        layers.devices.push_back(device);
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

struct Stage {
    DeviceId device = 0;
    std::size_t layers = 0;
};

/// Throws PlacementError unless each device has consecutive layers, and none is a CPU. `program` is what
/// would load the file.
std::vector<Stage> stages_of(const PlacedNetwork& placed, const Layers& layers, const std::string& program) {
    std::vector<Stage> stages;
    std::string problems;
    for (const DeviceId device : layers.devices) {
        if (!stages.empty() && stages.back().device == device) {
            ++stages.back().layers;
            continue;
        }
        if (std::ranges::find(stages, device, &Stage::device) != stages.end() &&
            problems.find(name_of(placed, device) + " has") == std::string::npos)
            problems +=
                "; " + name_of(placed, device) + " has layers " + ranges_of(layers_on(layers, device));
        stages.push_back({device, 1});
    }
    for (const Device& device : placed.problem->machine->devices()) {
        const DeviceId id = *placed.problem->machine->find(device.name);
        const auto numbers = layers_on(layers, id);
        if (device.kind == DeviceKind::cpu && !numbers.empty())
            throw PlacementError(program + " runs no layers on a CPU, but " + device.name + " has layers " +
                                 ranges_of(numbers) +
                                 "; place them on accelerators, or export for llama.cpp or a device map");
    }
    if (!problems.empty())
        throw PlacementError(program + " gives each device layers that follow each other" + problems +
                             "; export for llama.cpp or a device map");
    return stages;
}

/// What these programs put on another device than the placement: the embedding runs with the first layer,
/// norm and head with the last.
std::vector<std::string> moved_ends(const PlacedNetwork& placed, const Layers& layers,
                                    const std::string& program) {
    std::vector<std::string> warnings;
    const auto compare = [&](const char* what, DeviceId wanted, DeviceId given) {
        if (wanted != given)
            warnings.push_back(program + " runs the " + what + " on " + name_of(placed, given) +
                               ", but the placement has it on " + name_of(placed, wanted) +
                               "; move it there to see the step time of that run");
    };
    compare("embedding with the first layer", layers.input, layers.devices.front());
    compare("head with the last layer", layers.output, layers.devices.back());
    return warnings;
}

/// Accelerators in the order of the machine: their numbers in CUDA.
std::vector<DeviceId> accelerators(const PlacedNetwork& placed) {
    std::vector<DeviceId> found;
    for (DeviceId device = 0; device < placed.problem->devices; ++device) {
        if (!is_cpu(placed, device)) found.push_back(device);
    }
    return found;
}

std::size_t cuda_number(const std::vector<DeviceId>& gpus, DeviceId device) {
    return static_cast<std::size_t>(std::ranges::find(gpus, device) - gpus.begin());
}

/// "CUDA_VISIBLE_DEVICES=2,0" for stages in another order than the machine's GPUs, or that leave some out.
std::string visible_devices(const PlacedNetwork& placed, const std::vector<Stage>& stages) {
    const std::vector<DeviceId> gpus = accelerators(placed);
    std::string list;
    bool plain = true;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const std::size_t number = cuda_number(gpus, stages[i].device);
        plain = plain && number == i;
        list += (i > 0 ? "," : "") + std::to_string(number);
    }
    return plain ? "" : "CUDA_VISIBLE_DEVICES=" + list;
}

std::string in_order(const PlacedNetwork& placed, const std::vector<Stage>& stages) {
    std::string text = "# stages on ";
    for (std::size_t i = 0; i < stages.size(); ++i)
        text += (i > 0 ? ", " : "") + name_of(placed, stages[i].device);
    return text + '\n';
}

/// "blk\.(3|4)\.=CPU".
std::string override_of(const std::vector<std::size_t>& numbers, const std::string& buffer) {
    std::string list;
    for (const std::size_t number : numbers) list += (list.empty() ? "" : "|") + std::to_string(number);
    return "blk\\.(" + list + ")\\.=" + buffer;
}

std::string model_of(const PlacedNetwork& placed) {
    if (placed.network_file.empty()) return "MODEL";
    const Path path =
        placed.network_file.extension() == ".json" ? placed.network_file.parent_path() : placed.network_file;
    std::string text = "'";
    for (const char c : printable(path.string(), std::string::npos))
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return path.empty() ? "." : text + '\'';
}

}  // namespace

WrittenPlacement llama_cpp_arguments(const PlacedNetwork& placed) {
    const Layers layers = layers_of(placed);
    const std::size_t count = layers.devices.size();
    const std::vector<DeviceId> gpus = accelerators(placed);
    // The first layers on the CPU are left out of -ngl; the output counts as the layer behind the last.
    std::size_t start = 0;
    while (start < count && is_cpu(placed, layers.devices[start])) ++start;
    if (start == count && is_cpu(placed, layers.output)) ++start;
    const std::size_t active = count + 1 - start;

    // The order in which GPUs are used, unless that is the machine's.
    std::vector<DeviceId> order;
    const auto use = [&](DeviceId device) {
        if (!is_cpu(placed, device) && std::ranges::find(order, device) == order.end())
            order.push_back(device);
    };
    for (std::size_t i = start; i < count; ++i) use(layers.devices[i]);
    if (active > 0) use(layers.output);
    const bool plain = std::ranges::is_sorted(order);
    if (plain) {
        order = gpus;
    } else {
        for (const DeviceId device : gpus) use(device);
    }

    // What the rule gives each layer: the GPU of the layer before where the layer's own is a CPU or an
    // earlier GPU.
    std::vector<std::size_t> split(order.size(), 0);
    std::map<std::string, std::vector<std::size_t>> elsewhere;
    std::string output_override;
    std::size_t at = 0;
    for (std::size_t i = start; i <= count && active > 0 && !order.empty(); ++i) {
        const DeviceId device = i < count ? layers.devices[i] : layers.output;
        const auto wanted = static_cast<std::size_t>(std::ranges::find(order, device) - order.begin());
        const bool follows = wanted < order.size() && wanted >= at;
        if (follows) at = wanted;
        ++split[at];
        if (follows) continue;
        const std::string buffer =
            is_cpu(placed, device) ? "CPU" : "CUDA" + std::to_string(cuda_number(gpus, device));
        if (i < count) {
            elsewhere[buffer].push_back(i);
        } else {
            output_override = "^output(_norm)?\\.=" + buffer;
        }
    }

    std::string line = "-ngl " + std::to_string(active);
    if (gpus.size() > 1 && active > 0) {
        line += " --tensor-split ";
        for (std::size_t i = 0; i < split.size(); ++i) line += (i > 0 ? "," : "") + std::to_string(split[i]);
    }
    if (!plain) {
        line += " --device ";
        for (std::size_t i = 0; i < order.size(); ++i)
            line += (i > 0 ? ",CUDA" : "CUDA") + std::to_string(cuda_number(gpus, order[i]));
    }
    std::string overrides;
    for (const auto& [buffer, numbers] : elsewhere)
        overrides += (overrides.empty() ? "" : ",") + override_of(numbers, buffer);
    if (!output_override.empty()) overrides += (overrides.empty() ? "" : ",") + output_override;
    if (!overrides.empty()) line += " --override-tensor \"" + overrides + '"';
    if (placed.reading.language.sequence)
        line += " --ctx-size " + std::to_string(*placed.reading.language.sequence);

    std::string text = "# arguments of llama.cpp (llama-server, llama-cli), beside -m MODEL.gguf\n";
    for (std::size_t i = 0; i < gpus.size(); ++i)
        text += "# CUDA" + std::to_string(i) + " is " + name_of(placed, gpus[i]) + '\n';
    return {text + line + '\n', {}};
}

WrittenPlacement vllm_script(const PlacedNetwork& placed) {
    const Layers layers = layers_of(placed);
    const std::vector<Stage> stages = stages_of(placed, layers, "vLLM");
    std::string text = in_order(placed, stages);
    if (const std::string visible = visible_devices(placed, stages); !visible.empty())
        text += "export " + visible + '\n';
    text += "export VLLM_PP_LAYER_PARTITION=";
    for (std::size_t i = 0; i < stages.size(); ++i)
        text += (i > 0 ? "," : "") + std::to_string(stages[i].layers);
    text += "\nvllm serve " + model_of(placed) + " --pipeline-parallel-size " + std::to_string(stages.size());
    if (placed.reading.language.sequence)
        text += " --max-model-len " + std::to_string(*placed.reading.language.sequence);
    return {text + '\n', moved_ends(placed, layers, "vLLM")};
}

WrittenPlacement deepspeed_parts(const PlacedNetwork& placed) {
    const Layers layers = layers_of(placed);
    const std::vector<Stage> stages = stages_of(placed, layers, "DeepSpeed");
    Json names = Json::array({"embedding"});
    std::string prefix = layers.prefix;
    std::ranges::replace(prefix, '/', '.');
    for (std::size_t i = 0; i < layers.devices.size(); ++i) names.push_back(prefix + '.' + std::to_string(i));
    names.push_back("norm");
    names.push_back("head");
    Json parts = Json::array({0});
    std::size_t end = 1;
    for (const Stage& stage : stages) parts.push_back(end += stage.layers);
    parts.back() = names.size();
    Json devices = Json::array();
    for (const Stage& stage : stages) devices.push_back(name_of(placed, stage.device));
    const Json root{{"parts", std::move(parts)},
                    {"num_stages", stages.size()},
                    {"devices", std::move(devices)},
                    {"layers", std::move(names)}};
    return {root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n',
            moved_ends(placed, layers, "DeepSpeed")};
}

WrittenPlacement megatron_arguments(const PlacedNetwork& placed) {
    const Layers layers = layers_of(placed);
    const std::vector<Stage> stages = stages_of(placed, layers, "Megatron-LM");
    std::string layout = "E";
    for (std::size_t i = 0; i < stages.size(); ++i) {
        if (i > 0) layout += '|';
        layout += "t*" + std::to_string(stages[i].layers);
    }
    layout += 'L';
    std::string text = "# arguments of Megatron-LM's pretrain_gpt.py\n" + in_order(placed, stages);
    if (const std::string visible = visible_devices(placed, stages); !visible.empty())
        text += "# start it with " + visible + '\n';
    return {text + "--pipeline-model-parallel-size " + std::to_string(stages.size()) +
                " --pipeline-model-parallel-layout '" + layout + "'\n",
            moved_ends(placed, layers, "Megatron-LM")};
}

}  // namespace placewright
