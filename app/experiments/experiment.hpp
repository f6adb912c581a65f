// SPDX-License-Identifier: MIT
// Experiments of papers: their problems, their algorithms and their findings, which are checked against the
// results here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/compared_case.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// A problem of an experiment, identified by the labels of `compared`.
struct ExperimentCase {
    Job job;
    double gpu_memory_bytes = 0;
    std::size_t repeats = 1;  ///< default number of searches per algorithm
    double one_gpu_s = 0;     ///< step time of all ops on one GPU, even if they do not fit
    bool one_gpu_fits = true;
    ComparedCase compared;  ///< contestants are set; runs are filled in by the search
};

/// Simulates all ops on the first GPU; sets one_gpu_s, one_gpu_fits and, if they fit, compared.one_device_s.
void measure_one_gpu(ExperimentCase& item);

/// A machine of one CPU and `gpus` GPUs. Each GPU reaches the CPU and the other GPUs over its own two links,
/// one per direction. Names are those given plus the number: "gpu:0", "pcie0/up". The machine is called "4x "
/// plus the GPU model without the vendor.
Machine gpu_server(unsigned gpus, const Device& cpu, const Device& gpu, const Channel& link,
                   Crossing crossing);

/// Number of groups that the ops of a network are merged into, as for Placeto's families; the paper gives no
/// number for its other experiments.
inline constexpr std::uint32_t kPlacetoGroups = 128;

/// A job under Placeto's conditions: K80s (see placeto_experiment.cpp) and its memory penalty. Ops are merged
/// into `groups` groups unless `grouping` has a rule of its own.
Job placeto_job(std::shared_ptr<const Graph> graph, unsigned gpus, const GroupingOptions& grouping,
                std::uint32_t groups);

enum class Verdict : std::uint8_t {
    holds,
    differs,
    undecided,
    not_run
};  ///< undecided: too few searches to tell, placements that do not fit, which have no time to compare, or an
    ///< experiment that was cut short
std::string_view to_string(Verdict verdict);

/// A finding of a paper, and whether it holds here.
struct Finding {
    std::string where;  ///< label of the cases that it is about
    std::string claim;
    Verdict verdict = Verdict::not_run;  ///< over the cases that ran: differs if one of them differs
    std::string data{};                  ///< the figures, by case
    std::size_t missing = 0;             ///< cases that did not run

    /// Adds the result of another case that the finding is about.
    void add(bool ran, bool holds, const std::string& figures);
};

struct ReportTable {
    std::string title;
    std::vector<std::vector<std::string>> rows;  ///< the header first
};

/// Inputs that may differ from those of the paper.
struct ExperimentInputs {
    std::map<std::string, std::string>
        network_files;  ///< by network name: files to read in place of the generated networks
    GroupingOptions grouping;

    /// `batch` applies to generated networks and to files that leave the batch size open. Throws InputError.
    std::shared_ptr<const Graph> network(const std::string& name, std::int64_t batch) const;
};

struct Experiment {
    std::string_view id;  ///< "e3"
    std::string_view title;
    std::string_view help;        ///< one line
    std::string_view source;      ///< "the thesis", whose findings these are
    std::string_view conditions;  ///< conditions shared by all cases; for the report
    std::vector<std::string> label_names;
    std::vector<std::string_view> networks;
    std::uint64_t evaluations = 0;  ///< default number per search
    /// Throws InputError for a network that cannot be read.
    std::vector<ExperimentCase> (*cases)(const ExperimentInputs& inputs);
    std::vector<Finding> (*findings)(const std::vector<ExperimentCase>& cases);
    /// Tables in addition to the standings of each case; may be null. Cases without runs are omitted.
    std::vector<ReportTable> (*tables)(const std::vector<ExperimentCase>& cases) = nullptr;
};

/// Lagostra's thesis on Exprimo (2020), section 4.3.3: hill climbing, annealing, the genetic algorithm and
/// MAP-Elites on three networks and three settings, with 20 000 evaluations each.
const Experiment& e3();

/// Post (Gao, Chen, Li, 2018), figure 2 and table 1: Post, its components, METIS and experts on eight
/// networks with 2, 4 and 8 K80s.
const Experiment& post_experiment();

/// Placeto (Addanki et al., 2019), table 1: Placeto and an RNN that places whole networks, Scotch and experts
/// on three networks with 2 and 4 K80s.
const Experiment& placeto_experiment();

/// The policy that ships, on the shipped networks and four machines.
const Experiment& policy_experiment();

}  // namespace placewright
