// SPDX-License-Identifier: MIT
#include "widgets/selection_panel.hpp"

#include <utility>

#include <QEvent>
#include <QScrollBar>
#include <QTextBrowser>
#include <QTextOption>
#include <QVBoxLayout>

#include "widgets/measured_runs.hpp"

namespace placewright {

SelectionPanel::SelectionPanel(QWidget* parent) : QWidget(parent), m_text(new QTextBrowser(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_text);
    setFocusProxy(m_text);
    m_text->setAccessibleName(tr("Selected ops"));
    m_text->setOpenLinks(false);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setPlaceholderText(
        tr("Select an op in the graph or the timeline to see what it computes, how long it takes and what it "
           "waits for."));
    // Op names wrap at their slashes; wrapping anywhere would narrow table columns to a few letters.
    m_text->setWordWrapMode(QTextOption::WordWrap);
    connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
        bool isOp = false;
        const uint op = url.toString().toUInt(&isOp);
        if (isOp) Q_EMIT opActivated(op);
    });
}

void SelectionPanel::show(const std::shared_ptr<const Problem>& problem, const std::vector<DeviceId>& devices,
                          const OpList& ops, const std::shared_ptr<const TimelineData>& timeline,
                          const RunComparison* measured) {
    if (!problem || ops.empty()) return clear();
    if (ops != m_ops) m_text->verticalScrollBar()->setValue(0);
    m_ops = ops;
    if (ops.size() > 1) return setText(describeOps(*problem, ops, devices));
    const OpId op = ops.front();
    QString html =
        describeOp(*problem, op, op < devices.size() ? devices[op] : kInvalidDevice, timeline.get());
    if (const QString text = measured != nullptr ? measuredText(*measured, *problem, op) : QString();
        !text.isEmpty()) {
        html += QStringLiteral("<h4 style='margin-bottom:2px'>%1</h4><p style='margin-top:2px'>%2</p>")
                    .arg(tr("Measured"), text);
    }
    setText(html);
}

void SelectionPanel::clear() {
    m_ops.clear();
    setText(QString());
}

/// Links in the text keep the colour that they were made with.
void SelectionPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) setText(std::exchange(m_html, QString()));
}

void SelectionPanel::showText(const QString& html) {
    m_ops.clear();
    setText(html);
}

void SelectionPanel::setText(const QString& html) {
    // While a search runs the same text is set repeatedly; setting it again would lose the text selection and
    // scroll to the top.
    if (html == m_html) return;
    m_html = html;
    const int scrolled = m_text->verticalScrollBar()->value();
    m_text->setHtml(html);
    m_text->verticalScrollBar()->setValue(scrolled);
}

}  // namespace placewright
