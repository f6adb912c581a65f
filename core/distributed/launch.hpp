// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "core/base/exit_status.hpp"

namespace placewright {

/// Rank of this process and number of processes started by one command (mpirun, srun).
struct Launch {
    int rank = 0;
    int size = 1;
    std::string rank_variable, size_variable;  ///< of the environment: "PMI_RANK", "PMI_SIZE"
};

/// Thrown if MPI has started other processes than the environment tells of.
class LaunchError : public UsageError {
public:
    /// `claimed`: as launch() returned it. `started`: number of processes.
    LaunchError(const Launch& claimed, int started);
};

/// Returns nothing if the process was started alone. Reads the environment (Open MPI, PMI and, within a Slurm
/// step, PMIx), so that a process that was started alone does not have to initialise MPI.
std::optional<Launch> launch();

}  // namespace placewright
