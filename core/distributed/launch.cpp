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

}  // namespace

std::optional<Launch> launch() {
    struct Names {
        const char *rank, *size;
    };
    for (const Names& names : {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Names{"PMI_RANK", "PMI_SIZE"},
                               Names{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}) {
        const auto rank = number_in(names.rank);
        const auto size = number_in(names.size);
        if (rank && size && *size > 1) return Launch{*rank, *size};
    }
    return {};
}

}  // namespace placewright
