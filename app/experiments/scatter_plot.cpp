// SPDX-License-Identifier: MIT
#include "app/experiments/scatter_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace placewright {
namespace {

constexpr double kSide = 560;  ///< of the square between the axes, in pixels
constexpr double kLeft = 72, kTop = 20, kBottom = 56, kLegend = 140;
constexpr double kRadius = 4, kSmallRadius = 2.2;

/// Colours that people with colour blindness tell apart (after Okabe, Ito, 2008), each seen on white and on
/// black; the second is the faintest.
constexpr std::array<std::string_view, 9> kColours{"#1f83c4", "#999999", "#009e73", "#d55e00", "#cc79a7",
                                                   "#56b4e9", "#e69f00", "#a07c40", "#8e66d6"};

std::string coordinate(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value);
    return text.data();
}

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text)
        result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return result;
}

/// A power of ten as the text of a tick.
std::string tick_text(int exponent) {
    constexpr int kPlain = 3;
    if (std::abs(exponent) <= kPlain) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%g", std::pow(10, exponent));
        return text.data();
    }
    static constexpr std::array<std::string_view, 10> kRaised{
        "\u2070", "\u00B9", "\u00B2", "\u00B3", "\u2074", "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    std::string text = exponent < 0 ? "10\u207B" : "10";
    for (const char digit : std::to_string(std::abs(exponent)))
        text += kRaised[static_cast<std::size_t>(digit - '0')];
    return text;
}

/// Draws one plot.
class Svg {
public:
    explicit Svg(const ScatterPlot& plot) : plot_(plot) { find_range(); }

    std::string draw() {
        const std::string width = coordinate(kLeft + kSide + kLegend),
                          height = coordinate(kTop + kSide + kBottom);
        text_ =
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
            "\" viewBox=\"0 0 " + width + ' ' + height +
            "\" font-family=\"sans-serif\" font-size=\"12\">\n"
            // Readers that know no media queries show the light one.
            "<style>@media (prefers-color-scheme: dark) { .paper { fill: #1b1d21 } .ink { fill: #e4e6ea } "
            ".line { stroke: #e4e6ea } .grid { stroke: #3a3e45 } }</style>\n"
            "<rect class=\"paper\" width=\"" +
            width + "\" height=\"" + height + "\" fill=\"#ffffff\"/>\n";
        draw_axes();
        draw_lines();
        for (const bool small : {true, false}) {
            for (std::size_t i = 0; i < plot_.series.size(); ++i) {
                if (plot_.series[i].small == small) draw_series(i);
            }
        }
        draw_legend();
        return text_ + "</svg>\n";
    }

private:
    void find_range() {
        double least = 0, most = 1;
        bool any = false;
        for (const ScatterSeries& series : plot_.series) {
            for (const ScatterPoint& point : series.points) {
                const double low = std::log10(std::min(point.x, point.y)),
                             high = std::log10(std::max(point.x, point.y));
                least = any ? std::min(least, low) : low;
                most = any ? std::max(most, high) : high;
                any = true;
            }
        }
        // A margin, so that no point touches an axis.
        constexpr double kMargin = 0.1;
        first_ = any ? least - kMargin : least;
        last_ = any ? most + kMargin : most;
    }

    double across(double log_value) const { return kLeft + kSide * (log_value - first_) / (last_ - first_); }
    double down(double log_value) const {
        return kTop + kSide * (1 - (log_value - first_) / (last_ - first_));
    }

    void line(double x1, double y1, double x2, double y2, std::string_view style) {
        text_ += "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" + coordinate(x2) +
                 "\" y2=\"" + coordinate(y2) + "\" " + std::string(style) + "/>\n";
    }

    void label(double x, double y, const std::string& text, std::string_view anchor,
               const std::string& more = {}) {
        text_ += "<text class=\"ink\" x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
                 "\" text-anchor=\"" + std::string(anchor) + "\" fill=\"#1b1d21\"" + more + '>' + text +
                 "</text>\n";
    }

    void draw_axes() {
        constexpr std::string_view kGrid = "class=\"grid\" stroke=\"#dfe2e6\"";
        for (int e = static_cast<int>(std::ceil(first_)); e <= static_cast<int>(std::floor(last_)); ++e) {
            line(across(e), kTop, across(e), kTop + kSide, kGrid);
            line(kLeft, down(e), kLeft + kSide, down(e), kGrid);
            label(across(e), kTop + kSide + 18, tick_text(e), "middle");
            label(kLeft - 8, down(e) + 4, tick_text(e), "end");
        }
        text_ += "<rect class=\"line\" x=\"" + coordinate(kLeft) + "\" y=\"" + coordinate(kTop) +
                 "\" width=\"" + coordinate(kSide) + "\" height=\"" + coordinate(kSide) +
                 "\" fill=\"none\" stroke=\"#1b1d21\"/>\n";
        label(kLeft + kSide / 2, kTop + kSide + 44, escaped(plot_.x_title), "middle");
        const std::string middle = coordinate(kTop + kSide / 2);
        label(18, kTop + kSide / 2, escaped(plot_.y_title), "middle",
              " transform=\"rotate(-90 18 " + middle + ")\"");
    }

