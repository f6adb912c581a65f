// SPDX-License-Identifier: MIT
// Runs programs as a user runs them, and reads what they print.
#pragma once

#include <functional>

#include <QByteArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>

namespace placewright::test {

/// How long a program may take before the test is given up.
#ifdef __SANITIZE_THREAD__
constexpr int kPatienceMs = 1'800'000;
#else
constexpr int kPatienceMs = 180'000;
#endif

/// The end of a program.
struct ProgramResult {
    int status = -1;  ///< exit status; -1 after a signal
    QByteArray out, err;

    /// The JSON object on standard output; empty if there is none.
    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
};

/// Waits for the end of a process that was started. Ends the test program after kPatienceMs.
ProgramResult result_of(QProcess& process);

/// Runs a program. `in_child` is called in the child process before the program starts.
ProgramResult run_program(const QString& program, const QStringList& arguments,
                          const std::function<void()>& in_child = {});

/// The lines of a text; a line feed at the end begins no further line.
QByteArrayList lines_of(const QByteArray& text);

/// The content of a file, or "(cannot be read)".
QByteArray content_of(const QString& file);

/// Writes a file and returns its name. Ends the test program if that fails.
QString write_file(const QString& file, const QByteArray& content);

/// The JSON line on standard output of a command with --json. Null, with a warning, if the output is
/// something else or the status differs.
QJsonDocument json_of(const ProgramResult& result, int status = 0);

#ifdef PLACEWRIGHT_CLI
using CliResult = ProgramResult;

/// Runs placewright-cli.
inline CliResult run_cli(const QStringList& arguments, const std::function<void()>& in_child = {}) {
    return run_program(PLACEWRIGHT_CLI, arguments, in_child);
}
#endif

}  // namespace placewright::test
