// SPDX-License-Identifier: MIT
// A workspace: all that the window holds of one network, in one file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/base/quantile_sketch.hpp"
#include "core/io/state/score_file.hpp"
#include "core/machine/machine_edit.hpp"
#include "core/search/search.hpp"
#include "core/sim/measured_run.hpp"

namespace placewright {

inline constexpr std::string_view kWorkspaceSuffix = ".placewright";

/// Devices are numbers in the machine of the scenario, groups those of its problem; whoever uses a workspace
/// checks them against the problem.
struct Workspace {
    /// A machine and the options of the simulation.
    struct Scenario {
        std::string machine;   ///< file, name of a shipped machine, or parts ("2x RTX 4090")
        std::string edited{};  ///< machine_json() of what that machine became by edits; empty: none
        OptionValues options;
        std::string
            fingerprint;   ///< problem_fingerprint(); placements by group are valid only if it is equal
        WhatIf factors{};  ///< on that machine
        /// Of the network and of the machine alone, to tell what has changed; empty: not known.
        std::string network_fingerprint{}, machine_fingerprint{};
    };
    /// A placement of a scenario that is kept.
    struct Kept {
        std::size_t scenario = 0;  ///< index
        Placement placement;
        double score_s = 0;  ///< penalised objective value
    };
    struct Run {
        enum class State : std::uint8_t { running, finished, cancelled, failed };

        int id = 0;
        std::size_t scenario = 0;  ///< index
        SavedSearch search;
        double seconds = 0;  ///< limit of time; infinity: none
        State state = State::finished;
        std::string failure;
        bool predicted = false;  ///< the placement of a policy, not of a search
        double start_s = 0;      ///< objective value of the start; 0: unknown
        std::string name{};      ///< that the user gave; empty: none
        bool hidden = false;     ///< in no plot
        bool exhausted = false;  ///< had no more placements to propose
        /// What splitting modules gains and costs, in words; empty: not compared.
        std::string splitting{};
        SearchProgress progress;
        std::shared_ptr<const QuantileSketch> sketch;  ///< of all scores; null: unknown
        std::vector<RecordedScore> scores;
    };

    /// A placement that others are compared with.
    struct Pinned {
        std::size_t scenario = 0;  ///< index
        Placement placement;
        std::string name;
    };

    /// A measured run, in the ids of a scenario; its trace has spans and memory alone.
    struct Measured {
        std::string name;
        std::string file{};        ///< trace that it was read from; empty: none
        bool saved = false;        ///< in a file that the user chose
        std::size_t scenario = 0;  ///< index
        MeasuredRun run;
    };

    /// Placements of a run that were measured, in this order.
    struct MeasuredBest {
        struct Each {
            Placement placement;
            Score simulated, measured;     ///< of the median step; 0 s: no step ended
            double low_s = 0, high_s = 0;  ///< quartiles of the steps
            bool proposed = false;         ///< by the search on hardware
            std::string warning{};         ///< why the time may be wrong; empty: nothing speaks against it
            bool cores_for_accelerators = false;  ///< as in Measurement
        };

        std::size_t scenario = 0;    ///< index
        std::string run;             ///< its title
        bool stopped = false;        ///< before all were measured
        bool saved = false;          ///< in a file that the user chose
        std::uint64_t wanted = 0;    ///< number of placements to measure
        std::vector<Score> awaited;  ///< simulated, of those that were not measured
        std::vector<Each> all;
    };

    /// How a policy was trained in the window.
    struct Learned {
        std::string policy;  ///< PolicyInfo::id
        std::uint64_t planned_updates = 0;
        std::string file{};                                       ///< of the policy; empty: it is in none
        std::shared_ptr<const std::vector<TrainingPoint>> curve;  ///< never null
    };

    std::string title{};              ///< for lists of files: what is in it, one line
    bool closed_by_system = false;    ///< written when the program was asked to terminate
    std::string network;              ///< file, or name of a shipped network
    std::vector<Scenario> scenarios;  ///< the first is the one on screen; never empty
    /// Op -> device, on screen.
    std::vector<std::pair<std::string, std::string>> placement;
    int shown_run = 0;     ///< id of the run whose placement it is; 0: none
    int followed_run = 0;  ///< id of the only running one that the screen followed; 0: none
    std::optional<Pinned> pinned;
    std::vector<Kept> kept;
    std::vector<Run> runs;
    std::vector<std::string> selection;       ///< names of ops
    std::vector<std::string> closed_modules;  ///< paths of scopes
    bool has_modules = false;                 ///< whether closed_modules says anything
    OptionValues view;                        ///< what only the window understands
    std::vector<Measured> measured{};
    int benchmarks = 0;  ///< number of benchmarks of the network, for the name of the next
    std::optional<MeasuredBest> measured_best{};
    std::optional<Learned> learned{};
};

/// Returns the JSON text of a workspace that will be at `file`: files are named relative to its folder.
/// O(scores). Throws nothing but std::bad_alloc.
std::string workspace_text(const Workspace& workspace, const Path& file);

/// Writes it in place of an existing file. Throws InputError.
void write_workspace(const Workspace& workspace, const Path& file);

/// Reads a workspace; files in it become paths that can be opened from the current folder. Limits: those of
/// JSON (512 MiB, 50 million values), 1 000 runs and scenarios. Throws InputError.
Workspace read_workspace(const Path& file);

/// What a workspace begins with.
struct WorkspaceHead {
    std::string title;  ///< printable; empty if it has none, or is no workspace
    bool closed_by_system = false;
};

/// Reads it without the rest of the file.
WorkspaceHead workspace_head(const Path& file);

/// Whether the file begins like a workspace; reads only its first bytes.
bool is_workspace(const Path& file);

}  // namespace placewright
