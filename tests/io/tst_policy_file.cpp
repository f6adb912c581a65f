// SPDX-License-Identifier: MIT
#include <cstring>
#include <functional>
#include <limits>
#include <memory>

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>
#include <nlohmann/json.hpp>

#include "core/base/path.hpp"
#include "core/base/random.hpp"
#include "core/cost/problem_fingerprint.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/learn/training_run.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

using Json = nlohmann::ordered_json;

struct Lesson {
    std::vector<TrainingGraph> graphs;
    std::vector<std::unique_ptr<Evaluator>> evaluators;
    TrainingRecord record;

    Trainer trainer() const {
        const PolicyDesign design = find_policy(record.policy)->make(record.options, record.size);
        return {design.policy, design.training, graphs, record.seed, record.planned_updates, 1};
    }
    void train(Trainer& trainer, std::uint64_t updates) const {
        QVERIFY(run_training(trainer, evaluators, {.updates = updates}));
    }
};

/// Two networks of branches on two GPUs.
Lesson lesson(const OptionValues& values = {}) {
    Lesson lesson;
    const PolicyInfo& info = *find_policy("placeto");
    lesson.record.policy = info.id;
    for (const OptionInfo& option : info.options) lesson.record.options[option.name] = option.default_value;
    const OptionValues small{{"rounds", std::int64_t{1}},
                             {"workers", std::int64_t{3}},
                             {"width", std::int64_t{2}},
                             {"hidden", std::int64_t{3}}};
    for (const auto* some : {&small, &values}) {
        for (const auto& [name, value] : *some) lesson.record.options[name] = value;
    }
    for (const std::size_t branches : {2, 3}) {
        auto problem = test::problem(test::fork_join(branches, 1e9, 1'000), test::uniform_machine(2));
        auto graph = std::make_shared<const PolicyGraph>(problem, false);
        lesson.record.size = {graph->devices, graph->nodes};
        lesson.record.graphs.push_back(
            {"fork" + std::to_string(branches), "pair", problem_fingerprint(*problem)});
        lesson.graphs.push_back(
            {lesson.record.graphs.back().network, std::move(graph), reference_s(*problem)});
        lesson.evaluators.push_back(simulation_evaluator(std::move(problem), {}, {}, 1));
    }
    lesson.record.seed = std::numeric_limits<std::uint64_t>::max();
    lesson.record.planned_updates = 6;
    lesson.record.conditions = {{"objective", "step-time"}, {"memory_rule", "placeto"}};
    return lesson;
}

QByteArray content_of(const QString& file) {
    QFile stream(file);
    if (!stream.open(QIODevice::ReadOnly)) qFatal("%s cannot be read", qPrintable(file));
    return stream.readAll();
}

/// A policy file in its parts.
struct Parts {
    Json header;
    QByteArray data;

    explicit Parts(const QByteArray& content) {
        std::uint64_t length = 0;
        std::memcpy(&length, content.constData(), sizeof length);
        const auto end = static_cast<qsizetype>(sizeof length + length);
        header = Json::parse(content.constData() + sizeof length, content.constData() + end);
        data = content.mid(end);
    }
    QByteArray content() const {
        const std::string json = header.dump();
        const std::uint64_t length = json.size();
        return QByteArray(reinterpret_cast<const char*>(&length), sizeof length) +
               QByteArray::fromStdString(json) + data;
    }
    /// Of a JSON object that the metadata holds as text.
    void change(const char* part, const std::function<void(Json&)>& change) {
        Json inner = Json::parse(header["__metadata__"][part].get<std::string>());
        change(inner);
        header["__metadata__"][part] = inner.dump();
    }
};

}  // namespace

class TestPolicyFile : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QByteArray m_content;  ///< of a policy after two updates

    QString path(const QString& name) const { return m_folder.filePath(name); }
    Path write(const QByteArray& content) const {
        QFile file(path("changed.safetensors"));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("a file cannot be written");
        return file.fileName().toStdString();
    }

private Q_SLOTS:
    void initTestCase();
    void goesOnAsIfNeverCutOff_data();
    void goesOnAsIfNeverCutOff();
    void keepsEveryPolicy_data();
    void keepsEveryPolicy();
    void isASafetensorsFile();
    void readsOlderFiles();
    void refuses_data();
    void refuses();
    void refusesWhatIsNoFile();
    void survivesAnyDamage();
    void refusesStatesOfOtherGraphs();
    void tellsTrainingsApart_data();
    void tellsTrainingsApart();
};

