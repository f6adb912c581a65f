// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/placements/layer_split.hpp"
#include "core/io/placements/layers.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/name_list.hpp"

namespace placewright {
namespace {

/// Accelerators in the order of the machine: their numbers in CUDA.
std::vector<DeviceId> accelerators(const PlacedNetwork& placed) {
    std::vector<DeviceId> found;
    for (DeviceId device = 0; device < placed.problem->devices; ++device) {
        if (!is_cpu(placed, device)) found.push_back(device);
    }
    return found;
}

/// "blk\.(3|4)\.=CPU", or of some tensors "blk\.(3|4)\.(ffn_up_exps)\.=CPU".
std::string override_of(const std::vector<std::size_t>& numbers, const std::string& tensors,
                        const std::string& buffer) {
    std::string list;
    for (const std::size_t number : numbers) list += (list.empty() ? "" : "|") + std::to_string(number);
    return "blk\\.(" + list + ")\\." + (tensors.empty() ? "" : '(' + tensors + ")\\.") + '=' + buffer;
}

std::string buffer_of(const PlacedNetwork& placed, DeviceId device) {
    return is_cpu(placed, device) ? "CPU"
                                  : "CUDA" + std::to_string(gpu_number(*placed.problem->machine, device));
}

/// Parts of names of tensors in checkpoints of Hugging Face, and what GGUF calls these tensors. The first
/// that fits counts.
constexpr std::array kTensors{std::pair("input_layernorm", "attn_norm"),
                              std::pair("pre_feedforward_layernorm", "ffn_norm"),
                              std::pair("post_feedforward_layernorm", "post_ffw_norm"),
                              std::pair("mlp.gate.e_score_correction_bias", "exp_probs_b"),
                              std::pair("mlp.gate.weight", "ffn_gate_inp"),
                              std::pair("mlp.router", "ffn_gate_inp"),
                              std::pair("block_sparse_moe.gate", "ffn_gate_inp"),
                              std::pair("block_sparse_moe.router", "ffn_gate_inp"),
                              std::pair("self_attn.q_norm", "attn_q_norm"),
                              std::pair("self_attn.k_norm", "attn_k_norm"),
                              std::pair("self_attn.sinks", "attn_sinks"),
                              std::pair("self_attn.qkv_proj", "attn_qkv"),
                              std::pair("self_attn.q_a_proj", "attn_q_a"),
                              std::pair("self_attn.q_a_layernorm", "attn_q_a_norm"),
                              std::pair("self_attn.q_b_proj", "attn_q_b"),
                              std::pair("self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"),
                              std::pair("self_attn.kv_a_layernorm", "attn_kv_a_norm"),
                              std::pair("self_attn.kv_b_proj", "attn_kv_b|attn_k_b|attn_v_b"),
                              std::pair("experts.gate_up_proj", "ffn_gate_exps|ffn_up_exps"),
                              std::pair("block_sparse_moe.input_linear", "ffn_gate_exps|ffn_up_exps"),
                              std::pair("block_sparse_moe.output_linear", "ffn_down_exps"),
                              std::pair("shared_experts.gate_proj", "ffn_gate_shexp"),
                              std::pair("shared_experts.up_proj", "ffn_up_shexp"),
                              std::pair("shared_experts.down_proj", "ffn_down_shexp"),
                              std::pair("shared_expert.gate_proj", "ffn_gate_shexp"),
                              std::pair("shared_expert.up_proj", "ffn_up_shexp"),
                              std::pair("shared_expert.down_proj", "ffn_down_shexp"),
                              std::pair("shared_expert_gate", "ffn_gate_inp_shexp"),
                              std::pair("experts.gate_proj", "ffn_gate_exps"),
                              std::pair("experts.up_proj", "ffn_up_exps"),
                              std::pair("experts.down_proj", "ffn_down_exps"),
                              std::pair("experts.w1", "ffn_gate_exps"),
                              std::pair("experts.w3", "ffn_up_exps"),
                              std::pair("experts.w2", "ffn_down_exps"),
                              std::pair("mlp.gate_up_proj", "ffn_up"),
                              std::pair("mlp.gate_proj", "ffn_gate"),
                              std::pair("mlp.up_proj", "ffn_up"),
                              std::pair("mlp.down_proj", "ffn_down"),
                              std::pair("self_attn.q_proj", "attn_q"),
                              std::pair("self_attn.k_proj", "attn_k"),
                              std::pair("self_attn.v_proj", "attn_v"),
                              std::pair("self_attn.o_proj", "attn_output")};

/// The name in GGUF of a tensor of a block, without block and end; empty if it is not known here. `two_more`:
/// the block has norms after attention and after the feed-forward layer, too (Gemma 2).
std::string gguf_tensor(const std::string& parameter, bool two_more) {
    if (parameter.starts_with("blk.")) {
        const std::size_t begin = parameter.find('.', 4), end = parameter.find('.', begin + 1);
        return begin == std::string::npos ? "" : parameter.substr(begin + 1, end - begin - 1);
    }
    // "experts.7.up_proj" is one of the tensors that GGUF has as one.
    std::string name = parameter;
    constexpr std::string_view experts = ".experts.";
    if (const std::size_t at = name.find(experts); at != std::string::npos) {
        const std::size_t number = at + experts.size(), end = name.find_first_not_of("0123456789", number);
        if (end != std::string::npos && end > number) name.erase(number, end + 1 - number);
    }
    if (name.find(".post_attention_layernorm") != std::string::npos)
        return two_more ? "post_attention_norm" : "ffn_norm|post_attention_norm";  // gpt-oss has the latter
    for (const auto& [part, tensor] : kTensors) {
        if (name.find(std::string(".") + part) != std::string::npos) return tensor;
    }
    return {};
}

/// Layers whose tensors are on another device than the layer's attention, by that device and those tensors
/// ("ffn_down_exps|ffn_up_exps"). Throws PlacementError for tensors that have no name in GGUF here.
std::map<std::pair<DeviceId, std::string>, std::vector<std::size_t>> parts_elsewhere(
    const PlacedNetwork& placed, const Layers& layers) {
    std::map<std::pair<DeviceId, std::string>, std::vector<std::size_t>> parts;
    NameList unknown;
    const bool two_more = std::ranges::any_of(placed.problem->forward->ops(), [](const Op& op) {
        return op.scope.ends_with("/pre_feedforward_layernorm");
    });
    for (const std::size_t layer : layers.cut) {
        std::map<DeviceId, std::set<std::string>> tensors;
        for (const OpId id : layers.ops[layer]) {
            const Op& op = placed.problem->forward->op(id);
            const DeviceId device = placed.placement[placed.problem->grouping.group_of[id]];
            if (op.parameter_bytes == 0 || device == layers.devices[layer]) continue;
            const auto found = op.attributes.find("parameters");
            const Json names = found == op.attributes.end() ? Json::array() : json_value(found->second);
            bool known = !names.empty();
            for (const Json& name : names) {
                const std::string tensor =
                    gguf_tensor(name.is_string() ? name.get<std::string>() : "", two_more);
                known = known && !tensor.empty();
                tensors[device].insert(tensor);
            }
            if (!known) unknown.add(op.name);
        }
        for (const auto& [device, names] : tensors) {
            std::string list;
            for (const std::string& name : names) list += (list.empty() ? "" : "|") + name;
            parts[{device, list}].push_back(layer);
        }
    }
    if (!unknown.empty())
        throw PlacementError("the placement cuts layers " + ranges_of(layers.cut) + " of " + layers.prefix +
                             ", and llama.cpp cannot be told where " + unknown.text() +
                             " are; keep them with their layer, or search with whole blocks (without "
                             "--split-layers)");
    return parts;
}

/// Blocks of the file that are not in the network (attributes["unread_blocks"], language_graph.hpp):
/// llama.cpp counts them as layers.
std::size_t unread_blocks(const PlacedNetwork& placed) {
    for (const Op& op : placed.problem->forward->ops()) {
        if (const auto blocks = integer_attribute(op, "unread_blocks"); blocks && blocks->size() == 1)
            return static_cast<std::size_t>(std::clamp<std::int64_t>(blocks->front(), 0, 1000));
    }
    return 0;
}

/// Whether the head reads the table of the embedding.
bool shares_table(const PlacedNetwork& placed, const Layers& layers) {
    return std::ranges::none_of(layers.after, [&](OpId id) {
        const Op& op = placed.problem->forward->op(id);
        return op.kind == "linear" && op.parameter_bytes > 0;
    });
}

double cache_of(const PlacedNetwork& placed, const std::vector<OpId>& layer) {
    double bytes = 0;
    for (const OpId id : layer) bytes += placed.problem->cache_bytes(id);
    return bytes;
}

/// The placement as llama.cpp runs it: the embedding on the CPU, what is behind the layers with the head, and
/// what holds no weights with its layer.
Placement run_of(const PlacedNetwork& placed, const Layers& layers) {
    Placement run = placed.placement;
    for (DeviceId device = 0; device < placed.problem->devices; ++device) {
        if (!is_cpu(placed, device)) continue;
        put(placed, run, layers.before, device);
        break;
    }
    put(placed, run, layers.after, layers.output);
    for (const std::size_t layer : layers.cut) {
        std::vector<OpId> free;
        for (const OpId id : layers.ops[layer]) {
            if (placed.problem->forward->op(id).parameter_bytes == 0) free.push_back(id);
        }
        put(placed, run, free, layers.devices[layer]);
    }
    return run;
}

}  // namespace

WrittenPlacement llama_cpp_arguments(const PlacedNetwork& placed) {
    const Layers layers = layers_of(placed);
    const std::size_t count = layers.devices.size(), all = count + unread_blocks(placed);
    const std::vector<DeviceId> gpus = accelerators(placed);
    // The first layers on the CPU are left out of -ngl; the output counts as the layer behind the last, and
    // blocks that do not run count as layers before it.
    std::size_t start = 0;
    while (start < count && is_cpu(placed, layers.devices[start])) ++start;
    if (start == count) start = is_cpu(placed, layers.output) ? all + 1 : all;
    const std::size_t active = all + 1 - start;

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
    std::map<DeviceId, double> cache_bytes;
    std::string output_override;
    std::size_t at = 0;
    for (std::size_t i = start; i <= all && active > 0 && !order.empty(); ++i) {
        if (i >= count && i < all) {
            ++split[at];
            continue;
        }
        const DeviceId device = i < count ? layers.devices[i] : layers.output;
        const auto wanted = static_cast<std::size_t>(std::ranges::find(order, device) - order.begin());
        const bool follows = wanted < order.size() && wanted >= at;
        if (follows) at = wanted;
        ++split[at];
        if (follows) continue;
        const std::string buffer = buffer_of(placed, device);
        if (i < count) {
            elsewhere[buffer].push_back(i);
            cache_bytes[order[at]] += cache_of(placed, layers.ops[i]);
        } else {
            // A head that shares the embedding's table is a copy of it with the same name.
            output_override =
                (shares_table(placed, layers) ? "^(output(_norm)?|token_embd)\\.=" : "^output(_norm)?\\.=") +
                buffer;
        }
    }

    std::string text = "# arguments of llama.cpp (llama-server, llama-cli), beside -m MODEL.gguf\n";
    std::string line = "-ngl " + std::to_string(active);
    if (gpus.size() > 1 && active > 0) {
        line += " --tensor-split ";
        for (std::size_t i = 0; i < split.size(); ++i) line += (i > 0 ? "," : "") + std::to_string(split[i]);
    }
    if (!plain) {
        line += " --device ";
        for (std::size_t i = 0; i < order.size(); ++i)
            line +=
                (i > 0 ? ",CUDA" : "CUDA") + std::to_string(gpu_number(*placed.problem->machine, order[i]));
    }
    // The first expression that fits counts: tensors before whole layers.
    std::string overrides;
    for (const auto& [part, numbers] : parts_elsewhere(placed, layers))
        overrides +=
            (overrides.empty() ? "" : ",") + override_of(numbers, part.second, buffer_of(placed, part.first));
    for (const auto& [buffer, numbers] : elsewhere)
        overrides += (overrides.empty() ? "" : ",") + override_of(numbers, "", buffer);
    if (!output_override.empty()) overrides += (overrides.empty() ? "" : ",") + output_override;
    if (!overrides.empty()) line += " --override-tensor \"" + overrides + '"';
    // The context is that of all sequences together; without --parallel there would be four.
    const std::int64_t sequences = sequences_of(placed);
    if (placed.reading.language.sequence)
        line += " --ctx-size " + std::to_string(*placed.reading.language.sequence * sequences);
    line += " --parallel " + std::to_string(sequences);
    if (const auto& cache = placed.reading.language.cache; cache && bits_of(*cache) < 16) {
        const std::string type = bits_of(*cache) == 8 ? "q8_0" : "q4_0";
        line += " --cache-type-k " + type + " --cache-type-v " + type;
        text +=
            "# a V cache of such a type needs flash attention: --flash-attn where that is not the default\n";
    }

    for (std::size_t i = 0; i < gpus.size(); ++i)
        text += "# CUDA" + std::to_string(i) + " is " + name_of(placed, gpus[i]) + '\n';
    WrittenPlacement written{text + weights_note(placed) + line + '\n', {}};
    for (const auto& [device, bytes] : cache_bytes) {
        if (bytes > 0)
            written.warnings.push_back(
                "llama.cpp moves weights alone with --override-tensor: the cache of these "
                "layers is on " +
                name_of(placed, device) + ", which holds " + format_bytes(bytes) +
                " more than placed; one run of layers a device (--repair) avoids that");
    }
    const Placement run = run_of(placed, layers);
    if (run != placed.placement)
        written.warnings.push_back(
            "llama.cpp runs the embedding on the CPU, and ops without weights with the layer's attention; " +
            note_run(written, placed, run));
    return written;
}

}  // namespace placewright
