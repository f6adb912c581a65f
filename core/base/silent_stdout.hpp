// SPDX-License-Identifier: MIT
// Keeps libraries that print from the output of the programs.
#pragma once

namespace placewright {

/// Suppresses what the C library's printf and puts write to standard output, on all threads, while any object
/// of this class lives. std::cout is not affected: what a program prints meanwhile is not lost.
class SilentStdout {
public:
    SilentStdout();
    ~SilentStdout();
    SilentStdout(const SilentStdout&) = delete;
    SilentStdout& operator=(const SilentStdout&) = delete;
};

}  // namespace placewright
