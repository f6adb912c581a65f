// SPDX-License-Identifier: MIT
#include "core/io/placements/layer_split.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/placements/layers.hpp"
#include "core/io/text/json.hpp"
#include "core/search/layer_runs.hpp"

namespace placewright {
namespace {

struct Stage {
    DeviceId device = 0;
    std::size_t layers = 0;
};

/// Throws PlacementError unless each device has consecutive layers, and none is a CPU. `program` is what
/// would load the file.
std::vector<Stage> stages_of(const PlacedNetwork& placed, const Layers& layers, const std::string& program) {
    if (!layers.cut.empty())
        throw PlacementError(program + " keeps layers whole, but the placement cuts layers " +
                             ranges_of(layers.cut) + " of " + layers.prefix +
                             "; search with whole blocks (without --split-layers)");
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
                             "; --repair puts them in order, or export for llama.cpp or a device map");
    return stages;
}

/// The file, with warnings of what these programs put on another device than the placement: the embedding
/// runs with the first layer, norm and head with the last. Where both share a table it is with the last
/// layer.
WrittenPlacement with_moved_ends(std::string content, const PlacedNetwork& placed, const Layers& layers,
                                 const std::string& program) {
    WrittenPlacement written{std::move(content), {}};
    Placement run = placed.placement;
    put(placed, run, layers.before, layers.devices.front());
    put(placed, run, layers.after, layers.devices.back());
    if (run == placed.placement) return written;
    const std::string step = note_run(written, placed, run);
    const auto compare = [&](const char* what, DeviceId wanted, DeviceId given) {
        if (wanted != given)
            written.warnings.push_back(program + " runs the " + what + " on " + name_of(placed, given) +
                                       ", but the placement has it on " + name_of(placed, wanted) + "; " +
                                       step);
    };
    compare("embedding with the first layer", layers.input, layers.devices.front());
    compare("head with the last layer", layers.output, layers.devices.back());
    if (written.warnings.empty())
        written.warnings.push_back(program +
                                   " runs what is before the layers with the first, and what is after "
                                   "them with the last; " +
                                   step);
    return written;
}

/// "CUDA_VISIBLE_DEVICES=2,0" for stages in another order than the machine's GPUs, or that leave some out.
std::string visible_devices(const PlacedNetwork& placed, const std::vector<Stage>& stages) {
    std::string list;
    bool plain = true;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const std::size_t number = gpu_number(*placed.problem->machine, stages[i].device);
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

bool has_weight_files(const Path& folder) {
    std::error_code error;
    std::filesystem::directory_iterator file(folder.empty() ? Path(".") : folder, error);
    for (; !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
        const Path extension = file->path().extension();
        if (extension == ".safetensors" || extension == ".bin" || extension == ".gguf" || extension == ".pt")
            return true;
    }
    return false;
}

std::string model_of(const PlacedNetwork& placed) {
    if (placed.network_file.empty()) return "MODEL";
    // The folder is what vLLM opens, but only of a config.json is it known to hold the model.
    const bool is_config = placed.network_file.filename() == "config.json";
    if (!is_config && placed.network_file.extension() == ".json") return "MODEL";
    const Path path = is_config ? placed.network_file.parent_path() : placed.network_file;
    // Those that ship have no weights.
    std::error_code error;
    if ((is_config || std::filesystem::is_directory(path, error)) && !has_weight_files(path)) return "MODEL";
    std::string text = "'";
    for (const char c : printable(path.string(), std::string::npos))
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return path.empty() ? "." : text + '\'';
}

/// These programs train; a placement for inference counts neither gradients nor the optimizer.
void warn_of_inference(WrittenPlacement& written, const PlacedNetwork& placed, const std::string& program) {
    if (placed.problem->inference)
        written.warnings.push_back(
            program +
            " trains the model, but the placement was made for inference and leaves no "
            "room for gradients and the optimizer; search with --phase training");
}

}  // namespace

StageStart stage_start(const PlacedNetwork& placed) {
    try {
        const std::vector<Stage> stages = stages_of(placed, layers_of(placed), "");
        return {stages.size(), visible_devices(placed, stages)};
    } catch (const PlacementError&) {
        return {};
    }
}

std::string weights_note(const PlacedNetwork& placed) {
    const auto& weights = placed.reading.language.weights;
    if (!weights) return {};
    return "# placed for weights in " + std::string(to_string(*weights)) +
           ": load a model whose weights are stored so\n";
}

Placement repair_layer_runs(const PlacedNetwork& placed) {
    Simulator simulator(placed.problem, placed.simulation);
    std::optional<std::pair<bool, double>> best;
    Placement repaired = placed.placement;
    for (Placement& tried : placements_in_layer_runs(*placed.problem, placed.placement)) {
        if (!broken_rule(*placed.problem, tried).empty()) continue;
        const Outcome outcome = simulator.run(tried);
        const std::pair key(!outcome.fits, outcome.step_time_s);
        if (best && *best <= key) continue;
        best = key;
        repaired = std::move(tried);
    }
    return repaired;
}

WrittenPlacement vllm_script(const PlacedNetwork& placed) {
    const Layers layers = layers_of(placed);
    const std::vector<Stage> stages = stages_of(placed, layers, "vLLM");
    std::string text = in_order(placed, stages) + weights_note(placed);
    if (const std::string visible = visible_devices(placed, stages); !visible.empty())
        text += "export " + visible + '\n';
    text += "export VLLM_PP_LAYER_PARTITION=";
    for (std::size_t i = 0; i < stages.size(); ++i)
        text += (i > 0 ? "," : "") + std::to_string(stages[i].layers);
    text += "\nvllm serve " + model_of(placed) + " --pipeline-parallel-size " + std::to_string(stages.size());
    if (placed.reading.language.sequence)
        text += " --max-model-len " + std::to_string(*placed.reading.language.sequence);
    const std::int64_t sequences = sequences_of(placed);
    if (sequences > 1) text += " --max-num-seqs " + std::to_string(sequences);
    if (const auto& cache = placed.reading.language.cache; cache && bits_of(*cache) == 8)
        text += " --kv-cache-dtype fp8";
    WrittenPlacement written = with_moved_ends(text + '\n', placed, layers, "vLLM");
    if (const auto& cache = placed.reading.language.cache; cache && *cache == WeightType::int4)
        written.warnings.emplace_back(
            "vLLM has no cache in int4: it keeps 16 bits a number, four times what was placed");
    if (const auto& cache = placed.reading.language.cache; cache && *cache == WeightType::int8)
        written.warnings.emplace_back("vLLM has no cache in int8: it gets fp8, of the same size");
    return written;
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
    WrittenPlacement written = with_moved_ends(
        root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', placed, layers, "DeepSpeed");
    if (const std::string visible = visible_devices(placed, stages); !visible.empty())
        written.warnings.push_back(
            "DeepSpeed puts the stages on the GPUs in their order: start the program with " + visible);
    warn_of_inference(written, placed, "DeepSpeed");
    return written;
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
    text += "--pipeline-model-parallel-size " + std::to_string(stages.size()) +
            " --pipeline-model-parallel-layout '" + layout + "'\n";
    WrittenPlacement written = with_moved_ends(std::move(text), placed, layers, "Megatron-LM");
    warn_of_inference(written, placed, "Megatron-LM");
    return written;
}

}  // namespace placewright
