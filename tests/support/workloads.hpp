// SPDX-License-Identifier: MIT
// Workloads of dnn-partitioning as text, and problems made of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include <QByteArray>
#include <QObject>
#include <QString>
#include <QTemporaryDir>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"
#include "tests/support/cli.hpp"

namespace placewright::test {

struct Node {
    int id = 0;
    double accelerator_ms = 0, cpu_ms = 0;
    double bytes = 0;
    QByteArray more = {};  ///< members that come last, and so take effect
};

struct Edge {
    int from = 0, to = 0;
    double cost_ms = 0;
};

struct Workload {
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    int accelerators = 2;
    double memory_bytes = 1000;
};

inline const QByteArray kBackward = R"("isBackwardNode": 1)";

/// 1 -> 2 -> 3 and 1 -> 3; all nodes together fit into 1000 bytes but not into 300.
inline const Workload kTriangle{{{1, 2, 20, 100}, {2, 3, 30, 200}, {3, 4, 40, 300}},
                                {{1, 2, 0.5}, {1, 3, 0.5}, {2, 3, 0.25}}};

QByteArray text_of(const Workload& workload);

/// Only times that were measured.
ProblemOptions measured();

using ProblemPtr = std::shared_ptr<const Problem>;

ProblemPtr problem_of(const Path& file, bool inference = false);

/// One device per node, in the order of the ids given; ops of a group must agree.
Placement placed(const Problem& problem, const std::map<int, int>& device_of);

inline double ms(double seconds) {
    return seconds * 1e3;
}

inline bool near(double a, double b, double relative = 1e-12) {
    return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

/// Message of the `Error` that `call` throws; empty if it throws nothing.
template <class Error, class Call>
QByteArray error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

/// A folder for workloads.
class WorkloadFixture : public QObject {
    Q_OBJECT

protected:
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const QByteArray& text) const { return write_file(path(name), text); }
    ProblemPtr problem(const Workload& workload, bool inference = false) const {
        return problem_of(write("workload.json", text_of(workload)).toStdString(), inference);
    }

private Q_SLOTS:
    void initTestCase();
};

}  // namespace placewright::test

#define COMPARE_MS(seconds, expected_ms)                                      \
    QVERIFY2(                                                                 \
        placewright::test::near(placewright::test::ms(seconds), expected_ms), \
        qPrintable(QString("%1 ms, expected %2 ms").arg(placewright::test::ms(seconds)).arg(expected_ms)))
