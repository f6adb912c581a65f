// SPDX-License-Identifier: MIT
#include "core/job/compared_case.hpp"

#include <algorithm>
#include <cmath>

#include "core/algorithms.hpp"
#include "core/base/infinity.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/job/job.hpp"

namespace placewright {
namespace {

std::string near_text(const Standing& standing) {
    std::string text = std::to_string(standing.near) + " of " + std::to_string(standing.runs.size());
    if (standing.half_near) {
        text += ", median " + format_count(static_cast<double>(standing.half_near->evaluations)) + ", " +
                format_seconds(standing.half_near->seconds);
    }
    return text;
}

std::string against_best(const Standing& standing, const Standing& best) {
    if (&standing == &best) return "best";
    if (const auto test = welch_test(standing.score_s, best.score_s)) return p_text(test->p);
    return standing.score_s.mean == best.score_s.mean ? "same" : "-";
}

std::string labelled_line(std::vector<std::string> labels, const std::vector<std::string>& fields) {
    labels.insert(labels.end(), fields.begin(), fields.end());
    return csv_line(labels);
}

std::string number(double value) {
    return to_string(OptionValue(value));
}

/// Returns an empty text if the objective is not defined.
std::string score_text(const Score& score, double value) {
    return score == kUndefinedScore ? std::string() : number(value);
}

/// The run of a standing with the best step that fits; null if none does.
const ComparedRun* best_run(const Standing& standing) {
    const ComparedRun* best = nullptr;
    for (const ComparedRun* run : standing.runs) {
        if (!run->progress.best.fits || !run->progress.best_placement) continue;
        if (best == nullptr || run->progress.best.value_s < best->progress.best.value_s) best = run;
    }
    return best;
}

}  // namespace

std::string curve_text(const std::vector<CurvePoint>& curve) {
    std::string text;
    for (const CurvePoint& point : curve) {
        if (!text.empty()) text += ' ';
        text += std::to_string(point.evaluations) + ':' + number(point.seconds) + ':' + number(point.best_s);
        if (!point.fits) text += '!';
    }
    return text;
}

void mark_equal(ComparedCase& compared, const std::shared_ptr<const Problem>& problem,
                const SimulationOptions& simulation) {
    compared.equal_to_fastest.assign(compared.contestants.size(), false);
    if (!compared.objective->is_step_time()) return;
    const std::vector<Standing> all = compared.all_standings();
    const ComparedRun* fastest = nullptr;
    for (const Standing& standing : all) {
        const ComparedRun* run = best_run(standing);
        if (run != nullptr &&
            (fastest == nullptr || run->progress.best.value_s < fastest->progress.best.value_s))
            fastest = run;
    }
    double slowest_equal_s = 0;
    for (const Standing& standing : all) {
        const ComparedRun* run = best_run(standing);
        if (run == nullptr) continue;
        if (run == fastest ||
            speed_up(problem, simulation, *fastest->progress.best_placement, *run->progress.best_placement)
                .is_within_error())
            slowest_equal_s = std::max(slowest_equal_s, run->progress.best.value_s);
    }
    // Similar placements are told apart by less. One between two that are equal is equal to them, too.
    for (const Standing& standing : all) {
        const ComparedRun* run = best_run(standing);
        if (run != nullptr)
            compared.equal_to_fastest[standing.contestant] = run->progress.best.value_s <= slowest_equal_s;
    }
}

std::vector<Standing> ComparedCase::all_standings() const {
    return best_known_s ? standings(runs, *best_known_s) : std::vector<Standing>();
}

std::optional<double> speedup(const ComparedCase& compared, const Standing& standing) {
    if (!compared.one_device_s || standing.fitting < standing.runs.size() || !(standing.score_s.mean > 0))
        return {};
    return *compared.one_device_s / standing.score_s.mean;
}

std::optional<double> gap(const ComparedCase& compared, const Standing& standing) {
    if (!compared.bound || !(compared.bound->value_s > 0) || !std::isfinite(compared.bound->value_s) ||
        standing.fitting == 0)
        return {};
    double best_s = kInfinity;
    for (const ComparedRun* run : standing.runs) {
        if (run->progress.best.fits) best_s = std::min(best_s, run->progress.best.value_s);
    }
    return best_s / compared.bound->value_s - 1;
}

std::string standing_alignment(const ComparedCase& compared) {
    return compared.bound ? "lrrrlrrr" : "lrrrlrr";
}

std::string value_name(const Objective& objective) {
    std::string name = std::string(objective.id) + "_s";
    std::ranges::replace(name, '-', '_');
    return name;
}

std::string p_text(double p) {
    return p < 0.001 ? "<0.001" : decimals("%.3f", p);
}

std::vector<std::vector<std::string>> standing_rows(const ComparedCase& compared) {
    std::vector<std::vector<std::string>> rows{
        {"algorithm", "mean", "± 95 %", "best", "within 5 % (evaluations, time)", "speed-up", "p"}};
    if (compared.bound) rows.front().push_back("above bound");
    const std::vector<Standing> all = compared.all_standings();
    if (all.empty()) return rows;
    const Standing& best =
        *std::ranges::min_element(all, {}, [](const Standing& standing) { return standing.score_s.mean; });
    const bool any_equal = std::ranges::count(compared.equal_to_fastest, true) > 1;
    for (const Standing& standing : all) {
        const bool equal = any_equal && compared.equal_to_fastest[standing.contestant];
        const auto faster = speedup(compared, standing);
        const std::size_t undefined = standing.undefined;
        const std::size_t misfits = standing.runs.size() - standing.fitting - undefined;
        const std::size_t runs = standing.runs.size();
        // A mean that includes a penalty is not a time, nor close to one.
        const std::string none = undefined == runs ? "not defined" : "does not fit";
        std::string notes = standing.fitting > 0 ? near_text(standing) : "";
        const auto note = [&](const std::string& text) { notes += (notes.empty() ? "" : "; ") + text; };
        if (misfits > 0) note(std::to_string(misfits) + (misfits == 1 ? " does not fit" : " do not fit"));
        if (undefined > 0) note(std::to_string(undefined) + " not defined");
        rows.push_back({contestant_name(compared.contestants, standing.contestant),
                        standing.fitting == 0     ? none
                        : standing.fitting < runs ? "-"
                                                  : format_seconds(standing.score_s.mean),
                        standing.fitting == runs && standing.score_s.half_width_95
                            ? format_seconds(*standing.score_s.half_width_95)
                            : "-",
                        standing.fitting == 0 ? none : (equal ? "≈ " : "") + format_seconds(standing.best_s),
                        notes, faster ? decimals("%.2f", *faster) : "-",
                        standing.fitting > 0 ? against_best(standing, best) : "-"});
        if (!compared.bound) continue;
        const auto above = gap(compared, standing);
        rows.back().push_back(above ? decimals("%.0f %%", whole_percent(*above)) : "-");
    }
    return rows;
}

std::string distinct_options(const std::vector<Contestant>& contestants, std::size_t index) {
    const Contestant& one = contestants[index];
    const auto is_special = [&](const std::string& name, const OptionValue& value) {
        return one.tells_options || std::ranges::any_of(contestants, [&](const Contestant& other) {
                   const auto found = other.options.find(name);
                   return other.algorithm == one.algorithm &&
                          (found == other.options.end() || found->second != value);
               });
    };
    std::string special;
    for (const auto& [name, value] : one.options) {
        if (is_special(name, value)) special += (special.empty() ? "" : ", ") + name + '=' + to_string(value);
    }
    return special;
}

std::string contestant_name(const std::vector<Contestant>& contestants, std::size_t index) {
    const std::string options = distinct_options(contestants, index);
    return contestants[index].algorithm->id + (options.empty() ? "" : " (" + options + ')');
}

std::optional<Contestant> contestant_called(std::string_view name) {
    const std::size_t bracket = name.find(" (");
    Contestant contestant{find_algorithm(name.substr(0, bracket)), {}, true};
    if (contestant.algorithm == nullptr) return {};
    if (bracket == std::string_view::npos) return contestant;
    const std::vector<OptionInfo>& options = contestant.algorithm->options;
    std::string_view left = name.substr(bracket + 2);
    try {
        while (true) {
            const std::size_t sign = left.find('='), end = left.find_first_of(",)", sign);
            if (end == std::string_view::npos) return {};
            const std::string option(left.substr(0, sign));
            const std::string_view value = left.substr(sign + 1, end - sign - 1);
            contestant.options[option] = parse_option(options[position(options, option)], value);
            left.remove_prefix(end);
            if (left == ")") return contestant;
            if (!left.starts_with(", ")) return {};
            left.remove_prefix(2);
        }
    } catch (const OptionError&) {
        return {};
    }
}

std::string runs_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases) {
    const Objective& objective = cases.empty() ? objectives().front() : *cases.front().objective;
    std::string text =
        labelled_line(label_names, {"algorithm", "seed", "score_s", value_name(objective), "fits",
                                    "evaluations", "simulations", "wall_s", "evaluations_to_near",
                                    "seconds_to_near", "lower_bound_s", "one_device_s", "curve"});
    for (const ComparedCase& compared : cases) {
        for (const ComparedRun& run : compared.runs) {
            const SearchProgress& end = run.progress;
            const auto near = reached(run, *compared.best_known_s);
            text += labelled_line(
                compared.labels,
                {contestant_name(compared.contestants, run.contestant), std::to_string(run.seed),
                 score_text(end.best, end.best.penalised_s), score_text(end.best, end.best.value_s),
                 end.best.fits ? "true" : "false", std::to_string(end.evaluations),
                 std::to_string(end.simulations), number(end.elapsed_s),
                 near ? std::to_string(near->evaluations) : "", near ? number(near->seconds) : "",
                 compared.bound && std::isfinite(compared.bound->value_s) ? number(compared.bound->value_s)
                                                                          : "",
                 compared.one_device_s ? number(*compared.one_device_s) : "", curve_text(*end.curve)});
        }
    }
    return text;
}