void TestPolicyFile::initTestCase() {
    QVERIFY(m_folder.isValid());
    const Lesson lesson = ::lesson();
    Trainer trainer = lesson.trainer();
    lesson.train(trainer, 2);
    const QString file = path("policy.safetensors");
    write_policy(lesson.record, trainer.state(), trainer.policy(), file.toStdString());
    m_content = content_of(file);
}

void TestPolicyFile::goesOnAsIfNeverCutOff_data() {
    QTest::addColumn<QString>("baseline");
    QTest::addColumn<int>("proximal");
    QTest::newRow("steps") << "steps" << 0;
    QTest::newRow("moving average") << "moving-average" << 0;
    QTest::newRow("proximal") << "steps" << 2;
}

void TestPolicyFile::goesOnAsIfNeverCutOff() {
    QFETCH(QString, baseline);
    QFETCH(int, proximal);
    const Lesson lesson = ::lesson({{"baseline", baseline.toStdString()},
                                    {"proximal_steps", std::int64_t{proximal}},
                                    {"start", std::string("best")}});
    const Path half = path("half.safetensors").toStdString(), end = path("end.safetensors").toStdString(),
               whole = path("whole.safetensors").toStdString();
    Trainer first = lesson.trainer();
    lesson.train(first, 3);
    write_policy(lesson.record, first.state(), first.policy(), half);

    const PolicyFile file = read_policy(half);
    QVERIFY(file.record == lesson.record);
    QCOMPARE(difference(file.record, lesson.record), std::string());
    QVERIFY(file.state == first.state());
    QCOMPARE(file.design.policy->size(), first.policy().size());
    Trainer second(file.design.policy, file.design.training, lesson.graphs, file.record.seed,
                   file.record.planned_updates, 1);
    second.restore(file.state);
    lesson.train(second, 6);
    write_policy(lesson.record, second.state(), second.policy(), end);

    Trainer uninterrupted = lesson.trainer();
    lesson.train(uninterrupted, 6);
    write_policy(lesson.record, uninterrupted.state(), uninterrupted.policy(), whole);
    QVERIFY(second.state() == uninterrupted.state());
    QVERIFY(content_of(path("end.safetensors")) == content_of(path("whole.safetensors")));
    QVERIFY(content_of(path("half.safetensors")) != content_of(path("whole.safetensors")));
}

void TestPolicyFile::keepsEveryPolicy_data() {
    QTest::addColumn<QString>("policy");
    for (const PolicyInfo& info : policies())
        QTest::newRow(info.id.c_str()) << QString::fromStdString(info.id);
}

void TestPolicyFile::keepsEveryPolicy() {
    QFETCH(QString, policy);
    const PolicyInfo& info = *find_policy(policy.toStdString());
    Lesson lesson = ::lesson();
    lesson.record.policy = info.id;
    lesson.record.options.clear();
    for (const OptionInfo& option : info.options) lesson.record.options[option.name] = option.default_value;
    lesson.record.options["workers"] = std::int64_t{2};
    lesson.record.size = {lesson.graphs[0].graph->devices, lesson.graphs[0].graph->nodes};
    lesson.graphs.pop_back();  // not every policy takes any number of groups
    lesson.evaluators.pop_back();
    lesson.record.graphs.pop_back();
    Trainer trainer = lesson.trainer();
    lesson.train(trainer, 1);
    const Path path = this->path("every.safetensors").toStdString();
    write_policy(lesson.record, trainer.state(), trainer.policy(), path);
    const PolicyFile file = read_policy(path);
    QVERIFY(file.record == lesson.record);
    QVERIFY(file.state == trainer.state());
    const PolicyGraph& graph = *lesson.graphs[0].graph;
    QVERIFY(predict_placement(*file.design.policy, file.state.weights, graph, file.design.training.passes) ==
            trainer.predict(graph));
}

