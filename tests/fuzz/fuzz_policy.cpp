// SPDX-License-Identifier: MIT
// Policy files, of which nothing is trusted: neither the sizes nor the options from which the policy is
// built.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/missing_part.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/learn/trainer.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    try {
        holds_weights(file.path());
        read_policy(file.path());
    } catch (const InputError&) {
    } catch (const MissingPart&) {
        // A build without LibTorch has no sequence policies.
    }
    return 0;
}

std::vector<std::string> seeds() {
    const auto problem = test::problem(test::fork_join(2, 1e9, 1'000), test::uniform_machine(2));
    const auto graph = std::make_shared<const PolicyGraph>(problem, false);
    std::vector<std::string> files;
    for (const char* id : {"placeto", "colocrl"}) {
        TrainingRecord record;
        record.policy = id;
        for (const OptionInfo& option : find_policy(id)->options)
            record.options[option.name] = option.default_value;
        for (const char* name : {"width", "hidden", "layers", "rounds", "workers"}) {
            if (record.options.contains(name)) record.options[name] = std::int64_t{2};
        }
        record.size = {graph->devices, graph->nodes};
        record.graphs.push_back({"fork", "pair", "0000000000000000"});
        record.planned_updates = 2;
        PolicyDesign design;
        try {
            design = find_policy(id)->make(record.options, record.size);
        } catch (const MissingPart&) {
            continue;  // of a build without LibTorch
        }
        const Trainer trainer(design.policy, design.training, {{"fork", graph, 1.0}}, 1,
                              record.planned_updates, 1);
        const auto path =
            std::filesystem::temp_directory_path() / ("fuzz_policy-" + std::to_string(::getpid()));
        write_policy(record, trainer.state(), trainer.policy(), path);
        std::ifstream stream(path, std::ios::binary);
        files.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
        std::filesystem::remove(path);
    }
    return files;
}
