// SPDX-License-Identifier: MIT
#include "core/job/learning_curve.hpp"

#include <array>

#include "core/search/options.hpp"

namespace placewright {

std::span<const CurveColumn> curve_columns() {
    static constexpr std::array columns{
        CurveColumn{"cost", &TrainingPoint::cost},
        CurveColumn{"cost_spread", &TrainingPoint::cost_spread},
        CurveColumn{"best_cost", &TrainingPoint::best_cost},
        CurveColumn{"entropy", &TrainingPoint::entropy},
        CurveColumn{"divergence", &TrainingPoint::divergence},
        CurveColumn{"learning_rate", &TrainingPoint::learning_rate},
        CurveColumn{"entropy_weight", &TrainingPoint::entropy_weight},
    };
    return columns;
}

std::string curve_header() {
    std::string text = "updates,evaluations";
    for (const CurveColumn& column : curve_columns()) text += std::string(",") + column.name;
    return text;
}

std::string curve_line(const TrainingPoint& point) {
    std::string text = std::to_string(point.updates) + ',' + std::to_string(point.evaluations);
    for (const CurveColumn& column : curve_columns())
        text += ',' + to_string(OptionValue(point.*column.value));
    return text;
}

}  // namespace placewright
