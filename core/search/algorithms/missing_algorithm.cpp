// SPDX-License-Identifier: MIT
#include "core/base/missing_part.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"

namespace placewright {

AlgorithmInfo missing_algorithm(std::string id, std::string title, std::string_view library,
                                std::string_view option) {
    AlgorithmInfo info;
    info.missing = id + ": " + missing_part_text(library, option);
    info.id = std::move(id);
    info.title = std::move(title);
    return info;
}

}  // namespace placewright
