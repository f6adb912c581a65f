// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "core/graph/families.hpp"

namespace placewright {

struct FamilyArguments {
    std::string name;
    std::uint32_t count = kFamilySize;
    std::uint64_t seed = 1;
    std::string out;
    bool json = false;

    void add_to(CLI::App& command);
};

/// placewright-cli family. Returns the exit status.
int make_family(const FamilyArguments& arguments);

}  // namespace placewright
