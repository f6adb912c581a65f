// SPDX-License-Identifier: MIT
#include "core/learn/list_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace placewright {
namespace {

constexpr float kTiny = 1e-9F;
/// Time below which it hardly matters when a group ends, as a share of the longest path.
constexpr float kSoon = 0.01F;
/// Number of the next groups in the order that count as running at about the same time.
constexpr std::size_t kNear = 16;
/// Largest number of readers of a parent that count as siblings.
constexpr std::size_t kMostSiblings = 32;

/// Maps [0, infinity) to [0, 1); 1/2 at `unit`.
float squashed(float value, float unit) {
    return value <= 0 ? 0 : value / (value + unit + kTiny);
}
float bounded_log(float value) {
    return std::clamp(std::log(value + 1e-6F) / 4, -2.0F, 2.0F);
}

}  // namespace

std::vector<PolicyParameter> ListNetwork::parameters() const {
    std::vector<PolicyParameter> all;
    const auto linear = [&](const std::string& name, std::size_t out, std::size_t in, double gain = 1) {
        all.push_back(PolicyParameter::linear(name + ".weight", out, in, gain));
        all.push_back(PolicyParameter::bias(name + ".bias", out));
    };
    linear("groups.input", width, kGroupFeatures);
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const std::string name = "groups.round" + std::to_string(round + 1);
        linear(name + ".own", width, width);
        linear(name + ".parents", width, width);
        linear(name + ".children", width, width);
    }
    linear("device.group", hidden, width);
    linear("device.features", hidden, kDeviceFeatures);
    linear("device.attention", 1, hidden);
    linear("device.own", hidden, hidden);
    linear("device.attended", hidden, hidden);
    linear("device.score", 1, hidden, 0.1);
    return all;
}

std::vector<GroupId> list_order(const PolicyGraph& graph) {
    std::vector<GroupId> order = graph.order;
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](GroupId group) { return graph.bottom_level[group]; });
    return order;
}

std::vector<float> ListState::group_features(const PolicyGraph& graph) {
    const std::size_t devices = graph.devices;
    // Work at the time of each group if all groups ran as early as they can.
    constexpr std::size_t kBins = 64;
    std::vector<float> work(kBins);
    const auto bin = [&](float time) {
        return static_cast<std::size_t>(std::clamp(time, 0.0F, 0.9999F) * kBins);
    };
    for (GroupId group = 0; group < graph.nodes; ++group) {
        const float begin = graph.top_level[group], end = begin + graph.duration[group];
        for (std::size_t i = bin(begin); i <= bin(end); ++i) {
            const float low = static_cast<float>(i) / kBins, high = static_cast<float>(i + 1) / kBins;
            work[i] += std::max(0.0F, std::min(end, high) - std::max(begin, low)) * kBins;
        }
    }
    float pace = 0, latency = 0;
    for (std::size_t from = 0; from < devices; ++from) {
        for (std::size_t to = 0; to < devices; ++to) {
            pace += graph.byte_duration[from * devices + to];
            latency += graph.latency[from * devices + to];
        }
    }
    const float pairs = static_cast<float>(std::max<std::size_t>(devices * (devices - 1), 1));
    pace /= pairs;
    latency /= pairs;
    float total = 0, moved = 0, need = 0;
    std::vector<float> leaving(graph.nodes), needs(graph.nodes);
    for (GroupId group = 0; group < graph.nodes; ++group) {
        double bytes = 0;
        for (std::uint32_t i = graph.child_begin[group]; i < graph.child_begin[group + 1]; ++i)
            bytes = std::max(bytes, graph.child_bytes[i]);
        leaving[group] = graph.children(group).empty() ? 0 : latency + static_cast<float>(bytes) * pace;
        for (std::size_t i = 0; i < devices; ++i)
            needs[group] = std::max(needs[group], graph.need[group * devices + i]);
        total += graph.duration[group];
        moved += leaving[group];
        need += needs[group];
    }
    const float mean = total / static_cast<float>(std::max<std::size_t>(graph.nodes, 1));
    std::vector<float> features;
    features.reserve(graph.nodes * ListNetwork::kGroupFeatures);
    for (GroupId group = 0; group < graph.nodes; ++group) {
        const float* on = graph.duration_on.data() + std::size_t{group} * devices;
        const float duration = graph.duration[group], best = *std::min_element(on, on + devices);
        features.insert(
            features.end(),
            {bounded_log(duration / (mean + kTiny)), std::sqrt(duration), graph.top_level[group],
             graph.bottom_level[group],
             std::max(0.0F, 1 - graph.top_level[group] - graph.bottom_level[group]),
             std::log1p(static_cast<float>(graph.parents(group).size())),
             std::log1p(static_cast<float>(graph.children(group).size())),
             bounded_log((leaving[group] + 1e-6F) / (duration + 1e-6F)), squashed(leaving[group], kSoon),
             std::min(needs[group] * 4, 2.0F), duration > 0 ? best / duration : 1,
             std::log1p(work[bin(graph.top_level[group] + duration / 2)]),
             std::log(static_cast<float>(devices)) / 2, std::log1p(total),
             std::min(need / static_cast<float>(devices), 2.0F), bounded_log(moved / (total + kTiny)),
             std::log(static_cast<float>(graph.nodes)) / 10});
    }
    return features;
}

