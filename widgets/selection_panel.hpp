// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include <QWidget>

#include "core/sim/run_comparison.hpp"
#include "widgets/op_text.hpp"
#include "widgets/timeline_data.hpp"

class QTextBrowser;

namespace placewright {

/// Shows the details of the selected op, or the sums and devices of several ops, with links to neighbours.
class SelectionPanel : public QWidget {
    Q_OBJECT
public:
    explicit SelectionPanel(QWidget* parent = nullptr);

    using QWidget::show;
    /// `devices`: by op id, at least all forward ops; `timeline` and `measured` may be null.
    void show(const std::shared_ptr<const Problem>& problem, const std::vector<DeviceId>& devices,
              const OpList& ops, const std::shared_ptr<const TimelineData>& timeline,
              const RunComparison* measured = nullptr);
    void clear();
    /// Shows what something else than an op is about, such as an idle gap; links name ops by id.
    void showText(const QString& html);

Q_SIGNALS:
    /// A link to this op was clicked.
    void opActivated(placewright::OpId op);

protected:
    void changeEvent(QEvent*) override;

private:
    void setText(const QString& html);

    QTextBrowser* m_text = nullptr;
    OpList m_ops;
    QString m_html;
};

}  // namespace placewright
