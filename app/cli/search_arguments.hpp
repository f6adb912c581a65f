// SPDX-License-Identifier: MIT
// Checks of arguments that name algorithms, their options, and files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"
#include "core/job/job.hpp"
#include "core/search/comparison.hpp"

namespace placewright {

/// The algorithm named by `option`. Throws UsageError, which lists all algorithms.
const AlgorithmInfo& chosen_algorithm(std::string_view id, std::string_view option = "--algorithm");

/// Parses `settings` ("option=value", or "preset=name"). `prefix`: text before each setting on the command
/// line, for messages. Throws UsageError.
OptionValues parse_settings(const AlgorithmInfo& algorithm, const std::vector<std::string>& settings,
                            const std::string& prefix = {});

/// Sets the options of the contestants from `settings` ("algorithm.option=value"); other options are kept.
/// Throws UsageError, and MissingPart for a contestant that this build is without.
void apply_settings(std::vector<Contestant>& contestants, const std::vector<std::string>& settings);

/// Creates a folder and its missing parents. Throws InputError.
void make_folder(const Path& folder);

/// Throws InputError if the file cannot be written, so that a wrong folder is reported before the search.
void expect_writable(const Path& file);

/// Throws InputError if the network is a language model, which cannot be run.
void expect_no_language_model(const Job& job, const std::string& network);

/// Said where placements were run (Measurement::cores_for_accelerators).
inline constexpr const char* kCoresForAccelerators =
    "Cores of this computer ran ops that are simulated on accelerators, so that the measured and the "
    "simulated times "
    "cannot be compared. placewright-cli machines --detect describes this computer as a machine.";

/// A file that a command writes.
struct OutputFile {
    std::string option;  ///< command-line option that names it
    std::string file;    ///< empty: none
};
/// Throws UsageError if an output is an input or another output, which would be overwritten. Devices and
/// pipes are allowed.
void keep_apart(std::span<const OutputFile> outputs, std::span<const std::string> inputs);

}  // namespace placewright
