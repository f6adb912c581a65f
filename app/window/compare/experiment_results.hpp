// SPDX-License-Identifier: MIT
// Reads the files of `placewright-cli experiment NAME --out FOLDER` for plots.
#pragma once

#include <memory>
#include <vector>

#include <QString>

#include "core/base/path.hpp"
#include "core/search/optimizer.hpp"
#include "widgets/cdf_plot.hpp"
#include "widgets/curve_plot.hpp"

namespace placewright {

struct ExperimentResults {
    QString name;    ///< name of the experiment
    QString report;  ///< Markdown
    /// Results of trained policies and of what they are compared with, on a family of networks or on one
    /// network.
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
    /// Search curves of a network on a machine.
    struct Case {
        QString title;
        std::vector<CurveSeries> series;  ///< of more than five runs of an algorithm only the median is
                                          ///< kept
    };
    std::vector<Case> cases;
};

/// Reads a folder with a report NAME.md and, if they exist, values.csv and curves.csv. Throws InputError with
/// the file and the line.
ExperimentResults read_experiment(const Path& folder);

}  // namespace placewright
