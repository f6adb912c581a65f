// SPDX-License-Identifier: MIT
#include "core/job/saved_search.hpp"

#include <algorithm>

#include "core/algorithms.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {

ScoreConditions score_conditions(const Job& job) {
    ScoreConditions conditions{{"network", job.problem->graph->name()}, {"machine", job.machine->name()}};
    for (auto& condition : scoring_conditions(job)) conditions.push_back(std::move(condition));
    conditions.emplace_back("problem", problem_fingerprint(*job.problem));
    return conditions;
}

std::vector<Placement> all_starts(const Job& job, std::span<const Placement> more) {
    std::vector<Placement> starts = starting_placements(job);
    for (const Placement& start : more) {
        // A duplicate must not change the search: the same job gives the same result wherever its starts come
        // from.
        if (std::ranges::find(starts, start) == starts.end()) starts.push_back(start);
    }
    return starts;
}

void check_search(const SavedSearch& search, const Job& job, const Path& file) {
    const auto refuse = [&](const std::string& problem) {
        throw InputError(file.string(), "line 1", "search: " + problem);
    };
    const AlgorithmInfo* algorithm = find_algorithm(search.algorithm);
    if (algorithm == nullptr)
        refuse("there is no algorithm " + in_quotes(search.algorithm) + " in this version");
    try {
        // What this build is without has no options to check them by; it says so when it is resumed.
        for (const auto& [name, value] : algorithm->missing.empty() ? search.options : OptionValues())
            checked_option(algorithm->options[position(algorithm->options, name)], value);
        for (const Placement& start : search.starts) check_placement(*job.problem, start);
    } catch (const OptionError& error) {
        refuse("the options are not those of this version: " + printable(error.what()));
    } catch (const PlacementError& error) {
        refuse(std::string("a start placement does not suit the network: ") + printable(error.what()));
    }
}

std::string remedy(const OtherConditions& error) {
    if (error.name == "network") return "Open the network " + error.theirs + " first.";
    if (error.name == "machine") return "Choose the machine " + error.theirs + " first.";
    if (error.name == "problem")
        return "Restore batch size, precision, times, memory and groups in Run ▸ Simulation…; if the network "
               "or machine "
               "file has changed, start a new search.";
    return "Change that option in Run ▸ Simulation… first.";
}

}  // namespace placewright
