// SPDX-License-Identifier: MIT
// Rows of forms, for dialogs with many options.
#pragma once

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>

namespace placewright {

/// Adds a row whose label and control have the same tooltip and name.
inline void addRow(QFormLayout* form, const QString& title, QWidget* control) {
    auto* label = new QLabel(title);
    label->setBuddy(control);
    label->setToolTip(control->toolTip());
    control->setAccessibleName(QString(title).remove(QLatin1Char('&')));
    form->addRow(label, control);
}

inline void addCheck(QFormLayout* form, QCheckBox* box) {
    box->setAccessibleName(box->text().remove(QLatin1Char('&')));
    form->addRow(box);
}

/// The value `least` is shown as `asItIs`, if that is not empty.
inline QSpinBox* spinBox(int least, int most, const QString& suffix, const QString& asItIs = {}) {
    auto* box = new QSpinBox;
    box->setRange(least, most);
    box->setSuffix(suffix);
    box->setSpecialValueText(asItIs);
    box->setGroupSeparatorShown(true);
    box->setStepType(most > 1000 ? QAbstractSpinBox::AdaptiveDecimalStepType
                                 : QAbstractSpinBox::DefaultStepType);
    return box;
}

template <class Choice>
void addChoice(QComboBox* box, Choice choice, const QString& title, const QString& help) {
    box->addItem(title, static_cast<int>(choice));
    box->setItemData(box->count() - 1, help, Qt::ToolTipRole);
}

template <class Choice>
Choice chosen(const QComboBox* box) {
    return static_cast<Choice>(box->currentData().toInt());
}

template <class Choice>
void choose(QComboBox* box, Choice choice) {
    box->setCurrentIndex(std::max(0, box->findData(static_cast<int>(choice))));
}

}  // namespace placewright
