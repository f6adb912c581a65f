// SPDX-License-Identifier: MIT
// What one asks of a placed language model, on those that ship: parameters, what fills the devices, tokens a
// second, the longest context; and how the choices are kept in files.
#include <filesystem>
#include <fstream>
#include <numeric>

#include <QTemporaryDir>
#include <QTest>

#include "core/graph/parameter_count.hpp"
#include "core/io/shipped.hpp"
#include "core/job/longest_context.hpp"
#include "core/job/option_values.hpp"
#include "core/job/token_rate.hpp"
#include "core/sim/device_contents.hpp"

using namespace placewright;

namespace {

constexpr auto kGpus = "2x RTX 4090, PCIe 4.0 x8";

JobOptions decoding(std::int64_t batch, std::int64_t tokens) {
    JobOptions options;
    options.reading.batch = batch;
    options.reading.language.sequence = tokens;
    return options;
}

/// The first part of the groups on one device, the rest on another.
Placement halves(const Problem& problem, DeviceId first, DeviceId second) {
    Placement placement(problem.groups, second);
    for (GroupId group = 0; group < problem.groups; ++group) {
        if (problem.grouping.members[group].front() < problem.ops / 2) placement[group] = first;
    }
    return placement;
}

bool fits(const std::string& model, const JobOptions& options, const Placement& placement) {
    const Job job = load_job(model, kGpus, options);
    return assess(job, placement, Simulator(job.problem, job.simulation).run(placement)).score.fits;
}

}  // namespace

