// SPDX-License-Identifier: MIT
#include "core/learn/placeto_state.hpp"

#include <algorithm>
#include <cmath>

namespace placewright {

PlacetoState::PlacetoState(const PolicyGraph& graph, const Placement& start)
    : graph_(graph), device_(graph.nodes), decided_(graph.nodes), load_(graph.devices), fill_(graph.devices) {
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
    // What stays on the device counts whole, what goes to another as far as links are near to the fastest.
    const auto nearness = [&](std::size_t sender, std::size_t reader) {
        return sender == reader ? 1.0 : 0.5 * static_cast<double>(graph_.link[sender * graph_.devices + reader]);
    };
    double from = 0, from_all = 0, to = 0, to_all = 0;
    for (std::uint32_t edge = graph_.parent_begin[current_]; edge < graph_.parent_begin[current_ + 1]; ++edge) {
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
}

}  // namespace placewright