void TestPolicyFile::isASafetensorsFile() {
    const Parts parts(m_content);
    qsizetype end = 0;
    for (const auto& [name, entry] : parts.header.items()) {
        if (name == "__metadata__") {
            for (const auto& [key, value] : entry.items()) QVERIFY2(value.is_string(), key.c_str());
            continue;
        }
        // Without gaps, as the format wants it.
        QCOMPARE(entry["data_offsets"][0].get<qsizetype>(), end);
        end = entry["data_offsets"][1].get<qsizetype>();
    }
    QCOMPARE(end, parts.data.size());
    QCOMPARE((m_content.size() - parts.data.size()) % 8, 0);
    const Lesson lesson = ::lesson();
    const Trainer trainer = lesson.trainer();
    for (const PolicyParameter& parameter : trainer.policy().parameters()) {
        QCOMPARE(parts.header[parameter.name]["dtype"].get<std::string>(), std::string("F32"));
        QCOMPARE(parts.header[parameter.name]["shape"].get<std::vector<std::int64_t>>(), parameter.shape);
    }
}

/// Files from before the option `messages` are of policies that summed them.
void TestPolicyFile::readsOlderFiles() {
    const auto messages_of = [](const Path& file) {
        return std::get<std::string>(read_policy(file).record.options.at("messages"));
    };
    QCOMPARE(messages_of(write(m_content)), std::string("mean"));
    Parts parts(m_content);
    parts.change("record", [](Json& json) { QVERIFY(json["options"].erase("messages") == 1); });
    QCOMPARE(messages_of(write(parts.content())), std::string("sum"));
}

