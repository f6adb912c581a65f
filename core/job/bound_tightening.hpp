// SPDX-License-Identifier: MIT
// Bounds that are tightened in the background, and texts about what bounds prove.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "core/job/job.hpp"

namespace placewright {

/// Time for solvers to raise a bound; more time hardly raises it further.
inline constexpr double kProofSeconds = 60;

/// Lowers the priority of the calling thread for its lifetime: threads that compete for the same core get
/// about ten times its time, or 70 times with a niceness of 19.
void give_way(int niceness = 10);

/// Returns why no placement fits the memory, as proven by `bound`, followed by `remedy`; empty if the bound
/// is finite.
std::string infeasible_text(const Job& job, const Bound& bound, const std::string& remedy);
/// Returns the changes that could make a placement fit, where none does: "a machine with more memory, or
/// --optimizer sgd". Options are named if some placement that is quickly found fits with them.
/// `options`: those of the job. `is_window`: in the window's words instead of the command line's.
std::string memory_remedy(const Job& job, const JobOptions& options, bool is_window);

/// Searches for a tighter bound than a known one, on a low-priority thread that ends with this object.
class Proof {
public:
    /// `incumbent_s`: see BoundEffort. Does nothing if `known` says that no placement fits.
    Proof(std::shared_ptr<const Problem> problem, const Objective& objective,
          const SimulationOptions& options, Bound known, double incumbent_s);

    /// Waits at most `seconds` more, then stops the search. Returns the tightest bound proven.
    Bound end(double seconds, std::stop_token stop);

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    Bound tightest_;        ///< guarded by mutex_
    bool is_done_ = false;  ///< guarded by mutex_
    std::jthread thread_;   ///< last: it is joined before the other members are destroyed
};

}  // namespace placewright
