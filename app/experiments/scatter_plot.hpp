// SPDX-License-Identifier: MIT
// Scatter plots as SVG images, without Qt.
#pragma once

#include <string>
#include <vector>

namespace placewright {

struct ScatterPoint {
    double x = 0, y = 0;  ///< positive
    bool filled = true;
};

struct ScatterSeries {
    std::string name;
    std::vector<ScatterPoint> points{};
    bool small = false;  ///< small points behind all others
};

/// Values that should be equal, on two logarithmic axes of the same range.
struct ScatterPlot {
    std::string x_title, y_title;
    std::vector<ScatterSeries> series{};
    double band = 0;  ///< lines at y = (1 + band) x and y = (1 - band) x beside the diagonal; 0: none
};

/// An SVG document with its own background, dark where the reader's screen is. Each series has a colour and a
/// form of its points; points that are not filled are outlines. Without any point, axes from 1 to 10.
std::string to_svg(const ScatterPlot& plot);

}  // namespace placewright
