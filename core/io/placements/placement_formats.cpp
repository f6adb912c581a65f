// SPDX-License-Identifier: MIT
#include "core/io/placements/placement_formats.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/path.hpp"
#include "core/base/saturated_sum.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/cost/apart.hpp"
#include "core/graph/blocks.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/onnx/onnx_placement.hpp"
#include "core/io/placements/device_map.hpp"
#include "core/io/placements/dot_placement.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/placements/layer_split.hpp"
#include "core/io/placements/layers.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/placements/split_points.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/text/json.hpp"
#include "core/io/traces/chrome_trace.hpp"

namespace placewright {
namespace {

/// Returns a text as a Python literal.
std::string in_python(const std::string& text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string loading(const std::string& name, const std::string& path) {
    return "with open(" + in_python(path) + ") as file:\n    " + name + " = json.load(file)\n";
}

/// Quotes a text for the shell.
std::string in_shell(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + '\'';
}

WrittenPlacement own_placement(const PlacedNetwork& placed) {
    return {placement_json(placed.placement, *placed.problem, placed.about), {}};
}

/// Writes {op: "/device:GPU:0"} (tensorflow, core/framework/node_def.proto). Devices are named without a
/// task, which is unknown.
WrittenPlacement tensorflow_devices(const PlacedNetwork& placed) {
    const Machine& machine = *placed.problem->machine;
    Json root = Json::object();
    for (auto& [op, device] : placement_by_name(placed.placement, *placed.problem)) {
        append_member(root, op, TensorFlowDevice::of(machine, *machine.find(device)).text());
    }
    return {root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n', {}};
}

Trace simulated(const PlacedNetwork& placed) {
    Trace trace;
    Simulator(placed.problem, placed.simulation).run(placed.placement, trace);
    return trace;
}

WrittenPlacement trace_of_simulation(const PlacedNetwork& placed) {
    return {chrome_trace(simulated(placed), *placed.problem), {}};
}

/// Writes a line for each op of a step, with its times in the first batch; empty times for an op that runs
/// only in other batches.
WrittenPlacement op_table(const PlacedNetwork& placed) {
    const Graph& graph = *placed.problem->graph;
    std::vector<const Span*> spans(graph.size(), nullptr);
    const Trace trace = simulated(placed);
    for (const Span& span : trace.spans) {
        if (span.kind == Span::Kind::op && span.batch == 0) spans[span.op] = &span;
    }
    const auto number = [](double value) { return to_string(OptionValue(value)); };
    std::string text = "op,kind,scope,phase,device,flops,parameter_bytes,output_bytes,start_s,end_s\n";
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        std::int64_t output_bytes = 0;
        for (const Tensor& output : op.outputs) output_bytes = saturated_sum(output_bytes, output.bytes);
        const std::string& device =
            placed.problem->machine->device(placed.placement[placed.problem->grouping.group_of[id]]).name;
        text += csv_field(op.name) + ',' + csv_field(op.kind) + ',' + csv_field(op.scope) + ',' +
                std::string(to_string(op.phase)) + ',' + csv_field(device) + ',' + number(op.flops) + ',' +
                std::to_string(op.parameter_bytes) + ',' + std::to_string(output_bytes) + ',' +
                (spans[id] != nullptr ? number(spans[id]->start_s) + ',' + number(spans[id]->end_s) : ",") +
                '\n';
    }
    return {std::move(text), {}};
}

WrittenPlacement graphviz(const PlacedNetwork& placed) {
    return {dot_text(placed), {}};
}

/// Returns code that passes the network to the Python package, in the format that it reads. Names of ops
/// alone do not tell it which op holds the parameters of a module with submodules, nor match ops of other
/// exporters.
std::string apply_snippet(const std::string& path, const PlacedNetwork& placed) {
    const Path& network_file = placed.network_file;
    const ReadOptions& reading = placed.reading;
    const std::string import = "import placewright\n\n",
                      call = "model = placewright.apply(model, " + in_python(path);
    if (network_file.empty()) return import + call + ")\n";
    if (network_file.extension() == ".json")
        return import + call + ", graph=" + in_python(printable(network_file.string(), std::string::npos)) +
               ")\n";
    std::string options;
    if (reading.batch) options += " --batch " + std::to_string(*reading.batch);
    for (const auto& [name, extent] : reading.dims)
        options += " --dim " + in_shell(printable(name, std::string::npos) + '=' + std::to_string(extent));
    for (const ExampleInput& input : reading.inputs) options += " --input " + to_text(input);
    if (reading.run) options += " --run";
    return import + "# network.json comes from:\n# placewright-cli convert" + options + ' ' +
           in_shell(printable(network_file.string(), std::string::npos)) + " network.json\n" + call +
           ", graph=\"network.json\")\n";
}

/// Class of Transformers whose modules have the names of a device map.
std::string transformers_class(const Graph& network) {
    const auto has = [&](std::string_view module) {
        return std::ranges::any_of(network.ops(), [&](const Op& op) {
            return op.scope.starts_with(module) &&
                   (op.scope.size() == module.size() || op.scope[module.size()] == '/');
        });
    };
    if (has("lm_head")) return has("encoder") ? "AutoModelForSeq2SeqLM" : "AutoModelForCausalLM";
    struct Head {
        std::string_view module;
        const char* name;
    };
    const std::array kHeads{Head{"embed_out", "AutoModelForCausalLM"},
                            Head{"proj_out", "AutoModelForSpeechSeq2Seq"},
                            Head{"cls/seq_relationship", "AutoModelForPreTraining"},
                            Head{"cls", "AutoModelForMaskedLM"},
                            Head{"qa_outputs", "AutoModelForQuestionAnswering"},
                            Head{"score", "AutoModelForSequenceClassification"},
                            Head{"classifier", has("vit") ? "AutoModelForImageClassification"
                                                          : "AutoModelForSequenceClassification"}};
    const auto* const found =
        std::ranges::find_if(kHeads, [&](const Head& head) { return has(head.module); });
    return found == kHeads.end() ? "AutoModel" : found->name;
}

std::string dispatch_snippet(const std::string& path, const PlacedNetwork& placed) {
    const std::string hub =
        has_blocks(*placed.problem->forward) ? transformers_class(*placed.problem->forward) : "AutoModel";
    // A whole language model is rarely in memory before it is spread over devices.
    if (hub != "AutoModel")
        return "import json\nfrom transformers import " + hub + "\n\n" + loading("device_map", path) +
               "model = " + hub + ".from_pretrained(name, device_map=device_map)\n";
    // Accelerate's hooks move modules alone. The tensors of a model are parameters and buffers.
    std::string moved;
    for (const std::string& name : parameter_keys(placed))
        moved += (moved.empty() ? "" : ", ") + in_python(name);
    if (!moved.empty())
        moved = "tensors = model.state_dict(keep_vars=True)\nfor name in [" + moved +
                "]:\n    tensors[name].data = tensors[name].data.to(device_map[name])\n";
    return "import json\nfrom accelerate import dispatch_model\n\n" + loading("device_map", path) + moved +
           "model = dispatch_model(model, device_map=device_map)\n"
           "# or, for a model of the hub:\n"
           "# model = AutoModel.from_pretrained(name, device_map=device_map)\n";
}

template <DeviceMapForm form>
WrittenPlacement write_device_map(const PlacedNetwork& placed) {
    return device_map(placed, form);
}
template <DeviceMapForm form>
Placement repair_device_map(const PlacedNetwork& placed) {
    return placed_by_modules(placed, form);
}

std::string refusal_but_of_onnx(const Path& network_file, const Graph&) {
    return is_onnx(network_file) ? "" : "this format is for networks that are opened from an ONNX model";
}

std::string refusal_but_of_layers(const Path&, const Graph& network) {
    return refusal_of_layers(network);
}

template <bool multi_device>
WrittenPlacement onnx_model(const PlacedNetwork& placed) {
    if (!is_onnx(placed.network_file))
        throw PlacementError(
            "the placement is written into the ONNX model of the network, but the network was not read from "
            "an ONNX model: choose another format");
    OnnxPlacement written =
        onnx_placement(placed.network_file, placed.placement, *placed.problem, multi_device);
    WrittenPlacement result{std::move(written.content), {}};
    if (!written.external_tensor.empty()) {
        result.warnings.push_back(
            "weights such as " + in_quotes(written.external_tensor) + " are in files beside " +
            in_quotes(placed.network_file.filename().string()) + ": the model must be in the same folder, " +
            in_quotes(std::filesystem::absolute(placed.network_file).parent_path().string()));
    }
    return result;
}

/// Returns code for ONNX Runtime. Without the settings it places the nodes as it likes.
std::string onnx_runtime_snippet(const std::string& path, const PlacedNetwork& placed) {
    std::string accelerators, providers;
    std::size_t count = 0;
    std::set<DeviceId> used(placed.placement.begin(), placed.placement.end());
    for (const DeviceId id : used) {
        const Device& device = placed.problem->machine->device(id);
        if (device.kind == DeviceKind::cpu) continue;
        accelerators += (count++ > 0 ? ", " : "") + printable(device.name, 200);
        providers = device.kind == DeviceKind::gpu ? "\"CUDAExecutionProvider\", " : "PROVIDER, ";
    }
    std::string text =
        "import onnxruntime  # with microsoft/onnxruntime#27595 (2026); earlier ones ignore the entry\n\n";
    if (count > 1)
        text +=
            "# A session has one provider of a type: this one runs the nodes of " + accelerators +
            "\n# on one device. To use all, cut the model where \"layer_ann\" in the metadata of its nodes\n"
            "# changes (onnx.utils.extract_model), and open a session for each part with\n"
            "# providers=[(\"CUDAExecutionProvider\", {\"device_id\": NUMBER})].\n";
    return text +
           "options = onnxruntime.SessionOptions()\n"
           "options.add_session_config_entry(\"session.layer_assignment_settings\",\n"
           "                                 " +
           in_python(layer_assignment_settings(*placed.problem, placed.placement)) +
           ")\nsession = onnxruntime.InferenceSession(" + in_python(path) +
           ", options,\n                                       providers=[" + providers +
           "\"CPUExecutionProvider\"])\n";
}

std::string onnx_snippet(const std::string& path, const PlacedNetwork&) {
    return "import json\nimport onnx\n\nmodel = onnx.load(" + in_python(path) +
           ")\nproperties = {entry.key: entry.value for entry in model.metadata_props}\n"
           "placement = json.loads(properties[\"placewright.placement\"])[\"placement\"]  # device of each "
           "node\n";
}

const std::array kFormats{
    PlacementFormat{.id = "placement",
                    .title = "Placewright placement",
                    .help = "Device of each op by name; opens here, and the Python package applies it",
                    .suffix = ".placement.json",
                    .snippet = apply_snippet,
                    .write = own_placement},
    PlacementFormat{.id = "device-map",
                    .title = "Hugging Face device map",
                    .help = "Shortest device map; Accelerate and Transformers load it",
                    .suffix = ".device_map.json",
                    .snippet = dispatch_snippet,
                    .write = write_device_map<DeviceMapForm::compact>,
                    .repair = repair_device_map<DeviceMapForm::compact>},
    PlacementFormat{.id = "device-map-full",
                    .title = "Hugging Face device map, full",
                    .help = "Device map with one line for each innermost module, for editing by hand",
                    .suffix = ".device_map_full.json",
                    .snippet = dispatch_snippet,
                    .write = write_device_map<DeviceMapForm::full>,
                    .repair = repair_device_map<DeviceMapForm::full>},
    PlacementFormat{
        .id = "pipeline",
        .title = "PyTorch pipeline split points",
        .help = "Modules at which torch.distributed.pipelining cuts a chain of stages",
        .suffix = ".pipeline.json",
        .snippet =
            [](const std::string& path, const PlacedNetwork&) {
                return "import json\nfrom torch.distributed.pipelining import SplitPoint, pipeline\n\n" +
                       loading("split", path) +
                       "points = {name: SplitPoint[where] for name, where in split[\"split_spec\"].items()}\n"
                       "pipe = pipeline(model, mb_args=(microbatch,), split_spec=points)\n"
                       "stage = pipe.build_stage(split[\"stage_to_rank\"].index(rank), "
                       "device=split[\"devices\"][rank])\n";
            },
        .write = split_points,
        .repair = in_stages},
    PlacementFormat{.id = "llama.cpp",
                    .title = "llama.cpp arguments",
                    .help = "Layers of a language model on GPUs and CPU, for llama-server and llama-cli",
                    .suffix = ".llama_cpp.txt",
                    .snippet =
                        [](const std::string& path, const PlacedNetwork&) {
                            return "eval llama-server -m MODEL.gguf $(grep -v '^#' " + in_shell(path) + ")\n";
                        },
                    .write = llama_cpp_arguments,
                    .repair = repair_layer_runs,
                    .refusal = refusal_but_of_layers},
    PlacementFormat{
        .id = "vllm",
        .title = "vLLM script",
        .help = "Layers of each pipeline stage of a language model, and the command that serves it",
        .suffix = ".vllm.sh",
        .snippet = [](const std::string& path,
                      const PlacedNetwork&) { return "sh " + in_shell(path) + '\n'; },
        .write = vllm_script,
        .repair = repair_layer_runs,
        .refusal = refusal_but_of_layers},
    PlacementFormat{.id = "deepspeed",
                    .title = "DeepSpeed pipeline parts",
                    .help = "Bounds of pipeline stages in the list of a language model's layers",
                    .suffix = ".deepspeed.json",
                    .snippet =
                        [](const std::string& path, const PlacedNetwork& placed) {
                            const std::string visible = stage_start(placed).visible;
                            return (visible.empty() ? "" : "# start the program with " + visible + "\n") +
                                   "import json\nfrom deepspeed.pipe import PipelineModule\n\n" +
                                   loading("split", path) +
                                   "\nclass Placed(PipelineModule):\n"
                                   "    def _partition_layers(self, method=None):\n"
                                   "        stage = self._topo.get_coord(self.global_rank).pipe\n"
                                   "        self.parts = split[\"parts\"]\n"
                                   "        self._set_bounds(self.parts[stage], self.parts[stage + 1])\n\n"
                                   "model = Placed(layers, num_stages=split[\"num_stages\"])  # layers: see "
                                   "split[\"layers\"]\n";
                        },
                    .write = deepspeed_parts,
                    .repair = repair_layer_runs,
                    .refusal = refusal_but_of_layers},
    PlacementFormat{.id = "megatron",
                    .title = "Megatron-LM arguments",
                    .help = "Pipeline layout of a language model for training",
                    .suffix = ".megatron.txt",
                    .snippet =
                        [](const std::string& path, const PlacedNetwork& placed) {
                            // One process a stage; more for parallelism of other kinds beside it.
                            const StageStart start = stage_start(placed);
                            return (start.visible.empty() ? "" : "export " + start.visible + '\n') +
                                   "eval torchrun --nproc-per-node " + std::to_string(start.stages) +
                                   " pretrain_gpt.py ARGUMENTS $(grep -v '^#' " + in_shell(path) + ")\n";
                        },
                    .write = megatron_arguments,
                    .repair = repair_layer_runs,
                    .refusal = refusal_but_of_layers},
    PlacementFormat{.id = "tensorflow",
                    .title = "TensorFlow devices",
                    .help = "Device string of each op by name, for a device function of TensorFlow",
                    .suffix = ".tensorflow.json",
                    .snippet =
                        [](const std::string& path, const PlacedNetwork&) {
                            return "import json\nimport tensorflow as tf\n\n" + loading("devices", path) +
                                   "with tf.Graph().as_default(), tf.compat.v1.device(lambda op: "
                                   "devices.get(op.name, \"\")):\n"
                                   "    build_model()\n";
                        },
                    .write = tensorflow_devices},
    PlacementFormat{
        .id = "onnx",
        .title = "ONNX model with the placement",
        .help =
            "The network's ONNX model with the device of each node in its metadata; ONNX Runtime obeys it",
        .suffix = ".placed.onnx",
        .snippet = onnx_runtime_snippet,
        .write = onnx_model<false>,
        .is_text = false,
        .refusal = refusal_but_of_onnx},
    PlacementFormat{
        .id = "onnx-multi-device",
        .title = "ONNX model for several devices",
        .help =
            "The same plus the multi-device hints of IR version 11 (ONNX 1.18), which older programs refuse",
        .suffix = ".multi_device.onnx",
        .snippet = onnx_snippet,
        .write = onnx_model<true>,
        .is_text = false,
        .refusal = refusal_but_of_onnx},
    PlacementFormat{.id = "chrome-trace",
                    .title = "Chrome trace",
                    .help = "The simulated step as a timeline for Perfetto and chrome://tracing",
                    .suffix = ".trace.json",
                    .snippet =
                        [](const std::string& path, const PlacedNetwork&) {
                            return "# open https://ui.perfetto.dev and choose\n" + path + '\n';
                        },
                    .write = trace_of_simulation},
    PlacementFormat{.id = "dot",
                    .title = "Graphviz DOT",
                    .help = "Graph with ops in the colours of their devices; opens here as a network "
                            "without placement",
                    .suffix = ".placed.dot",
                    .snippet = [](const std::string& path,
                                  const PlacedNetwork&) { return "dot -Tsvg -O " + in_shell(path) + '\n'; },
                    .write = graphviz},
    PlacementFormat{.id = "csv",
                    .title = "CSV table",
                    .help = "One line per op of the step: kind, scope, device, FLOPs, bytes, start and end",
                    .suffix = ".csv",
                    .snippet =
                        [](const std::string& path, const PlacedNetwork&) {
                            return "import pandas\n\nops = pandas.read_csv(" + in_python(path) + ")\n";
                        },
                    .write = op_table},
};

}  // namespace

std::span<const PlacementFormat> placement_formats() {
    return kFormats;
}

WrittenPlacement written_as(const PlacementFormat& format, const PlacedNetwork& placed) {
    WrittenPlacement written = format.write(placed);
    const Problem& problem = *placed.problem;
    const std::vector<double> peaks =
        written.outcome ? written.outcome->peak_bytes
                        : Simulator(placed.problem, placed.simulation).run(placed.placement).peak_bytes;
    std::string lacking;
    for (DeviceId device = 0; device < problem.devices; ++device) {
        const double bytes = peaks[device] - problem.memory_limit_bytes[device];
        if (bytes > 0)
            lacking += (lacking.empty() ? "" : ", ") + problem.machine->device(device).name + " lacks " +
                       format_bytes(bytes);
    }
    if (!lacking.empty())
        written.warnings.insert(written.warnings.begin(),
                                (written.outcome ? "the run that loads this file does not fit the memory: "
                                                 : "the placement does not fit the memory: ") +
                                    lacking);
    return written;
}

Placement repaired_for(const PlacementFormat& format, const PlacedNetwork& placed) {
    Placement repaired = format.repair(placed);
    if (const std::string rule = broken_rule(*placed.problem, repaired); !rule.empty())
        throw PlacementError("the repaired placement would break the constraint \"" + rule +
                             "\": move the ops by hand, or drop the constraint");
    return repaired;
}

const PlacementFormat* find_placement_format(std::string_view id) {
    const auto found = std::ranges::find(kFormats, id, &PlacementFormat::id);
    return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace placewright
