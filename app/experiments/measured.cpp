// SPDX-License-Identifier: MIT
#include "app/experiments/measured.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "app/experiments/measured_run.hpp"
#include "app/experiments/scatter_plot.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

struct SuiteInfo {
    std::string_view id, title, folder;
    void (*run)(const SuiteRun& run);
};

constexpr std::array<SuiteInfo, 9> kSuites{{
    {"neusight-e2e", "Steps of BERT, GPT-2 and GPT-3 in float32", "neusight", neusight_steps},
    {"neusight-ops", "Forward ops of the same", "neusight", neusight_ops},
    {"timm", "Training of image classifiers on an RTX 3090, autocast, per image", "timm", timm},
    {"torchgpipe", "Pipelines on 2 and 4 P40", "torchgpipe", torchgpipe},
    {"vtrain", "Pipelines of GPT on 2 and 4 A100", "vtrain", vtrain},
    {"tf2017", "Training of image classifiers on a K80, TensorFlow 1", "tf2017", tensorflow_2017},
    {"tutorial", "ResNet-50 split over two GPUs, relative to one", "tutorial", pipeline_tutorial},
    {"kineto", "Kernels of ResNet-50 on a V100, by kind", "kineto", kineto},
    {"baechi", "Inception-V3 placed on four RTX 2080, relative to one", "baechi", baechi},
}};

/// A network or machine that cannot be built from the numbers in a file is an error of the file.
void run_suite(MeasuredSuite& suite, const Path& folder, const std::stop_token& stop,
               const std::function<void(const std::string&)>& progress) {
    std::string latest;
    const std::function<void(const std::string&)> note = [&](const std::string& text) {
        latest = text;
        if (progress) progress(text);
    };
    const auto fail = [&](const std::exception& error) {
        throw InputError(folder.string(), printable(latest, 200), error.what());
    };
    try {
        std::ranges::find(kSuites, suite.id, &SuiteInfo::id)->run({folder, stop, note, suite});
    } catch (const std::invalid_argument& error) {
        fail(error);
    } catch (const std::length_error& error) {
        fail(error);
    } catch (const GraphError& error) {
        fail(error);
    } catch (const MachineError& error) {
        fail(error);
    } catch (const PlacementError& error) {
        fail(error);
    }
}

double error_of(const MeasuredPoint& point) {
    return point.simulated_s / point.measured_s - 1;
}

std::string share_text(double share) {
    const double percent = 100 * share;
    // A rounded 0 has no sign.
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %%", std::abs(percent) < 0.05 ? 0.0 : percent);
    return text.data();
}

std::string figure(const std::optional<double>& value, const char* format) {
    if (!value) return "-";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), format, *value);
    return text.data();
}

std::vector<std::string> figure_cells(const MeasuredFigures& figures) {
    std::vector<std::string> cells{std::to_string(figures.cases)};
    if (figures.cases == 0) {
        cells.insert(cells.end(), 4, "-");
    } else {
        for (const double share : {figures.median_error, figures.largest_error, figures.mean_error})
            cells.push_back(share_text(share));
        cells.push_back(figures.weighted_error ? share_text(*figures.weighted_error) : "-");
    }
    cells.push_back(figure(figures.spearman, "%.3f"));
    cells.push_back(figures.with_interval == 0 ? "-"
                                               : std::to_string(figures.in_interval) + " of " +
                                                     std::to_string(figures.with_interval));
    cells.push_back(std::to_string(figures.refused));
    return cells;
}

std::vector<std::string> header_row(std::string first) {
    return {std::move(first), "cases",    "median",      "largest",  "signed",
            "weighted",       "Spearman", "in interval", "too large"};
}

std::vector<std::string> table_row(std::string first, std::span<const MeasuredPoint> points) {
    std::vector<std::string> row{std::move(first)};
    for (std::string& cell : figure_cells(measured_figures(points))) row.push_back(std::move(cell));
    return row;
}

/// A row for each group, in the order of the points; empty for a single group.
std::vector<std::vector<std::string>> group_rows(const MeasuredSuite& suite) {
    std::vector<std::pair<std::string, std::vector<MeasuredPoint>>> groups;
    for (const MeasuredPoint& point : suite.points) {
        auto group = std::ranges::find(groups, point.group, &decltype(groups)::value_type::first);
        if (group == groups.end()) group = groups.insert(groups.end(), {point.group, {}});
        group->second.push_back(point);
    }
    std::vector<std::vector<std::string>> rows;
    if (groups.size() < 2) return rows;
    rows.push_back(header_row("group"));
    for (const auto& [name, points] : groups) rows.push_back(table_row(name, points));
    return rows;
}

}  // namespace

