// SPDX-License-Identifier: MIT
#include "core/search/parts/contraction.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <unordered_set>

#include <queue>

namespace placewright {
namespace {

using Neighbours = std::vector<std::set<std::uint32_t>>;

/// [group]: groups that come later.
Neighbours order_of_groups(const Problem& problem) {
    const Graph& graph = *problem.graph;
    std::vector<bool> has_forward(problem.groups, false);
    for (OpId op = 0; op < problem.ops; ++op) {
        if (graph.op(op).phase == Phase::forward) has_forward[problem.grouping.group_of[op]] = true;
    }
    Neighbours after(problem.groups);
    for (OpId op = 0; op < problem.ops; ++op) {
        const GroupId reader = problem.grouping.group_of[op];
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const OpId source = problem.producer[problem.input[i]];
            const GroupId producer = problem.grouping.group_of[source];
            if (producer == reader) continue;
            const bool forward = graph.op(op).phase == Phase::forward;
            if (forward && graph.op(source).phase == Phase::forward) after[producer].insert(reader);
            const bool mirrored = !has_forward[reader] || !has_forward[producer];
            if (mirrored && !forward && graph.op(source).phase != Phase::forward)
                after[reader].insert(producer);
        }
    }
    return after;
}

/// [node]: index of its strongly connected component (Tarjan 1972), without recursion.
std::vector<std::uint32_t> components(const Neighbours& after) {
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    const auto nodes = static_cast<std::uint32_t>(after.size());
    std::vector<std::uint32_t> index(nodes, kNone), low(nodes, 0), component(nodes, kNone), stack;
    struct Frame {
        std::uint32_t node;
        std::set<std::uint32_t>::const_iterator next;
    };
    std::vector<Frame> frames;
    std::uint32_t counter = 0;
    std::uint32_t found = 0;
    const auto enter = [&](std::uint32_t node) {
        index[node] = low[node] = counter++;
        stack.push_back(node);
        frames.push_back({node, after[node].begin()});
    };
    for (std::uint32_t root = 0; root < nodes; ++root) {
        if (index[root] != kNone) continue;
        enter(root);
        while (!frames.empty()) {
            Frame& frame = frames.back();
            const std::uint32_t node = frame.node;
            if (frame.next != after[node].end()) {
                const std::uint32_t next = *frame.next++;
                if (index[next] == kNone) {
                    enter(next);
                } else if (component[next] == kNone) {
                    low[node] = std::min(low[node], index[next]);
                }
                continue;
            }
            frames.pop_back();
            if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[node]);
            if (low[node] != index[node]) continue;
            std::uint32_t member = kNone;
            do {
                member = stack.back();
                stack.pop_back();
                component[member] = found;
            } while (member != node);
            ++found;
        }
    }
    return component;
}

/// Merges components that take no time into the only component that they exchange tensors with.
void merge_idle(const DeviceChoices& choices, std::vector<std::uint32_t>& component) {
    const Problem& problem = choices.problem();
    const std::size_t count = std::ranges::max(component) + std::size_t{1};
    std::vector<bool> idle(count, true);
    std::vector<std::vector<GroupId>> members(count);
    for (GroupId group = 0; group < problem.groups; ++group) {
        members[component[group]].push_back(group);
        for (const DeviceId device : choices.of(group)) {
            if (problem.group_time_s(group, device) > 0) idle[component[group]] = false;
        }
    }
    Neighbours neighbours(count);
    for (OpId op = 0; op < problem.ops; ++op) {
        const std::uint32_t reader = component[problem.grouping.group_of[op]];
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const std::uint32_t producer =
                component[problem.grouping.group_of[problem.producer[problem.input[i]]]];
            if (producer == reader) continue;
            neighbours[producer].insert(reader);
            neighbours[reader].insert(producer);
        }
    }
    const auto may_follow = [&](std::uint32_t leaf, std::uint32_t other) {
        for (const DeviceId device : choices.devices()) {
            const auto allows = [&](GroupId group) { return choices.allows(group, device); };
            if (std::ranges::all_of(members[other], allows) && !std::ranges::all_of(members[leaf], allows))
                return false;
        }
        return true;
    };
    std::queue<std::uint32_t> open;
    for (std::uint32_t leaf = 0; leaf < count; ++leaf) open.push(leaf);
    for (; !open.empty(); open.pop()) {
        const std::uint32_t leaf = open.front();
        if (!idle[leaf] || neighbours[leaf].size() != 1) continue;
        const std::uint32_t other = *neighbours[leaf].begin();
        if (!may_follow(leaf, other)) continue;
        for (const GroupId group : members[leaf]) component[group] = other;
        members[other].insert(members[other].end(), members[leaf].begin(), members[leaf].end());
        neighbours[other].erase(leaf);
        neighbours[leaf].clear();
        open.push(other);
    }
}

}  // namespace

