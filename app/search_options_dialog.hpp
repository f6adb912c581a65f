// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include <QDialog>

#include "core/search/optimizer.hpp"

class QFormLayout;

namespace placewright {

/// A form made from an algorithm's description: one control an option with its range, default and help; "Reset" brings the defaults back.
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

    std::vector<Field> m_fields;
};

}  // namespace placewright
