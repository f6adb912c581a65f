// SPDX-License-Identifier: MIT
// What a workspace file holds, as the window has it: taken from a document, and made from a file. Free
// functions, for any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <QByteArray>
#include <QString>
#include <QStringList>

#include "app/window/kept_placements.hpp"
#include "app/window/measurements.hpp"
#include "app/window/run.hpp"
#include "app/window/scenario.hpp"
#include "core/io/state/workspace_file.hpp"
#include "widgets/graph_scene.hpp"
#include "widgets/measured_placements.hpp"
#include "widgets/op_view.hpp"

namespace placewright {

/// A placement that others are compared with.
struct PinnedSide {
    QString name;  ///< "Auto #1", without the machine
    std::shared_ptr<const Scenario> scenario;
    std::shared_ptr<const Simulated> simulated;
};

/// Placements of a run that were measured, as a workspace keeps them.
struct KeptBest {
    std::shared_ptr<const Scenario> scenario;
    std::shared_ptr<const MeasuredPlacements> placements;
    bool saved = false;  ///< in a file
};

/// The state of a document at one moment. Shares with it what is large, so that it is taken at once.
struct WorkspaceSnapshot {
    struct SavedRun {
        int id = 0;
        std::shared_ptr<const Scenario> scenario;
        RunRequest request;
        Run::Past past;
        std::shared_ptr<const ScoreRecord> scores;
        bool hidden = false;
    };

    std::shared_ptr<const Scenario> scenario;
    Placement placement;
    double value_s = 0;  ///< of the placement; 0: unknown
    int shownRun = 0, followedRun = 0;
    std::vector<SavedRun> runs;
    std::vector<KeptPlacements::Kept> kept;
    OpList selection;
    std::optional<ClosedScopes> closed;
    LayoutRoom room;
    std::optional<PinnedSide> pinned;
    std::vector<KeptMeasurement> measured;
    int benchmarks = 0;
    std::optional<KeptBest> best;
    std::optional<Workspace::Learned> learned;
    OptionValues view;
    bool closedBySystem = false;
    /// Number of runs, measured runs and measured placements that are of another version of the network, so
    /// that no file has them together with the rest.
    std::size_t leftOut = 0;
};

/// A value of what only the window understands; null if there is none of this type.
template <class Value>
const Value* valueOf(const OptionValues& values, const char* name) {
    const auto found = values.find(name);
    return found != values.end() ? std::get_if<Value>(&found->second) : nullptr;
}

/// How many scores each of some runs may keep, so that all together keep at most `most`: a run with few
/// scores keeps them all.
std::vector<std::size_t> sharesOf(const std::vector<std::size_t>& scores, std::size_t most);

/// Returns the content of a file. Of the scores of all runs together it has at most a million (90 MB); a
/// resumed search simulates the later ones again. O(ops + scores).
Workspace workspaceOf(const WorkspaceSnapshot& snapshot);

/// Checksum of the content of a file; empty if it cannot be read.
QByteArray checksumOf(const QString& file);
/// The same of the file that would have this content.
QByteArray checksumOfText(const std::string& content);

/// What a workspace file says of other things than the document.
struct OpenedWorkspace {
    OptionValues view;
    std::optional<PinnedSide> pinned;
    std::optional<Workspace::Learned> learned;
    QByteArray checksum{};      ///< of the file that was read
    bool isIncomplete = false;  ///< something of the file could not be used
};

/// What a workspace file became.
struct RestoredWorkspace {
    struct RestoredRun {
        int id = 0;
        std::shared_ptr<const Scenario> scenario;
        RunRequest request;
        Run::Past past;
        bool hidden = false;
    };

    std::shared_ptr<const Scenario> scenario;  ///< on screen
    Placement placement;
    int shownRun = 0, followedRun = 0;
    std::vector<RestoredRun> runs;
    std::vector<KeptPlacements::Kept> kept;
    std::vector<KeptMeasurement> measured;
    int benchmarks = 0;
    std::optional<KeptBest> best;
    OpList selection;
    std::optional<ClosedScopes> closed;
    std::optional<LayoutRoom> room;
    OpenedWorkspace about;
    QStringList notes;  ///< what of the file could not be used, and why
};

/// Loads network, machines and runs of a workspace that was read from `file`. Throws std::exception with a
/// message for the user.
RestoredWorkspace restored(const QString& file, const Workspace& workspace, const std::stop_token& stop);

}  // namespace placewright
