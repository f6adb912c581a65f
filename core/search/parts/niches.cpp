// SPDX-License-Identifier: MIT
#include "core/search/parts/niches.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace placewright {
namespace {

/// Pairs of groups between which forward ops pass a tensor, each pair once.
std::vector<std::pair<GroupId, GroupId>> group_edges(const Problem& problem) {
    const Graph& graph = *problem.graph;
    const std::vector<GroupId>& group_of = problem.grouping.group_of;
    std::vector<std::pair<GroupId, GroupId>> edges;
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).phase != Phase::forward) continue;
        for (const OpId producer : graph.producers(op)) {
            if (graph.op(producer).phase == Phase::forward && group_of[producer] != group_of[op]) {
                edges.emplace_back(group_of[producer], group_of[op]);
            }
        }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
}

std::uint32_t index_of(double share, double scale, std::uint32_t size) {
    return std::min(static_cast<std::uint32_t>(std::lround(share * scale)), size - 1);
}

}  // namespace

Niches::Niches(const DeviceChoices& choices, Indices sizes)
    : sizes_(sizes),
      position_(choices.problem().devices, static_cast<std::uint32_t>(choices.devices().size())),
      edges_(group_edges(choices.problem())) {
    for (const DeviceId device : choices.devices()) {
        position_[device] = static_cast<std::uint32_t>(names_.size());
        Device description = choices.problem().machine->device(device);
        names_.push_back(std::exchange(description.name, {}));
        Device first = choices.problem().machine->device(choices.devices().front());
        first.name.clear();
        alike_ = alike_ && description == first;
    }
    for (std::uint32_t& size : sizes_) {
        if (size == 0) size = static_cast<std::uint32_t>(names_.size());
    }
}

Niches::Indices Niches::indices(std::span<const DeviceId> placement) const {
    std::vector<std::uint32_t> uses(position_.size(), 0);
    for (const DeviceId device : placement) ++uses[device];
    const auto most_used =
        static_cast<std::size_t>(std::max_element(uses.begin(), uses.end()) - uses.begin());
    const auto used = std::count_if(uses.begin(), uses.end(), [](std::uint32_t count) { return count > 0; });
    // Sums without branches: jumps are hard to predict.
    std::uint32_t jumps = 0;
    for (const auto& [producer, consumer] : edges_)
        jumps += static_cast<std::uint32_t>(placement[producer] != placement[consumer]);

    const auto devices = static_cast<double>(names_.size());
    const double jump_share =
        edges_.empty() ? 0 : static_cast<double>(jumps) / static_cast<double>(edges_.size());
    return {index_of(position_[most_used] / devices, sizes_[0], sizes_[0]),
            index_of(static_cast<double>(used - 1) / devices, sizes_[1], sizes_[1]),
            index_of(jump_share, sizes_[2] - 1, sizes_[2])};
}

std::uint32_t Niches::cell(std::span<const DeviceId> placement) const {
    const auto [most_used, used, jumps] = indices(placement);
    return (most_used * sizes_[1] + used) * sizes_[2] + jumps;
}

std::vector<ArchiveView::Dimension> Niches::dimensions() const {
    std::vector<ArchiveView::Dimension> dimensions{{"Most used device", sizes_[0], {}, alike_},
                                                   {"Devices used", sizes_[1], {}},
                                                   {"Jumps between devices", sizes_[2], {}}};
    // If the number of cells is not the number of devices, a cell stands for none or several of them.
    if (sizes_[0] == names_.size()) dimensions[0].labels = names_;
    if (sizes_[1] == names_.size()) {
        for (std::uint32_t used = 1; used <= sizes_[1]; ++used)
            dimensions[1].labels.push_back(std::to_string(used));
    }
    for (std::uint32_t cell = 0; cell < sizes_[2]; ++cell) {
        const double share = sizes_[2] > 1 ? static_cast<double>(cell) / (sizes_[2] - 1) : 0;
        dimensions[2].labels.push_back(std::to_string(std::lround(100 * share)) + " %");
    }
    return dimensions;
}

}  // namespace placewright
