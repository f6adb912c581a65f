// SPDX-License-Identifier: MIT
#include "app/cli/bound_command.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/bounds/bounds.hpp"
#include "core/search/search.hpp"

namespace placewright {
namespace {

/// Value of the best placement found in `seconds`, which solvers start from; infinity if none fits.
double quick_incumbent_s(const Job& job, double seconds, std::stop_token stop) {
    const std::vector<std::string> searches = job.objective->is_step_time()
                                                  ? std::vector<std::string>{"auto"}
                                                  : std::vector<std::string>{"ideals-dp", "load-annealing"};
    const auto evaluator = evaluator_of(job);
    std::vector<Placement> seeds = starting_placements(job);
    double best_s = kInfinity;
    for (const std::string& id : searches) {
        const AlgorithmInfo& algorithm = *find_algorithm(id);
        OptionValues options;
        if (algorithm.id == "ideals-dp")
            options = {{"max_ideals", std::int64_t{5'000}}, {"max_states", std::int64_t{1'000'000}}};
        std::unique_ptr<Optimizer> optimizer;
        try {
            optimizer = algorithm.make({job.problem, 1, seeds, {}, job.objective, job.simulation}, options);
        } catch (const OptionError&) {
            continue;  // the problem is too large for this algorithm
        }
        const SearchResult result = run_search(
            *optimizer, *evaluator, {1'000'000'000, seconds / static_cast<double>(searches.size())}, stop);
        if (!result.progress.best_placement) continue;
        seeds.push_back(*result.progress.best_placement);
        if (result.progress.best.fits) best_s = std::min(best_s, result.progress.best.value_s);
    }
    return best_s;
}

}  // namespace

void BoundArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives());
    command.add_option("--seconds", seconds, "Time for solvers (s); results then depend on the computer")
        ->check(usage::positive_number(1e9, "a number above 0"))
        ->type_name("S");
    command.footer("A bound which proves that no placement fits the memory is null in JSON.\n\n" +
                   command.get_footer());
}

int print_bounds(const BoundArguments& arguments) {
    const InterruptGuard interrupt;
    const Job job = arguments.job.load();
    const Objective& objective = *job.objective;
    std::vector<Bound> bounds = quick_bounds(*job.problem, objective, job.simulation);
    for (Bound& bound : bounds) bound = bound_of(job, std::move(bound));
    if (arguments.seconds > 0 && std::isfinite(bounds.front().value_s)) {
        constexpr double kForIncumbent = 0.2;
        BoundEffort effort;
        effort.incumbent_s = quick_incumbent_s(job, kForIncumbent * arguments.seconds, interrupt.token());
        effort.seconds = (1 - kForIncumbent) * arguments.seconds;
        effort.stop = interrupt.token();
        prove_bounds(*job.problem, objective, job.simulation, effort, [&](Bound found) {
            Bound bound = bound_of(job, std::move(found));
            const auto same = std::ranges::find(bounds, bound.name, &Bound::name);
            if (same == bounds.end()) {
                bounds.push_back(std::move(bound));
            } else if (bound.value_s >= same->value_s) {
                *same = std::move(bound);
            }
        });
        std::ranges::stable_sort(bounds, std::ranges::greater{}, &Bound::value_s);
    }
    const int status = interrupt.token().stop_requested() ? kCancelled : kDone;

    const double tightest_s = bounds.front().value_s;
    if (arguments.job.json) {
        Json list = Json::array();
        for (const Bound& item : bounds)
            list.push_back(
                {{"name", item.name}, {"value_s", finite_or_null(item.value_s)}, {"proof", item.proof}});
        print({{"lower_bound_s", finite_or_null(tightest_s)}, {"bounds", std::move(list)}});
        return status;
    }
    if (!find_algorithm("milp")->missing.empty())
        std::cerr << "placewright-cli: without CBC bounds are weaker; "
                  << without_prefix(find_algorithm("milp")->missing, "milp: ") << '\n';
    std::cout << "no placement of " << printable(job.problem->graph->name()) << " on "
              << printable(job.problem->machine->name());
    if (const std::string groups = groups_text(job); !groups.empty()) std::cout << ',' << groups << ',';
    if (!std::isfinite(tightest_s)) {
        std::cout << " fits the memory";
    } else if (objective.is_step_time()) {
        std::cout << " takes less than " << format_seconds(tightest_s);
    } else {
        std::cout << " has a " << objective.id << " below " << format_seconds(tightest_s);
    }
    std::cout << "\n\n";
    std::vector<Row> rows;
    for (const Bound& item : bounds)
        rows.push_back({item.name, std::isfinite(item.value_s) ? format_seconds(item.value_s) : "none fits",
                        item.proof});
    std::cout << table("lrl", rows);
    return status;
}

}  // namespace placewright
