// SPDX-License-Identifier: MIT
// Searches that are cut off and go on from their scores, and the file that keeps these.
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <stop_token>

#include <QTemporaryDir>
#include <QtTest>
#include <sys/stat.h>

#include "core/algorithms.hpp"
#include "core/base/path.hpp"
#include "core/io/state/score_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/search/search.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

const ScoreConditions kConditions{{"network", "net"}, {"machine", "box"}};

std::string error_of(const Path& file, const ScoreConditions& conditions = kConditions) {
    try {
        const ScoreFile scores(file, conditions);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

std::string content_of(const Path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const Path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
}

/// Simulates, and asks the search to stop once so many placements have been scored.
class Interrupted final : public Evaluator {
public:
    Interrupted(std::unique_ptr<Evaluator> evaluator, std::size_t placements, std::stop_source& stop)
        : evaluator_(std::move(evaluator)), left_(placements), stop_(stop) {}

    bool evaluate(std::span<const Placement> placements, std::span<Score> scores, std::stop_token stop,
                  Bases bases) override {
        if (left_ < placements.size()) stop_.request_stop();
        left_ -= std::min(left_, placements.size());
        return evaluator_->evaluate(placements, scores, std::move(stop), bases);
    }
    std::uint64_t runs() const override { return evaluator_->runs(); }
    Workers* workers() override { return evaluator_->workers(); }

private:
    std::unique_ptr<Evaluator> evaluator_;
    std::size_t left_;
    std::stop_source& stop_;
};

}  // namespace

class TestScoreFile : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;
    Path file() const { return m_folder->filePath("scores").toStdString(); }

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void scores_come_back() {
        const std::vector<RecordedScore> first{{{1, 0xffffffffffffffffULL}, {0.1, 0.1, true}},
                                               {{2, 3}, {1e300, 1.0 / 3, false}}};
        const std::vector<RecordedScore> second{{{0, 0}, {5e-324, 0, true}}};
        {
            ScoreFile scores(file(), kConditions);
            QVERIFY(scores.scores().empty());
            scores.append(first);
        }
        {
            ScoreFile scores(file(), kConditions);
            QVERIFY(scores.scores() == first);
            scores.append(second);
            scores.append({});
        }
        const ScoreFile scores(file(), kConditions);
        QVERIFY((scores.scores() == std::vector<RecordedScore>{first[0], first[1], second[0]}));
    }

    void what_was_cut_off_is_dropped() {
        const RecordedScore one{{1, 2}, {0.5, 0.5, true}}, two{{3, 4}, {0.25, 0.25, true}};
        ScoreFile(file(), kConditions).append(std::vector{one, two});
        const std::string whole = content_of(file());
        // Wherever a kill may have cut: what is whole stays, and the file can be gone on with.
        const std::size_t header = whole.find('\n') + 1, line = whole.find('\n', header) + 1;
        for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
            write(file(), whole.substr(0, bytes));
            if (bytes > 0 && bytes < header - 1) {
                // Half a header might be anything.
                QVERIFY(!error_of(file()).empty());
                QCOMPARE(content_of(file()), whole.substr(0, bytes));
                continue;
            }
            const std::size_t expected = bytes >= whole.size() ? 2 : bytes >= line ? 1 : 0;
            {
                ScoreFile scores(file(), kConditions);
                QCOMPARE(scores.scores().size(), expected);
                scores.append(std::vector{two});
            }
            QCOMPARE(ScoreFile(file(), kConditions).scores().size(), expected + 1);
        }
    }

    void the_search_that_began_it_comes_back() {
        QVERIFY(!read_saved_search(file(), kConditions));
        const SavedSearch search{"genetic",
                                 {{"population_size", std::int64_t{8}},
                                  {"mutation_rate", 1.0},
                                  {"allow_cpu", true},
                                  {"crossover", std::string("two-point")}},
                                 std::numeric_limits<std::uint64_t>::max(),
                                 600,
                                 {{0, 1, 65535}, {}}};
        const RecordedScore one{{1, 2}, {0.5, 0.5, true}}, two{{3, 4}, {0.25, 0.25, true}};
        ScoreFile(file(), kConditions, search).append(std::vector{one});
        QVERIFY(read_saved_search(file(), kConditions) == search);
        // Whoever goes on with it does not make it another search.
        ScoreFile(file(), kConditions, SavedSearch{"random"}).append(std::vector{two});
        const ScoreContent content = read_scores(file(), kConditions);
        QVERIFY(content.search == search);
        QVERIFY((content.scores == std::vector{one, two}));
        QVERIFY(is_score_file(file()));

        // All at once it is the same file.
        const std::string grown = content_of(file());
        write_scores(file(), kConditions, search, std::vector{one, two});
        QCOMPARE(content_of(file()), grown);
        write_scores(file(), kConditions, {"auto"}, {});
        QVERIFY(!read_saved_search(file(), kConditions)->evaluations);

        // One that does not say is as good.
        std::filesystem::remove(file());
        ScoreFile(file(), kConditions).append(std::vector{one});
        QVERIFY(!read_saved_search(file(), kConditions));
        write(file(), "{}");
        QVERIFY(!is_score_file(file()));
    }

    void a_search_is_checked() {
        const auto refused = [&](const std::string& search, const char* reason) {
            write(file(),
                  R"({"format":"placewright.scores","version":1,"network":"net","machine":"box","search":)" +
                      search + "}\n");
            const std::string error = error_of(file());
            QVERIFY2(error.starts_with(file().string() + ": ") && error.find(reason) != std::string::npos,
                     error.c_str());
        };
        const std::string begin = R"({"algorithm":"random","options":)";
        refused("1", "expected an object");
        refused("{}", "algorithm");
        refused(begin + R"([],"seed":"1","evaluations":1,"starts":[]})", "options");
        refused(begin + R"({"a":null},"seed":"1","evaluations":1,"starts":[]})", "options");
        refused(begin + R"({},"seed":1,"evaluations":1,"starts":[]})", "seed");
        refused(begin + R"({},"seed":"1e3","evaluations":1,"starts":[]})", "seed is not a whole number");
        refused(begin + R"({},"seed":"1","evaluations":0,"starts":[]})", "evaluations");
        refused(begin + R"({},"seed":"1","evaluations":1,"starts":[[0,70000]]})", "starts");
        refused(begin + R"({},"seed":"1","evaluations":1,"starts":[0]})", "starts");
    }

    void no_more_is_kept_than_said() {
        const auto problem =
            test::problem(test::chain(4, 1e9, 1'000'000, Training::implicit), test::uniform_machine(4));
        std::vector<RecordedScore> kept;
        const auto evaluator = recorded_evaluator(
            simulation_evaluator(problem, {}, {}, 1), {},
            [&](std::span<const RecordedScore> added) {
                kept.insert(kept.end(), added.begin(), added.end());
            },
            2);
        std::vector<Placement> placements;
        for (DeviceId device = 0; device < 4; ++device)
            placements.push_back(single_device_placement(*problem, device));
        std::vector<Score> scores(placements.size());
        for (int round = 0; round < 2; ++round) QVERIFY(evaluator->evaluate(placements, scores, {}));
        QCOMPARE(kept.size(), std::size_t{2});
        QVERIFY((kept[1] == RecordedScore{key_of(placements[1]), scores[1]}));
        for (const Score& score : scores)
            QVERIFY(score.fits && score.penalised_s > 0);  // what is not kept has a score all the same
    }

    void one_search_at_a_time() {
        {
            const ScoreFile first(file(), kConditions);
            QVERIFY(error_of(file()).find("is being written by another search") != std::string::npos);
        }
        QCOMPARE(error_of(file()), std::string());
    }

    void a_file_that_another_search_writes_is_not_cut() {
        ScoreFile first(file(), kConditions);
        first.append(std::vector<RecordedScore>{{{1, 2}, {0.5, 0.5, true}}});
        // Half of the line that the first search is about to write.
        const std::string before = content_of(file()) + "[\"0000000000000003";
        write(file(), before);
        QVERIFY(error_of(file()).find("is being written by another search") != std::string::npos);
        QCOMPARE(content_of(file()), before);
    }

    void a_pipe_is_refused_at_once() {
        QCOMPARE(mkfifo(file().c_str(), 0600), 0);
        QVERIFY(error_of(file()).find("not a regular file") != std::string::npos);
        QVERIFY_THROWS_EXCEPTION(InputError, read_scores(file(), kConditions));
    }

    void other_files_are_left_alone() {
        const auto refused = [&](const std::string& content, const char* reason) {
            write(file(), content);
            const std::string error = error_of(file());
            QVERIFY2(error.starts_with(file().string() + ": ") && error.find(reason) != std::string::npos,
                     error.c_str());
            QCOMPARE(content_of(file()), content);
        };
        refused("hello\n", "line 1: is not a file of scores");
        refused("{\"format\":\"placewright.graph\",\"version\":1}\n", "line 1: is not a file of scores");
        refused("[1, 2]\n", "line 1: is not a file of scores");
        refused("{\"format\":\"placewright.scores\",\"version\":2}\n", "has an unknown version");
        const std::string header =
            "{\"format\":\"placewright.scores\",\"version\":1,\"network\":\"net\",\"machine\":\"box\"}\n";
        refused(header + "[\"00\",1,1,true]\n", "line 2: is not a score");
        refused(header + std::string(2'000, '['), "line 2: is longer than 1024 bytes");
        refused("{\"format\":\"placewright.scores\",\"version\":1,\"version\":1}\n",
                "line 1: is not a file of scores");
        refused(header + "[\"00000000000000010000000000000002\",1,true]\n", "line 2: is not a score");
        refused(header + "[\"0000000000000001000000000000000g\",1,1,true]\n", "line 2: is not a score");
        refused(
            "{\"format\":\"placewright.scores\",\"version\":1,\"network\":\"net\",\"machine\":\"other\"}\n",
            "its machine is other, not box");
        QVERIFY(error_of(Path(m_folder->path().toStdString())).find("it is a folder") != std::string::npos);
        QVERIFY(error_of(file() / "below").find("cannot be written") != std::string::npos);
    }

    void problems_are_told_apart() {
        const auto of = [](const Graph& graph, const Machine& machine, const ProblemOptions& options = {}) {
            return problem_fingerprint(*test::problem(graph, machine, options));
        };
        const Graph graph = test::chain(4, 1e9, 1'000'000, Training::implicit);
        const std::string print = of(graph, test::uniform_machine(2));
        QCOMPARE(print, "5126dd98be560e75");  // files of earlier versions hold it
        QCOMPARE(of(graph, test::uniform_machine(2)), print);
        QVERIFY(of(test::chain(5, 1e9, 1'000'000, Training::implicit), test::uniform_machine(2)) != print);
        QVERIFY(of(test::chain(4, 2e9, 1'000'000, Training::implicit), test::uniform_machine(2)) != print);
        QVERIFY(of(test::chain(4, 1e9, 1'000'001, Training::implicit), test::uniform_machine(2)) != print);
        QVERIFY(of(graph, test::uniform_machine(3)) != print);
        QVERIFY(of(graph, test::uniform_machine(2, 1e11)) != print);
        ProblemOptions options;
        options.inference = true;
        QVERIFY(of(graph, test::uniform_machine(2), options) != print);
        // The same times, but another order of pipelined batches, or other messages.
        const auto explicit_graph = [](Phase phase, bool together) {
            GraphBuilder builder("explicit", 1, Training::explicit_);
            Op op;
            op.kind = "matmul";
            op.flops = 1e9;
            op.outputs = {make_tensor({10}), make_tensor({10})};
            for (const char* name : {"a", "b"}) {
                op.name = name;
                op.phase = op.name == "b" ? phase : Phase::forward;
                op.sends_together = together;
                builder.add(op, op.name == "b" ? std::vector<std::string>{"a"} : std::vector<std::string>());
            }
            return builder.build();
        };
        const std::string plain = of(explicit_graph(Phase::forward, false), test::uniform_machine(2));
        QVERIFY(of(explicit_graph(Phase::backward, false), test::uniform_machine(2)) != plain);
        QVERIFY(of(explicit_graph(Phase::forward, true), test::uniform_machine(2)) != plain);
        options = {};
        options.crossing = Crossing::cut_through;
        QVERIFY(of(graph, test::uniform_machine(2), options) != print);
    }

    void interrupted_searches_go_on_as_if_nothing_had_been_data() {
        QTest::addColumn<QString>("id");
        // Policies are searched with in one way; those that read a network op by op take minutes for so many
        // placements.
        const std::set<std::string> slow{"colocrl", "spotlight", "hierarchical", "gdp"};
        for (const AlgorithmInfo& algorithm : algorithms()) {
            if (!slow.contains(algorithm.id))
                QTest::addRow("%s", algorithm.id.c_str()) << QString::fromStdString(algorithm.id);
        }
    }
    void interrupted_searches_go_on_as_if_nothing_had_been() {
        QFETCH(QString, id);
        constexpr std::uint64_t kEvaluations = 600;
        const AlgorithmInfo& algorithm = *find_algorithm(id.toStdString());
        const auto problem =
            test::problem(test::random_graph(7, 40, 3, Training::implicit), test::uniform_machine(3));
        const SearchContext context{problem, 5, {single_device_placement(*problem)}};
        // The solver would go on for minutes.
        const OptionValues options =
            algorithm.id == "milp" ? OptionValues{{"nodes", std::int64_t{5}}} : OptionValues();
        const auto simulate = [&](unsigned threads) {
            return simulation_evaluator(problem, {}, {}, threads);
        };

        const auto whole_optimizer = algorithm.make(context, options);
        const auto whole_evaluator = simulate(1);
        const SearchResult whole = run_search(*whole_optimizer, *whole_evaluator, {kEvaluations});
        for (const auto& [cut, threads] :
             {std::pair<std::size_t, unsigned>{1, 1}, {150, 1}, {150, 2}, {400, 1}}) {
            std::filesystem::remove(file());
            {
                ScoreFile scores(file(), kConditions);
                std::stop_source stop;
                const auto evaluator = recorded_evaluator(
                    std::make_unique<Interrupted>(simulate(threads), cut, stop), scores.scores(),
                    [&](std::span<const RecordedScore> added) { scores.append(added); });
                const auto optimizer = algorithm.make(context, options);
                run_search(*optimizer, *evaluator, {kEvaluations}, stop.get_token());
            }
            ScoreFile scores(file(), kConditions);
            const std::size_t known = scores.scores().size();
            const auto evaluator =
                recorded_evaluator(simulate(threads), scores.scores(),
                                   [&](std::span<const RecordedScore> added) { scores.append(added); });
            const auto optimizer = algorithm.make(context, options);
            const SearchResult resumed = run_search(*optimizer, *evaluator, {kEvaluations});
            QCOMPARE(resumed.end, whole.end);
            QCOMPARE(resumed.progress.evaluations, whole.progress.evaluations);
            QCOMPARE(resumed.progress.best, whole.progress.best);
            QVERIFY(*resumed.progress.best_placement == *whole.progress.best_placement);
            QCOMPARE(resumed.progress.curve->size(), whole.progress.curve->size());
            for (std::size_t i = 0; i < whole.progress.curve->size(); ++i) {
                QCOMPARE((*resumed.progress.curve)[i].evaluations, (*whole.progress.curve)[i].evaluations);
                QCOMPARE((*resumed.progress.curve)[i].best_s, (*whole.progress.curve)[i].best_s);
            }
            // What was scored before is not simulated again. Two threads also simulate steps that do not
            // count.
            if (threads == 1) QCOMPARE(resumed.progress.simulations + known, whole.progress.simulations);
        }
    }
};

QTEST_GUILESS_MAIN(TestScoreFile)
#include "tst_score_file.moc"
