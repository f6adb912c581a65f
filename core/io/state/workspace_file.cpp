// SPDX-License-Identifier: MIT
#include "core/io/state/workspace_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/infinity.hpp"
#include "core/base/text.hpp"
#include "core/io/shipped.hpp"
#include "core/io/state/workspace_parts.hpp"
#include "core/io/state/workspace_values.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/option_json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWorkspaceFormat = "placewright.workspace";
// 2: factors on machines, measured runs, what was learned.
constexpr std::int64_t kWorkspaceVersion = 2;
constexpr std::size_t kMostParts = 1000;  // runs, scenarios, kept placements, measured runs
constexpr std::array kStates{"running", "finished", "cancelled", "failed"};

// --- values ---

Json score_json(const Score& score) {
    return Json::array({number_json(score.penalised_s), number_json(score.value_s), score.fits});
}

Score score_from(const JsonValue& value) {
    if (value.size() != 3) value.fail("is not a score: expected [seconds, seconds, true or false]");
    return {number_from(value.at(0)), number_from(value.at(1)), value.at(2).truth()};
}

/// A member that may be missing, which means false.
bool truth_of(const JsonValue& value, const char* name) {
    const auto found = value.find(name);
    return found && found->truth();
}

std::size_t index_from(const JsonValue& value, std::size_t count) {
    return static_cast<std::size_t>(value.whole(0, static_cast<std::int64_t>(count) - 1));
}

/// A list of at most `most` values.
template <class Use>
void each_of(const JsonValue& value, std::size_t most, Use use) {
    if (value.size() > most) value.fail("has more than " + std::to_string(most) + " values");
    value.for_each_item(use);
}

OptionValues options_from(const JsonValue& value) {
    OptionValues options;
    value.for_each_member(
        [&](const std::string& name, const JsonValue& option) { options[name] = option_from(option); });
    return options;
}

// --- names of files ---

bool is_file(const std::string& text) {
    std::error_code error;
    return fs::path(text).has_parent_path() || fs::exists(text, error);
}

std::string relative_file(const std::string& file, const Path& folder) {
    std::error_code error;
    return fs::absolute(file, error).lexically_normal().lexically_relative(folder).generic_string();
}

std::string absolute_file(const JsonValue& value, const Path& folder) {
    const std::string file = value.text();
    if (file.empty()) value.fail("is empty");
    return (folder / fs::path(file)).lexically_normal().string();
}

/// A file as a path relative to the workspace; the name of a shipped file, or the parts of a machine, as they
/// are.
Json source_json(const std::string& text, const Path& folder) {
    if (!is_file(text)) return {{"name", text}};
    std::error_code error;
    const fs::path file = fs::absolute(text, error).lexically_normal();
    const fs::path shipped = fs::absolute(models_folder(), error).lexically_normal();
    const std::string inside = file.lexically_relative(shipped).string();
    if (!inside.empty() && !inside.starts_with("..")) {
        // The name of a language model is that of its folder, which may have dots.
        const bool is_folder = fs::is_directory(file, error);
        return {{"name", (is_folder ? file.filename() : file.stem()).string()}};
    }
    return {{"file", relative_file(text, folder)}};
}

std::string source_from(const JsonValue& value, const Path& folder) {
    if (const auto name = value.find("name")) {
        if (name->text().empty()) name->fail("is empty");
        return name->text();
    }
    return absolute_file(value.at("file"), folder);
}

Path folder_of(const Path& file) {
    std::error_code error;
    return fs::absolute(file, error).lexically_normal().parent_path();
}

/// Options with the values that are files made relative to a folder, or absolute again.
OptionValues with_files(OptionValues options, const Path& folder, bool relative) {
    for (auto& [name, value] : options) {
        auto* text = std::get_if<std::string>(&value);
        if (!name.starts_with("file.") || text == nullptr || text->empty()) continue;
        const fs::path file(*text);
        *text = relative ? fs::absolute(file).lexically_normal().lexically_relative(folder).generic_string()
                         : (folder / file).lexically_normal().string();
    }
    return options;
}

// --- runs ---

Json curve_json(const std::vector<CurvePoint>& curve) {
    Json points = Json::array();
    for (const CurvePoint& point : curve)
        points.push_back(Json::array({point.evaluations, number_json(point.seconds),
                                      number_json(point.best_s), number_json(point.mean_s), point.fits}));
    return points;
}

