// SPDX-License-Identifier: MIT
#include "core/learn/placeto_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace placewright {

PlacetoState::PlacetoState(const PolicyGraph& graph, const Placement& start)
    : graph_(graph),
      device_(graph.nodes),
      decided_(graph.nodes),
      load_(graph.devices),
      fill_(graph.devices),
      beside_(graph.devices),
      near_(graph.devices),
      place_(graph.nodes),
      end_(graph.nodes, -1.0F),
      free_(graph.devices),
      ends_(graph.devices) {
    for (GroupId node = 0; node < graph.nodes; ++node) {
        device_[node] = graph.index_of(start[node]);
        if (device_[node] < graph.devices) {
            load_[device_[node]] += graph.time_on[std::size_t{node} * graph.devices + device_[node]];
            fill_[device_[node]] += graph.need[std::size_t{node} * graph.devices + device_[node]];
        }
        const float* times = graph.time_on.data() + std::size_t{node} * graph.devices;
        total_time_ += *std::min_element(times, times + graph.devices);
    }
    if (total_time_ <= 0) total_time_ = 1;
    for (std::uint32_t place = 0; place < graph.nodes; ++place) place_[graph.order[place]] = place;
}

void PlacetoState::schedule_until(std::size_t place) {
    if (place < scheduled_) {
        scheduled_ = 0;
        std::ranges::fill(end_, -1.0F);
        std::ranges::fill(free_, 0.0F);
    }
    for (; scheduled_ < place; ++scheduled_) {
        const GroupId node = graph_.order[scheduled_];
        if (device_[node] < graph_.devices) end_[node] = free_[device_[node]] = end_on(node, device_[node]);
    }
}

void PlacetoState::turn_to(GroupId node) {
    current_ = node;
    schedule_until(place_[node]);
    first_end_ = std::numeric_limits<float>::infinity();
    for (std::size_t device = 0; device < graph_.devices; ++device) {
        ends_[device] = end_on(node, device);
        if (graph_.allowed[std::size_t{node} * graph_.devices + device] != 0)
            first_end_ = std::min(first_end_, ends_[device]);
    }
    // Size of the interval between the node's earliest start and latest end, at least a fiftieth of the
    // longest path.
    constexpr float kLeastSlack = 0.02F;
    const float slack = std::max(kLeastSlack, 1 - graph_.top_level[node] - graph_.bottom_level[node]);
    const float first = graph_.top_level[node] - kLeastSlack,
                last = graph_.top_level[node] + graph_.duration[node] + slack;
    std::ranges::fill(beside_, 0.0F);
    std::ranges::fill(near_, 0.0F);
    float all = 0, all_near = 0;
    for (GroupId other = 0; other < graph_.nodes; ++other) {
        if (other == node || PlacetoNetwork::set_of(graph_, node, other) != 2) continue;
        const float time = graph_.time[other];
        const bool near =
            graph_.top_level[other] < last && graph_.top_level[other] + graph_.duration[other] > first;
        all += time;
        all_near += near ? time : 0;
        if (device_[other] >= graph_.devices) continue;
        beside_[device_[other]] += time;
        near_[device_[other]] += near ? time : 0;
    }
    for (float& share : beside_) share /= std::max(all, 1e-6F);
    for (float& share : near_) share /= std::max(all_near, 1e-6F);
}

float PlacetoState::lateness(std::size_t device) const {
    const float later = 100 * std::max(0.0F, ends_[device] - first_end_);
    return later / (1 + later);
}

float PlacetoState::end_on(GroupId node, std::size_t device) const {
    float start = free_[device];
    for (std::uint32_t edge = graph_.parent_begin[node]; edge < graph_.parent_begin[node + 1]; ++edge) {
        const GroupId before = graph_.parent[edge];
        if (end_[before] < 0) continue;
        const std::size_t link = device_[before] * graph_.devices + device;
        start =
            std::max(start, end_[before] + graph_.latency[link] +
                                static_cast<float>(graph_.parent_bytes[edge]) * graph_.byte_duration[link]);
    }
    return start + graph_.duration_on[std::size_t{node} * graph_.devices + device];
}

void PlacetoState::decide(std::uint16_t device) {
    decided_[current_] += 1;
    std::uint16_t& mine = device_[current_];
    const std::size_t row = std::size_t{current_} * graph_.devices;
    if (mine < graph_.devices) {
        load_[mine] -= graph_.time_on[row + mine];
        fill_[mine] -= graph_.need[row + mine];
    }
    mine = device;
    load_[mine] += graph_.time_on[row + mine];
    fill_[mine] += graph_.need[row + mine];
}

void PlacetoState::node_features(const PlacetoNetwork& network, GroupId node, float* features) const {
    *features++ = graph_.time[node];
    *features++ = graph_.bytes[node];
    *features++ = decided_[node];
    *features++ = node == current_ ? 1.0F : 0.0F;
    const std::uint16_t device = device_[node];
    if (network.one_hot()) {
        for (std::size_t i = 0; i < network.devices; ++i) *features++ = i == device ? 1.0F : 0.0F;
        return;
    }
    *features++ = graph_.top_level[node];
    *features++ = graph_.bottom_level[node];
    const bool known = device < graph_.devices;
    *features++ = known ? std::log1p(graph_.time_on[std::size_t{node} * graph_.devices + device]) : 0;
    *features++ = known ? graph_.speed[device] : 0;
    *features++ = known ? graph_.capacity[device] : 0;
}

void PlacetoState::device_features(std::size_t device, float* features) const {
    const std::size_t at = std::size_t{current_} * graph_.devices + device;
    const bool here = device_[current_] == device;
    *features++ = graph_.speed[device];
    *features++ = graph_.capacity[device];
    *features++ = std::log1p(graph_.time_on[at]);
    *features++ = graph_.need[at];
    *features++ = static_cast<float>((load_[device] - (here ? graph_.time_on[at] : 0)) / total_time_);
    *features++ = static_cast<float>(fill_[device] - (here ? graph_.need[at] : 0));
    // Bytes that stay on the device count fully, bytes to another device in proportion to the speed of the
    // link relative to the fastest.
    const auto nearness = [&](std::size_t sender, std::size_t reader) {
        return sender == reader ? 1.0
                                : 0.5 * static_cast<double>(graph_.link[sender * graph_.devices + reader]);
    };
    double from = 0, from_all = 0, to = 0, to_all = 0;
    for (std::uint32_t edge = graph_.parent_begin[current_]; edge < graph_.parent_begin[current_ + 1];
         ++edge) {
        const std::uint16_t other = device_[graph_.parent[edge]];
        from_all += graph_.parent_bytes[edge];
        if (other < graph_.devices) from += graph_.parent_bytes[edge] * nearness(other, device);
    }
    for (std::uint32_t edge = graph_.child_begin[current_]; edge < graph_.child_begin[current_ + 1]; ++edge) {
        const std::uint16_t other = device_[graph_.child[edge]];
        to_all += graph_.child_bytes[edge];
        if (other < graph_.devices) to += graph_.child_bytes[edge] * nearness(device, other);
    }
    *features++ = static_cast<float>(from_all > 0 ? from / from_all : 0);
    *features++ = static_cast<float>(to_all > 0 ? to / to_all : 0);
    *features++ = here ? 1.0F : 0.0F;
    *features++ = beside_[device];
    *features++ = near_[device];
    *features++ = lateness(device);
    *features++ = ends_[device] <= first_end_ ? 1.0F : 0.0F;
}

}  // namespace placewright
