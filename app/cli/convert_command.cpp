// SPDX-License-Identifier: MIT
#include "app/cli/convert_command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "app/cli/search_arguments.hpp"
#include "app/cli/usage.hpp"
#include "core/base/exit_status.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/precision.hpp"
#include "core/io/file_content.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/shipped.hpp"

namespace placewright {
namespace {

/// Throws UsageError for an output whose name promises another format.
void expect_json(const std::string& file) {
    std::string extension = Path(file).extension().string();
    std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const char* other :
         {".onnx", ".pt", ".pt2", ".pth", ".pb", ".gguf", ".safetensors", ".dot", ".gv", ".csv"}) {
        if (extension == other)
            throw UsageError(file + ": convert writes JSON; give a name that ends in .json");
    }
}

/// The file of a network that ships as one and that no function generates. Throws UsageError.
Path shipped_file(const std::string& name) {
    std::vector<std::string> known;
    for (const NetworkInfo& item : known_networks()) known.emplace_back(item.name);
    for (const ShippedFile& item : shipped_networks()) {
        if (item.name == name) return item.file;
        if (find_network(item.name) == nullptr) known.push_back(item.name);
    }
    throw UsageError(usage::unknown(name, "network", known, "--network"));
}

int convert_workload(const ConvertArguments& arguments) {
    if (arguments.files.size() != 1)
        throw UsageError("convert --graph OUT --machine OUT takes one file, the workload");
    const std::string& input = arguments.files[0];
    if (file_content(input) != FileContent::workload)
        throw UsageError("--graph, --machine: " + input + " is not a dnn-partitioning workload");
    keep_apart(std::array{OutputFile{"--graph", arguments.graph_out},
                          OutputFile{"--machine", arguments.machine_out}},
               std::array{input});
    const NetworkFile workload =
        read_network(input, arguments.batch > 0 ? std::optional(arguments.batch) : std::nullopt);
    if (!arguments.graph_out.empty()) write_network(workload.graph, arguments.graph_out);
    if (!arguments.machine_out.empty()) write_machine(*workload.machine, arguments.machine_out);
    return kDone;
}

}  // namespace

void ConvertArguments::add_to(CLI::App& command) {
    command.footer(
        "A dnn-partitioning workload becomes two files: convert IN --graph OUT --machine OUT. Latencies\n"
        "become \"time_s\" of the device models \"cpu\" and \"accelerator\", transfer costs \"transfer_s\" "
        "of an\n"
        "output, node sizes \"resident_bytes\", colour classes \"colocate\": with --cost measured, max-load "
        "and\n"
        "block-latency stay the same. All CPUs become one device; the sizes of edges are lost; the speeds\n"
        "of the machine are nominal.\n\n" +
        command.get_parent()->get_footer());
    command.add_option("FILES", files, "Input (file or shipped network), output; --network: only output")
        ->check(usage::path())
        ->expected(1, -1);
    command.add_option("--network", network, "Generate this network (see networks)")->type_name("NAME");
    command.add_option("--batch", batch, "Batch size; default for --network: 32, of a language model 1")
        ->check(usage::whole_number(1, 1'000'000))
        ->type_name("B");
    command.add_option("--graph", graph_out, "Write the network of a workload")
        ->check(usage::path())
        ->type_name("OUT");
    command.add_option("--machine", machine_out, "Write the machine of a workload")
        ->check(usage::path())
        ->type_name("OUT");
    reading.add_to(command);
    shards.add_to(command);
    precision.add_to(command);
}

int convert_file(const ConvertArguments& arguments) {
    const auto& [files, network, batch, graph_out, machine_out, reading, shards, precision] = arguments;
    const auto changed = [&](Graph graph) {
        return with_precision(arguments.shards.split(std::move(graph)), arguments.precision.precision());
    };
    if (precision.precision() == Precision::tf32)
        throw UsageError(
            "--precision tf32: a network file says types of tensors, not how products are computed; use "
            "fp32 here and give --precision tf32 to simulate, optimize and the like");
    if (!graph_out.empty() || !machine_out.empty()) {
        if (!network.empty())
            throw UsageError(
                "--network: a generated network has no machine; use --graph and --machine with a workload");
        if (!shards.texts.empty()) throw UsageError("--shard: the ops of a workload have no channels");
        if (!precision.text.empty())
            throw UsageError("--precision: the sizes of a workload are those that were measured");
        reading.refuse_language(files.front());
        return convert_workload(arguments);
    }
    const NetworkInfo* const info = find_network(network);
    const Path shipped = network.empty() || info != nullptr ? Path() : shipped_file(network);
    if (!network.empty() && files.size() != 1)
        throw UsageError("convert --network NAME takes one file, the output");
    if (network.empty() && files.size() != 2) throw UsageError("convert takes an input and an output file");
    expect_json(files.back());
    if (info != nullptr) {
        reading.refuse_language(network);
        write_network(changed(info->build(batch > 0 ? batch : 32)), files[0]);
        return kDone;
    }
    const std::string asked = network.empty() ? files[0] : shipped.string();
    // Before and after the name is looked up: the output may be a file that is not there, or one that ships.
    keep_apart(std::array{OutputFile{"output", files.back()}}, std::array{asked});
    const std::string input = find_network_file(asked).string();
    keep_apart(std::array{OutputFile{"output", files.back()}}, std::array{input});
    const FileContent content = file_content(input);
    if (content == FileContent::workload) {
        throw UsageError(
            input +
            " is a workload (network and machine in one file): convert it with --graph OUT --machine OUT");
    }
    if (content == FileContent::machine) {
        if (batch > 0) throw UsageError("--batch: a machine has no batch size");
        if (!shards.texts.empty()) throw UsageError("--shard: a machine has no ops");
        if (!precision.text.empty()) throw UsageError("--precision: a machine has no tensors");
        reading.refuse_language(input);
        write_machine(read_machine(input), files.back());
    } else {
        NetworkFile read = read_network(input, reading.options(batch));
        if (!read.language) reading.refuse_language(input);
        precision.check(read);
        report_estimated(input, read);
        write_network(changed(std::move(read.graph)), files.back());
    }
    return kDone;
}

}  // namespace placewright
