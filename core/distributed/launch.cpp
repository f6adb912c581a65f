// SPDX-License-Identifier: MIT
#include "core/distributed/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace placewright {
namespace {

std::optional<int> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return {};
    const std::string_view view = text;
    int value = 0;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error != std::errc() || end != view.data() + view.size()) return {};
    return value;
}

std::string complaint(const Launch& claimed, int started) {
    return "the environment says that this is rank " + std::to_string(claimed.rank) + " of " +
           std::to_string(claimed.size) + " (" + claimed.rank_variable + ", " + claimed.size_variable +
           "), but MPI started " + std::to_string(started) + (started == 1 ? " process" : " processes") +
           ": start the ranks with mpirun or srun, or unset these variables";
}

}  // namespace

LaunchError::LaunchError(const Launch& claimed, int started) : UsageError(complaint(claimed, started)) {}

std::optional<Launch> launch() {
    struct Names {
        const char *rank, *size;
    };
    for (const Names& names : {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                               Names{"PMI_RANK", "PMI_SIZE"}, Names{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}) {
        const auto rank = number_in(names.rank);
        const auto size = number_in(names.size);
        if (rank && size && *size > 1) return Launch{*rank, *size, names.rank, names.size};
    }
    return {};
}

}  // namespace placewright
