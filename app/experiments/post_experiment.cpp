// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "app/experiments/experiment.hpp"
#include "core/algorithms.hpp"
#include "core/base/sign_test.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"

namespace placewright {
namespace {

constexpr std::string_view kSingle = "single-device", kExpert = "expert", kMetis = "metis",
                           kGradient = "policy-gradient", kProximal = "ppo", kCrossEntropy = "cross-entropy",
                           kPost = "post";
constexpr std::array kColumns{kSingle, kExpert, kMetis, kGradient, kProximal, kCrossEntropy, kPost};

/// Type of a network; the paper's findings differ by type.
enum class Kind : std::uint8_t { residual, branches, language_model, translator };

/// A row of table 1: seconds per step on K80s of Google's cloud; 0 if memory overflowed or the paper gives no
/// value.
struct PaperRow {
    std::string_view network;  ///< in known_networks()
    Kind kind;
    unsigned gpus;
    double single_s, expert_s, metis_s, gradient_s, post_s;
};
constexpr std::array kPaper{
    PaperRow{"rnnlm4", Kind::language_model, 2, 0.44, 0.89, 1.81, 0.66, 0.44},
    PaperRow{"resnet50", Kind::residual, 2, 0.86, 0.86, 4.47, 1.49, 0.86},
    PaperRow{"resnet200", Kind::residual, 2, 2.75, 2.75, 11.63, 3.62, 2.75},
    PaperRow{"resnet50", Kind::residual, 4, 0.86, 0.86, 4.21, 2.37, 0.86},
    PaperRow{"resnet101", Kind::residual, 8, 1.59, 1.59, 7.31, 2.90, 1.59},
    PaperRow{"inception_v3", Kind::branches, 2, 1.79, 1.79, 6.76, 2.15, 1.30},
    PaperRow{"inception_v3", Kind::branches, 4, 1.75, 1.75, 6.07, 1.82, 1.19},
    PaperRow{"inception_v3", Kind::branches, 8, 1.78, 1.78, 7.35, 2.67, 1.29},
    PaperRow{"nmt2", Kind::translator, 2, 0, 2.05, 7.47, 2.30, 1.22},
    PaperRow{"nmt4", Kind::translator, 4, 0, 3.43, 11.04, 4.08, 2.13},
    PaperRow{"nmt8", Kind::translator, 8, 0, 5.11, 12.74, 5.35, 2.20},
};

bool recurrent(Kind kind) {
    return kind == Kind::language_model || kind == Kind::translator;
}

/// A machine of the paper: a Broadwell CPU with 8 cores and 26 GB, and K80s (one of the two dies of a board)
/// with 11 GB. Peak speeds are at the base clock. The efficiency is chosen so that ResNet-50 on one GPU takes
/// the time that the paper measured. Virtual machines of that cloud give GPUs no peer access, so transfers
/// are staged in host memory; PyTorch reaches a quarter of PCIe 3 x16 (Lagostra, 2020).
Machine k80_server(unsigned gpus) {
    constexpr double kEfficiency = 0.43;
    return gpu_server(gpus,
                      {"cpu:0", DeviceKind::cpu, "Broadwell, 8 cores", 0.28e12, 38e9, 26e9, kEfficiency},
                      {"gpu", DeviceKind::gpu, "NVIDIA K80", 2.8e12, 240e9, 11e9, kEfficiency, 1e-5},
                      {"pcie", 16e9, 1e-5, 0.25, {}}, Crossing::store_and_forward);
}

std::vector<Contestant> contestants(const PaperRow& row) {
    std::vector<Contestant> all;
    for (const std::string_view id : kColumns) {
        const AlgorithmInfo* algorithm = find_algorithm(id);
        Contestant contestant{algorithm, {}};
        if (!algorithm->presets.empty()) contestant.options = find_preset(algorithm->presets, "paper").values;
        // The paper's expert leaves convolutional networks on one GPU.
        if (id == kExpert && !recurrent(row.kind)) contestant.options["devices"] = std::int64_t{1};
        // One part for each GPU, once.
        if (id == kMetis) {
            contestant.options = {{"parts", std::int64_t{row.gpus}},
                                  {"method", std::string("recursive")},
                                  {"imbalance", 0.03},
                                  {"tries", std::int64_t{1}}};
        }
        all.push_back(std::move(contestant));
    }
    return all;
}

std::vector<ExperimentCase> cases(const ExperimentInputs& inputs) {
    std::vector<ExperimentCase> all;
    for (const PaperRow& row : kPaper) {
        const std::string name(row.network);
        const std::int64_t batch = recurrent(row.kind) ? 64 : 32;
        auto graph = inputs.network(name, batch);
        JobOptions options;
        options.reading.batch = batch;
        options.penalty.rule = MemoryRule::post;
        options.problem.grouping = inputs.grouping;
        options.problem.shared_gradients = SharedGradients::at_once;  // the paper ran TensorFlow 1
        ExperimentCase item;
        item.job = make_job(std::move(graph), std::make_shared<const Machine>(k80_server(row.gpus)), options);
        item.gpu_memory_bytes = item.job.machine->device(1).memory_bytes;
        item.repeats = 5;
        measure_one_gpu(item);
        item.compared.title = name + " on " + item.job.machine->name();
        item.compared.labels = {name, std::to_string(row.gpus)};
        item.compared.contestants = contestants(row);
        all.push_back(std::move(item));
    }
    return all;
}

/// Results for one row of the table.
class PostCase {
public:
    PostCase(const ExperimentCase& item, const PaperRow& row) : item_(item), row_(row) {}

