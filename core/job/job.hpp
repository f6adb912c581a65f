// SPDX-License-Identifier: MIT
// A job: a network on a machine with the options of a simulation; the window and the command line both work
// on jobs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/bounds/bounds.hpp"
#include "core/cost/problem.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/job/side_files.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/optimizer.hpp"
#include "core/sim/memory_penalty.hpp"
#include "core/sim/objectives.hpp"
#include "core/sim/simulator.hpp"
#include "core/sim/step_error.hpp"

namespace placewright {

struct JobOptions {
    ReadOptions reading;
    Supplements supplements;
    ProblemOptions problem;
    SimulationOptions simulation;
    /// Inference of whole blocks with several batches in flight finishes earlier batches first (1F1B), as
    /// servers do, in place of fifo. Not of parts of blocks: batches go to and fro, which 1F1B holds up.
    bool pipeline_order = true;
    const Objective* objective = &objectives().front();
    MemoryPenalty penalty;
    /// Archive of measured times, which load_profile() reads into problem.cost.profile; empty: none.
    Path profile{};

    bool operator==(const JobOptions&) const = default;
};

/// Reads the archive of measured times, unless the options have it, and sets the cost model that uses it.
/// Throws InputError.
void load_profile(JobOptions& options);

struct Job {
    std::shared_ptr<const Problem> problem;
    std::shared_ptr<const Machine>
        machine;  ///< as given; the problem contains the machine as changed by the options
    SimulationOptions simulation;
    const Objective* objective = &objectives().front();
    MemoryPenalty penalty;
    GroupingOptions grouping;  ///< rule by which the problem groups ops
    /// Objective's value for everything on the best device that it fits on; on the best device if it fits on
    /// none.
    double single_device_s = 0;
    bool single_device_fits = false;
    Placement single_device;
    std::optional<StepError> single_device_error{};  ///< of its step
    bool own_machine = false;                        ///< the network file contained its machine
    bool batch_is_open = false;                      ///< the network can be read with any batch size
    std::string fixed_batch{};                       ///< why not, as far as that is known
    std::vector<NetworkFile::Estimated> estimated{};
    /// How the network was read, if it is a language model; `sequence` has a value.
    std::optional<LanguageOptions> language{};
    std::vector<std::string> notes{};  ///< what the reader left out or assumed, one sentence each
};

/// "12 of 412 ops are estimated by their bytes: no FLOPs are known of Mystery, Unique"; empty if none is.
std::string estimated_text(const std::vector<NetworkFile::Estimated>& estimated, std::size_t ops);
/// A line for each kind of them: "Mystery: 12 ops, such as blocks/0/mix"; of more than 100 kinds, the first.
std::string estimated_details(const std::vector<NetworkFile::Estimated>& estimated);

/// `network` and `machine` are files or names of shipped ones. A network file that contains its machine (a
/// workload) runs on that machine and with the times in the file, whatever `machine` and the options say.
/// Throws InputError, also for a network that this machine or these options do not allow (an op that may be
/// on no device, no backward ops to derive, nothing left for inference), and for a machine that they do not
/// allow (cut-through over a channel twice, no CPU for an objective that needs one).
Job load_job(const std::string& network, const std::string& machine, const JobOptions& options);
/// Loads the job of a network that was read from `file` and to which the supplements have been applied.
Job load_job(const Path& file, NetworkFile network, const std::string& machine, JobOptions options);
/// What Job::single_device is: "gpu:0 alone", or "one device as far as possible" if it may not hold some ops.
std::string single_device_text(const Job& job);
/// Why a language model cannot be run, to stand behind its name.
inline constexpr const char* kLanguageModelsAreSimulated =
    "is a language model: these are simulated only, because their files have sizes and weights, but no ops "
    "that could "
    "be run";

/// Whether a Precision says the types of a language model: where it is trained, and no narrower weights were
/// asked for. Else they are those of LanguageOptions: weights in 4 bits do not become others with the
/// activations, and the cache has a type of its own.
bool takes_precision(const LanguageOptions& language);
/// The problem's options, with a cache for each batch in flight of a language model that generates tokens,
/// and without a precision that it does not take. A network file that a language model was converted to does
/// not say that it is one.
ProblemOptions problem_options(const JobOptions& options, const std::optional<LanguageOptions>& language);
/// Throws PlacementError if some op may be on no device, GraphError if there is no training or inference
/// graph, MachineError for options that do not suit the machine.
/// `language`: how the graph was read, if it is a language model.
Job make_job(std::shared_ptr<const Graph> graph, std::shared_ptr<const Machine> machine,
             const JobOptions& options, const std::optional<LanguageOptions>& language = {});

/// Gives each group the device that its first op has, by name, in a placement of another problem; nothing if
/// that problem lacks the op.
std::optional<Placement> by_op_names(std::span<const DeviceId> placement, const Problem& from,
                                     const Problem& to);

/// Evaluation of a placement by the objective.
struct Assessment {
    Score score;                       ///< kUndefinedScore where the objective is not defined
    std::vector<double> device_bytes;  ///< [device]: bytes compared with its memory limit
    std::vector<double> device_s;      ///< [device]: load in the objective's formula; empty for the step time
    std::string undefined;             ///< reason why the objective is not defined; otherwise empty

