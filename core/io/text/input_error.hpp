// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace placewright {

/// A file that cannot be read, understood or written. what() is one line: "FILE: where: what is wrong, what
/// was expected".
class InputError : public std::runtime_error {
public:
    InputError(const std::string& file, const std::string& where, const std::string& problem)
        : std::runtime_error(where.empty() ? file + ": " + problem : file + ": " + where + ": " + problem) {}
};

/// A network file leaves the batch size open, and none was given.
class BatchNeeded : public InputError {
public:
    using InputError::InputError;
};

}  // namespace placewright
