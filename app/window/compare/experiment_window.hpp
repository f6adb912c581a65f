// SPDX-License-Identifier: MIT
#pragma once

#include <QWidget>

#include "app/window/compare/experiment_results.hpp"

namespace placewright {

/// Window with the results of an experiment: its report and plots of its data.
class ExperimentWindow : public QWidget {
    Q_OBJECT
public:
    explicit ExperimentWindow(ExperimentResults results, QWidget* parent = nullptr);

private:
    const ExperimentResults m_results;
};

}  // namespace placewright