    bool is_defined() const { return undefined.empty(); }
};

/// `outcome`: result of the job's simulation of the placement. Throws what the objective throws for every
/// placement: GraphError, MachineError.
Assessment assess(const Job& job, const Placement& placement, const Outcome& outcome);

/// How much shorter a simulated step is than another of the same network on the same machine.
struct SpeedUp {
    double ratio = 1;
    /// The real ratio is between ratio / (1 + error) and ratio * (1 + error) with a probability of 80 %;
    /// nothing if the cost model makes no statement about real devices.
    std::optional<double> error;

    /// Whether the two may as well be equally fast.
    bool is_within_error() const { return error && ratio <= 1 + *error && ratio * (1 + *error) >= 1; }
};
/// The step of `slower` over that of `faster`.
SpeedUp speed_up(const std::shared_ptr<const Problem>& problem, const SimulationOptions& options,
                 const Placement& faster, const Placement& slower);
/// "1.93 (± 4 %) times as fast as gpu:0 alone", or "as fast as gpu:0 alone within the error (1.02 times, ± 4
/// %)".
std::string speed_up_text(const SpeedUp& speed_up, const std::string& other);

/// Returns an evaluator for the job's objective and memory penalty on `threads` threads (0: all cores).
std::unique_ptr<Evaluator> evaluator_of(const Job& job, unsigned threads = 0);

/// Returns the start placements of searches: single device and expert.
std::vector<Placement> starting_placements(const Job& job);

/// Returns everything besides the problem that scores depend on, as names with values.
std::vector<std::pair<std::string, std::string>> scoring_conditions(const Job& job);

/// Returns the prediction of a placement file for a simulated placement; leaves out a lower bound that is not
/// finite and positive, or that holds for groups only.
PlacementFile::Prediction prediction(const Job& job, std::span<const DeviceId> placement,
                                     const Outcome& outcome, double lower_bound_s);

/// Returns " of these 12 groups" if the job groups ops, because its bounds then hold for groups only; empty
/// if every op may be placed on its own.
std::string groups_text(const Job& job);
/// Returns a bound of the job's problem whose proof names the groups that it holds for.
Bound bound_of(const Job& job, Bound bound);
/// Returns how far a score may be above the best one, "at most 3 % above optimal" or "optimal", rounded up so
/// that it is true; empty if the score does not fit or the bound is not above 0. A score below the bound is
/// said to show that the bound is wrong.
std::string above_bound_text(const Job& job, const Score& score, const Bound& bound);
/// Returns the tightest of quick_bounds() on the objective's value, as bound_of().
Bound tightest_bound(const Job& job);

}  // namespace placewright
