// SPDX-License-Identifier: MIT
#include "app/window/compare/experiment_results.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <QObject>

#include "core/base/path.hpp"
#include "core/io/text/csv_table.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/learning_curve.hpp"
#include "core/search/evaluator.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// The non-empty fields before column `before`, joined by commas.
QString labels(const CsvTable& table, std::size_t before) {
    QString all;
    for (std::size_t i = 0; i < before; ++i) {
        if (!table[i].empty())
            all += (all.isEmpty() ? QString() : QStringLiteral(", ")) + toQString(table[i]);
    }
    return all;
}

/// Returns the item with this title, which is added if there is none.
template <class Item>
Item& titled(std::vector<Item>& items, const QString& title) {
    const auto found = std::ranges::find(items, title, &Item::title);
    if (found != items.end()) return *found;
    items.emplace_back().title = title;
    return items.back();
}

std::vector<ExperimentResults::Distribution> read_values(const Path& file) {
    std::vector<ExperimentResults::Distribution> all;
    CsvTable table(file);
    const std::size_t family = table.column("family"), scheme = table.column("scheme"),
                      graph = table.column("graph"), step_time = table.column("step_time_s"),
                      one_device = table.column("one_device_s"), fits = table.column("fits");
    while (table.next()) {
        CdfData& data = titled(all, toQString(table[family])).data;
        const QString name = toQString(table[graph]);
        auto of = std::ranges::find(data.graphs, name, &CdfGraph::name);
        if (of == data.graphs.end())
            of = data.graphs.insert(of, {name, table[one_device].empty() ? 0 : table.number(one_device)});
        titled(data.schemes, toQString(table[scheme]))
            .values.push_back({static_cast<std::size_t>(of - data.graphs.begin()), table.number(step_time),
                               table[fits] == "true"});
    }
    return all;
}

/// Replaces the runs of an algorithm by their median where there are too many to tell apart.
void thin_out(std::vector<CurveSeries>& series) {
    constexpr std::size_t kMost = 5;
    std::vector<CurveSeries> kept;
    for (auto begin = series.begin(); begin != series.end();) {
        const auto end = std::find_if(begin, series.end(), [&](const CurveSeries& item) {
            return item.style.algorithm != begin->style.algorithm;
        });
        if (const auto count = static_cast<std::size_t>(end - begin); count > kMost) {
            const auto median = begin + (end - begin) / 2;
            std::nth_element(begin, median, end, [](const CurveSeries& a, const CurveSeries& b) {
                return std::pair(a.points->back().best_s, a.title) <
                       std::pair(b.points->back().best_s, b.title);
            });
            median->title += QObject::tr(" (median of %L1)").arg(count);
            kept.push_back(*median);
        } else {
            kept.insert(kept.end(), begin, end);
        }
        begin = end;
    }
    series = std::move(kept);
}

/// Reads curves.csv: learning curves if it has a column "updates", else search curves. Rows with the same
/// labels must follow each other.
void read_curves(const Path& file, ExperimentResults& results) {
    CsvTable table(file);
    if (table.has("updates")) {
        const std::size_t updates = table.column("updates"), evaluations = table.column("evaluations");
        std::vector<std::size_t> columns;
        for (const CurveColumn& column : curve_columns()) columns.push_back(table.column(column.name));
        std::shared_ptr<std::vector<TrainingPoint>> curve;
        while (table.next()) {
            const QString title = labels(table, updates);
            if (!curve || title != results.trainings.back().title) {
                curve = std::make_shared<std::vector<TrainingPoint>>();
                results.trainings.push_back({title, curve});
            }
            TrainingPoint& point = curve->emplace_back();
            point.updates = table.whole(updates);
            point.evaluations = table.whole(evaluations);
            for (std::size_t i = 0; i < columns.size(); ++i)
                point.*curve_columns()[i].value = table.number(columns[i]);
        }
        return;
    }
    const std::size_t algorithm = table.column("algorithm"), seed = table.column("seed"),
                      evaluations = table.column("evaluations"), seconds = table.column("seconds"),
                      best = table.column("best_s"), mean = table.column("mean_s");
    std::shared_ptr<std::vector<CurvePoint>> points;
    while (table.next()) {
        auto& series = titled(results.cases, labels(table, algorithm)).series;
        const QString title = toQString(table[algorithm]) + QStringLiteral(" · ") + toQString(table[seed]);
        if (series.empty() || series.back().title != title) {
            const auto nth = std::ranges::count(series, table[algorithm],
                                                [](const CurveSeries& one) { return one.style.algorithm; });
            points = std::make_shared<std::vector<CurvePoint>>();
            series.push_back({{table[algorithm], static_cast<int>(nth)}, title, points, 0, 0, {}});
        }
        CurvePoint& point = points->emplace_back();
        point.evaluations = table.whole(evaluations);
        point.seconds = table.number(seconds);
        // The field is empty where the objective is not defined.
        point.fits = !table[best].empty();
        point.best_s = point.fits ? table.number(best) : kUndefinedScore.penalised_s;
        if (!table[mean].empty()) point.mean_s = table.number(mean);
        series.back().evaluations = static_cast<double>(point.evaluations);
        series.back().seconds = table.number(seconds);
    }
    for (ExperimentResults::Case& item : results.cases) {
        // An algorithm that scores so few placements constructs them and would construct no others.
        constexpr double kBuilt = 0.05;
        double most = 0;
        for (const CurveSeries& one : item.series) most = std::max(most, one.evaluations);
        for (CurveSeries& one : item.series) one.ended = one.evaluations <= kBuilt * most;
        thin_out(item.series);
    }
}

}  // namespace

ExperimentResults read_experiment(const Path& folder) {
    ExperimentResults results;
    if (std::error_code error; !std::filesystem::is_directory(folder, error))
        throw InputError(folder.string(), "", "is not a folder");
    const std::vector<Path> reports = files_in(folder, ".md");
    if (reports.empty())
        throw InputError(
            folder.string(), "",
            "contains no results; placewright-cli experiment NAME --out FOLDER writes NAME.md and tables");
    std::ifstream report = open_regular_file(reports.front());
    std::ostringstream content;
    content << report.rdbuf();
    results.name = toQString(reports.front().stem().string());
    results.report = toQString(content.str());
    if (const Path file = folder / "values.csv"; std::filesystem::exists(file))
        results.distributions = read_values(file);
    if (const Path file = folder / "curves.csv"; std::filesystem::exists(file)) read_curves(file, results);
    return results;
}

}  // namespace placewright