ListState::ListState(const PolicyGraph& graph, std::span<const GroupId> order)
    : graph_(graph),
      order_(order),
      device_(graph.nodes),
      end_(graph.nodes),
      free_(graph.devices),
      load_(graph.devices),
      fill_(graph.devices),
      used_(graph.devices),
      candidates_(graph.devices) {
    double total = 0;
    for (GroupId group = 0; group < graph.nodes; ++group) {
        const float* on = graph.duration_on.data() + std::size_t{group} * graph.devices;
        total += *std::min_element(on, on + graph.devices);
    }
    ideal_ = std::max(total / graph.devices, 1e-9);
}

void ListState::begin(const Placement& start, std::span<const std::uint8_t> decided) {
    std::ranges::fill(end_, -1.0F);
    std::ranges::fill(free_, 0.0F);
    std::ranges::fill(load_, 0.0);
    std::ranges::fill(fill_, 0.0);
    std::ranges::fill(used_, 0U);
    last_ = static_cast<std::uint16_t>(graph_.devices);
    for (GroupId group = 0; group < graph_.nodes; ++group) {
        device_[group] =
            decided[group] != 0 ? static_cast<std::uint16_t>(graph_.devices) : graph_.index_of(start[group]);
        const std::uint16_t device = device_[group];
        if (device >= graph_.devices) continue;
        const std::size_t at = std::size_t{group} * graph_.devices + device;
        load_[device] += static_cast<double>(graph_.duration_on[at]);
        fill_[device] += static_cast<double>(graph_.need[at]);
        ++used_[device];
    }
}

float ListState::ready(GroupId group, std::size_t device) const {
    float ready = 0;
    for (std::uint32_t edge = graph_.parent_begin[group]; edge < graph_.parent_begin[group + 1]; ++edge) {
        const GroupId before = graph_.parent[edge];
        if (end_[before] < 0) continue;  // in a cycle, or on a device that no group may move to
        const std::uint16_t there = device_[before];
        ready = std::max(ready, end_[before] + (there < graph_.devices && there != device
                                                    ? transfer(there, device, graph_.parent_bytes[edge])
                                                    : 0));
    }
    return ready;
}

