// SPDX-License-Identifier: MIT
#include "core/job/search_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>

#include "core/algorithms.hpp"
#include "core/base/text.hpp"
#include "core/io/text/csv_table.hpp"
#include "core/io/text/input_error.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/options.hpp"

namespace placewright {
namespace {

std::string number(double value) {
    return to_string(OptionValue(value));
}

std::string number_or_empty(const std::optional<double>& value) {
    return value ? number(*value) : std::string();
}

/// Nothing if the text is no curve.
std::optional<std::vector<CurvePoint>> curve_from(const std::string& text) {
    std::vector<CurvePoint> curve;
    const char *at = text.data(), *end = text.data() + text.size();
    const auto read = [&](auto& value, char behind) {
        const auto [next, error] = std::from_chars(at, end, value);
        at = next;
        if (error != std::errc()) return false;
        if (behind == '\0') return true;
        return at != end && *at++ == behind;
    };
    while (at != end) {
        CurvePoint& point = curve.emplace_back();
        if (!read(point.evaluations, ':') || !read(point.seconds, ':') || !read(point.best_s, '\0'))
            return {};
        if (!std::isfinite(point.seconds) || !std::isfinite(point.best_s)) return {};
        if (at != end && *at == '!') {
            point.fits = false;
            ++at;
        }
        if (at != end && *at++ != ' ') return {};
    }
    return curve;
}

}  // namespace

std::string SearchKey::case_title() const {
    return network + " on " + machine + (options.empty() ? "" : ", " + options);
}

std::string search_csv(const SearchTable& table) {
    std::string text = csv_line({"network", "machine", "options", "algorithm", "seed", "budget", "score_s",
                                 value_name(*table.objective), "fits", "evaluations", "simulations", "wall_s",
                                 "one_device_s", "lower_bound_s", "problem", "curve"});
    for (const TabledSearch& search : table.searches) {
        const bool is_defined = search.score != kUndefinedScore;
        text +=
            csv_line({search.key.network, search.key.machine, search.key.options, search.key.algorithm,
                      std::to_string(search.key.seed), std::to_string(search.budget),
                      is_defined ? number(search.score.penalised_s) : "",
                      is_defined ? number(search.score.value_s) : "", search.score.fits ? "true" : "false",
                      std::to_string(search.evaluations), std::to_string(search.simulations),
                      number(search.wall_s), number_or_empty(search.one_device_s),
                      number_or_empty(search.lower_bound_s), search.problem, curve_text(search.curve)});
    }
    return text;
}

SearchTable read_search_table(const Path& file) {
    CsvTable rows(file);
    SearchTable table;
    const auto objective =
        std::ranges::find_if(objectives(), [&](const Objective& one) { return rows.has(value_name(one)); });
    if (objective == objectives().end() && rows.has("best_s"))
        throw InputError(file.string(), "line 1",
                         "has learning curves but no results; open the table of the searches (\"Export "
                         "searches\", compare --csv), which has their curves, too");
    if (objective == objectives().end()) rows.column(value_name(objectives().front()));  // throws
    table.objective = &*objective;
    const std::size_t network = rows.column("network"), machine = rows.column("machine"),
                      algorithm = rows.column("algorithm"), seed = rows.column("seed"),
                      score = rows.column("score_s"), value = rows.column(value_name(*table.objective)),
                      fits = rows.column("fits"), evaluations = rows.column("evaluations"),
                      simulations = rows.column("simulations"), wall = rows.column("wall_s");
    const auto options = rows.find("options"), budget = rows.find("budget"), problem = rows.find("problem"),
               curve = rows.find("curve");
    const auto optional_number = [&](const char* name) -> std::optional<double> {
        const auto column = rows.find(name);
        if (!column || rows[*column].empty()) return {};
        return rows.number(*column);
    };
    while (rows.next()) {
        TabledSearch& search = table.searches.emplace_back();
        search.key = {rows[network], rows[machine], options ? rows[*options] : "", rows[algorithm],
                      rows.whole(seed)};
        if (!contestant_called(search.key.algorithm))
            rows.fail_expecting("an algorithm (see placewright-cli algorithms)", algorithm);
        if (budget) search.budget = rows.whole(*budget);
        if (problem) search.problem = rows[*problem];
        if (rows[fits] != "true" && rows[fits] != "false") rows.fail_expecting("true or false", fits);
        search.score = rows[score].empty()
                           ? kUndefinedScore
                           : Score{rows.number(score), rows.number(value), rows[fits] == "true"};
        search.evaluations = rows.whole(evaluations);
        search.simulations = rows.whole(simulations);
        search.wall_s = rows.number(wall);
        search.one_device_s = optional_number("one_device_s");
        search.lower_bound_s = optional_number("lower_bound_s");
        if (curve) {
            auto points = curve_from(rows[*curve]);
            if (!points) rows.fail_expecting("EVALUATIONS:SECONDS:BEST_S for each improvement", *curve);
            search.curve = *std::move(points);
        }
    }
    return table;
}

bool is_search_table(const Path& file) {
    if (file.extension() != ".csv") return false;
    try {
        const CsvTable rows(file);
        return rows.has("algorithm") && (rows.has("seed") || rows.has("score_s"));
    } catch (const InputError&) {
        return false;
    }
}

std::vector<ComparedCase> compared_cases(const SearchTable& table) {
    std::vector<Contestant> contestants;
    std::map<std::string, std::size_t> contestant_of;  // by name
    for (const TabledSearch& search : table.searches) {
        if (contestant_of.try_emplace(search.key.algorithm, contestants.size()).second)
            contestants.push_back(contestant_called(search.key.algorithm).value());
    }
    std::vector<ComparedCase> cases;
    std::map<std::vector<std::string>, std::size_t> case_of;  // by labels
    for (const TabledSearch& search : table.searches) {
        const SearchKey& key = search.key;
        const auto [known, is_new] =
            case_of.try_emplace({key.network, key.machine, key.options}, cases.size());
        if (is_new) {
            ComparedCase& one = cases.emplace_back();
            one.title = key.case_title();
            one.labels = known->first;
            one.contestants = contestants;
            one.objective = table.objective;
        }
        ComparedCase* const of = &cases[known->second];
        if (search.one_device_s) of->one_device_s = search.one_device_s;
        if (search.lower_bound_s) of->bound = Bound{"table", *search.lower_bound_s, {}};
        ComparedRun run;
        run.contestant = contestant_of.at(key.algorithm);
        run.seed = key.seed;
        run.progress.best = search.score;
        run.progress.evaluations = search.evaluations;
        run.progress.simulations = search.simulations;
        run.progress.elapsed_s = search.wall_s;
        auto curve = std::make_shared<std::vector<CurvePoint>>(search.curve);
        // A table without curves still knows the end.
        if (curve->empty())
            curve->push_back(
                {search.evaluations, search.wall_s, search.score.penalised_s, 0, search.score.fits});
        run.progress.curve = std::move(curve);
        const auto order = [](const ComparedRun& each) { return std::pair(each.contestant, each.seed); };
        const auto place = std::ranges::lower_bound(of->runs, order(run), {}, order);
        if (place != of->runs.end() && order(*place) == order(run)) {
            *place = std::move(run);
        } else {
            of->runs.insert(place, std::move(run));
        }
    }
    for (ComparedCase& one : cases) one.best_known_s = best_score_s(one.runs);
    return cases;
}

}  // namespace placewright