    const PaperRow& row() const { return row_; }
    std::string name() const { return item_.compared.labels[0] + " on " + item_.compared.labels[1]; }
    std::optional<double> one_gpu_s() const { return item_.compared.one_device_s; }

    bool has_run() const { return !item_.compared.runs.empty(); }

    /// Median of the best scores; nothing if the algorithm has not run.
    std::optional<double> score_s(std::string_view algorithm) const {
        std::vector<double> scores_s;
        for (const ComparedRun& run : item_.compared.runs) {
            if (is(run, algorithm)) scores_s.push_back(run.progress.best.penalised_s);
        }
        if (scores_s.empty()) return {};
        return median(std::move(scores_s));
    }

    /// Best scores by seed.
    std::map<std::uint64_t, double> scores_s(std::string_view algorithm) const {
        std::map<std::uint64_t, double> scores_s;
        for (const ComparedRun& run : item_.compared.runs) {
            if (is(run, algorithm)) scores_s[run.seed] = run.progress.best.penalised_s;
        }
        return scores_s;
    }

    /// Median over the searches of the mean step time of their placements between `begin` and `end`, which
    /// are shares of the evaluations.
    std::optional<double> mean_s(std::string_view algorithm, double begin, double end) const {
        std::vector<double> means_s;
        for (const ComparedRun& run : item_.compared.runs) {
            if (!is(run, algorithm)) continue;
            const auto last = static_cast<double>(run.progress.evaluations);
            double sum_s = 0, count = 0, before = 0;
            for (const SeriesPoint& point : run.progress.means) {
                const auto at = static_cast<double>(point.evaluations);
                const double part = std::max(0.0, std::min(at, end * last) - std::max(before, begin * last));
                sum_s += part * point.value;
                count += part;
                before = at;
            }
            means_s.push_back(sum_s / count);
        }
        if (means_s.empty()) return {};
        return median(std::move(means_s));
    }

private:
    bool is(const ComparedRun& run, std::string_view algorithm) const {
        return item_.compared.contestants[run.contestant].algorithm->id == algorithm;
    }

