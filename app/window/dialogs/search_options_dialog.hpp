// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include <QDialog>

#include "core/search/optimizer.hpp"

class QComboBox;
class QFormLayout;

namespace placewright {

/// A form made from an algorithm's option schema: one control per option with its range, default and help.
/// Presets set several options at once; "Reset to defaults" resets all.
class SearchOptionsDialog : public QDialog {
    Q_OBJECT
public:
    SearchOptionsDialog(const AlgorithmInfo& algorithm, const OptionValues& values,
                        QWidget* parent = nullptr);
    /// The values that differ from their defaults.
    OptionValues values() const;

private:
    struct Field {
        OptionInfo info;
        std::function<OptionValue()> read;
        std::function<void(const OptionValue&)> write;
    };
    Field makeField(const OptionInfo& info, QFormLayout* form);

    /// Sets every control to its value in `values`, or to its default.
    void apply(const OptionValues& values);
    /// Selects the preset that the controls agree with, or "Custom".
    void showPreset();

    std::vector<Field> m_fields;
    std::vector<OptionPreset> m_presets;  ///< the first one has the defaults
    QComboBox* m_preset = nullptr;  ///< the last entry stands for no preset; null if there are no presets
};

}  // namespace placewright