Contraction contract(const DeviceChoices& choices) {
    const Problem& problem = choices.problem();
    const Neighbours after = order_of_groups(problem);
    std::vector<std::uint32_t> component = components(after);
    merge_idle(choices, component);

    const std::size_t count = std::ranges::max(component) + std::size_t{1};
    Neighbours later(count);
    std::vector<std::uint32_t> missing(count, 0);
    std::vector<GroupId> first(count, problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        first[component[group]] = std::min(first[component[group]], group);
        for (const std::uint32_t next : after[group]) {
            if (component[next] != component[group] && later[component[group]].insert(component[next]).second)
                ++missing[component[next]];
        }
    }
    std::priority_queue<std::pair<GroupId, std::uint32_t>, std::vector<std::pair<GroupId, std::uint32_t>>,
                        std::greater<>>
        ready;
    for (std::uint32_t c = 0; c < count; ++c) {
        if (missing[c] == 0 && first[c] < problem.groups) ready.emplace(first[c], c);
    }
    Contraction result;
    std::vector<std::uint32_t> part_of(count, 0);
    for (; !ready.empty();) {
        const std::uint32_t c = ready.top().second;
        ready.pop();
        part_of[c] = static_cast<std::uint32_t>(result.groups.size());
        result.groups.emplace_back();
        result.before.emplace_back();
        for (const std::uint32_t next : later[c]) {
            if (--missing[next] == 0) ready.emplace(first[next], next);
        }
    }
    result.part_of.resize(problem.groups);
    for (GroupId group = 0; group < problem.groups; ++group) {
        result.part_of[group] = part_of[component[group]];
        result.groups[result.part_of[group]].push_back(group);
    }
    for (std::uint32_t c = 0; c < count; ++c) {
        for (const std::uint32_t next : later[c]) result.before[part_of[next]].push_back(part_of[c]);
    }
    for (std::vector<std::uint32_t>& before : result.before) std::ranges::sort(before);
    return result;
}

bool add_all_ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop,
                    IdealLattice& lattice) {
    const std::size_t words = lattice.words_;
    std::vector<std::uint64_t>& bits = lattice.bits_;
    const auto words_of = [&](std::uint32_t ideal) { return std::span(bits).subspan(ideal * words, words); };
    const auto hash = [&](std::uint32_t ideal) {
        std::uint64_t sum = 0;
        for (const std::uint64_t word : words_of(ideal)) {
            sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
            sum ^= sum >> 29;
        }
        return static_cast<std::size_t>(sum);
    };
    const auto equal = [&](std::uint32_t a, std::uint32_t b) {
        return std::ranges::equal(words_of(a), words_of(b));
    };
    std::unordered_set<std::uint32_t, decltype(hash), decltype(equal)> known(64, hash, equal);

    bits.assign(words, 0);
    known.insert(0);
    for (std::uint32_t ideal = 0; ideal * words < bits.size(); ++ideal) {
        if (stop.stop_requested()) return false;
        lattice.begin_.push_back(lattice.above_.size());
        for (std::uint32_t part = 0; part < parts.size(); ++part) {
            if (lattice.contains(ideal, part)) continue;
            const auto is_in = [&](std::uint32_t before) { return lattice.contains(ideal, before); };
            if (!std::ranges::all_of(parts.before[part], is_in)) continue;
            const auto fresh = static_cast<std::uint32_t>(bits.size() / words);
            for (std::size_t word = 0; word < words; ++word) bits.push_back(bits[ideal * words + word]);
            bits[fresh * words + part / 64] |= std::uint64_t{1} << (part % 64);
            const auto [found, is_new] = known.insert(fresh);
            if (!is_new) bits.resize(fresh * words);
            if (is_new && known.size() > most) return false;
            lattice.above_.emplace_back(part, *found);
        }
    }
    lattice.begin_.push_back(lattice.above_.size());
    return true;
}

IdealLattice ideals(const Contraction& parts, std::size_t most, const std::stop_token& stop) {
    IdealLattice lattice;
    lattice.words_ = parts.size() / 64 + 1;
    if (add_all_ideals(parts, most, stop, lattice)) return lattice;

    lattice = IdealLattice();
    lattice.words_ = parts.size() / 64 + 1;
    lattice.bits_.assign(lattice.words_ * (parts.size() + 1), 0);
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
        lattice.begin_.push_back(part);
        lattice.above_.emplace_back(part, part + 1);
        for (std::size_t word = 0; word < lattice.words_; ++word)
            lattice.bits_[(part + 1) * lattice.words_ + word] = lattice.bits_[part * lattice.words_ + word];
        lattice.bits_[(part + 1) * lattice.words_ + part / 64] |= std::uint64_t{1} << (part % 64);
    }
    lattice.begin_.push_back(parts.size());
    lattice.begin_.push_back(parts.size());
    return lattice;
}

}  // namespace placewright