    const ExperimentCase& item_;
    const PaperRow& row_;
};

std::vector<PostCase> post_cases(const std::vector<ExperimentCase>& cases) {
    std::vector<PostCase> all;
    for (std::size_t i = 0; i < cases.size(); ++i) all.emplace_back(cases[i], kPaper[i]);
    return all;
}

/// Scores within this factor count as equal: the paper's times are accurate to 2 %.
constexpr double kSame = 1.005;

struct Claim {
    std::vector<Kind> kinds;
    std::string_view text;
    std::vector<std::string_view> algorithms;  ///< algorithms that the claim is about
    bool (*holds)(const PostCase&);
};

const std::vector<Claim>& claims() {
    using enum Kind;
    static const std::vector<Kind> all{residual, branches, language_model, translator};
    static const std::vector<Claim> list{
        {all,
         "The step time with Post is at least 20 % below that with policy gradient (the paper: 24 to 64 %).",
         {kGradient, kPost},
         [](const PostCase& view) { return *view.score_s(kPost) <= 0.8 * *view.score_s(kGradient); }},
        {{residual, language_model},
         "One GPU is the best placement found by any algorithm, and Post finds it.",
         {kGradient, kPost},
         [](const PostCase& view) {
             const auto one_gpu_s = view.one_gpu_s();
             return one_gpu_s && *view.score_s(kPost) <= kSame * *one_gpu_s &&
                    *one_gpu_s <= kSame * *view.score_s(kPost);
         }},
        {{branches},
         "Post is faster than one GPU by at least a tenth.",
         {kPost},
         [](const PostCase& view) {
             return view.one_gpu_s() && *view.score_s(kPost) <= 0.9 * *view.one_gpu_s();
         }},
        {{translator},
         "One GPU has too little memory.",
         {kSingle},
         [](const PostCase& view) { return !view.one_gpu_s(); }},
        {{translator},
         "Post is faster than the expert, which gives each layer a GPU; policy gradient is not.",
         {kExpert, kGradient, kPost},
         [](const PostCase& view) {
             return *view.score_s(kPost) < *view.score_s(kExpert) &&
                    *view.score_s(kGradient) >= *view.score_s(kExpert);
         }},
        {all,
         "METIS (parts of equal work) is slower than all other algorithms.",
         {kExpert, kMetis, kGradient, kPost},
         [](const PostCase& view) {
             return std::ranges::all_of(std::array{kExpert, kGradient, kPost}, [&](auto other) {
                 return *view.score_s(kMetis) > *view.score_s(other);
             });
         }},
    };
    return list;
}

std::string time_text(std::optional<double> seconds, double out_of_memory_s) {
    if (!seconds) return "-";
    return *seconds >= out_of_memory_s ? "OOM" : format_seconds(*seconds);
}

/// The algorithms that Post is made of.
constexpr std::array kParts{kGradient, kProximal, kCrossEntropy};
constexpr const char* kAllRows = "all rows";

/// Post against a part over all rows in which both ran, search by search with the same seed.
struct AgainstPart {
    std::vector<double> post_s, part_s;  ///< best scores [row and seed]

