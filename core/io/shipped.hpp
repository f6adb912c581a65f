// SPDX-License-Identifier: MIT
// The networks, machines and catalogues that ship with the program.
#pragma once

#include <string>
#include <vector>

#include "core/base/path.hpp"

namespace placewright {

/// Returns the folder of the shipped networks, machines and catalogues: $PLACEWRIGHT_MODELS if set, else
/// share/placewright/models of the installation, else that which CMake was given (by default, that of the
/// source tree).
Path models_folder();

struct ShippedFile {
    std::string name;  ///< file name without extension
    Path file;         ///< of a language model its folder
};
/// The shipped files, sorted by name. Networks are op lists and language models.
std::vector<ShippedFile> shipped_networks();
std::vector<ShippedFile> shipped_machines();
std::vector<ShippedFile> shipped_catalogues();

/// Returns the path of a file: `text` is its path, or the name of a shipped machine, network or catalogue
/// (the file's stem or the "name" inside it). Throws InputError, which lists the shipped names, for anything
/// else.
Path find_machine_file(const std::string& text);
Path find_network_file(const std::string& text);
Path find_catalogue_file(const std::string& text);

}  // namespace placewright
