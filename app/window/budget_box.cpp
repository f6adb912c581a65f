// SPDX-License-Identifier: MIT
#include "app/window/budget_box.hpp"

#include <cmath>

#include <QLineEdit>
#include <QLocale>
#include <QRegularExpression>
#include <QToolTip>

namespace placewright {
namespace {

constexpr double kMinute = 60, kHour = 3600;
constexpr double kMostSeconds = 1000 * kHour, kMostEvaluations = 1e9;

Budget timed(double seconds) {
    return {Budget::kUnlimited, seconds};
}

/// A number of this locale, or one as programs write it; nothing for any other text.
std::optional<double> numberFrom(QString text) {
    text.remove(QRegularExpression(QStringLiteral("\\s")));
    bool ok = false;
    double number = QLocale().toDouble(text, &ok);
    if (!ok) number = QLocale::c().toDouble(text, &ok);
    return ok && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// A whole number in groups of three digits, as any locale writes it: its separator may be the decimal sign
/// of this one. Nothing for any other text.
std::optional<double> groupedNumberFrom(QString text) {
    static const QRegularExpression form(QStringLiteral("^[1-9][0-9]{0,2}([,.'])[0-9]{3}(\\1[0-9]{3})*$"));
    const QRegularExpressionMatch match = form.match(text);
    if (!match.hasMatch()) return {};
    return text.remove(match.captured(1)).toDouble();
}

}  // namespace

QString budgetText(const Budget& budget) {
    if (budget.is_timed()) {
        const double seconds = budget.seconds;
        const auto text = [](double number) { return QLocale().toString(number, 'g', 10); };
        if (seconds >= kHour && std::fmod(seconds, kHour / 2) == 0)
            return BudgetBox::tr("%1 h").arg(text(seconds / kHour));
        if (seconds >= kMinute && std::fmod(seconds, kMinute / 2) == 0)
            return BudgetBox::tr("%1 min").arg(text(seconds / kMinute));
        return BudgetBox::tr("%1 s").arg(text(seconds));
    }
    return budget.is_counted() ? BudgetBox::tr("%L1 evals").arg(budget.evaluations)
                               : BudgetBox::tr("until stopped");
}

std::optional<Budget> budgetFrom(const QString& text) {
    const QString plain = text.simplified().toLower();
    if (plain == BudgetBox::tr("until stopped").toLower()) return Budget{Budget::kUnlimited};
    static const QRegularExpression form(QStringLiteral(
        "^([0-9][^a-z]*(?:e[0-9]+)?)\\s*(k|m)?\\s*(s|sec|seconds?|min|minutes?|h|hours?|evals?|"
        "evaluations?)?$"));
    const QRegularExpressionMatch match = form.match(plain);
    if (!match.hasMatch()) return {};
    const QString factor = match.captured(2), unit = match.captured(3);
    const bool counts = unit.isEmpty() || unit.startsWith(QLatin1Char('e'));
    const QString digits = match.captured(1).trimmed();
    std::optional<double> number;
    if (counts && factor.isEmpty()) number = groupedNumberFrom(digits);
    if (!number) number = numberFrom(digits);
    if (!number) return {};
    if (counts) {
        *number = std::round(*number * (factor == QLatin1String("k")   ? 1e3
                                        : factor == QLatin1String("m") ? 1e6
                                                                       : 1));
        if (*number < 1 || *number > kMostEvaluations) return {};
        return Budget{static_cast<std::uint64_t>(*number)};
    }
    if (!factor.isEmpty()) return {};
    *number *= unit.startsWith(QLatin1Char('h')) ? kHour : unit.startsWith(QLatin1Char('m')) ? kMinute : 1;
    if (*number < 1 || *number > kMostSeconds) return {};
    return timed(*number);
}

BudgetBox::BudgetBox(QWidget* parent) : QComboBox(parent) {
    setObjectName(QStringLiteral("budget"));
    setEditable(true);
    setInsertPolicy(NoInsert);
    setCompleter(nullptr);
    for (const double seconds : {10.0, 30.0, kMinute, 5 * kMinute, 30 * kMinute})
        addItem(budgetText(timed(seconds)));
    for (const std::uint64_t evaluations : {20'000, 100'000, 1'000'000}) addItem(budgetText({evaluations}));
    addItem(budgetText({Budget::kUnlimited}));
    setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(11);  // "20,000 evals"
    connect(this, &QComboBox::textActivated, this, &BudgetBox::take);
    connect(lineEdit(), &QLineEdit::editingFinished, this, [this] { take(currentText()); });
    setBudget(timed(30));
}

void BudgetBox::setBudget(const Budget& budget) {
    m_budget = budget;
    const QString text = budgetText(budget);
    const int index = findText(text);
    setCurrentIndex(index);
    if (index < 0) setEditText(text);
}

bool BudgetBox::takeTyped() {
    return !lineEdit()->isModified() || take(currentText());
}

bool BudgetBox::take(const QString& text) {
    const std::optional<Budget> budget = budgetFrom(text);
    setBudget(budget.value_or(m_budget));
    if (!budget)
        QToolTip::showText(
            mapToGlobal(QPoint(0, height())),
            tr("“%1” is not a budget. Type a time (45 s, 2 min), a number of evaluations (20,000) or "
               "“until stopped”.")
                .arg(text),
            this);
    return budget.has_value();
}

}  // namespace placewright
