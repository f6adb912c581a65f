// SPDX-License-Identifier: MIT
#include "core/machine/catalogue.hpp"

#include <array>
#include <charconv>
#include <map>
#include <utility>

namespace placewright {
namespace {

/// The sum of prices as one would write it: without the error of binary fractions, by which 2400.30 + 1500.30
/// is above 3900.60.
double as_written(double price) {
    constexpr int kDigits = 12;
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), price, std::chars_format::general, kDigits).ptr;
    std::from_chars(text.data(), end, price);
    return price;
}

}  // namespace

double price_of(const Design& design, const Catalogue& catalogue) {
    const auto count = static_cast<double>(design.accelerators.size());
    double price = catalogue.hosts[design.host].price;
    for (const std::size_t kind : design.accelerators) price += catalogue.accelerators[kind].price;
    price += count * catalogue.host_links[design.host_link].price;
    const Catalogue::Fabric& fabric = catalogue.fabrics[design.fabric];
    if (fabric.topology == Catalogue::Fabric::Topology::pairs)
        price += count * (count - 1) / 2 * fabric.price;
    if (fabric.topology == Catalogue::Fabric::Topology::switched) price += count * fabric.price;
    return as_written(price);
}

std::string title_of(const Design& design, const Catalogue& catalogue) {
    std::map<std::size_t, int> counts;
    for (const std::size_t kind : design.accelerators) ++counts[kind];
    if (counts.empty()) return catalogue.hosts[design.host].device.model;
    std::string title;
    for (const auto& [kind, count] : counts) {
        title += (title.empty() ? "" : " + ") + std::to_string(count) + "x " +
                 catalogue.accelerators[kind].device.model;
    }
    title += ", " + catalogue.host_links[design.host_link].channel.name;
    const Catalogue::Fabric& fabric = catalogue.fabrics[design.fabric];
    if (fabric.topology != Catalogue::Fabric::Topology::none) title += ", " + fabric.name;
    return catalogue.hosts.size() > 1 ? title + ", " + catalogue.hosts[design.host].device.model : title;
}

Machine build_machine(const Design& design, const Catalogue& catalogue) {
    using Topology = Catalogue::Fabric::Topology;
    std::vector<Device> devices{catalogue.hosts[design.host].device};
    devices[0].name = "cpu:0";
    for (std::size_t i = 0; i < design.accelerators.size(); ++i) {
        devices.push_back(catalogue.accelerators[design.accelerators[i]].device);
        devices.back().name = "gpu:" + std::to_string(i);
    }
    std::vector<Channel> channels;
    const auto add_channel = [&](Channel channel, const std::string& name) {
        channel.name = name;
        channels.push_back(std::move(channel));
        return static_cast<ChannelId>(channels.size() - 1);
    };
    const std::size_t count = design.accelerators.size();
    const Channel& link = catalogue.host_links[design.host_link].channel;
    const Catalogue::Fabric& fabric = catalogue.fabrics[design.fabric];
    std::vector<ChannelId> up, down, out, in;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string number = std::to_string(i);
        up.push_back(add_channel(link, "host" + number + "/up"));
        down.push_back(add_channel(link, "host" + number + "/down"));
        if (fabric.topology != Topology::switched) continue;
        out.push_back(add_channel(fabric.channel, "fabric" + number + "/up"));
        in.push_back(add_channel(fabric.channel, "fabric" + number + "/down"));
    }
    std::vector<Route> routes;
    for (std::size_t i = 0; i < count; ++i) {
        const auto from = static_cast<DeviceId>(i + 1);
        routes.push_back({0, from, {down[i]}});
        routes.push_back({from, 0, {up[i]}});
        for (std::size_t k = 0; k < count; ++k) {
            if (k == i) continue;
            const auto to = static_cast<DeviceId>(k + 1);
            switch (fabric.topology) {
                case Topology::none:
                    routes.push_back({from, to, {up[i], down[k]}});
                    break;
                case Topology::pairs:
                    routes.push_back({from,
                                      to,
                                      {add_channel(fabric.channel,
                                                   "fabric" + std::to_string(i) + '-' + std::to_string(k))}});
                    break;
                case Topology::switched:
                    routes.push_back({from, to, {out[i], in[k]}});
                    break;
            }
        }
    }
    return Machine(title_of(design, catalogue), std::move(devices), std::move(channels), std::move(routes),
                   Crossing::cut_through);
}

}  // namespace placewright
