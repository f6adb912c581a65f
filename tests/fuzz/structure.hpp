// SPDX-License-Identifier: MIT
// Changes that keep the syntax of a file. Most changes of bytes end in the parser; these reach what lies
// behind it.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>

/// The file with up to four random changes of its values, fields and elements. Nothing if the file's syntax
/// is not of the kind that the reader's STRUCTURE in CMakeLists.txt names.
std::optional<std::string> with_changed_structure(std::string_view bytes, std::mt19937& random);
