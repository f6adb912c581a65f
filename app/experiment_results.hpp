// SPDX-License-Identifier: MIT
// What `placewright-cli experiment NAME --out FOLDER` has written, for plots.
#pragma once

#include <memory>
#include <vector>

#include <QString>

#include "core/io/files.hpp"
#include "core/search/optimizer.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"

namespace placewright {

struct ExperimentResults {
    QString name;    ///< of the experiment
    QString report;  ///< Markdown
    /// Of trained policies and what they are compared with: a family of networks, or a network, on which they were tried.
    struct Distribution {
        QString title;
        CdfData data;
    };
    std::vector<Distribution> distributions;
    struct Training {
        QString title;
        std::shared_ptr<const std::vector<TrainingPoint>> curve;
    };
    std::vector<Training> trainings;
    /// Of searches: a network on a machine.
    struct Case {
        QString title;
        std::vector<CurveSeries> series;  ///< runs of one algorithm have its number; of more than five only the median
    };
    std::vector<Case> cases;
};

/// Reads the folder: a report NAME.md, and of values.csv and curves.csv what is there. Throws InputError with the file and the line.
ExperimentResults read_experiment(const Path& folder);

}  // namespace placewright
