// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include <QComboBox>
#include <QString>

#include "core/search/search.hpp"

namespace placewright {

/// "30 s", "5 min", "20,000 evals" or "until stopped": a budget as the toolbar shows it.
QString budgetText(const Budget& budget);
/// Reads what a user types: "45 s", "1.5 min", "2 h", "20000", "20k evaluations", "until stopped". A number
/// without a unit is one of evaluations. Nothing if the text is none of these, or out of range (1 s to 1000
/// h, 1 to 1e9 evaluations).
std::optional<Budget> budgetFrom(const QString& text);

/// Editable choice of a budget. A text that is none gives way to the last budget, with a tooltip that says
/// what to type.
class BudgetBox : public QComboBox {
    Q_OBJECT
public:
    explicit BudgetBox(QWidget* parent = nullptr);
    const Budget& budget() const { return m_budget; }
    void setBudget(const Budget& budget);
    /// Takes what is being typed; false if it is no budget.
    bool takeTyped();

private:
    bool take(const QString& text);

    Budget m_budget;
};

}  // namespace placewright
