// SPDX-License-Identifier: MIT
// Device graphs of Exprimo (Lagostra, 2020).
#pragma once

#include "core/io/text/json.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Reads a device graph: a file with "comm_channels" and no "format". Throws InputError with the place of a
/// fault.
Machine read_exprimo_machine(const JsonFile& file);

}  // namespace placewright
