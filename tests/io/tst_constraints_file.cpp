// SPDX-License-Identifier: MIT
// Files of rules for placements: what is read, written and refused.
#include <QtTest>

#include "core/io/placements/constraints_file.hpp"
#include "core/io/placements/placement_file.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::check_refusal, test::content_of, test::refusal;

namespace {

const std::string kRules = R"({"format": "placewright.constraints", "version": 1, "later": 1, "rules": [
  {"rule": "pin", "ops": ["fc"], "modules": ["a/b"], "devices": ["gpu:0", "cpu"]},
  {"rule": "together", "modules": ["a"]},
  {"rule": "apart", "ops": ["data", "act"]}]})";

}  // namespace

class TestConstraintsFile : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    void aTextKeepsTheRules() {
        const Constraints rules{
            {{Constraint::Rule::pin, {{"conv1", false}, {"layer1/0", true}}, {"gpu:0", "cpu"}},
             {Constraint::Rule::together, {{"a", false}, {"b", false}}},
             {Constraint::Rule::apart, {{"encoder", true}, {"decoder", true}}}}};
        QVERIFY(constraints_from_text(constraints_text(rules), "rules") == rules);
        QVERIFY_THROWS_EXCEPTION(InputError, constraints_from_text("{}", "rules"));
    }

    void rules_are_read_and_written() {
        const Constraints read = read_constraints(fileWith("rules.json", kRules));
        const std::vector<Constraint> expected{
            {Constraint::Rule::pin, {{"fc", false}, {"a/b", true}}, {"gpu:0", "cpu"}},
            {Constraint::Rule::together, {{"a", true}}, {}},
            {Constraint::Rule::apart, {{"data", false}, {"act", false}}, {}}};
        QCOMPARE(read.rules.size(), expected.size());
        QVERIFY(read.rules == expected);
        QCOMPARE(read.file, file("rules.json").string());
        write_constraints(read, file("again.json"));
        QVERIFY(read_constraints(file("again.json")).rules == expected);
        QCOMPARE(QString::fromStdString(constraint_text(expected[0])),
                 R"(pin "fc" and module "a/b" to gpu:0 or cpu)");
        QCOMPARE(QString::fromStdString(constraint_text(expected[2])), R"(keep "data" and "act" apart)");
    }

    void wrong_files_are_refused_data() {
        QTest::addColumn<QString>("rules");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* rules, const char* message) {
            QTest::newRow(name) << rules << message;
        };
        row("no list", R"({})", "rules is an object");
        row("no rule", R"([{"ops": ["a"]}])", "rules[0] has no");
        row("unknown rule", R"([{"rule": "near", "ops": ["a"]}])",
            R"(rules[0].rule is "near", expected "pin", "together" or "apart")");
        row("not an object", R"(["pin"])", "rules[0]");
        row("pin to nothing", R"([{"rule": "pin", "ops": ["a"]}])", "rules[0] pins to no device");
        row("pins nothing", R"([{"rule": "pin", "devices": ["gpu:0"]}])", "rules[0] names nothing");
        row("devices of apart", R"([{"rule": "apart", "ops": ["a", "b"], "devices": ["gpu:0"]}])",
            R"(rules[0] has "devices", which only "pin" has)");
        row("one apart", R"([{"rule": "apart", "modules": ["a"]}])", "rules[0] names only one");
        row("one together", R"([{"rule": "together", "ops": ["a"]}])", "rules[0] names only one op");
        row("twice", R"([{"rule": "together", "ops": ["a", "a"]}])",
            "rules[0].ops[1] is named before in this rule");
        row("empty name", R"([{"rule": "together", "ops": ["", "a"]}])", "rules[0].ops[0] is empty");
        row("number", R"([{"rule": "together", "ops": [1, "a"]}])", "rules[0].ops[0] ");
        row("text for a list", R"([{"rule": "together", "modules": "a"}])", "rules[0].modules ");
    }
    void wrong_files_are_refused() {
        QFETCH(QString, rules);
        QFETCH(QString, message);
        const Path path = fileWith("rules.json", R"({"format": "placewright.constraints", "version": 1, )"
                                                 R"("rules": )" +
                                                     rules.toStdString() + "}");
        check_refusal(refusal([&] { read_constraints(path); }), path, message);
    }

    void other_files_are_refused() {
        const Path network = fileWith("net.json", test::kNetwork);
        check_refusal(refusal([&] { read_constraints(network); }), network, "placewright.constraints");
        const Path newer = fileWith("newer.json", test::changed(kRules, "\"version\": 1", "\"version\": 2"));
        check_refusal(refusal([&] { read_constraints(newer); }), newer, "version");
        std::string many;
        for (int i = 0; i < 1001; ++i)
            many += std::string(i > 0 ? "," : "") + R"({"rule": "together", "modules": ["a"]})";
        const Path large = fileWith(
            "many.json", R"({"format": "placewright.constraints", "version": 1, "rules": [)" + many + "]}");
        check_refusal(refusal([&] { read_constraints(large); }), large, "rules has 1001 items");
        QVERIFY(!refusal([&] { read_constraints(file("none.json")); }).isEmpty());
    }

    void placements_keep_and_list_rules() {
        const Path network = fileWith("net.json", test::kNetwork),
                   machine = fileWith("machine.json", test::kMachine);
        auto problem = test::small_problem(network, machine);
        ProblemOptions options;
        options.constraints.rules = {{Constraint::Rule::apart, {{"data", false}, {"fc", false}}, {}}};
        problem = make_problem(problem->network, problem->machine, options);
        const std::string text = placement_json({0, 1, 1}, *problem, {});
        QVERIFY(text.find(R"({"rule": "apart", "ops": ["data", "fc"]})") != std::string::npos);
        const Path good = fileWith("good.json", text);
        QCOMPARE(read_placement(good, *problem), (Placement{0, 1, 1}));
        const Path bad = fileWith("bad.json", R"({"data": 1, "fc": 1, "act": 0})");
        check_refusal(refusal([&] { read_placement(bad, *problem); }), bad,
                      R"(placement: breaks the constraint "keep "data" and "fc" apart")");
    }
};

QTEST_GUILESS_MAIN(TestConstraintsFile)
#include "tst_constraints_file.moc"
