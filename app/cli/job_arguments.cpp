// SPDX-License-Identifier: MIT
#include "app/cli/job_arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <set>

#include "app/cli/console.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/constraints_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/job/untimed_ops.hpp"

namespace placewright {
namespace {

/// The index is the number of state values that the optimizer keeps per parameter.
constexpr std::array<const char*, 3> kOptimizers{"sgd", "momentum", "adam"};

const std::vector<Row> kGroupings{
    {"  none", "An op with its backward and update ops, and ops that the file colocates."},
    {"  colocation", "As none; also an op with its only reader (ColocRL)."},
    {"  scope[:DEPTH]", "The ops of a module: the first DEPTH parts of their scopes are equal (default 1)."},
    {"  merge", "Groups with small outputs join a neighbour, down to --groups or --merge-below (Placeto)."},
};

/// Splits the ops that a flat placement assigns to several devices. Throws InputError.
Graph split_as_placed(Graph graph, const std::string& placement_file) {
    if (placement_file.empty()) return graph;
    try {
        return shard(graph, placed_in_parts(placement_file, graph));
    } catch (const GraphError& error) {
        throw InputError(placement_file, "", error.what());
    }
}

/// "TRACE" or "TRACE=MODEL".
Supplements::Times times_from(const std::string& argument) {
    std::error_code error;
    const std::size_t equals =
        std::filesystem::exists(argument, error) ? std::string::npos : argument.rfind('=');
    return {argument.substr(0, equals), equals == std::string::npos ? "" : argument.substr(equals + 1)};
}

/// The graph with the times of a trace; reports on standard error which ones were used. `machine` is called
/// `name` and may be null. Throws UsageError.
Graph timed_as_told(const Graph& graph, Supplements::Times times, const Machine* machine,
                    const std::string& name) {
    const std::string file = times.trace.string();
    if (machine != nullptr && !times.model.empty()) {
        const std::string unknown = unknown_model_text(*machine, name, times.model);
        if (!unknown.empty()) throw UsageError("--times " + file + '=' + times.model + ": " + unknown);
    }
    try {
        Supplied supplied = timed(graph, times, machine);
        for (const std::string& line : supplied.report)
            std::cerr << printable(file + ": " + line, 8192) << '\n';
        if (!supplied.cpu_model.empty())
            supplied.warning += ", or give the times to a CPU (=" + supplied.cpu_model + ')';
        if (!supplied.warning.empty())
            std::cerr << printable(file + ": warning: " + supplied.warning, 8192) << '\n';
        return std::move(supplied.graph);
    } catch (const ModelNeeded& error) {
        throw UsageError(std::string("--times ") + error.what() + "; give " + file + "=MODEL");
    }
}

}  // namespace

void ShardArguments::add_to(CLI::App& command) {
    usage::add_repeated(command, "--shard", texts, "Split an op into N parts along its channels", "OP=N");
}

Graph ShardArguments::split(Graph graph) const {
    std::vector<ShardRequest> requests;
    for (const std::string& text : texts) {
        const auto equals = text.rfind('=');
        const char* const end = text.data() + text.size();
        std::int64_t parts = 0;
        if (equals == std::string::npos || std::from_chars(text.data() + equals + 1, end, parts).ptr != end ||
            parts < 2)
            throw UsageError("--shard " + text + ": expected OP=N, the name of an op and 2 parts or more");
        requests.push_back({text.substr(0, equals), parts});
    }
    try {
        return shard(graph, requests);
    } catch (const GraphError& error) {
        throw UsageError(std::string("--shard: ") + error.what());
    }
}

void PrecisionArguments::add_to(CLI::App& command) {
    usage::add_choice(command, "--precision", text, {"fp32", "tf32", "amp-fp16", "amp-bf16", "bf16", "fp16"},
                      "Types of tensors and products; amp: autocast [as in the file]");
}

Precision PrecisionArguments::precision() const {
    return precision_from(text).value_or(Precision::as_given);
}

void PrecisionArguments::check(const NetworkFile& network) const {
    if (text.empty() || !network.language || takes_precision(*network.language)) return;
    throw UsageError(
        "--precision " + text +
        ": a language model takes a precision only with --phase training and weights of 16 or 32 "
        "bits; otherwise --dtype (weights) and --kv-dtype (cache) say its types");
}

void report_estimated(const std::string& file, const NetworkFile& network) {
    const std::string text = estimated_text(network.estimated, network.graph.size());
    if (!text.empty()) std::cerr << printable("placewright-cli: " + file + ": " + text, 8192) << '\n';
    for (const std::string& note : network.notes)
        std::cerr << printable("placewright-cli: " + file + ": " + note, 8192) << '\n';
}

void ReadingArguments::add_to(CLI::App& command) {
    usage::add_repeated(command, "--dim", dims, "Value of an open dimension (ONNX, .pt2)", "NAME=N");
    usage::add_repeated(command, "--input", inputs, "Input of a TorchScript model (1x128:int64)", "SHAPE");
    command.add_flag("--run", run, "Run a TorchScript model if its sizes need that");
    const auto words = [](const auto& names) { return std::vector<std::string>(names.begin(), names.end()); };
    usage::add_choice(command, "--phase", phase, words(language_phases()),
                      "What a language model does [decode]");
    command.add_option("--sequence", sequence, "Tokens of a language model's prompt, or in its cache [4096]")
        ->check(usage::whole_number(1, kMostSequence))
        ->type_name("N");
    usage::add_choice(command, "--dtype", dtype, words(weight_types()),
                      "Type of a language model's weights [as stored]");
    usage::add_choice(command, "--kv-dtype", kv_dtype, words(weight_types()),
                      "Type of its cache [that of activations]");
    usage::add_choice(command, "--mla-cache", mla_cache, {"compressed", "expanded"},
                      "What the cache of latent attention holds [compressed]");
    command.add_flag("--full-cache", full_cache, "Layers with a sliding window keep the whole sequence too");
    command.add_flag("--split-layers", split_layers, "Ops of a language model's block may part");
}

void ReadingArguments::refuse_language(const std::string& name) const {
    std::string given;
    const auto add = [&](bool is_given, const char* option) {
        if (is_given) given += (given.empty() ? "" : ", ") + std::string(option);
    };
    add(!phase.empty(), "--phase");
    add(sequence > 0, "--sequence");
    add(!dtype.empty(), "--dtype");
    add(!kv_dtype.empty(), "--kv-dtype");
    add(!mla_cache.empty(), "--mla-cache");
    add(full_cache, "--full-cache");
    add(split_layers, "--split-layers");
    if (!given.empty())
        throw UsageError(
            given + ": the sizes in " + name +
            " are fixed; these options are for language models that are read from config.json, a model "
            "folder, a GGUF file, or by a name that ships (llama-3-70b)");
}

ReadOptions ReadingArguments::options(std::int64_t batch) const {
    ReadOptions options;
    if (batch > 0) options.batch = batch;
    for (const std::string& text : dims) {
        const std::size_t sign = text.rfind('=');
        std::int64_t extent = 0;
        const char* const end = text.data() + text.size();
        const bool right = sign != std::string::npos && sign > 0 &&
                           std::from_chars(text.data() + sign + 1, end, extent).ptr == end && extent > 0;
        if (!right) throw UsageError("--dim " + text + ": expected NAME=NUMBER with a positive number");
        if (!options.dims.emplace(text.substr(0, sign), extent).second)
            throw UsageError("--dim " + text + ": given twice");
    }
    options.run = run;
    options.language.phase = language_phase_from(phase).value_or(LanguagePhase::decode);
    if (sequence > 0) options.language.sequence = sequence;
    options.language.weights = weight_type_from(dtype);
    options.language.cache = weight_type_from(kv_dtype);
    options.language.latent_cache = latent_cache_from(mla_cache).value_or(LatentCache::compressed);
    options.language.full_cache = full_cache;
    options.language.split_layers = split_layers;
    try {
        for (const std::string& text : inputs) options.inputs.push_back(example_input_from(text));
    } catch (const std::invalid_argument& error) {
        throw UsageError(std::string("--input: ") + error.what());
    }
    return options;
}

void JobArguments::add_to(CLI::App& command, std::span<const Objective> objectives) {
    std::vector<std::string> models;
    std::vector<Row> model_rows;
    for (const CostModel& model : cost_models()) {
        models.emplace_back(model.id);
        model_rows.push_back({"  " + models.back(), std::string(model.help)});
    }
    std::vector<std::string> objective_ids;
    std::vector<Row> objective_rows;
    for (const Objective& one : objectives) {
        objective_ids.emplace_back(one.id);
        objective_rows.push_back({"  " + objective_ids.back(), std::string(one.help)});
    }
    command.footer("Op times:\n" + table("ll", model_rows) + "\nObjectives:\n" + table("ll", objective_rows) +
                   "\nGroups of ops that share a device (each op is still simulated by itself):\n" +
                   table("ll", kGroupings) +
                   "\nA dnn-partitioning workload contains a network, its machine and its op times (--cost "
                   "measured).\n\n" +
                   command.get_parent()->get_footer());
    const auto efficiency = usage::positive_number(1, "a number above 0 and at most 1");
    command.add_option("GRAPH", network, "Network file, or name of a shipped network (see networks)")
        ->check(usage::path())
        ->required();
    command
        .add_option("--machine", machine,
                    "Machine file, shipped name (see machines) or parts: \"2x RTX 4090\"")
        ->check(usage::path())
        ->type_name("M");
    command.add_option("--batch", batch, "Batch size, for files that leave it open or can be scaled")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("B");
    command.add_option("--batches", batches, "Number of batches")
        ->check(usage::whole_number(1, 100'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--in-flight", in_flight, "Maximum number of batches in flight")
        ->check(usage::whole_number(1, 1'000))
        ->type_name("K")
        ->capture_default_str();
    usage::add_choice(command, "--order", order, {"fifo", "critical-path", "gpipe", "1f1b"},
                      "Order of ready ops; gpipe, 1f1b: pipelines [fifo; 1f1b for LLMs]");
    usage::add_choice(command, "--offload", offload, {"compute", "stream"},
                      "Ops on a CPU run there, or their weights go to a GPU");
    usage::add_choice(command, "--runtime", runtime, {"ideal", "eager", "compiled"},
                      "Start ops once ready (ideal), or in PyTorch's order");
    command
        .add_option("--host-time", host_time_s, "Seconds of the host for an op and for each kernel (eager)")
        ->check(usage::positive_number(1, "a number of seconds above 0 and up to 1"))
        ->type_name("S")
        ->capture_default_str();
    command.add_flag("--inference", inference, "Forward ops only");
    precision.add_to(command);
    usage::add_choice(command, "--optimizer", optimizer, {kOptimizers.begin(), kOptimizers.end()},
                      "Optimizer; keeps 0, 1 or 2 values per parameter");
    command.add_flag("--accumulate", accumulate, "Accumulate gradients over the batches, update once");
    command.add_flag("--optimizer-in-backward", optimizer_in_backward,
                     "Update parameters during the backward pass");
    usage::add_choice(command, "--recompute", recompute, {"none", "segments", "cheap"},
                      "Activations to drop and recompute");
    command.add_flag("--in-place", in_place, "Elementwise ops overwrite inputs that no other op reads");
    command.add_option("--workspace", workspace_bytes, "Maximum scratch memory per convolution (64MB, 2GB)")
        ->transform(usage::byte_size())
        ->type_name("BYTES")
        ->capture_default_str();
    usage::add_choice(command, "--framework", framework, {"none", "pytorch"},
                      "Context and allocator; only GPUs of the catalogue");
    command
        .add_option("--context-memory", context_bytes,
                    "Memory that the framework holds on each GPU [framework's]")
        ->transform(usage::byte_size())
        ->type_name("BYTES")
        ->each([this](const std::string&) { context_given = true; });
    usage::add_choice(command, "--allocator", allocator, {"none", "pytorch", "pytorch-segments"},
                      "Rounding of tensors in memory [framework's]");
    command.add_option("--usable-memory", usable_memory, "Share of each device's memory to use")
        ->check(efficiency)
        ->type_name("SHARE")
        ->capture_default_str();
    usage::add_choice(command, "--crossing", crossing, {"store-and-forward", "cut-through"},
                      "How transfers cross channels [as in the machine file]");
    usage::add_choice(command, "--cost", cost, models, "Cost model for op times, see below")
        ->each([this](const std::string&) { cost_given = true; });
    usage::add_choice(command, "--memory", memory, {"training", "exprimo"},
                      "Memory model: what is held, and when");
    usage::add_choice(command, "--objective", objective, objective_ids, "Objective to minimise, see below");
    usage::add_choice(command, "--memory-rule", memory_rule, {"exprimo", "placeto", "post"},
                      "Penalty in the score if the memory overflows");
    command.add_option("--compute-efficiency", compute_efficiency, "Efficiency of all devices (0 to 1)")
        ->check(efficiency)
        ->type_name("E");
    command.add_option("--channel-efficiency", channel_efficiency, "Efficiency of all channels (0 to 1)")
        ->check(efficiency)
        ->type_name("E");
    reading.add_to(command);
    command.add_option("--parameters", parameters, "Parameter sizes by name (safetensors file or index)")
        ->check(usage::path())
        ->type_name("FILE");
    usage::add_repeated(command, "--times", times, "Op times from a trace (--cost measured)", "TRACE[=MODEL]")
        ->check(usage::path());
    command.add_option("--profile", profile, "Times that the command profile measured (--cost measured)")
        ->check(usage::path())
        ->type_name("FILE");
    shards.add_to(command);
    grouping.add_to(command);
    command
        .add_option("--constraints", constraints, "Rules: pin ops or modules, keep them together or apart")
        ->check(usage::path())
        ->type_name("FILE");
    command.add_flag("--json", json, "Print one JSON object");
}

void JobArguments::check() const {
    const auto refuse = [](bool given, const char* option, const std::string& because) {
        if (given) throw UsageError(option + (": " + because));
    };
    const bool recomputes = recompute != "none";
    const bool other_optimizer = optimizer != JobArguments().optimizer;
    if (inference) {
        const std::string nothing = "there is no backward pass with --inference";
        refuse(recomputes, "--recompute", nothing);
        refuse(accumulate, "--accumulate", nothing);
        refuse(optimizer_in_backward, "--optimizer-in-backward", nothing);
        refuse(other_optimizer, "--optimizer", nothing);
    }
    refuse(runtime != "ideal" && order == "critical-path", "--order",
           "--runtime " + runtime + " runs ops in program order, not by their critical paths");
    refuse(offload == "stream" && in_flight > 1, "--offload",
           "frameworks that stream weights from the CPU run one batch at a time; leave out --in-flight");
    refuse(runtime != "eager" && host_time_s != JobArguments().host_time_s, "--host-time",
           "--runtime " + runtime + " has no time of the host; give --runtime eager");
    if (cost == "exprimo") {
        refuse(recomputes, "--recompute",
               "--cost exprimo has its own backward ops, which keep all activations");
        refuse(accumulate, "--accumulate", "--cost exprimo has no weight gradients");
        refuse(optimizer_in_backward, "--optimizer-in-backward", "--cost exprimo has no updates");
    }
    refuse(optimizer_in_backward && accumulate, "--optimizer-in-backward",
           "--accumulate keeps the sum of the gradients until the last batch");
    refuse(!times.empty() && cost_given && cost != "measured", "--times",
           "--cost " + cost + " does not use measured times");
    refuse(!profile.empty() && cost_given && cost != "measured", "--profile",
           "--cost " + cost + " does not use measured times");
    if (memory == "exprimo") {
        const std::string nothing = "--memory exprimo counts only parameters and whole tensors";
        refuse(other_optimizer, "--optimizer", nothing);
        refuse(optimizer_in_backward, "--optimizer-in-backward", nothing);
        refuse(in_place, "--in-place", nothing);
        refuse(workspace_bytes > 0, "--workspace", nothing);
        refuse(!allocator.empty() && allocator != "none", "--allocator", nothing);
    }
}

void GroupingArguments::add_to(CLI::App& command, const std::string& help) {
    command.add_option("--group", group, help)
        ->type_name("none|colocation|scope[:DEPTH]|merge")
        ->capture_default_str();
    command
        .add_option("--groups", groups,
                    "Merge down to N groups [" + std::to_string(GroupingOptions().merge_groups) + "]")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("N");
    command
        .add_option("--merge-below", merge_below_bytes, "Merge groups with outputs below this (1MB, 64KB)")
        ->transform(usage::byte_size())
        ->type_name("BYTES");
}

GroupingOptions GroupingArguments::options() const {
    GroupingOptions options;
    const auto colon = group.find(':');
    const auto rule = grouping_rule_from(group.substr(0, colon));
    if (!rule)
        throw UsageError("--group " + group + ": expected none, colocation, scope, scope:DEPTH or merge");
    options.rule = *rule;
    if (colon != std::string::npos) {
        const char* const end = group.data() + group.size();
        const auto [read, error] = std::from_chars(group.data() + colon + 1, end, options.scope_depth);
        if (*rule == GroupingRule::scope && error == std::errc::result_out_of_range)
            throw UsageError("--group " + group + ": expected a depth of at most " +
                             std::to_string(std::numeric_limits<std::uint32_t>::max()));
        if (*rule != GroupingRule::scope) throw UsageError("--group " + group + ": only scope has a depth");
        if (error != std::errc() || read != end || options.scope_depth < 1)
            throw UsageError("--group " + group + ": expected a depth of 1 or more");
    }
    if (*rule != GroupingRule::merge) {
        const char* const because = " applies only to --group merge, not to --group ";
        if (groups > 0) throw UsageError(std::string("--groups") + because + group);
        if (merge_below_bytes > 0) throw UsageError(std::string("--merge-below") + because + group);
    }
    if (groups > 0 && merge_below_bytes > 0)
        throw UsageError("--groups, --merge-below: give only one of them");
    if (groups > 0) options.merge_groups = groups;
    options.merge_below_bytes = static_cast<std::int64_t>(
        std::min<std::uint64_t>(merge_below_bytes, std::numeric_limits<std::int64_t>::max()));
    return options;
}

Supplements JobArguments::supplements() const {
    Supplements supplements{parameters, {}};
    for (const std::string& text : times) supplements.times.push_back(times_from(text));
    return supplements;
}

JobOptions JobArguments::options() const {
    check();
    JobOptions options;
    options.reading = reading.options(batch);
    options.supplements = supplements();
    options.problem.inference = inference;
    options.problem.precision = precision.precision();
    options.problem.cost.model = find_cost_model(times.empty() ? cost : "measured");
    options.profile = profile;
    load_profile(options);
    if (compute_efficiency > 0) options.problem.cost.compute_efficiency = compute_efficiency;
    if (channel_efficiency > 0) options.problem.cost.channel_efficiency = channel_efficiency;
    options.simulation = {batches, in_flight, order_from(order).value_or(Order::fifo), *runtime_from(runtime),
                          host_time_s};
    options.problem.optimizer_states =
        static_cast<double>(std::ranges::find(kOptimizers, optimizer) - kOptimizers.begin());
    options.problem.recomputation = *recomputation_from(recompute);
    options.problem.accumulate_gradients = accumulate;
    options.problem.optimizer_in_backward = optimizer_in_backward;
    options.problem.in_place = in_place;
    options.problem.workspace_limit_bytes = static_cast<double>(workspace_bytes);
    options.problem.framework = *framework_from(framework);
    if (context_given) options.problem.context_bytes = static_cast<double>(context_bytes);
    options.problem.allocator = allocator_from(allocator);
    options.problem.usable_memory = usable_memory;
    options.problem.crossing = crossing_from(crossing);
    options.problem.offload = *offload_from(offload);
    options.pipeline_order = order.empty();
    options.problem.grouping = grouping.options();
    if (!constraints.empty()) options.problem.constraints = read_constraints(constraints);
    options.problem.memory = *memory_model_from(memory);
    options.objective = find_objective(objective);
    options.penalty.rule = *memory_rule_from(memory_rule);
    return options;
}

NetworkFile JobArguments::read() const {
    NetworkFile file = read_network(find_network_file(network), reading.options(batch));
    if (!file.language) reading.refuse_language(network);
    precision.check(file);
    const Supplements beside = supplements();
    if (!beside.parameters.empty()) {
        Supplied supplied = sized(file.graph, beside.parameters);
        for (const std::string& line : supplied.report)
            std::cerr << printable("placewright-cli: " + parameters + ": " + line, 8192) << '\n';
        file.graph = std::move(supplied.graph);
    }
    report_estimated(network, file);
    std::optional<Machine> devices = file.machine;
    if (!devices && !machine.empty() && !beside.times.empty()) devices = find_machine(machine);
    for (const Supplements::Times& trace : beside.times)
        file.graph = timed_as_told(file.graph, trace, devices ? &*devices : nullptr,
                                   file.machine ? devices->name() : machine);
    file.graph = shards.split(std::move(file.graph));
    return file;
}

std::vector<std::string> JobArguments::inputs() const {
    std::vector<std::string> files{network, machine, parameters, profile, constraints};
    for (const std::string* list : {&network, &machine}) {
        for (std::string& name : usage::split(*list)) files.push_back(std::move(name));
    }
    for (const std::string& trace : times) {
        files.push_back(trace);
        files.push_back(trace.substr(0, trace.rfind('=')));
    }
    return files;
}

Job JobArguments::load(const std::string& placement_file) const {
    const JobOptions options = this->options();
    const Path file = find_network_file(network);
    NetworkFile read = this->read();
    if (!read.machine && machine.empty()) throw CLI::RequiredError("--machine");
    if (read.machine && !machine.empty())
        throw UsageError("--machine: " + network + " is a workload, which contains its machine");
    if (read.machine && cost_given && cost != "measured")
        throw UsageError("--cost " + cost + ": " + network + " is a workload; use --cost measured");
    if (read.machine && options.problem.precision != Precision::as_given)
        throw UsageError("--precision: " + network + " is a workload, whose times and sizes were measured");
    read.graph = split_as_placed(std::move(read.graph), placement_file);
    Job job = load_job(file, std::move(read), machine, options);
    // Sweeps and comparisons load many jobs on the same machine.
    static std::set<std::string> told;
    if (const std::string direct = job.own_machine ? "" : direct_link_text(machine);
        !direct.empty() && told.insert(machine).second)
        std::cerr << printable("placewright-cli: " + machine + ": " + direct, 8192) << '\n';
    if ((cost == "measured" || !times.empty() || !profile.empty()) && !job.own_machine) {
        const std::string unmeasured = unmeasured_text(*job.problem);
        if (!unmeasured.empty())
            std::cerr << printable("placewright-cli: " + network + ": " + unmeasured, 8192) << '\n';
        const std::string replaced = replaced_links_text(*job.machine, *job.problem->machine);
        if (!replaced.empty() && told.insert(machine + '\n' + profile).second)
            std::cerr << printable("placewright-cli: " + machine + ": " + replaced, 8192) << '\n';
    }
    return job;
}

}  // namespace placewright
