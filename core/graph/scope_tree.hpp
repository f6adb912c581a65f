// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// Paths of the scopes that are drawn as one node.
using ClosedScopes = std::set<std::string, std::less<>>;

/// The modules of a network as a tree, built from the scopes of its ops ('/' separated).
struct ScopeTree {
    struct Scope {
        std::string path;  ///< empty for the network as a whole
        std::uint32_t parent = kRoot;
        std::vector<std::uint32_t> children;
        std::size_t ops = 0;      ///< forward ops directly in this scope
        std::size_t all_ops = 0;  ///< the same including all nested scopes

        /// A scope with one op cannot be closed, since that would hide the op's kind.
        bool can_close() const { return all_ops > 1; }
    };
    static constexpr std::uint32_t kRoot = 0;

    std::vector<Scope> scopes;  ///< the whole network first, parents before their children
    std::unordered_map<std::string, std::uint32_t> by_path;
    std::vector<std::uint32_t> scope_of;  ///< [op]; a derived op has the scope of its forward op

    /// [scope]: the outermost closed scope that contains it, or itself if it is closed; kRoot if there is
    /// none.
    std::vector<std::uint32_t> shown_as(const ClosedScopes& closed) const;
    /// The scope with that path; kRoot if there is none.
    std::uint32_t find(const std::string& path) const;
};

/// The common leading part of both scopes; empty if they share no module.
std::string common_scope(std::string_view a, std::string_view b);

/// O(ops × depth).
ScopeTree scope_tree(const Graph& graph);

/// The scopes to close so that at most `most` nodes are drawn, or as few as are still informative: a scope
/// that contains nine tenths of the ops, and other scopes, is always open. From there scopes are opened
/// inwards, at each depth the smaller ones first and equally large ones together.
ClosedScopes overview(const ScopeTree& tree, std::size_t most);

/// A step of time of an unrolled recurrent layer: "encoder2/step12/cell" is step 12 of "encoder2".
struct UnrolledStep {
    std::string_view layer;  ///< the scope that contains the step; empty for the network as a whole
    std::string_view scope;  ///< the scope of the step itself
    std::uint32_t step = 0;
};
/// The outermost step that contains a scope, by the usual names: "step12", "step_12", "time12",
/// "timestep_12", "t12", "t_12"; nothing if there is none.
std::optional<UnrolledStep> unrolled_step(std::string_view scope);

/// Every step of an unrolled recurrent network closed, so that one node stands for each. Empty unless steps
/// hold most of the ops and at most `most` nodes are drawn.
ClosedScopes steps_closed(const ScopeTree& tree, std::size_t most);

/// The closed scopes after opening `path`, if it was closed: all scopes directly in it, except one that is
/// the only content of its parent.
ClosedScopes opened(const ScopeTree& tree, ClosedScopes closed, const std::string& path);

}  // namespace placewright
