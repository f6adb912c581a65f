// SPDX-License-Identifier: MIT
// A network as a chain of stages, cut where its modules begin or end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/cost/placement.hpp"
#include "core/cost/problem.hpp"

namespace placewright {

/// Returns the ops that make up the stages, in the order of the forward pass. Inputs, parameters and ops that
/// read only constants (constants.hpp) may be on any device: each stage can have them for itself.
std::vector<OpId> staged_ops(const Graph& graph);

/// Returns the devices of a placement that is a chain of stages, in the order of the stages; nothing for
/// another placement. In a chain of stages, the ops of each device are consecutive in the order of the graph,
/// which is that of the forward pass (staged_ops()).
std::optional<std::vector<DeviceId>> chain_of_stages(const Problem& problem, const Placement& placement);

/// Returns the placement with the ops that read only constants in the stages of the first ops that read them,
/// as a pipeline runs them. Ops that move together with others stay.
Placement constants_with_readers(const Problem& problem, Placement placement);

/// A module, and the side of it ("BEGINNING" or "END") at which it is cut.
using ModuleSide = std::pair<std::string, const char*>;

/// The places where a network can be cut into stages.
class ModuleSides {
public:
    /// `ops` are those of staged_ops().
    ModuleSides(const Graph& graph, const std::vector<OpId>& ops);

    /// Returns the modules that can name a cut before the op at `position` (1 or later), those that begin
    /// there first, then those that end there, the outermost first.
    std::vector<ModuleSide> at(std::size_t position) const;

private:
    /// Positions of a module's first and last op, and the number of its ops.
    struct Range {
        std::size_t first = 0, last = 0, count = 0;

        /// Whether the module's ops are consecutive. A pipeline cuts at each call of a module, so that only
        /// such a module can be cut at.
        bool is_one_call() const { return count == last - first + 1; }
    };

    const Graph& graph_;
    const std::vector<OpId>& ops_;
    std::unordered_map<std::string, Range> ranges_;
};

/// A module for each of some cuts.
struct NamedCuts {
    std::vector<ModuleSide> sides;     ///< [cut]; the module is empty for a cut without one
    std::vector<std::size_t> unnamed;  ///< the cuts whose modules other cuts need
};

/// Assigns one of its modules to each cut. A module names one cut, at its begin or at its end.
NamedCuts name_cuts(const std::vector<std::vector<ModuleSide>>& sides);

}  // namespace placewright
