// SPDX-License-Identifier: MIT
#include "app/cli/family_command.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

#include "app/cli/console.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/cli/usage.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// Statistics of the forward ops of a network.
struct Structure {
    std::size_t ops = 0;
    std::size_t depth = 0;      ///< number of ops on the longest path
    double mean_in_degree = 0;  ///< mean number of producers of an op
    GraphTotals sums;
    std::int64_t parameters = 0;  ///< their number

    double width() const { return static_cast<double>(ops) / static_cast<double>(depth); }
};

Structure structure_of(const Graph& graph) {
    Structure structure{.ops = graph.ops().size(), .sums = totals(graph)};
    std::vector<std::size_t> level(structure.ops, 1);
    std::size_t edges = 0;
    for (OpId op = 0; op < structure.ops; ++op) {
        for (const OpId producer : graph.producers(op)) level[op] = std::max(level[op], level[producer] + 1);
        edges += graph.producers(op).size();
        structure.parameters +=
            graph.op(op).parameter_bytes / bytes_per_element(parameter_type(graph.op(op)));
    }
    structure.depth = *std::ranges::max_element(level);
    structure.mean_in_degree = static_cast<double>(edges) / static_cast<double>(structure.ops);
    return structure;
}

}  // namespace

void FamilyArguments::add_to(CLI::App& command) {
    std::vector<std::string> names;
    for (const FamilyInfo& info : known_families()) names.emplace_back(info.name);
    command.add_option("NAME", name, usage::joined(names, ", "))
        ->type_name(usage::joined(names, "|"))
        ->required();
    command.add_option("--count", count, "Number of networks; half of them for training")
        ->check(usage::whole_number(1, 10'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--seed", seed, "Seed of the random numbers")
        ->check(usage::whole_number(0))
        ->type_name("K")
        ->capture_default_str();
    command.add_option("--out", out, "Folder for the networks, in train/ and test/")
        ->check(usage::path())
        ->type_name("DIR");
    command.add_flag("--json", json, "Print one JSON object");
}

int make_family(const FamilyArguments& arguments) {
    const FamilyInfo* info = find_family(arguments.name);
    if (info == nullptr) {
        std::vector<std::string> known;
        for (const FamilyInfo& item : known_families()) known.emplace_back(item.name);
        throw UsageError(usage::unknown(arguments.name, "family", known, "NAME"));
    }
    const std::vector<bool> trained = training_half(arguments.count, arguments.seed);
    if (!arguments.out.empty()) {
        for (const char* part : {"train", "test"}) make_folder(Path(arguments.out) / part);
    }
    Json networks = Json::array();
    std::vector<Row> rows{
        {"network", "half", "ops", "depth", "width", "in-degree", "batch", "parameters", "forward"}};
    for (std::uint32_t number = 0; number < arguments.count; ++number) {
        const Graph graph = family_member(*info, arguments.seed, number);
        const Structure structure = structure_of(graph);
        const std::string half = trained[number] ? "train" : "test";
        Json json{{"name", graph.name()},
                  {"half", half},
                  {"ops", structure.ops},
                  {"depth", structure.depth},
                  {"width", structure.width()},
                  {"mean_in_degree", structure.mean_in_degree},
                  {"batch", graph.batch()},
                  {"parameters", structure.parameters},
                  {"forward_flops", structure.sums.forward_flops}};
        if (!arguments.out.empty()) {
            const Path file = Path(arguments.out) / half / (graph.name() + ".json");
            write_network(graph, file);
            json["file"] = file.string();
        }
        networks.push_back(std::move(json));
        rows.push_back({graph.name(), half, std::to_string(structure.ops), std::to_string(structure.depth),
                        decimals("%.1f", structure.width()), decimals("%.2f", structure.mean_in_degree),
                        std::to_string(graph.batch()),
                        format_count(static_cast<double>(structure.parameters)),
                        format_flops(structure.sums.forward_flops)});
    }
    if (arguments.json) {
        print({{"family", info->name},
               {"seed", arguments.seed},
               {"groups", info->groups},
               {"networks", std::move(networks)}});
        return kDone;
    }
    std::cout << info->title << " (" << info->source << ").\n";
    if (info->groups > 0)
        std::cout << "Place each in " << info->groups << " groups: --group merge --groups " << info->groups
                  << '\n';
    std::cout << '\n' << table("llrrrrrrr", rows);
    if (!arguments.out.empty()) {
        std::cout << "\nwritten to " << printable((Path(arguments.out) / "train").string(), 4096) << " and "
                  << printable((Path(arguments.out) / "test").string(), 4096) << std::endl;
    }
    return kDone;
}

}  // namespace placewright
