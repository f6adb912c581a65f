// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/base/path.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Reads placewright.machine or Exprimo's device graph.
Machine read_machine(const Path& file);
void write_machine(const Machine& machine, const Path& file);
/// Returns the JSON text that write_machine writes.
std::string machine_json(const Machine& machine);
/// Reads such a text, which is a part of `file`. Throws InputError.
Machine machine_from_json(const Path& file, std::string text);

}  // namespace placewright
