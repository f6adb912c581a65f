// SPDX-License-Identifier: MIT
// Arguments that have to do with algorithms, read and checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/io/files.hpp"
#include "core/search/comparison.hpp"

namespace placewright {

/// The algorithm that `option` asks for. Throws UsageError that lists what there is.
const AlgorithmInfo& chosen_algorithm(const std::string& id, const std::string& option = "--algorithm");

/// `settings`: "option=value", without the `prefix` that they were given with. Throws UsageError.
OptionValues parse_settings(const AlgorithmInfo& algorithm, const std::vector<std::string>& settings, const std::string& prefix = {});

/// Gives every contestant its options of `settings`: "algorithm.option=value". Options that are not among them stay. Throws UsageError.
void apply_settings(std::vector<Contestant>& contestants, const std::vector<std::string>& settings);

/// With all folders above it, where they are missing. Throws InputError.
void make_folder(const Path& folder);

/// Tells of a folder that is mistyped or cannot be written to before the search, not after it. Throws InputError.
void expect_writable(const Path& file);

/// A file that a command writes.
struct OutputFile {
    std::string option;  ///< that names it
    std::string file;    ///< empty: none
};
/// Throws UsageError if one of the outputs is an input or another output: what is there, or was written first, would be lost. Devices
/// and pipes lose nothing.
void keep_apart(std::span<const OutputFile> outputs, std::span<const std::string> inputs);

}  // namespace placewright
