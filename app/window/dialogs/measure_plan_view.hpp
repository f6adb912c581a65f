// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>

#include <QWidget>

#include "app/window/measuring.hpp"

class QCheckBox;
class QLabel;
class QPlainTextEdit;

namespace placewright {

class Document;

/// The box with which transfers of a measurement are throttled, ticked as it was last.
QCheckBox* throttleBox();

/// Why the open network, a language model, cannot be measured.
QString languageHindrance(const Document& document);

/// Where the devices of the open problem run on this computer, as it is found out in the background, or why
/// they cannot.
class MeasurePlanView : public QWidget {
    Q_OBJECT
public:
    /// `hindrance`: says why nothing can be measured with the present options; empty if nothing hinders.
    /// `keepsTimes`: times of ops are to be kept, by the models of the devices. The view looks anew whenever
    /// machine or options change; the first time when look() is called.
    MeasurePlanView(Document* document, std::function<QString()> hindrance, bool keepsTimes = false,
                    QWidget* parent = nullptr);
    void look();

    /// The plan, if all ops can be run; nothing before it is known, or if something stands against it.
    const std::optional<MeasurePlan>& plan() const { return m_plan; }

Q_SIGNALS:
    /// plan() has changed.
    void decided();

private:
    /// Says why nothing can be measured, in place of a plan.
    void refuse(const QString& reason);
    void showPlan(const MeasurePlan& plan);
    void showList(const QStringList& lines, bool grows);

    std::optional<MeasurePlan> m_plan;
    Document* m_document;
    std::function<QString()> m_hindrance;
    bool m_keepsTimes;
    bool m_looking = false;
    QLabel* m_title = nullptr;
    QPlainTextEdit* m_list = nullptr;
    QLabel* m_remedy = nullptr;
};

}  // namespace placewright