    AgainstPart(const std::vector<PostCase>& rows, std::string_view part) {
        for (const PostCase& row : rows) {
            const auto others_s = row.scores_s(part);
            for (const auto& [seed, score_s] : row.scores_s(kPost)) {
                const auto other = others_s.find(seed);
                if (other == others_s.end()) continue;
                post_s.push_back(score_s);
                part_s.push_back(other->second);
            }
        }
    }
    SignTest test() const { return sign_test(post_s, part_s); }
    /// Geometric mean of Post's step times relative to the part's.
    double ratio() const {
        double sum = 0;
        for (std::size_t i = 0; i < post_s.size(); ++i) sum += std::log(post_s[i] / part_s[i]);
        return std::exp(sum / static_cast<double>(post_s.size()));
    }
};

/// The paper claims all rows. Of medians of five searches, whose spread is as large as what separates Post
/// from cross-entropy, one row may differ.
Finding finding_by_medians(const std::vector<PostCase>& rows) {
    Finding finding{kAllRows,
                    "Post is at least as good as policy gradient, proximal policy optimization and "
                    "cross-entropy alone, by the medians of all rows but one at most."};
    std::size_t ran = 0, good = 0;
    std::string others;
    for (const PostCase& row : rows) {
        const auto post_s = row.score_s(kPost);
        if (!post_s ||
            !std::ranges::all_of(kParts, [&](auto part) { return row.score_s(part).has_value(); })) {
            ++finding.missing;
            continue;
        }
        ++ran;
        const auto best = std::ranges::min(kParts, {}, [&](auto part) { return *row.score_s(part); });
        if (*post_s <= kSame * *row.score_s(best)) {
            ++good;
        } else {
            others += (others.empty() ? "; not " : ", ") + row.name() + " (" + std::string(best) + ' ' +
                      format_seconds(*row.score_s(best)) + ", post " + format_seconds(*post_s) + ')';
        }
    }
    if (ran == 0) return finding;
    finding.verdict = good + 1 >= ran ? Verdict::holds : Verdict::differs;
    finding.data = std::to_string(good) + " of " + std::to_string(ran) + " rows" + others;
    return finding;
}

Finding finding_by_pairs(const std::vector<PostCase>& rows) {
    constexpr double kSignificant = 0.05;
    Finding finding{kAllRows,
                    "Post finds faster placements than policy gradient, proximal policy optimization and "
                    "cross-entropy alone (sign test of all pairs of searches with the same seed, p below "
                    "0.05)."};
    bool all_decided = true;
    for (const std::string_view part : kParts) {
        const AgainstPart pairs(rows, part);
        if (pairs.post_s.empty()) return {finding.where, finding.claim};
        const SignTest test = pairs.test();
        const bool is_decided = test.p < kSignificant;
        finding.add(true, test.less > test.greater || !is_decided,
                    std::string(part) + ": faster in " + std::to_string(test.less) + " of " +
                        std::to_string(pairs.post_s.size()) + " pairs, p " + p_text(test.p));
        all_decided = all_decided && is_decided;
    }
    if (finding.verdict == Verdict::holds && !all_decided) finding.verdict = Verdict::undecided;
    for (const PostCase& row : rows) finding.missing += !row.has_run();
    return finding;
}

std::vector<Finding> findings(const std::vector<ExperimentCase>& cases) {
    static constexpr std::array<const char*, 4> kNames{"ResNet", "Inception-V3", "RNNLM", "NMT"};
    const std::vector<PostCase> rows = post_cases(cases);
    std::vector<Finding> all{finding_by_medians(rows), finding_by_pairs(rows)};
    for (const Claim& claim : claims()) {
        for (const Kind kind : claim.kinds) {
            Finding finding{kNames[static_cast<std::size_t>(kind)], std::string(claim.text)};
            for (const PostCase& row : rows) {
                if (row.row().kind != kind) continue;
                const bool ran = std::ranges::all_of(
                    claim.algorithms, [&](auto algorithm) { return row.score_s(algorithm).has_value(); });
                std::string figures = row.name() + ": ";
                for (const std::string_view algorithm : claim.algorithms)
                    figures += std::string(algorithm) + ' ' +
                               time_text(row.score_s(algorithm), MemoryPenalty().out_of_memory_s) + ", ";
                figures += "one GPU " + (row.one_gpu_s() ? format_seconds(*row.one_gpu_s()) : "does not fit");
                finding.add(ran, ran && claim.holds(row), figures);
            }
            all.push_back(std::move(finding));
        }
    }
    return all;
}

std::string reduction_text(std::optional<double> from_s, std::optional<double> to_s) {
    if (!from_s || !to_s) return "-";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %%", 100 * (1 - *to_s / *from_s));
    return text.data();
}

std::string change_text(double ratio) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%+.1f %%", 100 * (ratio - 1));
    return text.data();
}

std::vector<ReportTable> tables(const std::vector<ExperimentCase>& cases) {
    const double out_of_memory_s = MemoryPenalty().out_of_memory_s;
    ReportTable best{"Table 1: step time of the best placements (medians)", {{"network, GPUs"}}};
    ReportTable paper{
        "Table 1 in the paper",
        {{"network, GPUs", "single-device", "expert", "metis", "policy-gradient", "post", "reduction"}}};
    ReportTable means{
        "Figure 2: mean step time of the sampled placements in the first tenth, around the middle and in the "
        "last tenth of a search (medians)",
        {{"network, GPUs"}}};
    ReportTable parts{"Post against each of its parts: searches with the same seed, over all rows",
                      {{"part", "pairs", "post faster", "part faster", "mean step time", "p (sign test)"}}};
    const std::vector<PostCase> views = post_cases(cases);
    for (const std::string_view part : kParts) {
        const AgainstPart pairs(views, part);
        if (pairs.post_s.empty()) continue;
        const SignTest test = pairs.test();
        parts.rows.push_back({std::string(part), std::to_string(pairs.post_s.size()),
                              std::to_string(test.less), std::to_string(test.greater),
                              change_text(pairs.ratio()), p_text(test.p)});
    }
    for (const std::string_view column : kColumns) best.rows.front().emplace_back(column);
    best.rows.front().emplace_back("reduction");
    static constexpr std::array kLearning{kGradient, kProximal, kCrossEntropy, kPost};
    for (const std::string_view column : kLearning) means.rows.front().emplace_back(column);

    for (const PostCase& view : views) {
        const PaperRow& row = view.row();
        const std::string name = std::string(row.network) + ", " + std::to_string(row.gpus);
        const auto in_paper = [&](double seconds) {
            return seconds > 0 ? format_seconds(seconds) : std::string("OOM");
        };
        paper.rows.push_back({name, in_paper(row.single_s), in_paper(row.expert_s), in_paper(row.metis_s),
                              in_paper(row.gradient_s), in_paper(row.post_s),
                              reduction_text(row.gradient_s, row.post_s)});
        if (!view.has_run()) continue;
        best.rows.push_back({name});
        for (const std::string_view column : kColumns)
            best.rows.back().push_back(time_text(view.score_s(column), out_of_memory_s));
        best.rows.back().push_back(reduction_text(view.score_s(kGradient), view.score_s(kPost)));
        means.rows.push_back({name});
        for (const std::string_view column : kLearning) {
            std::string text;
            for (const auto& [begin, end] : {std::pair(0.0, 0.1), std::pair(0.45, 0.55), std::pair(0.9, 1.0)})
                text +=
                    (text.empty() ? "" : ", ") + time_text(view.mean_s(column, begin, end), out_of_memory_s);
            means.rows.back().push_back(text);
        }
    }
    std::vector<ReportTable> all{best};
    if (parts.rows.size() > 1) all.push_back(std::move(parts));
    all.push_back(std::move(paper));
    all.push_back(std::move(means));
    return all;
}

}  // namespace

const Experiment& post_experiment() {
    static const Experiment experiment{
        "post",
        "Post: cross-entropy minimization and proximal policy optimization",
        "Figure 2 and table 1 of Post: its algorithm and components on eight networks.",
        "the paper",
        "Batch size 32 (recurrent networks: 64); K80s of 11 GB, whose efficiency (0.43) gives ResNet-50 on "
        "one GPU the paper's time; PCIe 3 with efficiency 0.25, through host memory; roofline times; SGD "
        "with "
        "momentum; a placement that does not fit scores 100 s (`--memory-rule post`).",
        {"network", "GPUs"},
        {"rnnlm4", "resnet50", "resnet101", "resnet200", "inception_v3", "nmt2", "nmt4", "nmt8"},
        2'400,
        cases,
        findings,
        tables};
    return experiment;
}

}  // namespace placewright
