// SPDX-License-Identifier: MIT
// Experiments of papers: which problems and algorithms, and what the papers found, to be held against what is found here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/compared_case.hpp"
#include "app/job.hpp"

namespace placewright {

/// A problem of an experiment. The labels of `compared` are what tells it from the others.
struct ExperimentCase {
    Job job;
    double gpu_memory_bytes = 0;
    std::size_t repeats = 1;  ///< searches of each algorithm, unless asked for another number
    double one_gpu_s = 0;     ///< step time of everything on one GPU, whether it fits or not
    bool one_gpu_fits = true;
    ComparedCase compared;  ///< with contestants, without runs
};

/// Simulates a case on its first GPU, for what it tells of one GPU and one device.
void measure_one_gpu(ExperimentCase& item);

/// A CPU and so many GPUs, each behind a link of its own in either direction, over which they reach the CPU and each other. GPUs and links
/// are named after these with their number: "gpu:0", "pcie0/up". Named "4x " and the GPU's model without its maker.
Machine gpu_server(unsigned gpus, const Device& cpu, const Device& gpu, const Channel& link, Crossing crossing);

/// Groups that the ops of a network are merged to, as in Placeto's families of networks; for its other experiments the paper does not say.
inline constexpr std::uint32_t kPlacetoGroups = 128;

/// Placeto's conditions: K80s (see placeto_experiment.cpp) and what memory beyond theirs costs; ops merged to so many groups, unless
/// `grouping` says otherwise.
Job placeto_job(std::shared_ptr<const Graph> graph, unsigned gpus, const GroupingOptions& grouping, std::uint32_t groups);

enum class Verdict : std::uint8_t { holds, differs, undecided, not_run };  ///< undecided: of what does not fit there is no time
std::string_view to_string(Verdict verdict);

/// Something that a paper says of its results, and whether it is so here.
struct Finding {
    std::string where;  ///< a label of the cases that it is about
    std::string claim;
    Verdict verdict = Verdict::not_run;  ///< of the cases that ran: differs if it does in one of them
    std::string data{};                  ///< the figures, by case
    std::size_t missing = 0;             ///< cases that did not run

    /// Takes in another case that it is about.
    void add(bool ran, bool holds, const std::string& figures);
};

struct ReportTable {
    std::string title;
    std::vector<std::vector<std::string>> rows;  ///< the header first
};

/// What may be other than in the paper.
struct ExperimentInputs {
    std::map<std::string, std::string> network_files;  ///< networks that are read in place of the generated ones, by name
    GroupingOptions grouping;

    /// Batch sizes hold for generated networks and for files that leave them open. Throws InputError.
    std::shared_ptr<const Graph> network(const std::string& name, std::int64_t batch) const;
};

struct Experiment {
    std::string_view id;  ///< "e3"
    std::string_view title;
    std::string_view help;        ///< one line
    std::string_view source;      ///< "the thesis", whose findings these are
    std::string_view conditions;  ///< what all cases share; for the report
    std::vector<std::string> label_names;
    std::vector<std::string_view> networks;
    std::uint64_t evaluations = 0;  ///< of each search, unless asked for another number
    /// Throws InputError for a network that cannot be read.
    std::vector<ExperimentCase> (*cases)(const ExperimentInputs& inputs);
    std::vector<Finding> (*findings)(const std::vector<ExperimentCase>& cases);
    /// Beside the standings of each case; may be null. Cases without runs are left out.
    std::vector<ReportTable> (*tables)(const std::vector<ExperimentCase>& cases) = nullptr;
};

/// Lagostra's thesis on Exprimo (2020), section 4.3.3: hill climbing, annealing, the genetic algorithm and MAP-Elites on three networks and
/// three settings, with 20 000 evaluations each.
const Experiment& e3();

/// Post (Gao, Chen, Li, 2018), figure 2 and table 1: Post and its parts, METIS and experts on eight networks with 2, 4 and 8 K80s.
const Experiment& post_experiment();

/// Placeto (Addanki et al., 2019), table 1: Placeto and an RNN that places whole networks, Scotch and experts on three networks with 2 and
/// 4 K80s.
const Experiment& placeto_experiment();

}  // namespace placewright