std::shared_ptr<const std::vector<CurvePoint>> curve_from(const JsonValue& value) {
    auto curve = std::make_shared<std::vector<CurvePoint>>();
    value.for_each_item([&](const JsonValue& point) {
        if (point.size() != 5)
            point.fail("is not a point: expected [evaluations, seconds, best, mean, true or false]");
        curve->push_back({static_cast<std::uint64_t>(point.at(0).whole(0, kMostWhole)),
                          number_from(point.at(1)), number_from(point.at(2)), number_from(point.at(3)),
                          point.at(4).truth()});
    });
    return curve;
}

Json archive_json(const ArchiveView& archive) {
    Json dimensions = Json::array(), elites = Json::array();
    for (const ArchiveView::Dimension& dimension : archive.dimensions)
        dimensions.push_back(
            {{"title", dimension.title}, {"size", dimension.size}, {"labels", dimension.labels}});
    for (const ArchiveView::Elite& elite : archive.elites)
        elites.push_back({{"cell", elite.cell},
                          {"score", score_json(elite.score)},
                          {"placement", placement_text(*elite.placement)}});
    return {{"dimensions", std::move(dimensions)}, {"elites", std::move(elites)}};
}

std::shared_ptr<const ArchiveView> archive_from(const JsonValue& value) {
    constexpr std::size_t kMostDimensions = 8, kMostCells = ArchiveView::kMostCells;
    auto archive = std::make_shared<ArchiveView>();
    std::size_t cells = 1;
    each_of(value.at("dimensions"), kMostDimensions, [&](const JsonValue& item) {
        ArchiveView::Dimension& dimension = archive->dimensions.emplace_back();
        dimension.title = item.at("title").text();
        dimension.size = static_cast<std::uint32_t>(item.at("size").whole(1, kMostCells));
        cells *= dimension.size;
        if (cells > kMostCells) item.fail("makes an archive of more than 10000000 cells");
        item.at("labels").for_each_item(
            [&](const JsonValue& label) { dimension.labels.push_back(label.text()); });
        if (!dimension.labels.empty() && dimension.labels.size() != dimension.size)
            item.at("labels").fail("must have one text for each cell");
    });
    if (archive->dimensions.empty()) value.at("dimensions").fail("is empty");
    value.at("elites").for_each_item([&](const JsonValue& item) {
        const auto cell = static_cast<std::uint32_t>(index_from(item.at("cell"), cells));
        if (!archive->elites.empty() && cell <= archive->elites.back().cell)
            item.at("cell").fail("is not greater than the one before");
        archive->elites.push_back({cell, score_from(item.at("score")),
                                   std::make_shared<const Placement>(placement_from(item.at("placement")))});
    });
    return archive;
}

Json samples_json(const std::vector<SamplePoint>& samples) {
    Json points = Json::array();
    for (const SamplePoint& point : samples)
        points.push_back(Json::array(
            {point.evaluations, number_json(point.seconds), number_json(point.value_s), point.fits}));
    return points;
}

std::shared_ptr<const std::vector<SamplePoint>> samples_from(const JsonValue& value) {
    auto samples = std::make_shared<std::vector<SamplePoint>>();
    value.for_each_item([&](const JsonValue& point) {
        if (point.size() != 4)
            point.fail("is not a sample: expected [number, seconds, value, true or false]");
        samples->push_back({static_cast<std::uint64_t>(point.at(0).whole(0, kMostWhole)),
                            number_from(point.at(1)), number_from(point.at(2)), point.at(3).truth()});
    });
    return samples;
}

Json sketch_json(const QuantileSketch& sketch) {
    std::string counts;
    for (const std::uint64_t count : sketch.counts()) {
        if (!counts.empty()) counts += ' ';
        append_number(counts, count);
    }
    return {{"first", sketch.first()}, {"counts", std::move(counts)}, {"unknown", sketch.unknown()}};
}

