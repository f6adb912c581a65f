// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <QWidget>

#include "widgets/op_view.hpp"
#include "widgets/timeline_why.hpp"

class QTextBrowser;

namespace placewright {

/// Shows the composition of a timeline's critical path and memory peaks, with links to segments and ops.
class WhyPanel : public QWidget {
    Q_OBJECT
public:
    explicit WhyPanel(QWidget* parent = nullptr);

    /// Null shows a text that says how to fill the panel.
    void setWhy(std::shared_ptr<const TimelineWhy> why);
    /// If the objective is not the step time: a paragraph about it, and its value on each device,
    /// `device_s[device]`. Empty: the objective is the step time.
    void setObjective(const QString& paragraph, const std::vector<double>& device_s);
    /// Scrolls to the memory peak of a device.
    void showPeak(DeviceId device);

Q_SIGNALS:
    /// A link to a segment of the shown critical path was clicked.
    void segmentActivated(std::size_t segment);
    /// A link to this op was clicked.
    void opActivated(placewright::OpId op);

protected:
    void changeEvent(QEvent*) override;

private:
    void fill();
    QString html() const;

    QTextBrowser* m_text = nullptr;
    std::shared_ptr<const TimelineWhy> m_why;
    QString m_objective;
    std::vector<double> m_deviceLoads_s;
};

}  // namespace placewright
