// SPDX-License-Identifier: MIT
#include "core/search/parts/niches.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/sorted.hpp"
#include "core/base/units.hpp"
#include "core/search/options.hpp"

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

std::string percent_of(std::uint32_t cell, std::uint32_t size) {
    const double share = size > 1 ? static_cast<double>(cell) / (size - 1) : 0;
    return std::to_string(std::lround(100 * share)) + " %";
}

/// Upper limit of a cell along the crossing bytes.
double crossing_limit(double most_bytes, std::uint32_t cell, std::uint32_t size) {
    return cell == 0 && size > 1
               ? 0
               : std::ldexp(most_bytes, static_cast<int>(cell + 1) - static_cast<int>(size));
}

constexpr std::size_t kMostDeviceCells = 256;

}  // namespace

Niches::Niches(const DeviceChoices& choices, Indices sizes)
    : sizes_(sizes),
      has_crossing_(sizes[3] > 0),
      has_balance_(sizes[4] > 0),
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
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        if (sizes_[i] == 0)
            sizes_[i] = i < 2 ? static_cast<std::uint32_t>(std::min(names_.size(), kMostDeviceCells)) : 1;
    }
    double cells = 1;
    for (const std::uint32_t size : sizes_) cells *= size;
    if (cells > static_cast<double>(ArchiveView::kMostCells))
        throw OptionError("the archive would have " + format_count(cells) + " cells, more than " +
                          format_count(static_cast<double>(ArchiveView::kMostCells)) +
                          ": make its sizes smaller");

    const Problem& problem = choices.problem();
    if (has_crossing_) {
        std::map<std::pair<GroupId, std::vector<GroupId>>, double> bytes_of;
        for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
            const GroupId producer = problem.grouping.group_of[problem.producer[tensor]];
            std::vector<GroupId> readers;
            for (std::uint32_t i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1];
                 ++i) {
                const GroupId reader = problem.grouping.group_of[problem.consumer[i]];
                if (reader != producer) readers.push_back(reader);
            }
            std::ranges::sort(readers);
            erase_repeats(readers);
            if (!readers.empty()) bytes_of[{producer, std::move(readers)}] += problem.tensor_bytes[tensor];
        }
        for (const auto& [ends, bytes] : bytes_of) {
            messages_.push_back({ends.first, ends.second, bytes});
            most_crossing_bytes_ +=
                bytes * static_cast<double>(std::min(ends.second.size(), names_.size() - 1));
        }
    }
    if (has_balance_) {
        for (GroupId group = 0; group < problem.groups; ++group) {
            for (DeviceId device = 0; device < problem.devices; ++device)
                group_time_s_.push_back(problem.group_time_s(group, device));
        }
    }
}

double Niches::crossing_bytes(std::span<const DeviceId> placement) const {
    double bytes = 0;
    std::vector<std::size_t> reached(position_.size(), messages_.size());  // [device]: by which message
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        const Message& message = messages_[i];
        reached[placement[message.producer]] = i;
        for (const GroupId reader : message.readers) {
            if (std::exchange(reached[placement[reader]], i) != i) bytes += message.bytes;
        }
    }
    return bytes;
}

double Niches::balance(std::span<const DeviceId> placement) const {
    if (!has_balance_) return 0;
    std::vector<double> busy_s(position_.size(), 0);
    for (std::size_t group = 0; group < placement.size(); ++group)
        busy_s[placement[group]] += group_time_s_[group * position_.size() + placement[group]];
    const double longest_s = std::ranges::max(busy_s);
    if (longest_s <= 0 || names_.size() < 2) return 0;
    return (std::accumulate(busy_s.begin(), busy_s.end(), 0.0) / longest_s - 1) /
           static_cast<double>(names_.size() - 1);
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
    Indices indices{index_of(position_[most_used] / devices, sizes_[0], sizes_[0]),
                    index_of(static_cast<double>(used - 1) / devices, sizes_[1], sizes_[1]),
                    index_of(jump_share, sizes_[2] - 1, sizes_[2])};
    if (has_crossing_) {
        const double bytes = crossing_bytes(placement);
        while (indices[3] + 1 < sizes_[3] &&
               bytes > crossing_limit(most_crossing_bytes_, indices[3], sizes_[3]))
            ++indices[3];
    }
    if (has_balance_) indices[4] = index_of(balance(placement), sizes_[4] - 1, sizes_[4]);
    return indices;
}

std::uint32_t Niches::cells() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), 1U, std::multiplies<>());
}

std::uint32_t Niches::cell(std::span<const DeviceId> placement) const {
    const Indices along = indices(placement);
    std::uint32_t cell = 0;
    for (std::size_t i = 0; i < along.size(); ++i) cell = cell * sizes_[i] + along[i];
    return cell;
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
    for (std::uint32_t cell = 0; cell < sizes_[2]; ++cell)
        dimensions[2].labels.push_back(percent_of(cell, sizes_[2]));
    if (has_crossing_) {
        ArchiveView::Dimension& crossing = dimensions.emplace_back();
        crossing.title = "Bytes between devices";
        crossing.size = sizes_[3];
        for (std::uint32_t cell = 0; cell < sizes_[3]; ++cell) {
            const double limit = crossing_limit(most_crossing_bytes_, cell, sizes_[3]);
            crossing.labels.push_back((limit > 0 ? "≤ " : "") + format_bytes(limit));
        }
    }
    if (has_balance_) {
        ArchiveView::Dimension& balance = dimensions.emplace_back();
        balance.title = "Balance of work";
        balance.size = sizes_[4];
        for (std::uint32_t cell = 0; cell < sizes_[4]; ++cell)
            balance.labels.push_back(percent_of(cell, sizes_[4]));
    }
    return dimensions;
}

}  // namespace placewright
