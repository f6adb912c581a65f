// SPDX-License-Identifier: MIT
#include "app/cli/language_report.hpp"

#include <iostream>

#include "app/cli/console.hpp"
#include "core/base/units.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/shipped.hpp"

namespace placewright {
namespace {

std::string text_of(const PhaseFigures& figures) {
    const std::string tokens = std::to_string(figures.sequence) + " tokens";
    const double rate = figures.tokens_per_s;
    const std::string speed = (rate < 100 ? decimals("%.3g", rate) : format_count(rate)) + " tokens/s";
    const std::string more = figures.fits ? "" : ", does not fit the memory";
    const std::string prompts = figures.batch > 1 ? "prompts" : "prompt";
    const std::string each =
        figures.batch > 1 ? std::to_string(figures.batch) + ' ' + prompts + " of " : "a prompt of ";
    const std::string others = figures.in_flight > 1
                                   ? " with " + std::to_string(figures.in_flight) + " batches in flight (" +
                                         format_seconds(figures.alone_s) + " with one)"
                                   : "";
    switch (figures.phase) {
        case LanguagePhase::decode:
            return "decode: " + format_seconds(figures.latency_s) + " a token" + others + ", " + speed +
                   (others.empty() ? " with " : "; ") + tokens + " in the cache (" +
                   format_bytes(figures.cache_bytes) + ')' + more;
        case LanguagePhase::prefill:
            return "prefill: " + format_seconds(figures.latency_s) + " to the first token of " + each +
                   tokens + others + ", " + speed + more;
        case LanguagePhase::training:
            return "training: " + speed + more;
    }
    return {};
}

std::string text_of(const FrameworkSplit& split, double value_s) {
    std::string title = split.algorithm->title + ", as " + split.framework + " splits";
    if (split.would_stream)
        title += " (timed with ops on the CPU; " + split.framework +
                 " copies their weights to a GPU, as --offload stream does)";
    if (!split.score.fits) return title + ": does not fit the memory";
    return title + ": " + format_seconds(split.score.value_s) + ", this placement is " +
           decimals("%.2f", split.score.value_s / value_s) + " times as fast";
}

Json json_of(const PhaseFigures& figures) {
    return {{"phase", to_string(figures.phase)},
            {"batch", figures.batch},
            {"sequence", figures.sequence},
            {"step_time_s", figures.step_time_s},
            {"latency_s", figures.latency_s},
            {"alone_s", figures.alone_s},
            {"tokens_per_s", figures.tokens_per_s},
            {"cache_bytes", figures.cache_bytes},
            {"fits", figures.fits}};
}

}  // namespace

std::optional<LanguageReport> language_report(const JobArguments& arguments, const Job& job,
                                              const Placement& placement, const Outcome& outcome,
                                              double value_s) {
    std::optional<PhaseFigures> phase = phase_figures(job, placement, outcome);
    if (!phase) return std::nullopt;
    return LanguageReport{*phase,
                          other_phase(job, placement, find_network_file(arguments.network), arguments.machine,
                                      arguments.options()),
                          framework_splits(job), value_s};
}

void print_language(const LanguageReport& report) {
    std::cout << '\n' << text_of(report.phase) << '\n';
    if (report.other) std::cout << text_of(*report.other) << '\n';
    for (const FrameworkSplit& split : report.splits) std::cout << text_of(split, report.value_s) << '\n';
}

void add_language(Json& json, const LanguageReport& report) {
    Json phases = Json::array({json_of(report.phase)});
    if (report.other) phases.push_back(json_of(*report.other));
    Json splits = Json::array();
    for (const FrameworkSplit& split : report.splits)
        splits.push_back({{"algorithm", split.algorithm->id},
                          {"objective_s", split.score.value_s},
                          {"fits", split.score.fits},
                          {"would_stream", split.would_stream}});
    json["language"] = {{"phases", std::move(phases)}, {"framework_splits", std::move(splits)}};
}

}  // namespace placewright
