// SPDX-License-Identifier: MIT
// Controls that the form and the results of LearnWindow make alike.
#pragma once

#include <QPushButton>
#include <QSpinBox>
#include <QString>

namespace placewright {

inline QSpinBox* makeSpin(const char* name, const QString& title, int least, int most, int value,
                          const QString& tip) {
    auto* box = new QSpinBox;
    box->setObjectName(QLatin1String(name));
    box->setAccessibleName(title);
    box->setRange(least, most);
    box->setGroupSeparatorShown(true);
    box->setValue(value);
    box->setToolTip(tip);
    return box;
}

inline QPushButton* makeButton(const char* name, const QString& title, const QString& tip) {
    auto* button = new QPushButton(title);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    return button;
}

}  // namespace placewright
