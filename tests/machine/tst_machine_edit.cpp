// SPDX-License-Identifier: MIT
// Edits of machines, what-if factors and topologies.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <QtTest>

#include "core/machine/machine_edit.hpp"
#include "core/machine/topology.hpp"

using namespace placewright;

namespace {

Device device(const std::string& name, DeviceKind kind) {
    return {.name = name,
            .kind = kind,
            .model = "M",
            .peak_flops = 1e13,
            .memory_bandwidth = 5e11,
            .memory_bytes = 16e9};
}

Channel channel(const std::string& name, double bandwidth) {
    return {.name = name, .bandwidth = bandwidth, .latency_s = 1e-5, .efficiency_by_bytes = {}};
}

/// A CPU and GPUs on a PCIe link each, which reach each other over two of them.
Machine star(int gpus, Crossing crossing = Crossing::cut_through) {
    std::vector<Device> devices{device("cpu:0", DeviceKind::cpu)};
    std::vector<Channel> channels;
    std::vector<Route> routes;
    const auto up = [](int i) { return static_cast<ChannelId>(2 * i); };
    const auto down = [](int i) { return static_cast<ChannelId>(2 * i + 1); };
    for (int i = 0; i < gpus; ++i) {
        const auto id = static_cast<DeviceId>(i + 1);
        devices.push_back(device("gpu:" + std::to_string(i), DeviceKind::gpu));
        channels.push_back(channel("pcie" + std::to_string(i) + "/up", 16e9));
        channels.push_back(channel("pcie" + std::to_string(i) + "/down", 16e9));
        routes.push_back({id, 0, {up(i)}});
        routes.push_back({0, id, {down(i)}});
        for (int k = 0; k < gpus; ++k) {
            if (k != i) routes.push_back({id, static_cast<DeviceId>(k + 1), {up(i), down(k)}});
        }
    }
    return {"star", devices, channels, routes, crossing};
}

/// The same with a link from each GPU to each other one.
Machine pairs(int gpus) {
    const Machine base = star(gpus);
    std::vector<Channel> channels(base.channels().begin(), base.channels().end());
    std::vector<Route> routes(base.routes().begin(), base.routes().end());
    for (Route& route : routes) {
        if (route.from == 0 || route.to == 0) continue;
        channels.push_back(
            channel("nvlink" + std::to_string(route.from - 1) + '-' + std::to_string(route.to - 1), 50e9));
        route.channels = {static_cast<ChannelId>(channels.size() - 1)};
    }
    return {"pairs", {base.devices().begin(), base.devices().end()}, channels, routes};
}

/// The same with a switch in place of these links.
Machine switched(int gpus) {
    const Machine base = star(gpus);
    std::vector<Channel> channels(base.channels().begin(), base.channels().end());
    const auto first = static_cast<ChannelId>(channels.size());
    for (int i = 0; i < gpus; ++i) {
        channels.push_back(channel("switch" + std::to_string(i) + "/up", 300e9));
        channels.push_back(channel("switch" + std::to_string(i) + "/down", 300e9));
    }
    std::vector<Route> routes(base.routes().begin(), base.routes().end());
    for (Route& route : routes) {
        if (route.from == 0 || route.to == 0) continue;
        route.channels = {static_cast<ChannelId>(first + 2 * (route.from - 1)),
                          static_cast<ChannelId>(first + 2 * (route.to - 1) + 1)};
    }
    return {
        "switched", {base.devices().begin(), base.devices().end()}, channels, routes, Crossing::cut_through};
}

/// "pcie0/up, pcie1/down"
std::string way(const Machine& machine, const char* from, const char* to) {
    std::string text;
    for (const ChannelId channel : machine.route(*machine.find(from), *machine.find(to)))
        text += (text.empty() ? "" : ", ") + machine.channels()[channel].name;
    return text;
}

template <class Item>
const Figure<Item>& figure(std::span<const Figure<Item>> figures, std::string_view name) {
    return *std::ranges::find(figures, name, &Figure<Item>::name);
}

QString error_of(const std::function<void()>& edit) {
    try {
        edit();
    } catch (const MachineError& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

}  // namespace

class TestMachineEdit : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void figures() {
        const Machine before = star(2);
        const auto& memory = figure(device_figures(), "Memory");
        const MachineEdit edit = with_figure(before, DeviceId{1}, memory, 40);
        QCOMPARE(edit.machine.device(1).memory_bytes, 40e9);
        QCOMPARE(edit.machine.device(2).memory_bytes, 16e9);
        QCOMPARE(edit.machine.name(), std::string("star (edited)"));
        QCOMPARE(edit.from, (std::vector<DeviceId>{0, 1, 2}));
        QVERIFY(error_of([&] {
                    with_figure(before, DeviceId{1}, memory, 0);
                }).contains("0 is out of range, expected 0.001 to 100000 GB"));
        QVERIFY(!error_of([&] { with_figure(before, DeviceId{1}, memory, std::nan("")); }).isEmpty());
        // Every figure is read as it was written, at both ends of its range.
        for (const auto& each : device_figures()) {
            for (const double value : {each.least, each.most})
                QVERIFY(qFuzzyCompare(
                    1 + each.get(with_figure(before, DeviceId{0}, each, value).machine.device(0)),
                    1 + value));
        }
        for (const auto& each : channel_figures()) {
            for (const double value : {each.least, each.most})
                QVERIFY(qFuzzyCompare(
                    1 + each.get(with_figure(before, ChannelId{1}, each, value).machine.channels()[1]),
                    1 + value));
        }
    }

    void one_efficiency() {
        DeviceModel model;
        model.model = "M";
        model.vector_flops[NumberType::fp32] = 1e13;
        model.memory_bytes = model.memory_bandwidth = 1e10;
        model.efficiencies = std::make_shared<const Efficiencies>();
        const MachineEdit known = with_model(star(1), 1, std::make_shared<const DeviceModel>(model));
        QCOMPARE(known.machine.device(1).name, std::string("gpu:0"));
        QVERIFY(!has_one_efficiency(known.machine.device(1)));
        const MachineEdit edit =
            with_figure(known.machine, DeviceId{1}, figure(device_figures(), "Efficiency"), 50);
        QVERIFY(has_one_efficiency(edit.machine.device(1)));
        QCOMPARE(edit.machine.device(1).efficiency, 0.5);
    }

    void names() {
        const Machine before = star(2);
        QCOMPARE(with_device_name(before, 1, "fast").machine.device(1).name, std::string("fast"));
        QVERIFY(error_of([&] { with_device_name(before, 1, "gpu:1"); }).contains("another device"));
        QVERIFY(error_of([&] { with_channel_name(before, 0, ""); }).contains("needs a name"));
        const Machine renamed = with_name(before, "mine").machine;
        QCOMPARE(renamed.name(), std::string("mine (edited)"));
        QCOMPARE(with_name(renamed, renamed.name()).machine.name(), std::string("mine (edited)"));
        QCOMPARE(to_save(renamed).name(), std::string("mine"));
    }

    void duplicate_on_star() {
        const Machine before = star(2);
        const MachineEdit edit = with_device(before, before.device(1), 1);
        const Machine& after = edit.machine;
        QCOMPARE(edit.from, (std::vector<DeviceId>{0, 1, 2, kInvalidDevice}));
        QCOMPARE(way(after, "gpu:2", "cpu:0"), std::string("pcie2/up"));
        QCOMPARE(way(after, "gpu:2", "gpu:1"), std::string("pcie2/up, pcie1/down"));
        QCOMPARE(way(after, "gpu:0", "gpu:2"), std::string("pcie0/up, pcie2/down"));
        QCOMPARE(way(after, "gpu:2", "gpu:0"), std::string("pcie2/up, pcie0/down"));
        QCOMPARE(after.channels().size(), std::size_t{6});
    }

    void duplicate_alone() {
        const Machine after = with_device(star(1), star(1).device(1), 1).machine;
        QCOMPARE(way(after, "gpu:1", "cpu:0"), std::string("pcie1/up"));
        QCOMPARE(way(after, "gpu:0", "gpu:1"), std::string("pcie0/up, pcie1/down"));
        QCOMPARE(way(after, "gpu:1", "gpu:0"), std::string("pcie1/up, pcie0/down"));
    }

    void duplicate_on_pairs() {
        const Machine after = with_device(pairs(3), pairs(3).device(1), 1).machine;
        QCOMPARE(way(after, "gpu:3", "gpu:1"), std::string("nvlink3-1"));
        QCOMPARE(way(after, "gpu:2", "gpu:3"), std::string("nvlink2-3"));
        QCOMPARE(way(after, "gpu:0", "gpu:3"), std::string("nvlink0-3"));
        QCOMPARE(way(after, "gpu:3", "gpu:0"), std::string("nvlink3-0"));
        QCOMPARE(way(after, "cpu:0", "gpu:3"), std::string("pcie3/down"));
    }

    void duplicate_on_switch() {
        const Machine after = with_device(switched(3), switched(3).device(2), 2).machine;
        QCOMPARE(way(after, "gpu:3", "gpu:0"), std::string("switch3/up, switch0/down"));
        QCOMPARE(way(after, "gpu:1", "gpu:3"), std::string("switch1/up, switch3/down"));
    }

    void grows_to_sixteen() {
        for (Machine machine : {star(1), pairs(2), switched(2)}) {
            while (machine.devices().size() < 17)
                machine = with_device(machine, machine.device(1), 1).machine;
            QCOMPARE(machine.device(16).name, std::string("gpu:15"));
            // And back again, with nothing left over.
            while (machine.devices().size() > 2) machine = without_device(machine, 2).machine;
            QCOMPARE(machine.channels().size(), std::size_t{2});
        }
    }

    void one_device() {
        const Machine cpu("c", {device("cpu:0", DeviceKind::cpu)}, {}, {});
        const Machine after = with_device(cpu, device("", DeviceKind::gpu), 0).machine;
        QCOMPARE(way(after, "cpu:0", "gpu:0"), std::string("cpu:0 to gpu:0"));
        QCOMPARE(way(after, "gpu:0", "cpu:0"), std::string("gpu:0 to cpu:0"));
        QVERIFY(error_of([&] { without_device(cpu, 0); }).contains("at least one device"));
    }

    void remove() {
        const MachineEdit edit = without_device(pairs(3), 2);
        QCOMPARE(edit.from, (std::vector<DeviceId>{0, 1, 3}));
        QCOMPARE(way(edit.machine, "gpu:0", "gpu:2"), std::string("nvlink0-2"));
        QCOMPARE(edit.machine.channels().size(), std::size_t{6});
    }

    void routes() {
        const Machine before = star(2);
        const std::vector<std::string> shared{"pcie0/up", "pcie1/up"};
        const Machine after = with_route(before, 1, 2, shared).machine;
        QCOMPARE(way(after, "gpu:0", "gpu:1"), std::string("pcie0/up, pcie1/up"));
        QVERIFY(error_of([&] {
                    with_route(before, 1, 2, std::vector<std::string>{"bus"});
                }).contains("no link is called \"bus\""));
        QVERIFY(error_of([&] { with_route(before, 1, 2, {}); }).contains("at least one link"));
        // Cut-through crosses no channel twice.
        QVERIFY(!error_of([&] {
                     with_route(before, 1, 2, std::vector<std::string>{"pcie0/up", "pcie0/up"});
                 }).isEmpty());
    }

    void own_channels() {
        const Machine after = with_own_channels(star(2), 0).machine;
        QVERIFY(std::ranges::all_of(routes_across(star(2)), [](std::size_t routes) { return routes == 2; }));
        QCOMPARE(routes_across(after)[0], std::size_t{1});
        QCOMPARE(after.channels().back().name, std::string("pcie0/up gpu:0-gpu:1"));
    }

    void factors() {
        const Machine before = star(2);
        WhatIf factors;
        QVERIFY(factors.is_none());
        QCOMPARE(what_if(before, factors), before);
        set_factor(factors.bandwidth, 4, 1, 2);
        set_all(factors.memory, 3, 0.5);
        set_factor(factors.speed, 3, 2, 100);  // as much as is allowed
        set_factor(factors.speed, 3, 3, 2);    // there is no such device
        QCOMPARE(factors.speed.size(), std::size_t{3});
        const Machine after = what_if(before, factors);
        QCOMPARE(after.channels()[0].bandwidth, 16e9);
        QCOMPARE(after.channels()[1].bandwidth, 32e9);
        QCOMPARE(after.device(0).memory_bytes, 8e9);
        QCOMPARE(after.device(1).peak_flops, 1e13);
        QCOMPARE(after.device(2).peak_flops, 4e13);
        QCOMPARE(after.device(2).memory_bandwidth, 20e11);
        set_all(factors.memory, 3, 1);
        QVERIFY(!factors.is_none());
    }

    /// Factors follow their devices and channels through an edit.
    void factorsAfterEdits() {
        const Machine before = star(3);
        WhatIf factors;
        const std::size_t devices = before.devices().size(), channels = before.channels().size();
        set_all(factors.speed, devices, 2);
        set_factor(factors.memory, devices, 2, 0.5);
        set_factor(factors.bandwidth, channels, channels - 1, 4);
        const std::string changed = before.channels().back().name;

        QCOMPARE(after_edit(factors, before, with_channel_name(before, 0, "other")), factors);
        const MachineEdit added = with_device(before, before.device(1), 1);
        const WhatIf more = after_edit(factors, before, added);
        QCOMPARE(more.speed, std::vector<double>(devices + 1, 2));
        QCOMPARE(more.memory[2], 0.5);
        QCOMPARE(more.memory.back(), 1.0);
        const auto at = std::ranges::find(added.machine.channels(), changed, &Channel::name);
        QCOMPARE(factor_of(more.bandwidth, static_cast<std::size_t>(at - added.machine.channels().begin())),
                 4.0);
        QCOMPARE(std::ranges::count(more.bandwidth, 1.0), std::ssize(more.bandwidth) - 1);
        const WhatIf fewer = after_edit(factors, before, without_device(before, 2));
        QVERIFY(fewer.memory.empty());
        // What each route gets of its own is as it was.
        const MachineEdit own = with_own_channels(before, static_cast<ChannelId>(channels - 1));
        const auto added_channels = std::ssize(own.machine.channels()) - std::ssize(before.channels());
        QVERIFY(added_channels > 0);
        QCOMPARE(std::ranges::count(after_edit(factors, before, own).bandwidth, 4.0), added_channels + 1);
        QCOMPARE(fewer.speed, std::vector<double>(devices - 1, 2));
    }

    void topologies() {
        const Topology on_star = topology_of(star(3));
        QCOMPARE(on_star.nodes.size(), std::size_t{4});
        QCOMPARE(on_star.links.size(), std::size_t{3});
        for (const Topology::Link& link : on_star.links) {
            QCOMPARE(link.a, std::size_t{0});
            QCOMPARE(link.channels.size(), std::size_t{2});
        }
        QCOMPARE(topology_of(pairs(4)).links.size(), std::size_t{4 + 6});
        QCOMPARE(topology_of(pairs(4)).nodes.size(), std::size_t{5});
        const Topology on_switch = topology_of(switched(3));
        QCOMPARE(on_switch.nodes.size(), std::size_t{5});
        QVERIFY(!on_switch.nodes.back().device);
        QCOMPARE(on_switch.links.size(), std::size_t{6});
    }

    void bus() {
        // One bus for all.
        std::vector<Route> routes;
        for (DeviceId from = 0; from < 3; ++from) {
            for (DeviceId to = 0; to < 3; ++to) {
                if (from != to) routes.push_back({from, to, {0}});
            }
        }
        const Machine machine(
            "bus", {device("a", DeviceKind::gpu), device("b", DeviceKind::gpu), device("c", DeviceKind::gpu)},
            {channel("bus", 1e9)}, routes);
        const Topology topology = topology_of(machine);
        QCOMPARE(topology.nodes.size(), std::size_t{4});
        QCOMPARE(topology.nodes.back().label, std::string("bus"));
        QCOMPARE(topology.links.size(), std::size_t{3});
    }
};

QTEST_GUILESS_MAIN(TestMachineEdit)
#include "tst_machine_edit.moc"
