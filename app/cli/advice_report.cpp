// SPDX-License-Identifier: MIT
#include "app/cli/advice_report.hpp"

#include <iostream>

#include "app/cli/console.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/shipped.hpp"
#include "core/sim/cpu_load.hpp"

namespace placewright {
namespace {

Json remedy_json(const Remedy& remedy, const Job& job) {
    return {
        {"options", remedy.arguments},           {"objective_s", remedy.value_s},
        {"times_as_long", remedy.times_as_long}, {"device", job.problem->machine->device(remedy.device).name},
        {"peak_bytes", remedy.device_bytes},     {"lacking_bytes", remedy.lacking_bytes}};
}

}  // namespace

std::optional<Remedies> remedies_for(const JobArguments& arguments, const Job& job,
                                     const Placement& placement, bool fits) {
    if (fits) return {};
    // An op that was split has other parts with other batch sizes.
    const Path network = arguments.shards.texts.empty() ? find_network_file(arguments.network) : Path();
    return find_remedies(job, arguments.options(), placement, network);
}

void add_remedies(Json& json, const Remedies& remedies, const Job& job) {
    Json fitting = Json::array();
    for (const Remedy& remedy : remedies.fitting) fitting.push_back(remedy_json(remedy, job));
    json["remedies"] = std::move(fitting);
    json["closest"] = remedies.closest ? remedy_json(*remedies.closest, job) : Json(nullptr);
}

std::optional<TooLarge> too_large_for_accelerators(const JobArguments& arguments, const Job& job) {
    const Problem& problem = *job.problem;
    const auto is_cpu = [&](DeviceId device) {
        return problem.machine->device(device).kind == DeviceKind::cpu;
    };
    if (!std::ranges::all_of(job.single_device, is_cpu)) return {};
    std::optional<TooLarge> found;
    Placement best;
    Simulator simulator(job.problem, job.simulation);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (is_cpu(device)) continue;
        Placement placement = single_device_placement(problem, device);
        const Assessment assessment = assess(job, placement, simulator.run(placement));
        if (assessment.score.fits || !assessment.is_defined()) continue;
        const double lacking = assessment.device_bytes[device] - problem.memory_limit_bytes[device];
        if (lacking <= 0 || (found && lacking >= found->lacking_bytes)) continue;
        found = TooLarge{device, lacking, {}};
        best = std::move(placement);
    }
    if (!found) return {};
    if (auto remedies = remedies_for(arguments, job, best, false)) found->remedies = *std::move(remedies);
    return found;
}

void add_too_large(Json& json, const TooLarge& found, const Job& job) {
    Json accelerator{{"device", job.machine->device(found.device).name},
                     {"lacking_bytes", found.lacking_bytes}};
    add_remedies(accelerator, found.remedies, job);
    json["accelerator"] = std::move(accelerator);
}

void print_too_large(const TooLarge& found, const Job& job) {
    const std::string name = printable(job.machine->device(found.device).name, 80);
    std::cout << '\n'
              << wrapped("The network is on a CPU since no accelerator can hold all of it: " + name +
                             " lacks " + format_bytes(found.lacking_bytes) + '.',
                         0);
    print_remedies(found.remedies, job, "The network on " + name);
}

void print_remedies(const Remedies& remedies, const Job& job, const std::string& what) {
    const Problem& problem = *job.problem;
    std::cout << '\n';
    if (remedies.fitting.empty()) {
        std::string subject = what;
        subject.front() = static_cast<char>(std::tolower(subject.front()));
        std::string text = shortage_text(
            remedies, problem, remedies.closest ? remedies.closest->arguments : std::string(), subject);
        text.front() = static_cast<char>(std::toupper(text.front()));
        std::cout << wrapped(printable(text + '.', 8192), 0);
    } else {
        std::cout << what << " fits with any of these:\n";
        std::vector<Row> rows{{"options", "a sample takes", "fullest device"}};
        if (!job.objective->is_step_time()) rows.front()[1] = job.objective->title;
        for (const Remedy& remedy : remedies.fitting)
            rows.push_back({remedy.arguments, duration_text(remedy), fullest_text(remedy, problem)});
        std::cout << table("lll", rows);
    }
    if (remedies.untried > 0)
        std::cout << wrapped(std::to_string(remedies.untried) +
                                 " more combinations were not tried, since the network is large.",
                             0);
}

void warn_of_cpu(const Job& job, const Placement& placement, const Outcome& outcome,
                 const std::string& advice) {
    const auto load = dominating_cpu(*job.problem, placement, outcome);
    if (!load) return;
    std::string text = to_text(*load, *job.problem);
    if (load->bound < load->ops) text += advice;
    std::cerr << printable("placewright-cli: warning: " + text, 8192) << '\n';
}

}  // namespace placewright
