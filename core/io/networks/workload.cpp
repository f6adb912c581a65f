// SPDX-License-Identifier: MIT
#include "core/io/networks/workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/machines/device_json.hpp"
#include "core/io/networks/op_json.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

constexpr const char* kCpu = "cpu";
constexpr const char* kAccelerator = "accelerator";

/// Tolerance in milliseconds for the costs of edges that leave the same node, as in the programs that come
/// with the workloads.
constexpr double kCostTolerance = 1e-6;
/// Limit of a node's size, above any memory; as whole bytes it cannot overflow.
constexpr double kMaxNodeBytes = 0x1.0p48;

double not_negative(const JsonValue& value) {
    const double number = value.number();
    if (number < 0) value.fail("is " + value.json().dump() + ", expected at least 0");
    return number;
}

double seconds(const JsonValue& milliseconds) {
    return not_negative(milliseconds) / 1e3;
}

/// Reads true, false, 1 or 0.
bool flag(const JsonValue& value) {
    if (value.json().is_boolean()) return value.json().get<bool>();
    if (!value.json().is_number())
        value.fail("is " + printable(value.json().dump(), 80) + ", expected true or false");
    return value.whole(0, 1) == 1;
}

std::string node_place(std::size_t index, const std::string& id) {
    return "nodes[" + std::to_string(index) + "] " + in_quotes(id);
}

struct Node {
    std::string id;
    JsonValue value;
    std::vector<std::string> inputs;
    std::optional<double> transfer_s;  ///< absent if no node reads the output
};

/// Nodes with their inputs and transfer times, which come from the edges.
class NodeList {
public:
    NodeList(const JsonValue& nodes, const JsonValue& edges) {
        nodes.for_each_item([&](const JsonValue& item) {
            const std::string id = std::to_string(item.at("id").whole());
            const JsonValue value = item.placed_at(node_place(nodes_.size(), id));
            if (!position_.emplace(id, nodes_.size()).second)
                value.fail("the id is taken, expected an id of its own for every node");
            nodes_.push_back({id, value, {}, {}});
        });
        if (nodes_.empty()) nodes.fail("is empty, expected at least one node");
        edges.for_each_item([&](const JsonValue& edge) {
            Node& source = node(edge.at("sourceId"));
            Node& reader = node(edge.at("destId"));
            const double cost_s = seconds(edge.at("cost"));
            if (!source.transfer_s) source.transfer_s = cost_s;
            if (std::abs(*source.transfer_s - cost_s) > kCostTolerance / 1e3) {
                edge.at("cost").fail("is " + edge.at("cost").json().dump() +
                                     ", but another edge that leaves node " + source.id + " costs " +
                                     Json(*source.transfer_s * 1e3).dump() +
                                     ", expected the same for all of them");
            }
            reader.inputs.push_back(source.id);
        });
    }

    const std::vector<Node>& nodes() const { return nodes_; }
    std::size_t position(const std::string& id) const { return position_.at(id); }

private:
    Node& node(const JsonValue& id) {
        const auto found = position_.find(std::to_string(id.whole()));
        if (found == position_.end()) id.fail("is " + id.json().dump() + ", expected the id of a node");
        return nodes_[found->second];
    }

    std::vector<Node> nodes_;
    std::unordered_map<std::string, std::size_t> position_;
};

Op read_node(const Node& node, bool cpus) {
    const JsonValue& value = node.value;
    Op op;
    op.name = node.id;
    op.kind = "node";
    if (flag(value.at("isBackwardNode"))) op.phase = Phase::backward;
    const auto time = [&](const char* model, const char* key) {
        MeasuredTime& entry = op.time_s[model];
        (op.phase == Phase::forward ? entry.forward_s : entry.backward_s) = seconds(value.at(key));
    };
    const bool supported = flag(value.at("supportedOnFpga"));
    time(kCpu, "cpuLatency");
    if (supported) time(kAccelerator, "fpgaLatency");
    if (!supported && !cpus) value.fail("is not supported on accelerators, but \"maxCPUs\" is 0");
    if (supported != cpus) op.devices = {cpus ? kCpu : kAccelerator};

    if (const auto size = value.find("size")) {
        const double bytes = not_negative(*size);
        if (bytes > kMaxNodeBytes)
            size->fail("is " + size->json().dump() + ", expected at most " + format_bytes(kMaxNodeBytes));
        op.resident_bytes = static_cast<std::int64_t>(std::ceil(bytes));
    }
    if (const auto colour = value.find("colorClass"); colour && !colour->json().is_null())
        op.colocate = std::to_string(colour->whole());
    if (node.transfer_s) {
        Tensor& output = op.outputs.emplace_back();
        output.transfer_s = node.transfer_s;
    }
    if (const auto name = value.find("name")) op.attributes["name"] = name->json().dump();
    return op;
}

