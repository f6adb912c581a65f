// SPDX-License-Identifier: MIT
#include "tests/support/cli.hpp"

#include <QDebug>
#include <QFile>

namespace placewright::test {

ProgramResult result_of(QProcess& process) {
    if (!process.waitForFinished(kPatienceMs)) qFatal("%s does not end", qPrintable(process.program()));
    const int status = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    return {status, process.readAllStandardOutput(), process.readAllStandardError()};
}

ProgramResult run_program(const QString& program, const QStringList& arguments,
                          const std::function<void()>& in_child) {
    QProcess process;
    if (in_child) process.setChildProcessModifier(in_child);
    process.start(program, arguments);
    return result_of(process);
}

QByteArrayList lines_of(const QByteArray& text) {
    QByteArrayList lines = text.split('\n');
    if (lines.last().isEmpty()) lines.removeLast();
    return lines;
}

QByteArray content_of(const QString& file) {
    QFile stream(file);
    if (!stream.open(QIODevice::ReadOnly)) return "(cannot be read)";
    return stream.readAll();
}

QString write_file(const QString& file, const QByteArray& content) {
    QFile stream(file);
    if (!stream.open(QIODevice::WriteOnly) || stream.write(content) != content.size())
        qFatal("%s cannot be written", qPrintable(file));
    return file;
}

QJsonDocument json_of(const ProgramResult& result, int status) {
    QJsonParseError error{};
    const QJsonDocument document = QJsonDocument::fromJson(result.out, &error);
    if (result.status == status && error.error == QJsonParseError::NoError &&
        lines_of(result.out).size() == 1)
        return document;
    qWarning() << "status" << result.status << "instead of" << status << error.errorString()
               << result.out.left(300) << result.err;
    return {};
}

}  // namespace placewright::test