std::string curves_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases) {
    std::string text =
        labelled_line(label_names, {"algorithm", "seed", "evaluations", "seconds", "best_s", "mean_s"});
    for (const ComparedCase& compared : cases) {
        for (const ComparedRun& run : compared.runs) {
            for (const CurvePoint& point : *run.progress.curve) {
                text += labelled_line(compared.labels,
                                      {contestant_name(compared.contestants, run.contestant),
                                       std::to_string(run.seed), std::to_string(point.evaluations),
                                       number(point.seconds), point.is_defined() ? number(point.best_s) : "",
                                       point.is_defined() ? number(point.mean_s) : ""});
            }
        }
    }
    return text;
}

std::string means_csv(const std::vector<std::string>& label_names, const std::vector<ComparedCase>& cases) {
    std::string text = labelled_line(label_names, {"algorithm", "seed", "evaluations", "mean_s"});
    for (const ComparedCase& compared : cases) {
        for (const ComparedRun& run : compared.runs) {
            for (const SeriesPoint& point : run.progress.means) {
                text +=
                    labelled_line(compared.labels, {contestant_name(compared.contestants, run.contestant),
                                                    std::to_string(run.seed),
                                                    std::to_string(point.evaluations), number(point.value)});
            }
        }
    }
    return text;
}

}  // namespace placewright
