// SPDX-License-Identifier: MIT
#include "tests/support/workloads.hpp"

#include <string>
#include <utility>

#include <QTest>

#include "core/cost/cost_model.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/graphs.hpp"

namespace placewright::test {

QByteArray text_of(const Workload& workload) {
    const auto number = [](double value) { return QByteArray::number(value, 'g', 17); };
    QByteArray nodes, edges;
    for (const Node& node : workload.nodes) {
        const QByteArray more = node.more.contains("isBackwardNode") ? node.more
                                : node.more.isEmpty()                ? QByteArray(R"("isBackwardNode": 0)")
                                                                     : R"("isBackwardNode": 0, )" + node.more;
        nodes += (nodes.isEmpty() ? "" : ", ") + QByteArray(R"({"id": )") + number(node.id) +
                 (more.contains("supportedOnFpga") ? "" : R"(, "supportedOnFpga": 1)") +
                 R"(, "fpgaLatency": )" + number(node.accelerator_ms) + R"(, "cpuLatency": )" +
                 number(node.cpu_ms) + R"(, "size": )" + number(node.bytes) + ", " + more + '}';
    }
    for (const Edge& edge : workload.edges) {
        edges += (edges.isEmpty() ? "" : ", ") + QByteArray(R"({"sourceId": )") + number(edge.from) +
                 R"(, "destId": )" + number(edge.to) + R"(, "cost": )" + number(edge.cost_ms) + '}';
    }
    return R"({"maxFPGAs": )" + number(workload.accelerators) + R"(, "maxSizePerFPGA": )" +
           number(workload.memory_bytes) + R"(, "maxCPUs": 1, "nodes": [)" + nodes + "], \"edges\": [" +
           edges + "]}";
}

ProblemOptions measured() {
    ProblemOptions options;
    options.cost.model = find_cost_model("measured");
    return options;
}

ProblemPtr problem_of(const Path& file, bool inference) {
    NetworkFile read = read_network(file);
    ProblemOptions options = measured();
    options.inference = inference;
    return problem(std::move(read.graph), *std::move(read.machine), options);
}

Placement placed(const Problem& problem, const std::map<int, int>& device_of) {
    Placement placement(problem.groups, kInvalidDevice);
    for (const auto& [id, device] : device_of) {
        placement[problem.grouping.group_of[*problem.graph->find(std::to_string(id))]] =
            static_cast<DeviceId>(device);
    }
    return placement;
}

void WorkloadFixture::initTestCase() {
    QVERIFY(m_folder.isValid());
}

}  // namespace placewright::test
