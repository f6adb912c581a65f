// SPDX-License-Identifier: MIT
#include "core/graph/grouping.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace placewright {
namespace {

/// Disjoint sets whose representative is their smallest op.
class OpSets {
public:
    explicit OpSets(std::size_t ops) : parent_(ops) { std::iota(parent_.begin(), parent_.end(), OpId{0}); }

    OpId first(OpId op) {
        while (parent_[op] != op) op = parent_[op] = parent_[parent_[op]];
        return op;
    }

    void merge(OpId a, OpId b) {
        a = first(a);
        b = first(b);
        parent_[std::max(a, b)] = std::min(a, b);
    }

private:
    std::vector<OpId> parent_;
};

}  // namespace

Grouping group_by_constraints(const Graph& graph) {
    OpSets sets(graph.size());
    std::unordered_map<std::string_view, OpId> first_with_label;
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.forward_op != kInvalidOp) sets.merge(id, op.forward_op);
        if (!op.colocate.empty()) sets.merge(id, first_with_label.try_emplace(op.colocate, id).first->second);
    }

    Grouping grouping;
    grouping.group_of.resize(graph.size());
    for (OpId id = 0; id < graph.size(); ++id) {
        const OpId first = sets.first(id);
        if (first == id) {
            grouping.group_of[id] = static_cast<GroupId>(grouping.members.size());
            grouping.members.emplace_back();
        } else {
            grouping.group_of[id] = grouping.group_of[first];
        }
        grouping.members[grouping.group_of[id]].push_back(id);
    }
    return grouping;
}

}  // namespace placewright
