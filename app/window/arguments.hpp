// SPDX-License-Identifier: MIT
// The options of the command line of the window, for its parser, its manual page and completion in shells.
#pragma once

#include <array>

namespace placewright::arguments {

struct Option {
    const char* name;
    const char* help;
    const char* value = "";  ///< name of its value; empty for a flag
};

inline constexpr const char* kDescription =
    "Decides on which device each operation of a neural network runs.";
inline constexpr Option kFile{"FILE", "Network or trace file, or name of a shipped network.", "FILE"};

inline constexpr Option kMachine{
    "machine",
    "Machine file, name of a shipped machine or parts such as \"2x RTX 4090\" (default: 4x-v100-nvlink).",
    "MACHINE"};
inline constexpr Option kMeasured{"measured", "Show this trace of FILE beside its simulation; repeatable.",
                                  "TRACE"};
inline constexpr Option kConstraints{"constraints", "Apply this file of rules for placements to FILE.",
                                     "RULES"};
inline constexpr Option kOptimize{"optimize", "Start a search with this algorithm; needs FILE.", "ALGORITHM"};
inline constexpr Option kEvaluations{
    "evaluations",
    "Number of placements after which the search ends (default: the budget of the last session).", "N"};
inline constexpr Option kSeed{"seed", "Seed of the search (default: 1).", "K"};
inline constexpr Option kSize{"size", "Size of the window in pixels.", "WIDTHxHEIGHT"};
inline constexpr Option kScreenshot{
    "screenshot", "Write a picture of the window (PNG, SVG or PDF) at the end; repeatable.", "OUT"};
inline constexpr Option kSelect{"select", "Select this op before the picture; repeatable.", "OP"};
inline constexpr Option kCommand{
    "command", "Choose this entry of the menus before the picture (\"Menu ▸ Entry\"); repeatable.", "ENTRY"};
inline constexpr Option kPart{
    "picture-of", "Picture only this panel, \"graph\", or \"front\" for the window in front.", "PANEL"};
inline constexpr Option kScale{"scale", "Pixels of the picture per pixel of the window, 1 to 4 (default: 2).",
                               "N"};
inline constexpr Option kQuit{"quit", "Close the window at the end."};

/// In the order of --help.
inline constexpr std::array kOptions{kMachine, kMeasured, kConstraints, kOptimize, kEvaluations,
                                     kSeed,    kSize,     kScreenshot,  kSelect,   kCommand,
                                     kPart,    kScale,    kQuit};

}  // namespace placewright::arguments
