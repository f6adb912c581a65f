// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace placewright {

struct MachinesArguments {
    bool devices = false;
    bool detect = false;
    std::string out;  ///< machine file to write what was detected to; empty for none
    bool json = false;

    void add_to(CLI::App& command);
};

/// Lists the shipped machines or the catalogue of devices, or looks at this computer.
int run_machines(const MachinesArguments& arguments);

}  // namespace placewright