Graph read_graph(const JsonFile& file, const JsonValue& root, bool cpus) {
    const NodeList list(root.at("nodes"), root.at("edges"));
    std::vector<Op> ops;
    for (const Node& node : list.nodes()) ops.push_back(read_node(node, cpus));
    const bool backward = std::ranges::any_of(ops, [](const Op& op) { return op.phase == Phase::backward; });
    return build_graph(
        file,
        [&] {
            GraphBuilder builder(file.path().stem().string(), 1,
                                 backward ? Training::explicit_ : Training::none);
            for (std::size_t i = 0; i < ops.size(); ++i)
                builder.add(std::move(ops[i]), list.nodes()[i].inputs);
            return builder.build();
        },
        [&](const std::string& id) { return node_place(list.position(id), id); });
}

Machine read_accelerators(const JsonFile& file, const JsonValue& root, const Graph& graph) {
    constexpr double kNominalFlops = 1e12;
    constexpr double kNominalBandwidth = 1e9;
    constexpr std::int64_t kMostAccelerators = 1023;

    const std::int64_t accelerators = root.at("maxFPGAs").whole(0, kMostAccelerators);
    const double memory_bytes = root.at("maxSizePerFPGA").number();
    if (memory_bytes <= 0)
        root.at("maxSizePerFPGA").fail("is " + short_number(memory_bytes) + ", expected more than 0");
    double needed_bytes = 0;
    for (const Op& op : graph.ops()) needed_bytes += static_cast<double>(op.resident_bytes);

    const auto device = [&](std::string name, DeviceKind kind, const char* model, double bytes) {
        Device result;
        result.name = std::move(name);
        result.kind = kind;
        result.model = model;
        result.peak_flops = kNominalFlops;
        result.memory_bandwidth = kNominalBandwidth;
        result.memory_bytes = bytes;
        return result;
    };
    std::vector<Device> devices{device("cpu:0", DeviceKind::cpu, kCpu, std::max(memory_bytes, needed_bytes))};
    std::vector<Channel> channels;
    std::vector<Route> routes;
    for (std::int64_t i = 0; i < accelerators; ++i) {
        const std::string number = std::to_string(i);
        const auto id = static_cast<DeviceId>(devices.size());
        const auto link = static_cast<ChannelId>(channels.size());
        devices.push_back(
            device("accelerator:" + number, DeviceKind::accelerator, kAccelerator, memory_bytes));
        Channel& channel = channels.emplace_back();
        channel.name = "dram:" + number;
        channel.bandwidth = kNominalBandwidth;
        routes.push_back({id, 0, {link}});
        routes.push_back({0, id, {link}});
        for (DeviceId other = 1; other < id; ++other) {
            const auto other_link = static_cast<ChannelId>(other - 1);
            routes.push_back({id, other, {link, other_link}});
            routes.push_back({other, id, {other_link, link}});
        }
    }
    const std::string name = std::to_string(accelerators) +
                             (accelerators == 1 ? " accelerator" : " accelerators") + " of " +
                             format_bytes(memory_bytes) + " and a CPU";
    return build_machine(file, name, std::move(devices), std::move(channels), std::move(routes));
}

}  // namespace

NetworkFile read_workload(const JsonFile& file, std::optional<std::int64_t> batch) {
    if (batch && *batch != 1)
        file.fail("", "the times of a workload are for one sample, expected no batch size but 1");
    const Json json = file.parse();
    const JsonValue root(file, json);
    std::int64_t cpus = 1;
    if (const auto most = root.find("maxCPUs"))
        cpus = most->whole(0, std::numeric_limits<std::int64_t>::max());
    Graph graph = read_graph(file, root, cpus > 0);
    Machine machine = read_accelerators(file, root, graph);
    return {std::move(graph), {}, std::move(machine)};
}

}  // namespace placewright
