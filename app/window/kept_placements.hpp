// SPDX-License-Identifier: MIT
// The placements that are in files, and what would be lost if the window forgot all others.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "app/window/run_list.hpp"
#include "app/window/scenario.hpp"

namespace placewright {

/// Placements of the open network that are in files or that it was opened with, each with its penalised
/// objective value.
class KeptPlacements {
public:
    struct Kept {
        std::shared_ptr<const Scenario> scenario;
        Placement placement;
        double score_s;
    };
    /// All of them, the latest last.
    const std::vector<Kept>& all() const { return m_kept; }
    /// A workspace file holds no more (core/io/state/workspace_file.hpp).
    static constexpr std::size_t kMostKept = 500;

    /// Notes that a placement is saved. Of more than kMostKept, the earliest are forgotten: they count as
    /// unsaved again.
    void keep(std::shared_ptr<const Scenario> scenario, Placement placement, double score_s);
    /// Forgets all, for another network.
    void clear() { m_kept.clear(); }
    /// Whether the placement is in no file. A placement that was only carried along from the first or the
    /// latest kept one to other options or another machine counts as kept. Requires a kept placement of the
    /// network.
    bool lacks(const std::shared_ptr<const Scenario>& scenario, const Placement& placement) const;
    /// Returns what is worth keeping and in no file: the id of the run whose best placement it is, or 0 for
    /// the placement on screen; nothing if all is kept. The best placement of a run is worth keeping if it is
    /// better than all kept ones of its scenario, and if the user asked for the run. The best of another
    /// machine or of other options comes last. `placement` with `score_s` is on screen in the scenario
    /// `open`; `edited`: whether it was made here.
    std::optional<int> unsaved(const std::shared_ptr<const Scenario>& open, const Placement& placement,
                               double score_s, bool edited, const RunList& runs) const;
    /// Whether this score is better than those of all placements of the open scenario that are kept, on
    /// screen (`screen_s`) and of runs.
    bool isBestKnown(double score_s, const Scenario& open, double screen_s, const RunList& runs) const;

private:
    /// Returns the lowest score of the kept placements and of everything on one device.
    double leastScore_s(const Scenario& scenario) const;

    std::vector<Kept> m_kept;  ///< the latest last
};

}  // namespace placewright
