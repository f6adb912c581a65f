// SPDX-License-Identifier: MIT
#include "core/job/lessons.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "core/base/path.hpp"
#include "core/cost/problem_fingerprint.hpp"
#include "core/io/file_content.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/learn/training_run.hpp"

namespace placewright {
namespace {

/// Returns the grouping rule in the words of the command line.
std::vector<std::pair<std::string, std::string>> grouping_conditions(const GroupingOptions& grouping) {
    std::string rule(to_string(grouping.rule));
    if (grouping.rule == GroupingRule::scope) rule += ':' + std::to_string(grouping.scope_depth);
    std::vector<std::pair<std::string, std::string>> conditions{{"group", rule}};
    if (grouping.rule != GroupingRule::merge) return conditions;
    if (grouping.merge_below_bytes > 0) {
        conditions.emplace_back("merge_below", std::to_string(grouping.merge_below_bytes));
    } else {
        conditions.emplace_back("groups", std::to_string(grouping.merge_groups));
    }
    return conditions;
}

}  // namespace

std::vector<TrainingGraph> Curriculum::graphs() const {
    std::vector<TrainingGraph> graphs;
    for (const Lesson& lesson : training) {
        const Problem& problem = *lesson.job.problem;
        graphs.push_back({problem.graph->name(), lesson.graph, reference_s(problem)});
    }
    return graphs;
}

std::vector<Path> network_files(const Path& folder) {
    std::vector<Path> files = files_in(folder, ".json");
    std::erase_if(files, [](const Path& file) {
        const FileContent content = file_content(file);
        return content != FileContent::network && content != FileContent::workload;
    });
    if (files.empty()) throw InputError(folder.string(), "", "holds no networks (files .json)");
    return files;
}

void restrict_single_device(Job& job, const DeviceChoices& choices) {
    const std::vector<Placement> placements = choices.on_each_device();
    std::vector<Score> scores(placements.size());
    evaluator_of(job, 1)->evaluate(placements, scores, {});
    const auto best = std::ranges::min_element(scores, {}, &Score::penalised_s);
    job.single_device = placements[static_cast<std::size_t>(best - scores.begin())];
    job.single_device_s = best->value_s;
    job.single_device_fits = best->fits;
}

void complete(Curriculum& curriculum, const PolicyInfo& info, const OptionValues& values,
              std::uint64_t seed) {
    TrainingRecord& record = curriculum.record;
    const Lesson& first = curriculum.training.front();
    record.policy = info.id;
    for (const OptionInfo& option : info.options) record.options[option.name] = option.default_value;
    for (const auto& [name, value] : values) record.options[name] = value;
    record.size = {first.graph->devices, first.graph->nodes};
    record.conditions = scoring_conditions(first.job);
    for (auto& item : grouping_conditions(first.job.grouping)) record.conditions.push_back(std::move(item));
    record.seed = seed;
    curriculum.design = info.make(record.options, record.size);
    for (auto* lessons : {&curriculum.training, &curriculum.test}) {
        for (Lesson& lesson : *lessons) {
            restrict_single_device(lesson.job, lesson.graph->choices);
            const Problem& problem = *lesson.job.problem;
            if (const std::string reason = misfit(info, record.options, record.size, *lesson.graph);
                !reason.empty())
                throw std::invalid_argument(problem.graph->name() + " on " + lesson.job.machine->name() +
                                            ": " + reason);
        }
    }
    for (const Lesson& lesson : curriculum.training) {
        const Problem& problem = *lesson.job.problem;
        record.graphs.push_back(
            {problem.graph->name(), lesson.job.machine->name(), problem_fingerprint(problem)});
    }
}

std::string condition(const TrainingRecord& record, const std::string& name) {
    const auto found =
        std::ranges::find(record.conditions, name, &std::pair<std::string, std::string>::first);
    return found == record.conditions.end() ? "" : found->second;
}

}  // namespace placewright
