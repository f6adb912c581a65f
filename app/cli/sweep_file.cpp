// SPDX-License-Identifier: MIT
#include "app/cli/sweep_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <numeric>
#include <utility>

#include "core/algorithms.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

constexpr std::uint64_t kMostSeeds = 10'000;

/// A file beside the sweep's if there is one, else the name as it is.
std::string located(const Path& file, const std::string& name) {
    std::error_code error;
    const Path beside = file.parent_path() / name;
    return std::filesystem::exists(beside, error) ? beside.string() : name;
}

/// Texts that are not empty and differ; at least one.
std::vector<std::string> names(const JsonValue& list) {
    std::vector<std::string> all;
    list.for_each_item([&](const JsonValue& item) {
        std::string name = item.text();
        if (name.empty()) item.fail("is empty, expected a name or a file");
        if (std::ranges::find(all, name) != all.end()) item.fail("\"" + name + "\" is there twice");
        all.push_back(std::move(name));
    });
    if (all.empty()) list.fail("is empty, expected at least one name");
    return all;
}

/// The value of an option as it stands on the command line.
std::string argument_of(const JsonValue& value) {
    if (value.json().is_string()) return value.text();
    if (value.json().is_number()) return value.json().dump();
    value.fail("expected a number, a text, true, false, or a list of these");
}

SweepOptions options_of(const JsonValue& object) {
    SweepOptions options;
    object.for_each_member([&](const std::string& name, const JsonValue& value) {
        for (const auto& [reserved, instead] :
             {std::pair("machine", "\"machines\""), std::pair("evaluations", "\"evaluations\""),
              std::pair("seeds", "\"seeds\""), std::pair("algorithms", "\"algorithms\"")}) {
            if (name == reserved) value.fail(std::string("belongs in ") + instead + " of the whole sweep");
        }
        const auto add = [&](const JsonValue& one) {
            if (one.json().is_boolean() && !one.truth()) return;
            options.label += (options.label.empty() ? "" : " ") + name;
            const bool is_flag = one.json().is_boolean();
            const std::string argument = is_flag ? std::string() : argument_of(one);
            if (!is_flag) options.label += '=' + argument;
            if (name == "set") {
                if (is_flag) one.fail("expected \"ALGORITHM.OPTION=VALUE\"");
                options.settings.push_back(argument);
                return;
            }
            options.arguments.push_back("--" + name);
            if (!is_flag) options.arguments.push_back(argument);
        };
        if (value.json().is_array()) {
            value.for_each_item(add);
        } else {
            add(value);
        }
    });
    return options;
}

std::vector<std::uint64_t> seeds_of(const JsonValue& value) {
    std::vector<std::uint64_t> seeds;
    if (!value.json().is_array()) {
        seeds.resize(static_cast<std::size_t>(value.whole(1, kMostSeeds)));
        std::iota(seeds.begin(), seeds.end(), 1);
        return seeds;
    }
    value.for_each_item([&](const JsonValue& item) {
        const auto seed = static_cast<std::uint64_t>(item.whole(0, std::numeric_limits<std::int64_t>::max()));
        if (std::ranges::find(seeds, seed) != seeds.end()) item.fail("is there twice");
        seeds.push_back(seed);
    });
    if (seeds.empty()) value.fail("is empty, expected at least one seed");
    return seeds;
}

}  // namespace

Sweep read_sweep(const Path& file) {
    const JsonFile content(file);
    content.require_format("placewright.sweep");
    const Json json = content.parse();
    const JsonValue root(content, json);
    JsonFile::require_version(root, 1);
    constexpr std::array kKeys{"format",     "version", "networks", "machines",
                               "algorithms", "options", "seeds",    "evaluations"};
    root.for_each_member([&](const std::string& key, const JsonValue& value) {
        if (std::ranges::find(kKeys, key) == kKeys.end())
            value.fail("is not known; expected networks, machines, algorithms, options, seeds, evaluations");
    });
    Sweep sweep;
    for (const std::string& name : names(root.at("networks")))
        sweep.networks.push_back({name, located(file, name)});
    for (const std::string& name : names(root.at("machines")))
        sweep.machines.push_back({name, located(file, name)});
    const JsonValue algorithms = root.at("algorithms");
    for (std::size_t i = 0; const std::string& id : names(algorithms)) {
        const AlgorithmInfo* algorithm = find_algorithm(id);
        if (algorithm == nullptr)
            algorithms.at(i).fail("there is no algorithm " + id + "; see placewright-cli algorithms");
        if (!algorithm->missing.empty()) algorithms.at(i).fail(algorithm->missing);
        sweep.algorithms.push_back(algorithm);
        ++i;
    }
    if (const auto options = root.find("options")) {
        options->for_each_item([&](const JsonValue& item) {
            SweepOptions one = options_of(item);
            if (std::ranges::find(sweep.options, one.label, &SweepOptions::label) != sweep.options.end())
                item.fail("is the same as options before it");
            sweep.options.push_back(std::move(one));
        });
        if (sweep.options.empty()) options->fail("is empty, expected at least one object, which may be {}");
    } else {
        sweep.options.emplace_back();
    }
    const auto seeds = root.find("seeds");
    sweep.seeds = seeds ? seeds_of(*seeds) : std::vector<std::uint64_t>{1, 2, 3, 4, 5};
    if (const auto evaluations = root.find("evaluations"))
        sweep.evaluations = static_cast<std::uint64_t>(evaluations->whole(1, 1'000'000'000'000));
    constexpr std::size_t kMostSearches = 1'000'000;
    if (sweep.searches() > kMostSearches)
        content.fail("", "asks for " + std::to_string(sweep.searches()) + " searches; the most are " +
                             std::to_string(kMostSearches));
    return sweep;
}

}  // namespace placewright
