// SPDX-License-Identifier: MIT
// Parts of the program that need a library of others, which a build may be without.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace placewright {

/// Thrown by a part that this build does not have, or whose library cannot be loaded.
class MissingPart : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns a sentence without a full stop on why a part cannot be used: "this build is without Scotch: build
/// Placewright again with PLACEWRIGHT_WITH_SCOTCH=ON".
inline std::string missing_part_text(std::string_view library, std::string_view option) {
    return "this build is without " + std::string(library) + ": build Placewright again with " +
           std::string(option) + "=ON";
}

}  // namespace placewright
