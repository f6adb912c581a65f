// SPDX-License-Identifier: MIT
#include "tests/support/input_files.hpp"

#include <fstream>
#include <sstream>

#include <QTest>

#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "tests/support/graphs.hpp"

namespace placewright::test {
namespace {

void compare_ops(const Op& a, const Op& b) {
    QCOMPARE(a.name, b.name);
    QCOMPARE(a.kind, b.kind);
    QCOMPARE(a.scope, b.scope);
    QVERIFY(a.phase == b.phase);
    QCOMPARE(a.flops, b.flops);
    QVERIFY(a.backward_flops == b.backward_flops);
    QCOMPARE(a.parameter_bytes, b.parameter_bytes);
    QCOMPARE(a.resident_bytes, b.resident_bytes);
    QCOMPARE(a.workspace_bytes, b.workspace_bytes);
    QCOMPARE(a.in_place, b.in_place);
    QVERIFY(a.outputs == b.outputs);
    QVERIFY(a.inputs == b.inputs);
    QCOMPARE(a.colocate, b.colocate);
    QVERIFY(a.devices == b.devices);
    QVERIFY(a.time_s == b.time_s);
    QVERIFY(a.attributes == b.attributes);
}

}  // namespace

std::string content_of(const Path& file) {
    std::ifstream stream(file, std::ios::binary);
    return (std::ostringstream() << stream.rdbuf()).str();
}

std::string changed(std::string text, const std::string& before, const std::string& after) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) qFatal("the fixture has no %s", before.c_str());
    return text.replace(at, before.size(), after);
}

std::string repeated(std::string_view text, std::size_t count) {
    std::string result;
    result.reserve(text.size() * count);
    for (std::size_t i = 0; i < count; ++i) result += text;
    return result;
}

void check_refusal(const QString& message, const Path& file, const QString& fragment) {
    QVERIFY2(!message.isEmpty(), "the file was accepted");
    QVERIFY2(message.startsWith(QString::fromStdString(file.string()) + ": "), qPrintable(message));
    QVERIFY2(message.contains(fragment), qPrintable(message));
    QVERIFY2(!message.contains('\n'), qPrintable(message));
    QVERIFY2(message.size() < 1500, qPrintable(message));
}

void compare_graphs(const Graph& a, const Graph& b) {
    QCOMPARE(a.name(), b.name());
    QCOMPARE(a.batch(), b.batch());
    QVERIFY(a.training() == b.training());
    QCOMPARE(a.size(), b.size());
    for (OpId id = 0; id < a.size(); ++id) compare_ops(a.op(id), b.op(id));
}

std::shared_ptr<const Problem> small_problem(const Path& network, const Path& machine) {
    return problem(read_network(network).graph, read_machine(machine));
}

Path FileFixture::fileWith(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
}

void FileFixture::init() {
    m_folder = std::make_unique<QTemporaryDir>();
    QVERIFY(m_folder->isValid());
}

}  // namespace placewright::test