MeasuredFigures measured_figures(std::span<const MeasuredPoint> points) {
    MeasuredFigures figures;
    std::vector<double> errors, measured, simulated;
    double sum = 0, weights = 0, weighted = 0;
    for (const MeasuredPoint& point : points) {
        if (!point.fits) ++figures.refused;
        if (!point.counted) continue;
        if (point.weight > 0) {
            weights += point.weight;
            weighted += point.weight * std::abs(error_of(point));
        }
        if (point.interval) {
            ++figures.with_interval;
            if (point.interval->low_s <= point.measured_s && point.measured_s <= point.interval->high_s)
                ++figures.in_interval;
        }
        // A kind that takes no time here is not compared alone.
        if (point.too_short || point.simulated_s == 0) continue;
        errors.push_back(std::abs(error_of(point)));
        sum += error_of(point);
        measured.push_back(point.measured_s);
        simulated.push_back(point.simulated_s);
    }
    figures.cases = errors.size();
    if (weights > 0) figures.weighted_error = weighted / weights;
    if (errors.empty()) return figures;
    figures.median_error = median(errors);
    figures.largest_error = std::ranges::max(errors);
    figures.mean_error = sum / static_cast<double>(errors.size());
    figures.spearman = spearman(simulated, measured);
    return figures;
}

std::vector<std::string> measured_suite_ids() {
    std::vector<std::string> ids;
    for (const SuiteInfo& suite : kSuites) ids.emplace_back(suite.id);
    return ids;
}

std::vector<MeasuredSuite> run_measured(const Path& data, std::span<const std::string> ids,
                                        const std::stop_token& stop,
                                        const std::function<void(const std::string&)>& progress) {
    std::vector<MeasuredSuite> suites;
    bool any = false;
    for (const SuiteInfo& info : kSuites) {
        if (!ids.empty() && std::ranges::find(ids, info.id) == ids.end()) continue;
        suites.push_back({info.id, info.title, info.folder});
        suites.back().found = std::filesystem::is_directory(data / info.folder);
        any = any || suites.back().found;
    }
    if (!any) {
        std::string folders;
        for (const MeasuredSuite& suite : suites) {
            if (folders.find(suite.folder) == std::string::npos)
                folders += (folders.empty() ? "" : ", ") + std::string(suite.folder);
        }
        throw InputError(data.string(), "",
                         "has no measurements; expected a folder with one of the folders " + folders);
    }
    for (MeasuredSuite& suite : suites) {
        if (suite.found && !stop.stop_requested()) run_suite(suite, data / suite.folder, stop, progress);
    }
    return suites;
}

std::vector<ReportTable> measured_tables(std::span<const MeasuredSuite> suites) {
    std::vector<ReportTable> tables{{"All suites", {header_row("suite")}}};
    for (const MeasuredSuite& suite : suites) {
        if (suite.points.empty()) continue;
        tables.front().rows.push_back(table_row(std::string(suite.id), suite.points));
        if (auto rows = group_rows(suite); !rows.empty())
            tables.push_back({std::string(suite.id) + ": " + std::string(suite.title), std::move(rows)});
    }
    return tables;
}

std::string measured_csv(std::span<const MeasuredSuite> suites) {
    std::string text = "suite,case,device,measured_s,simulated_s,low_s,high_s,counted,calibration\n";
    const auto number = [](double value) {
        std::array<char, 32> digits{};
        std::snprintf(digits.data(), digits.size(), "%.9g", value);
        return std::string(digits.data());
    };
    for (const MeasuredSuite& suite : suites) {
        for (const MeasuredPoint& point : suite.points) {
            text += std::string(suite.id) + ',' + csv_field(point.name) + ',' + csv_field(point.device) +
                    ',' + number(point.measured_s) + ',' + number(point.simulated_s) + ',' +
                    (point.interval ? number(point.interval->low_s) : "") + ',' +
                    (point.interval ? number(point.interval->high_s) : "") + ',' +
                    (point.counted ? '1' : '0') + ',' + number(point.calibration) + '\n';
        }
    }
    return text;
}

std::string measured_svg(std::span<const MeasuredSuite> suites) {
    ScatterPlot plot{"Measured time (s)", "Simulated time (s)"};
    plot.band = 0.25;
    constexpr std::size_t kMany = 200;  // points of ops, which would hide those of steps
    for (const MeasuredSuite& suite : suites) {
        ScatterSeries series{std::string(suite.id)};
        series.small = suite.points.size() > kMany;
        for (const MeasuredPoint& point : suite.points) {
            if (!point.too_short && point.measured_s > 0 && point.simulated_s > 0)
                series.points.push_back({point.measured_s, point.simulated_s, point.counted});
        }
        if (!series.points.empty()) plot.series.push_back(std::move(series));
    }
    return to_svg(plot);
}

}  // namespace placewright
