// SPDX-License-Identifier: MIT
#include "core/io/state/workspace_values.hpp"

#include <cmath>

#include "core/base/infinity.hpp"

namespace placewright {

Json number_json(double value) {
    return std::isfinite(value) ? json_number(value) : Json(nullptr);
}

double number_from(const JsonValue& value) {
    return value.json().is_null() ? kInfinity : value.number();
}

std::string placement_text(const Placement& placement) {
    std::string text;
    for (const DeviceId device : placement) {
        if (!text.empty()) text += ' ';
        append_number(text, device);
    }
    return text;
}

Placement placement_from(const JsonValue& value) {
    const std::string whole = value.text();
    std::string_view text = whole;
    Placement placement;
    while (!text.empty()) {
        DeviceId device = 0;
        if (!next_number(text, device)) value.fail("is not a list of device numbers, such as \"0 0 1\"");
        placement.push_back(device);
    }
    return placement;
}

Json means_json(const std::vector<SeriesPoint>& means) {
    Json points = Json::array();
    for (const SeriesPoint& point : means)
        points.push_back(Json::array({point.evaluations, number_json(point.value)}));
    return points;
}

std::vector<SeriesPoint> means_from(const JsonValue& value) {
    std::vector<SeriesPoint> means;
    value.for_each_item([&](const JsonValue& point) {
        if (point.size() != 2) point.fail("is not a point: expected [evaluations, value]");
        means.push_back(
            {static_cast<std::uint64_t>(point.at(0).whole(0, kMostWhole)), number_from(point.at(1))});
    });
    return means;
}

}  // namespace placewright
