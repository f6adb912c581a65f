// SPDX-License-Identifier: MIT
#include "app/cli/advice_report.hpp"

#include <iostream>

#include "app/cli/console.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/shipped.hpp"
#include "core/job/token_rate.hpp"
#include "core/sim/cpu_load.hpp"

namespace placewright {
namespace {

Json remedy_json(const Remedy& remedy, const Job& job) {
    return {
        {"options", remedy.arguments},           {"objective_s", remedy.value_s},
        {"times_as_long", remedy.times_as_long}, {"device", job.problem->machine->device(remedy.device).name},
        {"peak_bytes", remedy.device_bytes},     {"lacking_bytes", remedy.lacking_bytes}};
}

/// The file of the network, which may be read with other batch sizes; empty if it may not.
Path file_to_read_again(const JobArguments& arguments) {
    // An op that was split has other parts with other batch sizes.
    return arguments.shards.texts.empty() ? find_network_file(arguments.network) : Path();
}

}  // namespace

std::optional<Remedies> remedies_for(const JobArguments& arguments, const Job& job,
                                     const Placement& placement, bool fits) {
    if (fits) return {};
    return find_remedies(job, arguments.options(), placement, file_to_read_again(arguments));
}

void add_remedies(Json& json, const Remedies& remedies, const Job& job) {
    Json fitting = Json::array();
    for (const Remedy& remedy : remedies.fitting) fitting.push_back(remedy_json(remedy, job));
    json["remedies"] = std::move(fitting);
    json["closest"] = remedies.closest ? remedy_json(*remedies.closest, job) : Json(nullptr);
}

std::optional<Remedies> accelerator_remedies_for(const JobArguments& arguments, const Job& job,
                                                 const Placement& placement, const Outcome& outcome,
                                                 bool fits) {
    if (!fits) return {};
    const auto load = dominating_cpu(*job.problem, placement, outcome);
    if (!load || load->bound == load->ops) return {};
    return find_accelerator_remedies(job, arguments.options(), placement, file_to_read_again(arguments));
}

void add_accelerator_remedies(Json& json, const Remedies& remedies, const Job& job) {
    Json accelerator{{"device", job.machine->device(remedies.whole->device).name},
                     {"lacking_bytes", remedies.whole->lacking_bytes}};
    add_remedies(accelerator, remedies, job);
    json["accelerator"] = std::move(accelerator);
}

void print_accelerator_remedies(const Remedies& remedies, const Job& job) {
    const std::string name = printable(job.machine->device(remedies.whole->device).name, 80);
    std::cout << '\n'
              << wrapped("No accelerator can hold all of the network: " + name + " lacks " +
                             format_bytes(remedies.whole->lacking_bytes) + '.',
                         0);
    print_remedies(remedies, job, "The network on " + name);
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
        std::vector<Row> rows{{"options", "a " + sample_name(job.language) + " takes", "fullest device"}};
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
