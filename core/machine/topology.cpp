// SPDX-License-Identifier: MIT
#include "core/machine/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace placewright {
namespace {

/// What the routes across a channel have in common.
struct Ends {
    std::vector<DeviceId> owners;  ///< an end of each of them; two at most
    std::set<DeviceId> alone;      ///< ends of routes that cross this channel alone
    bool used = false;

    void cross(const Route& route) {
        if (!std::exchange(used, true)) {
            owners = {route.from, route.to};
        } else {
            std::erase_if(owners, [&](DeviceId owner) { return owner != route.from && owner != route.to; });
        }
        if (route.channels.size() == 1) alone.insert({route.from, route.to});
    }
    /// The one other end of the routes that an owner reaches over this channel alone.
    std::optional<DeviceId> other_end() const {
        if (alone.size() != 2) return {};
        for (const DeviceId end : alone) {
            if (end != owners.front()) return end;
        }
        return {};
    }
};

/// The sets of channels that meet in a route.
class Sets {
public:
    explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
    std::size_t find(std::size_t item) {
        while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
        return item;
    }
    void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

private:
    std::vector<std::size_t> parent_;
};

}  // namespace

Topology topology_of(const Machine& machine) {
    Topology topology;
    const auto devices = machine.devices();
    for (std::size_t i = 0; i < devices.size(); ++i)
        topology.nodes.push_back({static_cast<DeviceId>(i), devices[i].name, {}});

    std::vector<Ends> ends(machine.channels().size());
    for (const Route& route : machine.routes()) {
        for (const ChannelId channel : route.channels) ends[channel].cross(route);
    }
    std::map<std::pair<std::size_t, std::size_t>, std::vector<ChannelId>> links;
    const auto join = [&](std::size_t a, std::size_t b, std::size_t channel) {
        links[std::minmax(a, b)].push_back(static_cast<ChannelId>(channel));
    };
    std::vector<bool> meets(ends.size());  // in a hub
    for (std::size_t channel = 0; channel < ends.size(); ++channel) {
        const Ends& of = ends[channel];
        if (!of.used) continue;
        if (of.owners.size() == 2) {
            join(of.owners[0], of.owners[1], channel);
        } else if (const auto other = of.owners.empty() ? std::nullopt : of.other_end()) {
            join(of.owners[0], *other, channel);
        } else {
            meets[channel] = true;
        }
    }
    Sets sets(ends.size());
    for (const Route& route : machine.routes()) {
        std::optional<ChannelId> first;
        for (const ChannelId channel : route.channels) {
            if (!meets[channel]) continue;
            if (first) sets.join(*first, channel);
            if (!first) first = channel;
        }
    }
    std::map<std::size_t, std::size_t> hub_of;  // by set
    for (std::size_t channel = 0; channel < ends.size(); ++channel) {
        if (!meets[channel]) continue;
        const auto [hub, is_new] = hub_of.emplace(sets.find(channel), topology.nodes.size());
        const Channel& of = machine.channels()[channel];
        if (is_new) topology.nodes.push_back({{}, of.model.empty() ? of.name : of.model, {}});
        if (ends[channel].owners.empty()) {
            Topology::Node& node = topology.nodes[hub->second];
            if (node.channels.empty()) node.label = of.name;
            node.channels.push_back(static_cast<ChannelId>(channel));
        } else {
            join(ends[channel].owners.front(), hub->second, channel);
        }
    }
    // A bus has no channels that lead to it.
    for (const Route& route : machine.routes()) {
        for (const auto& [device, channel] :
             {std::pair(route.from, route.channels.front()), std::pair(route.to, route.channels.back())}) {
            if (!meets[channel] || !ends[channel].owners.empty()) continue;
            auto& joined = links[std::minmax<std::size_t>(device, hub_of[sets.find(channel)])];
            if (std::ranges::find(joined, channel) == joined.end()) joined.push_back(channel);
        }
    }
    for (auto& [nodes, channels] : links)
        topology.links.push_back({nodes.first, nodes.second, std::move(channels)});
    return topology;
}

}  // namespace placewright
