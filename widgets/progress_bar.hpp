// SPDX-License-Identifier: MIT
#pragma once

#include <QProgressBar>

namespace placewright {

/// A thin bar without text. Hidden it keeps its place, else all below it would jump.
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
