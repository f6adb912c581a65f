// SPDX-License-Identifier: MIT
// Input files for tests of readers: a small network with its machine and placement, a folder for each test
// function, and what a refusal says.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <QObject>
#include <QString>
#include <QTemporaryDir>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright::test {

/// A network of three ops, with keys that no reader knows.
inline const std::string kNetwork = R"({
  "format": "placewright.graph", "version": 1, "name": "small", "batch": 2, "training": "implicit", "author": {"unknown": ["key"]},
  "ops": [
    {"name": "data", "kind": "input", "inputs": [], "outputs": [{"shape": [2, 3], "dtype": "float32"}], "parameter_bytes": 0, "flops": 0},
    {"name": "fc", "kind": "linear", "inputs": ["data"], "outputs": [{"shape": [2, 4], "dtype": "float32"}], "parameter_bytes": 64, "flops": 48},
    {"name": "act", "kind": "relu", "inputs": ["fc:0"], "outputs": [{"bytes": 32}], "parameter_bytes": 0, "flops": 8, "later": 1}
  ]
})";

/// Its machine: a CPU and a GPU on one bus.
inline const std::string kMachine = R"({
  "format": "placewright.machine", "version": 1, "name": "pair", "source": "made up",
  "devices": [
    {"name": "cpu:0", "kind": "cpu", "model": "C", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": 1e11, "efficiency": 0.9},
    {"name": "gpu:0", "kind": "gpu", "model": "G", "peak_flops": 1e13, "memory_bandwidth": 9e11, "memory_bytes": 32e9, "launch_overhead_s": 5e-6}
  ],
  "channels": [{"name": "bus", "bandwidth": 16e9, "latency_s": 1e-5, "efficiency": 0.25, "efficiency_by_bytes": [[1e3, 0.01], [1e7, 0.28]]}],
  "routes": [{"from": "cpu:0", "to": "gpu:0", "channels": ["bus"]}, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]}]
})";

/// A placement of the network on the machine.
inline const std::string kPlacement = R"({
  "format": "placewright.placement", "version": 1, "graph": "small", "machine": "pair",
  "placement": {"data": "cpu:0", "fc": "gpu:0", "act": "gpu:0"}
})";

/// The content of a file; empty if it cannot be read.
std::string content_of(const Path& file);

/// `text` with its single occurrence of `before` replaced.
std::string changed(std::string text, const std::string& before, const std::string& after);

std::string repeated(std::string_view text, std::size_t count);

/// Message of the InputError of `call`; empty if there is none.
template <class Call>
QString refusal(Call call) {
    try {
        call();
    } catch (const InputError& error) {
        return QString::fromStdString(error.what());
    }
    return {};
}

/// Checks for one line that starts with the file and contains the fragment.
void check_refusal(const QString& message, const Path& file, const QString& fragment);

/// Compares every field.
void compare_graphs(const Graph& a, const Graph& b);

/// The problem of a network file and a machine file.
std::shared_ptr<const Problem> small_problem(const Path& network, const Path& machine);

/// Gives each test function a folder of its own.
class FileFixture : public QObject {
    Q_OBJECT

protected:
    std::unique_ptr<QTemporaryDir> m_folder;

    Path file(const std::string& name) const { return Path(m_folder->path().toStdString()) / name; }
    Path fileWith(const std::string& name, const std::string& content) const;

private Q_SLOTS:
    void init();
};

}  // namespace placewright::test