class TestLanguageChoices : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void modelsThatShip_data() {
        QTest::addColumn<double>("parameters");
        QTest::addColumn<double>("cacheOfToken");  // bytes
        // From their cards, and 2 * layers * KV heads * head_dim * 2 bytes.
        QTest::newRow("llama-3.1-8b") << 8'030'261'248.0 << 2.0 * 32 * 8 * 128 * 2;
        QTest::newRow("llama-3-70b") << 70'553'706'496.0 << 2.0 * 80 * 8 * 128 * 2;
        QTest::newRow("qwen3-30b-a3b") << 30'532'122'624.0 << 2.0 * 48 * 4 * 128 * 2;
    }
    void modelsThatShip() {
        QFETCH(const double, parameters);
        QFETCH(const double, cacheOfToken);
        const std::string name = QTest::currentDataTag();
        QCOMPARE(find_network_file(name).filename().string(), name);
        const Job job = load_job(name, kGpus, decoding(3, 1000));
        QVERIFY(job.language && job.language->phase == LanguagePhase::decode);
        QCOMPARE(parameter_count(*job.problem->network), parameters);
        const auto gpu = *job.machine->find("gpu:0"), other = *job.machine->find("gpu:1");
        const auto contents = contents_of(*job.problem, halves(*job.problem, gpu, other));
        QCOMPARE(contents[gpu].weight_bytes + contents[other].weight_bytes, 2 * parameters);
        QCOMPARE(contents[gpu].cache_bytes + contents[other].cache_bytes, 3 * 1000 * cacheOfToken);
        QVERIFY(contents[gpu].cache_bytes > 0 && contents[other].cache_bytes > 0);
    }

    void contentsOfTrainingAreThoseOfItsForwardOps() {
        JobOptions options = decoding(1, 16);
        options.reading.language.phase = LanguagePhase::training;
        const Job job = load_job("llama-3.1-8b", kGpus, options);
        const auto contents = contents_of(*job.problem, job.single_device);
        double weights = 0;
        for (const DeviceContents& of : contents) weights += of.weight_bytes;
        QCOMPARE(weights, 2 * 8'030'261'248.0);
    }

    void tokensOfASecond() {
        LanguageOptions language;
        language.sequence = 500;
        Outcome outcome;
        outcome.step_time_s = 0.25;
        QCOMPARE(tokens_per_s(language, 8, outcome), 32.0);
        language.phase = LanguagePhase::prefill;
        QCOMPARE(tokens_per_s(language, 8, outcome), 16'000.0);
        outcome.steady_step_time_s = 0.125;
        QCOMPARE(tokens_per_s(language, 8, outcome), 32'000.0);
        outcome.steady_step_time_s = 0;
        QCOMPARE(tokens_per_s(language, 8, outcome), 0.0);
    }

    void theLongestContextFitsAndOneMoreDoesNot_data() {
        QTest::addColumn<QString>("phase");
        QTest::addColumn<int>("batch");
        QTest::addColumn<int>("from");
        QTest::newRow("from below") << "decode" << 4 << 100;
        QTest::newRow("from above") << "decode" << 4 << 3'000'000;
        QTest::newRow("batch") << "decode" << 16 << 4096;
        QTest::newRow("prompt") << "prefill" << 2 << 4096;
    }
    void theLongestContextFitsAndOneMoreDoesNot() {
        QFETCH(const QString, phase);
        QFETCH(const int, batch);
        QFETCH(const int, from);
        JobOptions options = decoding(batch, from);
        options.reading.language.phase = *language_phase_from(phase.toStdString());
        const std::string model = "llama-3.1-8b";
        const Job job = load_job(model, kGpus, options);
        const auto gpu = *job.machine->find("gpu:0"), other = *job.machine->find("gpu:1");
        const Placement placement = halves(*job.problem, gpu, other);
        const auto longest = longest_context(job, options, placement, find_network_file(model));
        QVERIFY(longest && longest->tokens > 1000);
        QVERIFY(longest->device == gpu || longest->device == other);
        JobOptions at = options;
        at.reading.language.sequence = longest->tokens;
        QVERIFY(fits(model, at, placement));
        at.reading.language.sequence = longest->tokens + 1;
        QVERIFY(!fits(model, at, placement));
    }

    /// For one sequence there is room for more than the model allows.
    void theLongestContextIsWithinTheLimit() {
        const std::string model = "llama-3.1-8b";
        for (const std::int64_t from : {100, 131'072, 150'000}) {
            const JobOptions options = decoding(1, from);
            const Job job = load_job(model, kGpus, options);
            const Placement placement =
                halves(*job.problem, *job.machine->find("gpu:0"), *job.machine->find("gpu:1"));
            QVERIFY(fits(model, options, placement));
            const auto longest = longest_context(job, options, placement, find_network_file(model));
            QVERIFY(longest && !longest->device);
            QCOMPARE(longest->tokens, std::int64_t{131'072});
        }
    }

    void whereTheWeightsAloneAreTooLargeNoLengthFits() {
        const JobOptions options = decoding(1, 4096);
        const Job job = load_job("llama-3-70b", kGpus, options);
        const DeviceId gpu = *job.machine->find("gpu:1");
        const auto longest = longest_context(job, options, Placement(job.problem->groups, gpu),
                                             find_network_file("llama-3-70b"));
        QVERIFY(longest);
        QCOMPARE(longest->tokens, std::int64_t{0});
        QVERIFY(longest->device == gpu);
    }

    void aSlidingWindowFitsAtAnyLength() {
        const QTemporaryDir folder;
        const Path file = Path(folder.path().toStdString()) / "config.json";
        std::ofstream(file) << R"({"model_type": "mistral", "num_hidden_layers": 2, "hidden_size": 64,
            "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
            "max_position_embeddings": 100000000, "sliding_window": 256})";
        const JobOptions options = decoding(1, 100);
        const Job job = load_job(file.string(), kGpus, options);
        const auto longest = longest_context(job, options, job.single_device, file);
        QVERIFY(longest);
        QVERIFY(!longest->device);
        QCOMPARE(longest->tokens, kMostSequence);
        // Nothing is said of a file that is gone.
        std::filesystem::remove(file);
        QVERIFY(!longest_context(job, options, job.single_device, file));
    }

    void otherNetworksHaveNoContext() {
        const Job job = load_job("alexnet", kGpus, {});
        QVERIFY(!job.language);
        QVERIFY(!longest_context(job, {}, job.single_device, find_network_file("alexnet")));
    }

    void choicesAreKeptAsValues() {
        QVERIFY(option_values(JobOptions()).empty());
        JobOptions options = decoding(4, 8192);
        LanguageOptions& language = options.reading.language;
        language.phase = LanguagePhase::prefill;
        language.weights = WeightType::int4;
        language.cache = WeightType::fp8;
        language.latent_cache = LatentCache::expanded;
        language.full_cache = language.split_layers = true;
        const OptionValues values = option_values(options);
        QCOMPARE(values.at("language.phase"), OptionValue(std::string("prefill")));
        QCOMPARE(values.at("language.sequence"), OptionValue(std::int64_t{8192}));
        QVERIFY(job_options_from(values) == options);
    }

    void wrongValuesAreRefused_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("phase") << "language.phase";
        QTest::newRow("weights") << "language.weights";
        QTest::newRow("sequence") << "language.sequence";
    }
    void wrongValuesAreRefused() {
        QFETCH(const QString, name);
        QVERIFY_THROWS_EXCEPTION(OptionError,
                                 job_options_from({{name.toStdString(), std::string("dreaming")}}));
        QVERIFY_THROWS_EXCEPTION(OptionError, job_options_from({{name.toStdString(), std::int64_t{0}}}));
    }
};

QTEST_GUILESS_MAIN(TestLanguageChoices)
#include "tst_language_choices.moc"