void TestPolicyFile::refuses_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QString>("complaint");
    const auto row = [](const char* name, const QByteArray& content, const char* complaint) {
        QTest::newRow(name) << content << QString(complaint);
    };
    const auto changed = [&](const std::function<void(Parts&)>& change) {
        Parts parts(m_content);
        change(parts);
        return parts.content();
    };
    const std::string weight = find_policy("placeto")->make({}, {2, 4}).policy->parameters().front().name;

    row("empty", "", "the file is empty");
    row("text", R"({"format": "placewright.graph", "version": 1, "ops": []})", "is not a policy");
    row("cut in the header", m_content.left(100), "is not a policy, or is cut off");
    row("cut in the tensors", m_content.left(m_content.size() - 1), "is cut off: its tensors take");
    row("longer", m_content + 'x', "is longer than its tensors");
    row("endless header", QByteArray(8, '\xff') + "{}", "is not a policy, or is cut off");
    row("no JSON", QByteArray("\x04\0\0\0\0\0\0\0{xx}", 12), "line 1, column 2: syntax error");
    row("no metadata", QByteArray("\x02\0\0\0\0\0\0\0{}", 10),
        "__metadata__: is not a policy: expected \"format\"");
    row("another format", changed([](Parts& parts) { parts.header["__metadata__"]["format"] = "pt"; }),
        "is not a policy: expected \"format\"");
    row("another version", changed([](Parts& parts) { parts.header["__metadata__"]["version"] = "2"; }),
        "version is \"2\", expected \"1\"");
    row("unknown policy",
        changed([](Parts& parts) { parts.change("record", [](Json& json) { json["policy"] = "oracle"; }); }),
        "policy is unknown; there are placeto");
    row("unknown option", changed([](Parts& parts) {
            parts.change("record", [](Json& json) { json["options"]["charm"] = 3; });
        }),
        "are not those of this version");
    row("option out of range", changed([](Parts& parts) {
            parts.change("record", [](Json& json) { json["options"]["workers"] = 0; });
        }),
        "workers = 0 is out of range");
    row("no seed",
        changed([](Parts& parts) { parts.change("record", [](Json& json) { json["seed"] = "one"; }); }),
        "is not a whole number");
    row("no graphs", changed([](Parts& parts) {
            parts.change("record", [](Json& json) { json["graphs"] = Json::array(); });
        }),
        "is empty, expected at least one");
    row("fewer graphs",
        changed([](Parts& parts) { parts.change("record", [](Json& json) { json["graphs"].erase(1); }); }),
        "tensor \"training/returns.episodes\": is I64 [2], expected I64 [1]");
    row("another width", changed([](Parts& parts) {
            parts.change("record", [](Json& json) { json["options"]["width"] = 3; });
        }),
        ", expected F32 [3, ");
    row("no such weight", changed([&](Parts& parts) {
            parts.header["more"] = parts.header[weight];
            parts.header.erase(weight);
        }),
        ("has no tensor \"" + weight + "\"").c_str());
    row("one more tensor", changed([](Parts& parts) {
            parts.header["more"] = {{"dtype", "F32"},
                                    {"shape", {1}},
                                    {"data_offsets", {parts.data.size(), parts.data.size() + 4}}};
            parts.data += "1234";
        }),
        "tensor \"more\": belongs to no parameter of this policy");
    row("same place twice", changed([&](Parts& parts) { parts.header["more"] = parts.header[weight]; }),
        "or two in the same place");
    row("size and shape", changed([&](Parts& parts) { parts.header[weight]["shape"][0] = 5; }),
        "are not of the size of the tensor");
    row("no memory is so large", changed([&](Parts& parts) {
            parts.header[weight]["shape"] = {1 << 30, 1 << 30, 1 << 30};
        }),
        "is larger than any file");
    row("negative shape", changed([&](Parts& parts) { parts.header[weight]["shape"][0] = -2; }), "-2");
    row("another type", changed([&](Parts& parts) { parts.header[weight]["dtype"] = "I32"; }), "is I32 [");
    row("unknown type", changed([&](Parts& parts) { parts.header[weight]["dtype"] = "X9"; }),
        "dtype is \"X9\", which is not known");
    row("not finite", changed([&](Parts& parts) {
            const float nan = std::numeric_limits<float>::quiet_NaN();
            std::memcpy(parts.data.data(), &nan, sizeof nan);
        }),
        "holds a number that is not finite");
    const auto number = [](Parts& parts, const char* tensor, auto value, std::size_t item) {
        const auto at = parts.header[tensor]["data_offsets"][0].template get<std::size_t>();
        std::memcpy(parts.data.data() + at + item * sizeof value, &value, sizeof value);
    };
    row("second moment", changed([&](Parts& parts) { number(parts, "training/second_moments", -1e-3F, 2); }),
        "tensor \"training/second_moments\": item 3 is -0.001");
    row("score", changed([&](Parts& parts) { number(parts, "training/best.scores", -2.5, 0); }),
        "tensor \"training/best.scores\": item 1 is -2.5, expected no negative numbers; train again, or take "
        "another copy of the file");
    row("averaged",
        changed([&](Parts& parts) { number(parts, "training/averages.episodes", std::int64_t{-1}, 1); }),
        "tensor \"training/averages.episodes\": item 2 is -1, expected no negative numbers");
    row("counts", changed([&](Parts& parts) { number(parts, "training/curve.counts", std::int64_t{-7}, 0); }),
        "tensor \"training/curve.counts\": item 1 is -7, expected no negative numbers");
    for (const double value : {0.0, -1.0})
        row(value < 0 ? "negative weight" : "no weight", changed([value](Parts& parts) {
                parts.change("state", [value](Json& json) { json["divergence_weight"] = value; });
            }),
            "divergence_weight is ");
    row("negative updates",
        changed([](Parts& parts) { parts.change("state", [](Json& json) { json["updates"] = -1; }); }),
        "updates");
    row("wrong lengths", changed([](Parts& parts) {
            const auto at = parts.header["training/returns.lengths"]["data_offsets"][0].get<std::size_t>();
            const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
            std::memcpy(parts.data.data() + at, &huge, sizeof huge);
        }),
        "tensor \"training/returns\": has wrong lengths");
}

void TestPolicyFile::refuses() {
    QFETCH(QByteArray, content);
    QFETCH(QString, complaint);
    const Path file = write(content);
    try {
        read_policy(file);
        QFAIL("it was read");
    } catch (const InputError& error) {
        const QString what = QString::fromUtf8(error.what());
        QVERIFY2(what.startsWith(QString::fromStdString(file.string()) + ": ") && what.contains(complaint),
                 error.what());
    }
}

