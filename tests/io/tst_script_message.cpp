// SPDX-License-Identifier: MIT
// What the process that reads TorchScript answers. A hostile file may make it answer anything.
#include <stdexcept>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/io/pytorch/script_message.hpp"
#include "core/io/pytorch/torchscript.hpp"

using namespace placewright;

class TestScriptMessage : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void programsAreReadAgain();
    void numbersMustBeWhole_data();
    void numbersMustBeWhole();
};

namespace {

ScriptedProgram product() {
    ScriptedProgram program;
    program.inputs = {{"x", make_tensor({2, 3})}};
    program.parameters = {{"w", "fc.weight", make_tensor({4, 3})}};
    program.calls = {{"linear",
                      "fc",
                      {{"input", {"x"}}, {"weight", {"w"}}, {"dims", {}, {0, -1}}},
                      {{"y", make_tensor({2, 4})}}}};
    program.outputs = {"y"};
    return program;
}

}  // namespace

void TestScriptMessage::programsAreReadAgain() {
    const auto json = script_message::of(product());
    QCOMPARE(script_message::of(script_message::program_in(json)), json);
}

void TestScriptMessage::numbersMustBeWhole_data() {
    QTest::addColumn<QString>("place");
    QTest::newRow("shape") << "/inputs/0/shape/0";
    QTest::newRow("argument") << "/calls/0/arguments/2/integers/1";
    QTest::newRow("output") << "/calls/0/outputs/0/shape/1";
}

void TestScriptMessage::numbersMustBeWhole() {
    QFETCH(QString, place);
    const script_message::Json wrong[] = {0.5, 1e300, std::uint64_t{1} << 63, nullptr, "1"};
    for (const auto& value : wrong) {
        auto json = script_message::of(product());
        const script_message::Json::json_pointer at(place.toStdString());
        json.at(at) = value;
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument, script_message::program_in(json));
        // A list is needed, too.
        json = script_message::of(product());
        json.at(at.parent_pointer()) = value;
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument, script_message::program_in(json));
    }
}

QTEST_APPLESS_MAIN(TestScriptMessage)
#include "tst_script_message.moc"
