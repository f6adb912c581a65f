// SPDX-License-Identifier: MIT
// What bounds prove, beside other work and in words.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "app/job.hpp"

namespace placewright {

/// For solvers to raise a bound; what takes longer hardly raises it further.
inline constexpr double kProofSeconds = 60;

/// Of the calling thread, as long as it lives: other threads get about ten times its time where they want the same core.
void give_way();

/// Why no placement fits the memory, as `bound` has proven, with `remedy`; empty for a bound that is finite.
std::string infeasible_text(const Job& job, const Bound& bound, const std::string& remedy);
/// What could be changed for something to fit: "a machine with more memory, or --optimizer sgd". `is_window`: in its words.
std::string memory_remedy(const JobOptions& options, bool is_window);

/// Looks for a tighter bound than one that is known, on a thread that gives way to all others and ends with this.
class Proof {
public:
    /// `incumbent_s`: see BoundEffort. Nothing is done where `known` says that no placement fits.
    Proof(std::shared_ptr<const Problem> problem, const Goal& goal, const SimulationOptions& options, Bound known, double incumbent_s);

    /// The tightest that is proven after at most `seconds` more; what is not done then is given up.
    Bound end(double seconds, std::stop_token stop);

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    Bound tightest_;        ///< guarded by mutex_
    bool is_done_ = false;  ///< guarded by mutex_
    std::jthread thread_;   ///< last: it is joined before the rest goes
};

}  // namespace placewright
