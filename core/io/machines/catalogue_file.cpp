// SPDX-License-Identifier: MIT
#include "core/io/machines/catalogue_file.hpp"

#include <cmath>

#include "core/base/text.hpp"
#include "core/io/machines/device_json.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

using Fabric = Catalogue::Fabric;

double read_price(const JsonValue& value) {
    const double price = value.at("price").number();
    if (price < 0) value.at("price").fail("is negative, expected a price of 0 or more");
    return price;
}

Fabric read_fabric(const JsonValue& value) {
    Fabric fabric;
    fabric.name = value.at("name").text();
    fabric.price = read_price(value);
    const std::string topology = value.at("topology").text();
    if (topology == "none") return fabric;
    if (topology != "pairs" && topology != "switch")
        value.at("topology")
            .fail("is " + in_quotes(topology) + ", expected \"none\", \"pairs\" or \"switch\"");
    fabric.topology = topology == "pairs" ? Fabric::Topology::pairs : Fabric::Topology::switched;
    fabric.channel = read_channel(value);
    return fabric;
}

/// Reads a list, which must not be empty.
template <class Item, class Read>
std::vector<Item> read_list(const JsonValue& root, const std::string& key, Read read) {
    std::vector<Item> items;
    const JsonValue list = root.at(key);
    if (list.size() == 0) list.fail("is empty, expected at least one");
    for (std::size_t i = 0; i < list.size(); ++i) items.push_back(read(list.at(i)));
    return items;
}

}  // namespace

Catalogue read_catalogue(const Path& path) {
    const JsonFile file(path);
    file.require_format("placewright.catalogue");
    const Json json = file.parse();
    const JsonValue root(file, json);
    JsonFile::require_version(root, 1);
    Catalogue catalogue;
    catalogue.name = root.at("name").text();
    catalogue.currency = root.text_or("currency", "");
    constexpr std::int64_t kMostSlots = 64;
    catalogue.hosts = read_list<Catalogue::Host>(root, "hosts", [](const JsonValue& value) {
        return Catalogue::Host{read_device(value),
                               static_cast<std::uint32_t>(value.at("slots").whole(1, kMostSlots)),
                               read_price(value)};
    });
    catalogue.accelerators =
        read_list<Catalogue::Accelerator>(root, "accelerators", [](const JsonValue& value) {
            return Catalogue::Accelerator{read_device(value), read_price(value)};
        });
    catalogue.host_links = read_list<Catalogue::HostLink>(root, "host_links", [](const JsonValue& value) {
        return Catalogue::HostLink{read_channel(value), read_price(value)};
    });
    catalogue.fabrics = read_list<Fabric>(root, "fabrics", read_fabric);

    // Building a machine of all parts checks that their values are in range.
    Design design;
    for (std::size_t i = 0; i < catalogue.accelerators.size(); ++i) design.accelerators.push_back(i);
    if (design.accelerators.size() < 2) design.accelerators.push_back(0);
    for (design.host = 0; design.host < catalogue.hosts.size(); ++design.host) {
        for (design.host_link = 0; design.host_link < catalogue.host_links.size(); ++design.host_link) {
            for (design.fabric = 0; design.fabric < catalogue.fabrics.size(); ++design.fabric) {
                try {
                    build_machine(design, catalogue);
                } catch (const MachineError& error) {
                    file.fail("", error.what());
                }
            }
        }
    }
    return catalogue;
}

}  // namespace placewright
