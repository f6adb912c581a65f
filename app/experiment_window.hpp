// SPDX-License-Identifier: MIT
#pragma once

#include <QWidget>

#include "app/experiment_results.hpp"

namespace placewright {

/// Results of an experiment: its report, and plots of what that was made of.
class ExperimentWindow : public QWidget {
    Q_OBJECT
public:
    explicit ExperimentWindow(ExperimentResults results, QWidget* parent = nullptr);

private:
    const ExperimentResults m_results;
};

}  // namespace placewright
