// SPDX-License-Identifier: MIT
#include "core/job/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/units.hpp"
#include "core/sim/explain.hpp"

namespace placewright {
namespace {

constexpr std::size_t kSegments = 20;  ///< of the critical path
constexpr double kPictureWidth = 1000, kRowHeight = 18, kRowGap = 4, kNameWidth = 150;
constexpr double kThinnest = 0.5;  ///< spans that are closer become one rectangle

/// The colours of devices in the window (widgets/palette.cpp).
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --text: #1b1d20; --base: #ffffff; --muted: #63676d; --line: #d5d8dc; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e7e9; --base: #1b1d20; --muted: #a1a5ab; --line: #43474d; }
}
body { color: var(--text); background: var(--base); font: 15px/1.45 system-ui, sans-serif; margin: 2em auto;
       max-width: 66em; padding: 0 1em; }
table { border-collapse: collapse; margin: .5em 0 1em; }
th, td { text-align: left; padding: .15em 1em .15em 0; border-bottom: 1px solid var(--line);
         overflow-wrap: anywhere; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.key { font-size: 1.4em; } .muted { color: var(--muted); } .bad { color: #c2410c; font-weight: 600; }
svg, img { max-width: 100%; height: auto; } svg text { fill: var(--text); }
pre { overflow: auto; max-height: 40em; }
.c0 { fill: #0072b2 } .c1 { fill: #e69f00 } .c2 { fill: #009e73 } .c3 { fill: #cc79a7 } .c4 { fill: #56b4e9 }
.c5 { fill: #d55e00 } .c6 { fill: #f0e442 } .c7 { fill: #882255 } .cpu { fill: #8f7a66 } .channel { fill: #7f858f }
)";

std::string html_text(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                // Other control characters are not allowed in HTML.
                if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') escaped += c;
        }
    }
    return escaped;
}

std::string fixed(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

std::string percent_of(double part, double all) {
    return all > 0 ? std::to_string(std::lround(100 * part / all)) + "&#8239;%" : "–";
}

/// A table whose columns after the first `texts` hold numbers. Cells are HTML.
class HtmlTable {
public:
    HtmlTable(std::size_t texts, const std::vector<std::string>& titles) : texts_(texts) {
        add(titles, "th");
    }
    void add(const std::vector<std::string>& cells, const char* tag = "td") {
        rows_ += "<tr>";
        for (std::size_t i = 0; i < cells.size(); ++i) {
            rows_ +=
                std::string("<") + tag + (i >= texts_ ? " class=\"n\">" : ">") + cells[i] + "</" + tag + ">";
        }
        rows_ += "</tr>\n";
    }
    std::string html() const { return "<table>\n" + rows_ + "</table>\n"; }

private:
    std::size_t texts_;
    std::string rows_;
};

class Report {
public:
    Report(const Job& job, const Placement& placement, const ReportContext& context)
        : job_(job), placement_(placement), context_(context), problem_(*job.problem) {
        outcome_ = Simulator(job.problem, job.simulation).run(placement, trace_);
        path_ = critical_path(problem_, trace_);
        assessment_ = assess(job, placement, outcome_);
        about_ = context.about;
        about_.predicted =
            prediction(job, placement, outcome_,
                       context.bound && job.objective->is_step_time() ? context.bound->value_s : 0);
    }

    std::string html() const {
        const std::string title =
            html_text(problem_.graph->name()) + " on " + html_text(problem_.machine->name());
        std::string text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" +
                           title + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" + title +
                           "</h1>\n" + summary();
        if (!context_.graph.empty()) text += "<h2>Graph</h2>\n" + context_.graph + "\n";
        text += "<h2>Timeline</h2>\n" + timeline() + "<h2>Devices</h2>\n" + devices() +
                "<h2>Transfers</h2>\n" + transfers() + "<h2>Where the time goes</h2>\n" + why() +
                "<h2>Options</h2>\n" + options() + "<h2>Machine</h2>\n" + machine() +
                "<h2>Placement</h2>\n<details><summary>Placement as JSON, which "
                "Placewright opens</summary>\n<pre>" +
                html_text(placement_json(placement_, problem_, about_)) +
                "</pre></details>\n</body>\n</html>\n";
        return text;
    }

private:
    const std::string& device(DeviceId id) const { return problem_.machine->device(id).name; }
    const std::string& channel(std::size_t id) const { return problem_.machine->channels()[id].name; }
    std::string place(const Span& span) const {
        return html_text(span.kind == Span::Kind::op ? device(span.resource) : channel(span.resource));
    }

    std::string summary() const {
        std::string text = "<p class=\"key\">Step time " + format_seconds(outcome_.step_time_s);
        if (const auto& interval = about_.predicted->interval)
            text += " <span class=\"muted\">(" + format_seconds(interval->low_s) + " to " +
                    format_seconds(interval->high_s) + " with a probability of 80 %)</span>";
        text += "</p>\n";
        if (!assessment_.score.fits)
            text += "<p class=\"bad\">The placement does not fit the memory; see Devices.</p>\n";
        const double value_s = assessment_.score.value_s;
        if (!job_.objective->is_step_time() && assessment_.is_defined())
            text +=
                "<p>Objective " + html_text(job_.objective->id) + ": " + format_seconds(value_s) + "</p>\n";
        if (context_.bound && std::isfinite(context_.bound->value_s) && context_.bound->value_s > 0 &&
            assessment_.is_defined()) {
            text += "<p>No placement" + groups_text(job_) + " can be below " +
                    format_seconds(context_.bound->value_s);
            if (const std::string above = above_bound_text(job_, assessment_.score, *context_.bound);
                !above.empty())
                text += "; this one is " + above;
            text += ".</p>\n";
        }
        if (job_.single_device_s > 0 && assessment_.is_defined())
            text += "<p>Everything on " + html_text(single_device_text(job_)) + " takes " +
                    format_seconds(job_.single_device_s) +
                    (job_.single_device_fits ? "" : ", and does not fit") + ".</p>\n";
        if (const auto& made = about_.produced_by)
            text += "<p>Found by " + html_text(made->algorithm) + " with seed " + std::to_string(made->seed) +
                    " after " + std::to_string(made->evaluations) + " evaluations.</p>\n";
        return text;
    }

    std::string color(DeviceId id) const {
        std::size_t rank = 0;
        if (problem_.machine->device(id).kind == DeviceKind::cpu) return "cpu";
        for (DeviceId other = 0; other < id; ++other)
            rank += problem_.machine->device(other).kind != DeviceKind::cpu;
        return "c" + std::to_string(rank % 8);
    }

    /// Rows of devices, then of channels, that do anything.
    std::string timeline() const {
        const std::size_t rows = std::size_t{problem_.devices} + problem_.channels;
        std::vector<std::vector<std::pair<double, double>>> bars(rows);
        const double scale =
            outcome_.total_time_s > 0 ? (kPictureWidth - kNameWidth) / outcome_.total_time_s : 0;
        std::vector<const Span*> spans;
        for (const Span& span : trace_.spans) spans.push_back(&span);
        std::ranges::stable_sort(spans, {}, &Span::start_s);
        for (const Span* span : spans) {
            if (span->end_s <= span->start_s) continue;
            auto& row =
                bars[span->kind == Span::Kind::op ? span->resource : problem_.devices + span->resource];
            const double left = span->start_s * scale, right = span->end_s * scale;
            if (!row.empty() && left - row.back().second < kThinnest &&
                (right - left < kThinnest || row.back().second - row.back().first < 4)) {
                row.back().second = std::max(row.back().second, right);
            } else {
                row.emplace_back(left, right);
            }
        }
        std::string body;
        double top = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            if (bars[row].empty()) continue;
            const bool is_device = row < problem_.devices;
            const std::string& name =
                is_device ? device(static_cast<DeviceId>(row)) : channel(row - problem_.devices);
            body += "<text x=\"0\" y=\"" + fixed(top + 13) + "\" font-size=\"12\">" + html_text(name) +
                    "</text>\n<g class=\"" + (is_device ? color(static_cast<DeviceId>(row)) : "channel") +
                    "\">";
            for (const auto& [left, right] : bars[row])
                body += "<rect x=\"" + fixed(kNameWidth + left) + "\" y=\"" + fixed(top) + "\" width=\"" +
                        fixed(std::max(right - left - 0.3, 0.3)) + "\" height=\"" + fixed(kRowHeight) +
                        "\"/>";
            body += "</g>\n";
            top += kRowHeight + kRowGap;
        }
        body += "<text x=\"" + fixed(kNameWidth) + "\" y=\"" + fixed(top + 14) +
                "\" font-size=\"12\">0</text>" + "<text x=\"" + fixed(kPictureWidth) + "\" y=\"" +
                fixed(top + 14) + "\" font-size=\"12\" text-anchor=\"end\">" +
                format_seconds(outcome_.total_time_s) + "</text>\n";
        return "<svg viewBox=\"0 0 " + fixed(kPictureWidth) + " " + fixed(top + 20) +
               "\" role=\"img\" aria-label=\"Timeline\">\n" + body + "</svg>\n";
    }

    std::string devices() const {
        std::vector<std::size_t> ops(problem_.devices);
        for (OpId op = 0; op < problem_.ops; ++op) {
            if (problem_.graph->op(op).phase == Phase::forward)
                ++ops[placement_[problem_.grouping.group_of[op]]];
        }
        HtmlTable table(2, {"Device", "Model", "Ops", "Computes", "Share of time",
                            job_.objective->is_step_time() ? "Peak memory" : "Holds", "Limit"});
        for (DeviceId id = 0; id < problem_.devices; ++id) {
            const bool fits = assessment_.device_bytes[id] <= problem_.memory_limit_bytes[id];
            const std::string peak = format_bytes(assessment_.device_bytes[id]);
            table.add({html_text(device(id)), html_text(problem_.machine->device(id).model),
                       std::to_string(ops[id]), format_seconds(outcome_.device_busy_s[id]),
                       percent_of(outcome_.device_busy_s[id], outcome_.total_time_s),
                       fits ? peak : "<span class=\"bad\">" + peak + "</span>",
                       format_bytes(problem_.memory_limit_bytes[id])});
        }
        return table.html();
    }

    std::string transfers() const {
        HtmlTable table(1, {"Channel", "Transfers", "Bytes", "Busy", "Share of time"});
        bool any = false;
        for (std::size_t id = 0; id < problem_.channels; ++id) {
            if (outcome_.channel_transfers[id] == 0) continue;
            any = true;
            table.add({html_text(channel(id)), std::to_string(outcome_.channel_transfers[id]),
                       format_bytes(outcome_.channel_bytes[id]), format_seconds(outcome_.channel_busy_s[id]),
                       percent_of(outcome_.channel_busy_s[id], outcome_.total_time_s)});
        }
        return any ? table.html() : "<p>Nothing is sent between devices.</p>\n";
    }

    std::string why() const {
        HtmlTable sums(1, {"On the critical path", "Time", "Share"});
        const double all_s = path_.total_s();
        for (const auto& [name, seconds] : {std::pair{"ops compute", path_.compute_s},
                                            {"tensors cross channels", path_.transfer_s},
                                            {"waiting for busy devices and channels", path_.queue_s},
                                            {"the host issues ops", path_.host_s}}) {
            if (seconds > 0) sums.add({name, format_seconds(seconds), percent_of(seconds, all_s)});
        }
        std::vector<const PathSegment*> longest;
        for (const PathSegment& segment : path_.segments) longest.push_back(&segment);
        std::ranges::stable_sort(longest, std::greater<>(), &PathSegment::duration_s);
        longest.resize(std::min(longest.size(), kSegments));
        HtmlTable parts(3, {"Longest parts", "Op", "Where", "Begins", "Time", "Share"});
        for (const PathSegment* segment : longest) {
            const Span& span = trace_.spans[segment->span];
            parts.add({html_text(to_string(segment->kind)), html_text(problem_.graph->op(span.op).name),
                       place(span), format_seconds(segment->start_s), format_seconds(segment->duration_s()),
                       percent_of(segment->duration_s(), all_s)});
        }
        return sums.html() + parts.html();
    }

    std::string options() const {
        HtmlTable table(2, {"Option", "Value"});
        for (const auto& [name, value] : scoring_conditions(job_))
            table.add({html_text(name), html_text(value)});
        if (const auto& made = about_.produced_by) {
            for (const auto& [name, value] : made->options)
                table.add({html_text(made->algorithm + ": " + name), html_text(to_string(value))});
        }
        std::string text = table.html();
        for (const std::string& option : context_.options) text += "<p>" + html_text(option) + "</p>\n";
        return text;
    }

    std::string machine() const {
        HtmlTable devices(3, {"Device", "Kind", "Model", "Memory"});
        for (DeviceId id = 0; id < problem_.devices; ++id) {
            const Device& each = problem_.machine->device(id);
            devices.add({html_text(each.name), each.kind == DeviceKind::cpu ? "CPU" : "accelerator",
                         html_text(each.model), format_bytes(problem_.memory_limit_bytes[id])});
        }
        return devices.html();
    }

    const Job& job_;
    const Placement& placement_;
    const ReportContext& context_;
    const Problem& problem_;
    Trace trace_;
    Outcome outcome_;
    CriticalPath path_;
    Assessment assessment_;
    PlacementFile about_;
};

}  // namespace

std::string html_report(const Job& job, const Placement& placement, const ReportContext& context) {
    return Report(job, placement, context).html();
}

}  // namespace placewright