void TestPolicyFile::refusesWhatIsNoFile() {
    QVERIFY_THROWS_EXCEPTION(InputError, read_policy(path("missing.safetensors").toStdString()));
    QVERIFY_THROWS_EXCEPTION(InputError, read_policy(m_folder.path().toStdString()));
}

/// Whatever a disk or a person does to it, a file is read or refused.
void TestPolicyFile::survivesAnyDamage() {
    Random random(7);
    int read = 0;
    for (int i = 0; i < 400; ++i) {
        QByteArray content = m_content;
        const std::size_t changes = 1 + random.index(4);
        // The header is the part that leads astray.
        const auto size = static_cast<std::size_t>(content.size());
        const std::size_t end =
            random.index(3) == 0 ? size : size - static_cast<std::size_t>(Parts(m_content).data.size());
        for (std::size_t k = 0; k < changes; ++k)
            content[static_cast<qsizetype>(random.index(end))] = static_cast<char>(random.index(256));
        if (random.chance(0.25)) content.truncate(static_cast<qsizetype>(random.index(size)));
        try {
            read_policy(write(content));
            ++read;
        } catch (const InputError&) {
            // As it should.
        }
    }
    QVERIFY(read < 400);
}

void TestPolicyFile::refusesStatesOfOtherGraphs() {
    const Lesson lesson = ::lesson();
    Trainer trainer = lesson.trainer();
    const TrainingState state = read_policy(write(m_content)).state;
    trainer.restore(state);
    TrainingState other = state;
    other.returns[0][0].push_back(1);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, trainer.restore(other));
    other = state;
    other.best[1].placement.pop_back();
    QVERIFY_THROWS_EXCEPTION(PlacementError, trainer.restore(other));
    other = state;
    other.best[1].placement[0] = 77;
    QVERIFY_THROWS_EXCEPTION(PlacementError, trainer.restore(other));
    QVERIFY(trainer.state() == state);
}

void TestPolicyFile::tellsTrainingsApart_data() {
    QTest::addColumn<std::function<void(TrainingRecord&)>>("change");
    QTest::addColumn<QByteArray>("said");
    const auto row = [](const char* name, const std::function<void(TrainingRecord&)>& change,
                        const char* said) { QTest::newRow(name) << change << QByteArray(said); };
    row(
        "policy", [](TrainingRecord& record) { record.policy = "gdp"; }, "its policy is placeto, not gdp");
    row(
        "option", [](TrainingRecord& record) { record.options["width"] = std::int64_t{9}; },
        "its width is 2, not 9");
    row(
        "seed", [](TrainingRecord& record) { record.seed = 3; }, "its seed is 18446744073709551615, not 3");
    row(
        "updates", [](TrainingRecord& record) { record.planned_updates = 7; },
        "its number of updates is 6, not 7");
    row(
        "condition", [](TrainingRecord& record) { record.conditions[1].second = "post"; },
        "its memory_rule is placeto, not post");
    row(
        "graphs", [](TrainingRecord& record) { record.graphs.pop_back(); },
        "its number of graphs is 2, not 1");
    row(
        "network", [](TrainingRecord& record) { record.graphs[1].network = "vgg"; },
        "its graph 2 is fork3, not vgg");
    row(
        "machine", [](TrainingRecord& record) { record.graphs[0].machine = "four"; },
        "its machine of graph 1 is pair, not four");
    row(
        "problem", [](TrainingRecord& record) { record.graphs[0].fingerprint.clear(); },
        "its graph 1 (fork2 on pair) has other ops, groups, times or devices");
    row(
        "size", [](TrainingRecord& record) { record.size.nodes = 77; }, "its size is");
}

void TestPolicyFile::tellsTrainingsApart() {
    QFETCH(std::function<void(TrainingRecord&)>, change);
    QFETCH(QByteArray, said);
    const TrainingRecord found = ::lesson().record;
    TrainingRecord expected = found;
    change(expected);
    const std::string text = difference(found, expected);
    QVERIFY2(text.starts_with(said.constData()), text.c_str());
}

QTEST_APPLESS_MAIN(TestPolicyFile)
#include "tst_policy_file.moc"
