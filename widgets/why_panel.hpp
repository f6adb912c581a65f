// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <QWidget>

#include "widgets/op_view.hpp"
#include "widgets/timeline_why.hpp"

class QTextBrowser;

namespace placewright {

/// Tells what a timeline's critical path and memory peaks are made of. Links lead to segments and ops.
class WhyPanel : public QWidget {
    Q_OBJECT
public:
    explicit WhyPanel(QWidget* parent = nullptr);

    /// Null says what would fill the panel.
    void setWhy(std::shared_ptr<const TimelineWhy> why);
    /// What is made small where that is not the step time: a paragraph about it, and what it makes of each device. Empty: the step time.
    void setGoal(const QString& paragraph, const std::vector<double>& device_s);
    /// Scrolls to what a device holds at its peak.
    void showPeak(DeviceId device);

Q_SIGNALS:
    /// Of the critical path of what is shown.
    void segmentActivated(std::size_t segment);
    void opActivated(placewright::OpId op);

protected:
    void changeEvent(QEvent*) override;

private:
    void fill();
    QString html() const;

    QTextBrowser* m_text = nullptr;
    std::shared_ptr<const TimelineWhy> m_why;
    QString m_goal;
    std::vector<double> m_deviceLoads_s;
};

}  // namespace placewright