std::shared_ptr<const QuantileSketch> sketch_from(const JsonValue& value) {
    constexpr std::int64_t kMostBin = 1'000'000, kMostCount = std::int64_t{1} << 48;
    const JsonValue list = value.at("counts");
    const std::string whole = list.text();
    std::string_view text = whole;
    std::vector<std::uint64_t> counts;
    while (!text.empty()) {
        std::uint64_t count = 0;
        if (!next_number(text, count) || count > kMostCount || std::ssize(counts) == QuantileSketch::kMost)
            list.fail("is not a list of at most " + std::to_string(QuantileSketch::kMost) +
                      " numbers, such as \"3 0 1\"");
        counts.push_back(count);
    }
    return std::make_shared<const QuantileSketch>(
        value.at("first").whole(-kMostBin, kMostBin), std::move(counts),
        static_cast<std::uint64_t>(value.at("unknown").whole(0, kMostCount)));
}

Json scores_json(const std::vector<RecordedScore>& scores) {
    Json lines = Json::array();
    for (const auto& [key, score] : scores) {
        std::string line;
        append_number(line, key.first);
        for (const std::uint64_t part : {key.second}) append_number(line += ' ', part);
        for (const double part : {score.penalised_s, score.value_s}) append_number(line += ' ', part);
        line += score.fits ? " 1" : " 0";
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<RecordedScore> scores_from(const JsonValue& value) {
    std::vector<RecordedScore> scores;
    value.for_each_item([&](const JsonValue& item) {
        const std::string whole = item.text();
        std::string_view text = whole;
        RecordedScore& score = scores.emplace_back();
        int fits = 0;
        const bool right =
            next_number(text, score.placement.first) && next_number(text, score.placement.second) &&
            next_number(text, score.score.penalised_s) && next_number(text, score.score.value_s) &&
            next_number(text, fits) && text.empty() && (fits == 0 || fits == 1) &&
            std::isfinite(score.score.penalised_s) && std::isfinite(score.score.value_s);
        if (!right) item.fail("is not a score: expected \"KEY KEY SECONDS SECONDS FITS\"");
        score.score.fits = fits == 1;
    });
    return scores;
}

Json run_json(const Workspace::Run& run) {
    Json starts = Json::array();
    for (const Placement& start : run.search.starts) starts.push_back(placement_text(start));
    const SearchProgress& progress = run.progress;
    Json json = {
        {"id", run.id},
        {"scenario", run.scenario},
        {"algorithm", run.search.algorithm},
        {"options", options_json(run.search.options)},
        {"seed", std::to_string(run.search.seed)},
        {"limit_evaluations", run.search.evaluations ? Json(*run.search.evaluations) : Json(nullptr)},
        {"limit_s", number_json(run.seconds)},
        {"starts", std::move(starts)},
        {"state", kStates.at(static_cast<std::size_t>(run.state))},
        {"failure", run.failure},
        {"predicted", run.predicted},
        {"start_s", number_json(run.start_s)},
        {"evaluations", progress.evaluations},
        {"simulations", progress.simulations},
        {"elapsed_s", number_json(progress.elapsed_s)},
        {"lower_bound_s", number_json(progress.lower_bound_s)}};
    if (!run.name.empty()) json["name"] = run.name;
    if (run.hidden) json["hidden"] = true;
    if (run.exhausted) json["exhausted"] = true;
    if (!run.splitting.empty()) json["splitting"] = run.splitting;
    if (progress.best_placement) {
        json["best"] = score_json(progress.best);
        json["best_placement"] = placement_text(*progress.best_placement);
    }
    if (progress.curve) json["curve"] = curve_json(*progress.curve);
    if (!progress.means.empty()) json["means"] = means_json(progress.means);
    if (progress.samples) json["samples"] = samples_json(*progress.samples);
    if (run.sketch) json["sketch"] = sketch_json(*run.sketch);
    if (progress.archive) json["archive"] = archive_json(*progress.archive);
    if (progress.distribution) json["distribution"] = distribution_json(*progress.distribution);
    if (progress.training) json["training"] = training_json(*progress.training);
    json["scores"] = scores_json(run.scores);
    return json;
}

Workspace::Run run_from(const JsonValue& value, std::size_t scenarios) {
    Workspace::Run run;
    run.id = static_cast<int>(value.at("id").whole(1, 1'000'000'000));
    run.scenario = index_from(value.at("scenario"), scenarios);
    run.search.algorithm = value.at("algorithm").text();
    run.search.options = options_from(value.at("options"));
    const std::string seed = value.at("seed").text();
    std::string_view digits = seed;
    if (!next_number(digits, run.search.seed) || !digits.empty())
        value.at("seed").fail("is not a whole number");
    if (const JsonValue limit = value.at("limit_evaluations"); !limit.json().is_null())
        run.search.evaluations = static_cast<std::uint64_t>(limit.whole(1, kMostWhole));
    run.seconds = number_from(value.at("limit_s"));
    each_of(value.at("starts"), kMostParts,
            [&](const JsonValue& start) { run.search.starts.push_back(placement_from(start)); });
    const std::string state = value.at("state").text();
    const auto* const found = std::ranges::find(kStates, state);
    if (found == kStates.end())
        value.at("state").fail("is " + in_quotes(state) + ", which is no state of a run");
    run.state = static_cast<Workspace::Run::State>(found - kStates.begin());
    run.failure = value.at("failure").text();
    run.predicted = value.at("predicted").truth();
    run.start_s = number_from(value.at("start_s"));
    run.progress.evaluations = static_cast<std::uint64_t>(value.at("evaluations").whole(0, kMostWhole));
    run.progress.simulations = static_cast<std::uint64_t>(value.at("simulations").whole(0, kMostWhole));
    run.progress.elapsed_s = number_from(value.at("elapsed_s"));
    run.progress.lower_bound_s = number_from(value.at("lower_bound_s"));
    if (const auto best = value.find("best")) {
        run.progress.best = score_from(*best);
        run.progress.best_placement =
            std::make_shared<const Placement>(placement_from(value.at("best_placement")));
    }
    run.name = value.text_or("name", "");
    run.hidden = truth_of(value, "hidden");
    run.exhausted = truth_of(value, "exhausted");
    run.splitting = value.text_or("splitting", "");
    if (const auto curve = value.find("curve")) run.progress.curve = curve_from(*curve);
    if (const auto means = value.find("means")) run.progress.means = means_from(*means);
    if (const auto samples = value.find("samples")) run.progress.samples = samples_from(*samples);
    if (const auto sketch = value.find("sketch")) run.sketch = sketch_from(*sketch);
    if (const auto archive = value.find("archive")) run.progress.archive = archive_from(*archive);
    if (const auto distribution = value.find("distribution"))
        run.progress.distribution = distribution_from(*distribution);
    if (const auto training = value.find("training")) run.progress.training = training_from(*training);
    run.scores = scores_from(value.at("scores"));
    return run;
}

Json measured_best_json(const Workspace::MeasuredBest& best) {
    Json awaited = Json::array(), all = Json::array();
    for (const Score& score : best.awaited) awaited.push_back(score_json(score));
    for (const Workspace::MeasuredBest::Each& each : best.all) {
        all.push_back({{"placement", placement_text(each.placement)},
                       {"simulated", score_json(each.simulated)},
                       {"measured", score_json(each.measured)},
                       {"low_s", number_json(each.low_s)},
                       {"high_s", number_json(each.high_s)},
                       {"proposed", each.proposed}});
        if (!each.warning.empty()) all.back()["warning"] = each.warning;
        if (each.cores_for_accelerators) all.back()["cores_for_accelerators"] = true;
    }
    return {{"scenario", best.scenario},   {"run", best.run},       {"stopped", best.stopped},
            {"saved", best.saved},         {"wanted", best.wanted}, {"awaited", std::move(awaited)},
            {"placements", std::move(all)}};
}

Workspace::MeasuredBest measured_best_from(const JsonValue& value, std::size_t scenarios) {
    Workspace::MeasuredBest best;
    best.scenario = index_from(value.at("scenario"), scenarios);
    best.run = value.at("run").text();
    best.stopped = value.at("stopped").truth();
    best.saved = value.at("saved").truth();
    best.wanted = static_cast<std::uint64_t>(value.at("wanted").whole(0, kMostWhole));
    value.at("awaited").for_each_item(
        [&](const JsonValue& score) { best.awaited.push_back(score_from(score)); });
    value.at("placements").for_each_item([&](const JsonValue& item) {
        best.all.push_back({placement_from(item.at("placement")), score_from(item.at("simulated")),
                            score_from(item.at("measured")), number_from(item.at("low_s")),
                            number_from(item.at("high_s")), item.at("proposed").truth(),
                            item.text_or("warning", ""), item.find("cores_for_accelerators").has_value()});
    });
    return best;
}

}  // namespace

std::string workspace_text(const Workspace& workspace, const Path& file) {
    const Path folder = folder_of(file);
    Json scenarios = Json::array(), kept = Json::array(), runs = Json::array(), placement = Json::object();
    for (const Workspace::Scenario& scenario : workspace.scenarios) {
        Json json = {{"machine", source_json(scenario.machine, folder)}};
        if (!scenario.edited.empty()) json["edited"] = json_value(scenario.edited);
        if (!scenario.factors.is_none()) json["what_if"] = factors_json(scenario.factors);
        json["options"] = options_json(with_files(scenario.options, folder, true));
        json["fingerprint"] = scenario.fingerprint;
        if (!scenario.network_fingerprint.empty()) {
            json["network_fingerprint"] = scenario.network_fingerprint;
            json["machine_fingerprint"] = scenario.machine_fingerprint;
        }
        scenarios.push_back(std::move(json));
    }
    for (const auto& [op, device] : workspace.placement) append_member(placement, op, device);
    for (const Workspace::Kept& each : workspace.kept)
        kept.push_back({{"scenario", each.scenario},
                        {"placement", placement_text(each.placement)},
                        {"score_s", number_json(each.score_s)}});
    for (const Workspace::Run& run : workspace.runs) runs.push_back(run_json(run));
    Json root = {{"format", kWorkspaceFormat},
                 {"version", kWorkspaceVersion},
                 {"title", workspace.title},
                 {"closed_by_system", workspace.closed_by_system},
                 {"network", source_json(workspace.network, folder)},
                 {"scenarios", std::move(scenarios)},
                 {"placement", std::move(placement)},
                 {"shown_run", workspace.shown_run},
                 {"followed_run", workspace.followed_run},
                 {"kept", std::move(kept)},
                 {"runs", std::move(runs)},
                 {"selection", workspace.selection},
                 {"view", options_json(workspace.view)}};
    if (workspace.has_modules) root["closed_modules"] = workspace.closed_modules;
    if (workspace.pinned)
        root["pinned"] = {{"scenario", workspace.pinned->scenario},
                          {"placement", placement_text(workspace.pinned->placement)},
                          {"name", workspace.pinned->name}};
    if (!workspace.measured.empty()) {
        Json measured = Json::array();
        for (const Workspace::Measured& each : workspace.measured) {
            measured.push_back({{"name", each.name}, {"saved", each.saved}, {"scenario", each.scenario}});
            if (!each.file.empty()) measured.back()["trace"] = relative_file(each.file, folder);
            add_measured(measured.back(), each.run);
        }
        root["measured"] = std::move(measured);
        root["benchmarks"] = workspace.benchmarks;
    }
    if (workspace.measured_best) root["measured_best"] = measured_best_json(*workspace.measured_best);
    if (const auto& learned = workspace.learned) {
        root["learned"] = {{"policy", learned->policy}, {"planned_updates", learned->planned_updates}};
        if (!learned->file.empty()) root["learned"]["file"] = relative_file(learned->file, folder);
        root["learned"]["training"] = training_json(*learned->curve);
    }
    return file_text(root);
}

void write_workspace(const Workspace& workspace, const Path& file) {
    write_file(file, workspace_text(workspace, file));
}

Workspace read_workspace(const Path& file) {
    const JsonFile json(file);
    json.require_format(kWorkspaceFormat);
    const Json content = json.parse();
    const JsonValue root(json, content);
    if (const std::int64_t version = root.at("version").whole(); version > kWorkspaceVersion)
        root.at("version").fail("is " + std::to_string(version) +
                                ", of a newer Placewright; this one reads " + "up to version " +
                                std::to_string(kWorkspaceVersion) + ": open the file with the newer program");
    JsonFile::require_version(root, kWorkspaceVersion);
    const Path folder = folder_of(file);
    Workspace workspace;
    workspace.title = root.text_or("title", "");
    workspace.closed_by_system = truth_of(root, "closed_by_system");
    workspace.network = source_from(root.at("network"), folder);
    each_of(root.at("scenarios"), kMostParts, [&](const JsonValue& item) {
        const auto edited = item.find("edited");
        workspace.scenarios.push_back({source_from(item.at("machine"), folder),
                                       edited ? edited->json().dump() : std::string(),
                                       with_files(options_from(item.at("options")), folder, false),
                                       item.at("fingerprint").text(),
                                       {}});
        if (const auto factors = item.find("what_if"))
            workspace.scenarios.back().factors = factors_from(*factors);
        workspace.scenarios.back().network_fingerprint = item.text_or("network_fingerprint", "");
        workspace.scenarios.back().machine_fingerprint = item.text_or("machine_fingerprint", "");
    });
    if (workspace.scenarios.empty()) root.at("scenarios").fail("is empty");
    root.at("placement").for_each_member([&](const std::string& op, const JsonValue& device) {
        workspace.placement.emplace_back(op, device.text());
    });
    workspace.shown_run = static_cast<int>(root.at("shown_run").whole(0, 1'000'000'000));
    if (const auto followed = root.find("followed_run"))
        workspace.followed_run = static_cast<int>(followed->whole(0, 1'000'000'000));
    if (const auto pinned = root.find("pinned"))
        workspace.pinned = {index_from(pinned->at("scenario"), workspace.scenarios.size()),
                            placement_from(pinned->at("placement")), pinned->at("name").text()};
    each_of(root.at("kept"), kMostParts, [&](const JsonValue& item) {
        workspace.kept.push_back({index_from(item.at("scenario"), workspace.scenarios.size()),
                                  placement_from(item.at("placement")), number_from(item.at("score_s"))});
    });
    int last = 0;
    each_of(root.at("runs"), kMostParts, [&](const JsonValue& item) {
        workspace.runs.push_back(run_from(item, workspace.scenarios.size()));
        if (std::exchange(last, workspace.runs.back().id) >= workspace.runs.back().id)
            item.at("id").fail("is not greater than the one before");
    });
    root.at("selection").for_each_item([&](const JsonValue& op) {
        workspace.selection.push_back(op.text());
    });
    if (const auto closed = root.find("closed_modules")) {
        workspace.has_modules = true;
        closed->for_each_item(
            [&](const JsonValue& path) { workspace.closed_modules.push_back(path.text()); });
    }
    workspace.view = options_from(root.at("view"));
    if (const auto measured = root.find("measured")) {
        each_of(*measured, kMostParts, [&](const JsonValue& item) {
            Workspace::Measured& each = workspace.measured.emplace_back();
            each.name = item.at("name").text();
            each.saved = item.at("saved").truth();
            each.scenario = index_from(item.at("scenario"), workspace.scenarios.size());
            if (const auto trace = item.find("trace")) each.file = absolute_file(*trace, folder);
            each.run = measured_from(item);
        });
        workspace.benchmarks = static_cast<int>(root.at("benchmarks").whole(0, 1'000'000'000));
    }
    if (const auto best = root.find("measured_best"))
        workspace.measured_best = measured_best_from(*best, workspace.scenarios.size());
    if (const auto learned = root.find("learned")) {
        Workspace::Learned& found = workspace.learned.emplace(Workspace::Learned{});
        found.policy = learned->at("policy").text();
        found.planned_updates =
            static_cast<std::uint64_t>(learned->at("planned_updates").whole(0, kMostWhole));
        if (const auto policy = learned->find("file")) found.file = absolute_file(*policy, folder);
        found.curve = training_from(learned->at("training"));
    }
    return workspace;
}

WorkspaceHead workspace_head(const Path& file) {
    constexpr std::size_t kMostBytes = 4096;
    // The plain members are on one line, as file_text() begins.
    std::string begin(kMostBytes, '\0');
    std::ifstream stream = open_regular_file(file);
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(stream.gcount()));
    const std::size_t end = begin.find(",\n", 0);
    if (end == std::string::npos) return {};
    const Json plain = json_value(begin.substr(0, end) + '}');
    if (!plain.is_object() || plain.value("format", Json()) != kWorkspaceFormat) return {};
    const Json title = plain.value("title", Json());
    return {title.is_string() ? printable(title.get<std::string>()) : std::string(),
            plain.value("closed_by_system", Json()) == true};
}

bool is_workspace(const Path& file) {
    // As file_text() begins.
    const std::string begin = "{\n  \"format\": \"" + std::string(kWorkspaceFormat) + '"';
    std::string found(begin.size(), '\0');
    std::ifstream stream = open_regular_file(file);
    return file.extension() == kWorkspaceSuffix ||
           (stream.read(found.data(), static_cast<std::streamsize>(found.size())) && found == begin);
}

}  // namespace placewright
