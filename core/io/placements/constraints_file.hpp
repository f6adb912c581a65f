// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "core/base/path.hpp"
#include "core/graph/constraints.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Reads rules for placements:
///   {"format": "placewright.constraints", "version": 1,
///    "rules": [{"rule": "pin", "ops": ["conv1"], "modules": ["layer1/0"], "devices": ["gpu:0", "gpu:1"]},
///              {"rule": "together", "ops": ["a", "b"]},
///              {"rule": "apart", "modules": ["encoder", "decoder"]}]}
/// "ops" are names, "modules" paths, "devices" names or "gpu", "cpu" for all of that kind. Does not know
/// network and machine: make_problem() checks the names. Throws InputError.
Constraints read_constraints(const Path& file);

/// The same from a text in place of a file, which messages call `name`. Throws InputError.
Constraints constraints_from_text(const std::string& text, const std::string& name);
/// The content of such a file.
std::string constraints_text(const Constraints& constraints);

/// Throws InputError.
void write_constraints(const Constraints& constraints, const Path& file);

/// The list of rules, as in the file.
Json constraints_json(const Constraints& constraints);

}  // namespace placewright