    /// A line at y = factor x, between the axes.
    void draw_factor(double factor, std::string_view style) {
        const double shift = std::log10(factor);
        const double from = std::max(first_, first_ - shift), to = std::min(last_, last_ - shift);
        line(across(from), down(from + shift), across(to), down(to + shift), style);
    }

    void draw_lines() {
        draw_factor(1, kSolid);
        if (plot_.band == 0) return;
        draw_factor(1 + plot_.band, kDashed);
        draw_factor(1 - plot_.band, kDashed);
    }

    /// A mark of the series' form, `r` pixels large.
    void mark(std::size_t form, double x, double y, double r) {
        if (form % 4 == 0) {
            text_ += "<circle cx=\"" + coordinate(x) + "\" cy=\"" + coordinate(y) + "\" r=\"" +
                     coordinate(0.9 * r) + "\"/>\n";
            return;
        }
        using Corners = std::vector<std::pair<double, double>>;
        static const std::array<Corners, 3> kForms{Corners{{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}},
                                                   Corners{{-.8, -.8}, {.8, -.8}, {.8, .8}, {-.8, .8}},
                                                   Corners{{0, -1.2}, {1.2, 0}, {0, 1.2}, {-1.2, 0}}};
        std::string path = "M";
        for (const auto& [dx, dy] : kForms[form % 4 - 1])
            path += (path.size() > 1 ? "L" : "") + coordinate(x + r * dx) + ' ' + coordinate(y + r * dy);
        text_ += "<path d=\"" + path + "Z\"/>\n";
    }

    /// The beginning of a group of marks.
    void begin_marks(std::size_t series, bool filled) {
        const std::string colour(kColours[series % kColours.size()]);
        text_ += filled ? "<g fill=\"" + colour + "\" fill-opacity=\"0.85\">\n"
                        : "<g fill=\"none\" stroke=\"" + colour + "\">\n";
    }

    void draw_series(std::size_t index) {
        const ScatterSeries& series = plot_.series[index];
        for (const bool filled : {false, true}) {
            begin_marks(index, filled);
            for (const ScatterPoint& point : series.points) {
                if (point.filled == filled)
                    mark(index, across(std::log10(point.x)), down(std::log10(point.y)),
                         series.small ? kSmallRadius : kRadius);
            }
            text_ += "</g>\n";
        }
    }

    void draw_legend() {
        constexpr double kStep = 20;
        const double x = kLeft + kSide + 18;
        double y = kTop + 10;
        for (std::size_t i = 0; i < plot_.series.size(); ++i, y += kStep) {
            begin_marks(i, true);
            mark(i, x, y, kRadius);
            text_ += "</g>\n";
            label(x + 14, y + 4, escaped(plot_.series[i].name), "start");
        }
        y += kStep / 2;
        line(x - 8, y, x + 8, y, kSolid);
        label(x + 14, y + 4, "equal", "start");
        if (plot_.band == 0) return;
        y += kStep;
        line(x - 8, y, x + 8, y, kDashed);
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "\u00B1%g %%", 100 * plot_.band);
        label(x + 14, y + 4, text.data(), "start");
        const bool outlined = std::ranges::any_of(plot_.series, [](const ScatterSeries& series) {
            return std::ranges::find(series.points, false, &ScatterPoint::filled) != series.points.end();
        });
        if (!outlined) return;
        y += kStep;
        text_ += "<circle class=\"line\" cx=\"" + coordinate(x) + "\" cy=\"" + coordinate(y) + "\" r=\"" +
                 coordinate(0.9 * kRadius) + "\" fill=\"none\" stroke=\"#1b1d21\"/>\n";
        label(x + 14, y + 4, "not counted", "start");
    }

    static constexpr std::string_view kSolid = "class=\"line\" stroke=\"#1b1d21\"";
    static constexpr std::string_view kDashed =
        "class=\"line\" stroke=\"#1b1d21\" stroke-dasharray=\"5 4\" stroke-opacity=\"0.6\"";

    const ScatterPlot& plot_;
    double first_ = 0, last_ = 1;  ///< log10 of the ends of both axes
    std::string text_;
};

}  // namespace

std::string to_svg(const ScatterPlot& plot) {
    return Svg(plot).draw();
}

}  // namespace placewright
