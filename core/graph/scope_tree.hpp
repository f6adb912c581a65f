// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// Paths of scopes that are drawn as one node.
using ClosedScopes = std::set<std::string, std::less<>>;

/// The modules of a network as a tree, by the scopes of its ops ('/' separated).
struct ScopeTree {
    struct Scope {
        std::string path;  ///< empty for the network as a whole
        std::uint32_t parent = kRoot;
        std::vector<std::uint32_t> children;
        std::size_t ops = 0;      ///< forward ops right in it
        std::size_t all_ops = 0;  ///< and in its children, and theirs

        /// Closing one op would hide what it is.
        bool can_close() const { return all_ops > 1; }
    };
    static constexpr std::uint32_t kRoot = 0;

    std::vector<Scope> scopes;  ///< the network first, parents before their children
    std::unordered_map<std::string, std::uint32_t> by_path;
    std::vector<std::uint32_t> scope_of;  ///< [op]; of a derived op that of its forward op

    /// By scope: the outermost closed one round it, or itself; kRoot if none is.
    std::vector<std::uint32_t> shown_as(const ClosedScopes& closed) const;
    /// The scope of that path; kRoot if there is none.
    std::uint32_t find(const std::string& path) const;
};

/// The part of both scopes that is the same; empty if they have no module in common.
std::string common_scope(std::string_view a, std::string_view b);

/// O(ops × depth).
ScopeTree scope_tree(const Graph& graph);

/// What to close so that at most `most` nodes are left, or the fewest that say something: a scope that holds nine tenths of the ops and
/// other scopes is open in any case. From there on scopes are opened inwards, the smaller ones of a depth first and equally large ones
/// together.
ClosedScopes overview(const ScopeTree& tree, std::size_t most);

/// What is closed after `path` was opened, if it was closed: all in it, but for a scope that is all there is in the one around it.
ClosedScopes opened(const ScopeTree& tree, ClosedScopes closed, const std::string& path);

}  // namespace placewright
