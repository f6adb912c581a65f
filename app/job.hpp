// SPDX-License-Identifier: MIT
// A network on a machine with the options of a simulation: what the window and the command line both work on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/supplements.hpp"
#include "core/bounds/bounds.hpp"
#include "core/cost/problem.hpp"
#include "core/io/files.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/optimizer.hpp"
#include "core/sim/goals.hpp"
#include "core/sim/objective.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

struct JobOptions {
    ReadOptions reading;
    Supplements supplements;
    ProblemOptions problem;
    SimulationOptions simulation;
    const Goal* goal = &goals().front();
    Objective objective;

    bool operator==(const JobOptions&) const = default;
};

struct Job {
    std::shared_ptr<const Problem> problem;
    std::shared_ptr<const Machine> machine;  ///< as it was given; the problem's has what the options replace in it
    SimulationOptions simulation;
    const Goal* goal = &goals().front();
    Objective objective;
    GroupingOptions grouping;  ///< which ops the problem moves together
    /// What the goal makes of everything on the best device that it fits on; on the best device if it fits on none.
    double single_device_s = 0;
    bool single_device_fits = false;
    Placement single_device;
    bool own_machine = false;    ///< the network brought its machine
    bool batch_is_open = false;  ///< the network can be read with any batch size
    std::vector<NetworkFile::Estimated> estimated{};
};

/// "12 of 412 ops are estimated by their bytes: no FLOPs are known of Mystery, Unique"; empty if none is.
std::string estimated_text(const std::vector<NetworkFile::Estimated>& estimated, std::size_t ops);

/// `network` and `machine` are files or names of shipped ones. A network that brings its machine (a workload) runs on that one and with the
/// times in its file, whatever `machine` and the options say. Throws InputError, also for a network that this machine or these options do
/// not allow (an op that may be on no device, no backward ops to derive, nothing left for inference), and for a machine that they do not
/// allow (cut-through over a channel twice, no CPU for a goal that needs one).
Job load_job(const std::string& network, const std::string& machine, const JobOptions& options);
/// The same for a network that was read from `file` and has got what the supplements say of it.
Job load_job(const Path& file, NetworkFile network, const std::string& machine, JobOptions options);
/// Throws PlacementError if some op may be on no device, GraphError if there is no training or inference graph, MachineError for options
/// that do not suit the machine.
Job make_job(std::shared_ptr<const Graph> graph, std::shared_ptr<const Machine> machine, const JobOptions& options);

/// A placement as the objective sees it.
struct Assessment {
    Score score;                       ///< kUndefinedScore where the goal is not defined
    std::vector<double> device_bytes;  ///< by device: what tells whether it fits
    std::vector<double> device_s;      ///< by device: its load in the goal's formula; empty for the step time
    std::string undefined;             ///< why the goal is not defined, else empty

    bool is_defined() const { return undefined.empty(); }
};

/// `outcome`: what the job's simulation makes of the placement. Throws what the goal throws of every placement: GraphError, MachineError.
Assessment assess(const Job& job, const Placement& placement, const Outcome& outcome);

/// Scores placements as the job's goal and objective do, on so many threads (0: all cores).
std::unique_ptr<Evaluator> evaluator_of(const Job& job, unsigned threads = 0);

/// Placements for searches to start from: single device and expert.
std::vector<Placement> starting_placements(const Job& job);

/// What scores depend on beside the problem, as names with values.
std::vector<std::pair<std::string, std::string>> scoring_conditions(const Job& job);

/// What a placement file says of a simulated placement; a lower bound that is not finite and positive, or holds for groups alone, is left
/// out.
PlacementFile::Prediction prediction(const Job& job, const Outcome& outcome, double lower_bound_s);

/// " of these 12 groups" where the job moves ops together, which is what its bounds hold for; empty where every op may go by itself.
std::string groups_text(const Job& job);
/// A bound of the job's problem, in whose proof it says of which groups.
Bound bound_of(const Job& job, Bound bound);
/// The tightest of quick_bounds() on what the goal makes of a placement, as bound_of().
Bound tightest_bound(const Job& job);

}  // namespace placewright
