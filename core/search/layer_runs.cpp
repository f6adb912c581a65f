// SPDX-License-Identifier: MIT
#include "core/search/layer_runs.hpp"

#include <algorithm>
#include <map>

#include "core/graph/blocks.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostInAllOrders = 4;

/// The groups that are blocks. Groups are in the order of their first ops, which is that of the layers.
std::vector<GroupId> blocks_of(const Problem& problem) {
    std::vector<GroupId> blocks;
    for (GroupId group = 0; group < problem.groups; ++group) {
        if (block_number(problem.graph->op(problem.grouping.members[group].front()))) blocks.push_back(group);
    }
    return blocks;
}

std::size_t count_runs(const std::vector<GroupId>& blocks, const Placement& placement) {
    std::size_t runs = blocks.empty() ? 0 : 1;
    for (std::size_t i = 1; i < blocks.size(); ++i)
        runs += placement[blocks[i]] != placement[blocks[i - 1]] ? 1 : 0;
    return runs;
}

/// Orders of the devices, without repetition.
std::vector<std::vector<DeviceId>> orders_of(const std::vector<GroupId>& blocks, const Placement& placement,
                                             const std::map<DeviceId, std::size_t>& counts) {
    std::map<DeviceId, double> positions;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        positions[placement[blocks[i]]] +=
            static_cast<double>(i) / static_cast<double>(counts.at(placement[blocks[i]]));
    std::vector<DeviceId> by_number;
    for (const auto& [device, count] : counts) by_number.push_back(device);
    std::vector<DeviceId> by_position = by_number;
    std::ranges::stable_sort(by_position, {}, [&](DeviceId device) { return positions[device]; });
    std::vector<std::vector<DeviceId>> orders{by_position, by_number, {by_number.rbegin(), by_number.rend()}};
    if (by_number.size() <= kMostInAllOrders) {
        std::vector<DeviceId> order = by_number;
        while (std::ranges::next_permutation(order).found) orders.push_back(order);
    }
    std::vector<std::vector<DeviceId>> distinct;
    for (std::vector<DeviceId>& order : orders) {
        if (std::ranges::find(distinct, order) == distinct.end()) distinct.push_back(std::move(order));
    }
    return distinct;
}

}  // namespace

std::size_t count_layer_runs(const Problem& problem, const Placement& placement) {
    return count_runs(blocks_of(problem), placement);
}

std::vector<Placement> placements_in_layer_runs(const Problem& problem, const Placement& placement) {
    const std::vector<GroupId> blocks = blocks_of(problem);
    std::map<DeviceId, std::size_t> counts;
    for (const GroupId block : blocks) ++counts[placement[block]];
    if (blocks.empty() || count_runs(blocks, placement) == counts.size()) return {};
    const auto put = [&](Placement& to, GroupId group, DeviceId device) {
        if (std::ranges::binary_search(problem.allowed_devices(group), device)) to[group] = device;
    };
    std::vector<Placement> all;
    for (const std::vector<DeviceId>& order : orders_of(blocks, placement, counts)) {
        Placement in_runs = placement;
        std::size_t at = 0;
        for (const DeviceId device : order) {
            for (std::size_t i = 0; i < counts.at(device); ++i) put(in_runs, blocks[at++], device);
        }
        Placement with_ends = in_runs;
        for (GroupId group = 0; group < blocks.front(); ++group) put(with_ends, group, order.front());
        for (GroupId group = blocks.back() + 1; group < problem.groups; ++group)
            put(with_ends, group, order.back());
        all.push_back(std::move(in_runs));
        all.push_back(std::move(with_ends));
    }
    return all;
}

}  // namespace placewright
