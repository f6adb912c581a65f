// SPDX-License-Identifier: MIT
// What the tests of the command line share: a folder of small input files, and ways to run commands.
#pragma once

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <limits>
#include <map>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/support/cli.hpp"

namespace placewright::test {

using Result = ProgramResult;

inline Result run(const QStringList& arguments, const std::function<void()>& in_child = {}) {
    return run_program(PLACEWRIGHT_CLI, arguments, in_child);
}

inline qsizetype widest_line(const QByteArray& text) {
    qsizetype widest = 0;
    for (const QByteArray& line : lines_of(text)) widest = std::max(widest, QString::fromUtf8(line).size());
    return widest;
}

inline QJsonObject object_of(const QStringList& arguments, int status = 0) {
    const Result result = run(arguments + QStringList{"--json"});
    if (status == 0 && !result.err.isEmpty()) qWarning() << result.err;
    return json_of(result, status).object();
}

/// Removes the members that depend on the computer, as the bound does, which is raised during the search, or
/// on the number of threads.
inline QJsonObject untimed(QJsonObject found) {
    for (const char* timed : {"wall_s", "simulations_per_s", "delta", "lower_bound_s", "bound"})
        found.remove(timed);
    return found;
}

inline QStringList sorted(QStringList list) {
    list.sort();
    return list;
}

/// "a" feeds "b" and "c", which feed "d": 1, 2, 2 and 1 ms on each device, every output 1 MB.
inline const QByteArray kGraph = R"({
  "format": "placewright.graph", "version": 1, "name": "diamond", "batch": 1, "training": "TRAINING",
  "ops": [
    {"name": "a", "kind": "matmul", "inputs": [], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 1e9},
    {"name": "b", "kind": "matmul", "inputs": ["a"], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 2e9,
     "time_s": {"M": {"forward": 0.004}}},
    {"name": "c", "kind": "matmul", "inputs": ["a"], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 2e9},
    {"name": "d", "kind": "matmul", "inputs": ["b", "c"], "outputs": [{"bytes": 1000000}], "parameter_bytes": 0, "flops": 1e9}
  ]
})";

/// Two devices of 1 TFLOP/s and 100 GB/s. A transfer of 1 MB takes 1 ms plus 1 ms latency.
inline const QByteArray kMachine = R"({
  "format": "placewright.machine", "version": 1, "name": "pair",
  "devices": [
    {"name": "gpu:0", "kind": "gpu", "model": "M", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": MEMORY},
    {"name": "gpu:1", "kind": "gpu", "model": "N", "peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": MEMORY}
  ],
  "channels": [{"name": "up", "bandwidth": 1e9, "latency_s": 0.001}, {"name": "down", "bandwidth": 1e9, "latency_s": 0.001}],
  "routes": [{"from": "gpu:0", "to": "gpu:1", "channels": ["up"]}, {"from": "gpu:1", "to": "gpu:0", "channels": ["down"]}]
})";

/// 1 ms forward and 1 ms for the gradient of its parameters; with momentum the update moves 20 MB in 0.2 ms.
/// The input needs no gradient.
inline const QByteArray kLayer = R"({
  "format": "placewright.graph", "version": 1, "name": "layer", "batch": 1, "training": "implicit",
  "ops": [
    {"name": "x", "kind": "input", "inputs": [], "outputs": [{"bytes": 1000}], "parameter_bytes": 0, "flops": 0},
    {"name": "fc", "kind": "linear", "inputs": ["x"], "outputs": [{"bytes": 1000}], "parameter_bytes": 4000000, "flops": 1e9}
  ]
})";

/// Options of a policy that trains in milliseconds.
inline const QStringList kSmallPolicy{"--set", "rounds=1", "--set", "width=2",
                                      "--set", "hidden=3", "--set", "workers=2"};

/// A terminal as the standard error of a process.
class Terminal {
public:
    Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
        if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0)
            qFatal("there is no terminal to be had");
        slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    ~Terminal() {
        close(slave_);
        close(master_);
    }
    Q_DISABLE_COPY_MOVE(Terminal)

    int slave() const { return slave_; }
    void attach(QProcess& process) {
        process.setChildProcessModifier([slave = slave_] { dup2(slave, STDERR_FILENO); });
    }

    /// Reads until the output contains `text`; if `last`, until the output ends with it.
    bool wait_for(const QByteArray& text, bool last = false) {
        const auto done = [&] { return last ? seen_.endsWith(text) : seen_.contains(text); };
        QElapsedTimer timer;
        timer.start();
        while (!done() && timer.elapsed() < kPatienceMs) {
            pollfd waiting{master_, POLLIN, 0};
            if (poll(&waiting, 1, 100) <= 0) continue;
            char buffer[4096];
            const ssize_t count = read(master_, buffer, sizeof buffer);
            if (count > 0) seen_.append(buffer, count);
        }
        return done();
    }
    const QByteArray& seen() const { return seen_; }

private:
    int master_;
    int slave_;
    QByteArray seen_;
};

inline void interrupt(const QProcess& process) {
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
}

/// A folder with small networks, machines and placements, and commands on them.
class CliFixture : public QObject {
    Q_OBJECT

protected:
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString write(const QString& name, const QByteArray& content) const {
        return write_file(path(name), content);
    }
    QString machineWith(const QByteArray& memory) const {
        return write("machine-" + memory + ".json", QByteArray(kMachine).replace("MEMORY", memory));
    }
    /// Arguments of train for a small policy on the diamond and the pair.
    QStringList lesson(const QStringList& more) const {
        return QStringList{"train", path("diamond.json"), "--machine", path("pair.json")} + kSmallPolicy +
               more;
    }
    /// Arguments of simulate (or another command) for the diamond on the pair.
    QStringList diamond(const QString& command, const QStringList& more = {}) const {
        return QStringList{command, path("diamond.json"), "--machine", path("pair.json")} + more;
    }

private Q_SLOTS:
    void initTestCase();
};

}  // namespace placewright::test
