// SPDX-License-Identifier: MIT
#pragma once

#include <QProgressBar>

namespace placewright {

/// Returns a thin progress bar without text that keeps its space while hidden, so that nothing below it
/// jumps.
inline QProgressBar* makeProgressBar(const QString& accessible_name) {
    auto* bar = new QProgressBar;
    bar->setTextVisible(false);
    bar->setMaximumHeight(8);
    QSizePolicy policy = bar->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    bar->setSizePolicy(policy);
    bar->setAccessibleName(accessible_name);
    return bar;
}

}  // namespace placewright
