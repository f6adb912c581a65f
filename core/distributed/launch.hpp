// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

namespace placewright {

/// The place of this process among those that one command (mpirun, srun) started.
struct Launch {
    int rank = 0;
    int size = 1;
};

/// Nothing if the process was started alone. Read from the environment (Open MPI, PMI and, within a Slurm step, PMIx), so that a process
/// that was started alone need not pay for MPI.
std::optional<Launch> launch();

}  // namespace placewright
