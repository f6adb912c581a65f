// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/machine/device_model.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// The CPU of a machine whose parts name none.
inline constexpr const char* kUsualCpu = "Ryzen 9 5950X";

/// Makes a machine of parts by name: "2x RTX 4090, RTX 3060, Ryzen 9 7950X, PCIe 4.0 x8". The parts, in any
/// order, are GPUs (with a count), one CPU and one link; of a PCIe link the lanes may be left out (16). A CPU
/// alone is a machine, too.
/// Without a CPU the machine has kUsualCpu, without a link each GPU has the first one of its data
/// sheet. Every GPU reaches the CPU over its own PCIe link, one for each direction, and the other GPUs over
/// the same two links, or over two of the kind that is named if that is no PCIe link (as through a switch); a
/// transfer holds both at the same time. Nothing if the text is no list of parts: it has no device of
/// the catalogue, no link and no count. Throws InputError for a part that is not known.
std::optional<Machine> machine_of_parts(const std::string& text, const DeviceCatalogue& catalogue);

/// Returns the machine of a file, of a shipped file's name, or of parts. Throws InputError.
Machine find_machine(const std::string& text);

/// For a text for find_machine() of parts without a link, with GPUs that can be joined directly, as by
/// NVLink: says that they have only their PCIe links, and how to name the other. Else empty. Throws
/// InputError.
std::string direct_link_text(const std::string& text);

/// Returns the texts of several machines for find_machine(): those between semicolons, else the files and
/// shipped names between commas. Commas also separate the parts of one machine, so a list with a name that is
/// no file and not shipped is one machine if it can be made of these parts.
std::vector<std::string> machines_in(const std::string& text);

}  // namespace placewright
