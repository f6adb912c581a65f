// SPDX-License-Identifier: MIT
// Messages on a wrong command line.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace placewright {

/// One-line description of a usage error, with the --help to read. Names of options and commands that are
/// close to a known one are followed by it.
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

}  // namespace placewright
