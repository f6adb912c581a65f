// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include <QDialog>

#include "core/search/optimizer.hpp"

class QComboBox;
class QFormLayout;

namespace placewright {

/// A form made from an algorithm's description: one control an option with its range, default and help; presets set several of them,
/// "Reset" brings the defaults back.
class SearchOptionsDialog : public QDialog {
    Q_OBJECT
public:
    SearchOptionsDialog(const AlgorithmInfo& algorithm, const OptionValues& values, QWidget* parent = nullptr);
    /// The values that differ from their defaults.
    OptionValues values() const;

private:
    struct Field {
        OptionInfo info;
        std::function<OptionValue()> read;
        std::function<void(const OptionValue&)> write;
    };
    Field makeField(const OptionInfo& info, QFormLayout* form);

    /// Brings the defaults back, but for what the preset says.
    void apply(const OptionValues& values);
    /// The preset that the controls agree with, or none.
    void showPreset();

    std::vector<Field> m_fields;
    std::vector<OptionPreset> m_presets;  ///< the first is that of the defaults
    QComboBox* m_preset = nullptr;        ///< the last entry stands for none of them; null where there are no presets
};

}  // namespace placewright
