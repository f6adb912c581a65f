// SPDX-License-Identifier: MIT
#include "core/graph/scope_tree.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace placewright {
namespace {

/// Deeper scopes count as one part, since a path is stored for every module.
constexpr int kDeepest = 64;

/// Number of additional nodes when a scope is opened.
std::size_t growth(const ScopeTree::Scope& scope) {
    return scope.ops + scope.children.size() - 1;
}

}  // namespace

std::string common_scope(std::string_view a, std::string_view b) {
    std::size_t end = 0;
    for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
        const bool a_ends = i == a.size() || a[i] == '/', b_ends = i == b.size() || b[i] == '/';
        if (a_ends && b_ends) end = i;
        if (i == a.size() || i == b.size() || a[i] != b[i]) break;
    }
    return std::string(a.substr(0, end));
}

ScopeTree scope_tree(const Graph& graph) {
    ScopeTree tree;
    tree.scopes.emplace_back();
    std::unordered_map<std::string, std::uint32_t>& known = tree.by_path;
    known.emplace("", ScopeTree::kRoot);
    tree.scope_of.reserve(graph.size());
    for (const Op& op : graph.ops()) {
        std::uint32_t scope = ScopeTree::kRoot;
        if (const auto found = known.find(op.scope); found != known.end()) {
            scope = found->second;
        } else {
            std::size_t end = 0;
            for (int part = 1; end != std::string::npos; ++part) {
                end = part < kDeepest ? op.scope.find('/', end + 1) : std::string::npos;
                const auto [entry, is_new] = known.try_emplace(
                    op.scope.substr(0, end), static_cast<std::uint32_t>(tree.scopes.size()));
                if (is_new) {
                    tree.scopes[scope].children.push_back(entry->second);
                    tree.scopes.push_back({entry->first, scope, {}});
                }
                scope = entry->second;
            }
        }
        tree.scope_of.push_back(scope);
        if (op.forward_op == kInvalidOp) ++tree.scopes[scope].ops;
    }
    for (std::size_t i = tree.scopes.size(); i-- > 0;) {
        ScopeTree::Scope& scope = tree.scopes[i];
        scope.all_ops += scope.ops;
        if (i != ScopeTree::kRoot) tree.scopes[scope.parent].all_ops += scope.all_ops;
    }
    return tree;
}

std::vector<std::uint32_t> ScopeTree::shown_as(const ClosedScopes& closed) const {
    std::vector<std::uint32_t> shown(scopes.size(), kRoot);
    for (std::uint32_t i = 1; i < scopes.size(); ++i) {
        shown[i] = shown[scopes[i].parent];
        if (shown[i] == kRoot && scopes[i].can_close() && closed.contains(scopes[i].path)) shown[i] = i;
    }
    return shown;
}

std::uint32_t ScopeTree::find(const std::string& path) const {
    const auto found = by_path.find(path);
    return found == by_path.end() ? kRoot : found->second;
}

ClosedScopes overview(const ScopeTree& tree, std::size_t most) {
    const auto closable = [&](std::uint32_t scope) { return tree.scopes[scope].can_close(); };
    ClosedScopes closed;
    std::size_t nodes = growth(tree.scopes.front()) + 1;
    std::vector<std::uint32_t> depth = tree.scopes.front().children;
    while (true) {
        const auto nearly_all = std::ranges::find_if(depth, [&](std::uint32_t scope) {
            return 10 * tree.scopes[scope].all_ops >= 9 * tree.scopes.front().all_ops &&
                   !tree.scopes[scope].children.empty();
        });
        if (nearly_all == depth.end()) break;
        const ScopeTree::Scope& scope = tree.scopes[*nearly_all];
        depth.erase(nearly_all);
        depth.insert(depth.end(), scope.children.begin(), scope.children.end());
        nodes += growth(scope);
    }
    while (!depth.empty()) {
        std::map<std::size_t, std::vector<std::uint32_t>> by_growth;
        for (const std::uint32_t scope : depth) {
            if (closable(scope)) by_growth[growth(tree.scopes[scope])].push_back(scope);
        }
        depth.clear();
        for (const auto& [more, scopes] : by_growth) {
            const bool fits = nodes + more * scopes.size() <= most;
            if (fits) nodes += more * scopes.size();
            for (const std::uint32_t scope : scopes) {
                const auto& [path, parent, children, ops, all_ops] = tree.scopes[scope];
                if (fits) {
                    depth.insert(depth.end(), children.begin(), children.end());
                } else {
                    closed.insert(path);
                }
            }
        }
    }
    return nodes > 1 ? closed : ClosedScopes();
}

std::optional<UnrolledStep> unrolled_step(std::string_view scope) {
    std::size_t begin = 0;
    while (begin <= scope.size()) {
        const std::size_t end = std::min(scope.find('/', begin), scope.size());
        const std::string_view part = scope.substr(begin, end - begin);
        const std::size_t digits = part.find_first_of("0123456789");
        std::string_view name = part.substr(0, digits);
        if (name.ends_with('_')) name.remove_suffix(1);
        std::uint32_t step = 0;
        if (digits != std::string_view::npos &&
            (name == "step" || name == "time" || name == "timestep" || name == "time_step" || name == "t")) {
            const char* const last = part.data() + part.size();
            const auto [stop, error] = std::from_chars(part.data() + digits, last, step);
            if (error == std::errc() && stop == last)
                return UnrolledStep{scope.substr(0, begin == 0 ? 0 : begin - 1), scope.substr(0, end), step};
        }
        begin = end + 1;
    }
    return std::nullopt;
}

ClosedScopes steps_closed(const ScopeTree& tree, std::size_t most) {
    ClosedScopes closed;
    std::size_t in_steps = 0, nodes = 0;
    for (const ScopeTree::Scope& scope : tree.scopes) {
        const auto step = unrolled_step(scope.path);
        if (!step) {
            nodes += scope.ops;
        } else if (step->scope == scope.path) {
            if (scope.can_close()) closed.insert(scope.path);
            in_steps += scope.all_ops;
            ++nodes;
        }
    }
    return 2 * in_steps > tree.scopes.front().all_ops && nodes <= most ? closed : ClosedScopes();
}

ClosedScopes opened(const ScopeTree& tree, ClosedScopes closed, const std::string& path) {
    std::uint32_t scope = tree.find(path);
    if (scope == ScopeTree::kRoot || !closed.contains(path)) return closed;
    while (true) {
        closed.erase(tree.scopes[scope].path);
        const auto& children = tree.scopes[scope].children;
        if (tree.scopes[scope].ops > 0 || children.size() != 1) break;
        scope = children.front();
    }
    for (const std::uint32_t child : tree.scopes[scope].children) {
        if (tree.scopes[child].can_close()) closed.insert(tree.scopes[child].path);
    }
    return closed;
}

}  // namespace placewright