void ListState::turn_to(std::size_t place) {
    group_ = order_[place];
    const std::size_t devices = graph_.devices, row = std::size_t{group_} * devices;
    const auto none = static_cast<std::uint16_t>(devices);
    std::ranges::fill(candidates_, Candidate{});
    heavy_parent_ = late_parent_ = heavy_child_ = none;
    double parent_bytes = 0, child_bytes = 0, known_bytes = 0, heaviest = -1;
    float latest = -1;
    std::size_t siblings = 0;
    for (std::uint32_t edge = graph_.parent_begin[group_]; edge < graph_.parent_begin[group_ + 1]; ++edge) {
        const GroupId before = graph_.parent[edge];
        const std::uint16_t there = device_[before];
        const double bytes = graph_.parent_bytes[edge];
        parent_bytes += bytes;
        if (there >= devices) continue;
        candidates_[there].parent_bytes += static_cast<float>(bytes);
        for (std::size_t i = 0; i < devices; ++i) {
            if (i != there) candidates_[i].arriving += transfer(there, i, bytes);
        }
        if (bytes > heaviest) {
            heaviest = bytes;
            heavy_parent_ = there;
        }
        if (end_[before] > latest) {
            latest = end_[before];
            late_parent_ = there;
        }
        const auto readers = graph_.children(before);
        for (const GroupId sibling : readers.first(std::min(readers.size(), kMostSiblings))) {
            if (sibling == group_ || device_[sibling] >= devices) continue;
            candidates_[device_[sibling]].siblings += 1;
            ++siblings;
        }
    }
    heaviest = -1;
    for (std::uint32_t edge = graph_.child_begin[group_]; edge < graph_.child_begin[group_ + 1]; ++edge) {
        const std::uint16_t there = device_[graph_.child[edge]];
        const double bytes = graph_.child_bytes[edge];
        child_bytes += bytes;
        if (there >= devices) continue;
        known_bytes += bytes;
        candidates_[there].child_bytes += static_cast<float>(bytes);
        for (std::size_t i = 0; i < devices; ++i) {
            if (i != there) candidates_[i].leaving += transfer(i, there, bytes);
        }
        if (bytes > heaviest) {
            heaviest = bytes;
            heavy_child_ = there;
        }
    }
    known_children_ = child_bytes > 0 ? static_cast<float>(known_bytes / child_bytes) : 0;
    float near = 0;
    for (std::size_t i = place + 1; i < std::min(order_.size(), place + 1 + kNear); ++i) {
        const std::uint16_t there = device_[order_[i]];
        const float duration = graph_.duration[order_[i]];
        near += duration;
        if (there < devices) candidates_[there].near += duration;
    }
    first_end_ = first_start_ = first_ready_ = shortest_ = std::numeric_limits<float>::infinity();
    for (std::size_t device = 0; device < devices; ++device) {
        Candidate& it = candidates_[device];
        it.ready = ready(group_, device);
        it.start = std::max(it.ready, free_[device]);
        it.end = it.start + graph_.duration_on[row + device];
        if (parent_bytes > 0) it.parent_bytes /= static_cast<float>(parent_bytes);
        if (child_bytes > 0) it.child_bytes /= static_cast<float>(child_bytes);
        if (siblings > 0) it.siblings /= static_cast<float>(siblings);
        if (near > 0) it.near /= near;
        if (graph_.allowed[row + device] == 0) continue;
        first_ready_ = std::min(first_ready_, it.ready);
        first_start_ = std::min(first_start_, it.start);
        first_end_ = std::min(first_end_, it.end);
        shortest_ = std::min(shortest_, graph_.duration_on[row + device]);
    }
}

float ListState::preference(const ListNetwork& network, std::size_t device) const {
    return -network.foresight * squashed(candidates_[device].end - first_end_, kSoon);
}

void ListState::device_features(std::size_t device, float* features) const {
    const Candidate& it = candidates_[device];
    const std::size_t devices = graph_.devices, at = std::size_t{group_} * devices + device;
    const float unit = graph_.duration[group_], fill = static_cast<float>(fill_[device]);
    const auto is = [&](std::uint16_t other) { return other == device ? 1.0F : 0.0F; };
    *features++ = squashed(it.end - first_end_, kSoon);
    *features++ = squashed(it.end - first_end_, unit);
    *features++ = squashed(it.start - first_start_, unit);
    *features++ = squashed(it.ready - first_ready_, unit);
    *features++ = squashed(free_[device] - it.ready, unit);
    *features++ = squashed(it.ready - free_[device], unit);
    *features++ = squashed(it.ready - free_[device], kSoon);
    *features++ = it.end <= first_end_ ? 1.0F : 0.0F;
    *features++ = it.parent_bytes;
    *features++ = squashed(it.arriving, unit);
    *features++ = it.child_bytes;
    *features++ = squashed(it.leaving, unit);
    *features++ = known_children_;
    *features++ = squashed(static_cast<float>(load_[device] / ideal_), 1);
    *features++ = std::min(fill, 2.0F);
    *features++ = fill + graph_.need[at] > 1 ? 1.0F : 0.0F;
    *features++ = squashed(graph_.need[at], std::max(1 - fill, 0.01F));
    *features++ = graph_.speed[device];
    *features++ = graph_.capacity[device];
    *features++ = graph_.duration_on[at] > 0 ? shortest_ / graph_.duration_on[at] : 1;
    *features++ = is(last_);
    *features++ = is(heavy_parent_);
    *features++ = is(late_parent_);
    *features++ = is(heavy_child_);
    *features++ = it.siblings;
    *features++ = used_[device] == 0 ? 1.0F : 0.0F;
    *features++ = it.near;
}

void ListState::place(std::size_t place, std::uint16_t device) {
    const GroupId group = order_[place];
    if (device < graph_.devices) {
        const std::size_t at = std::size_t{group} * graph_.devices + device;
        const float start = std::max(ready(group, device), free_[device]);
        end_[group] = free_[device] = start + graph_.duration_on[at];
        if (device_[group] >= graph_.devices) {
            load_[device] += static_cast<double>(graph_.duration_on[at]);
            fill_[device] += static_cast<double>(graph_.need[at]);
            ++used_[device];
        }
    }
    device_[group] = device;
    last_ = device;
}

}  // namespace placewright
