// SPDX-License-Identifier: MIT
#include "widgets/why_panel.hpp"

#include <algorithm>

#include <QEvent>
#include <QScrollBar>
#include <QTextBrowser>
#include <QTextOption>
#include <QVBoxLayout>

#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"

namespace placewright {
namespace {

constexpr std::size_t kShares = 8;  // rows of devices and channels

QString heading(const QString& text) {
    return QStringLiteral("<p style='margin-top:8px; margin-bottom:2px'><b>%1</b></p>").arg(text);
}

QString cell(const QString& text, bool number) {
    return QStringLiteral("<td align='%1' style='padding-right:8px%2'>%3</td>")
        .arg(number ? QStringLiteral("right") : QStringLiteral("left"),
             number ? QStringLiteral("; white-space:nowrap") : QString(), text);
}

QString segmentLink(std::size_t segment, const QString& text) {
    return QStringLiteral("<a href='segment:%1'>%2</a>").arg(segment).arg(text);
}

QString table(const QStringList& rows) {
    return QStringLiteral("<table cellspacing='0'><tr>%1</tr></table>")
        .arg(rows.join(QStringLiteral("</tr><tr>")));
}

QString swatch(const Machine& machine, DeviceId device) {
    return QStringLiteral("<span style='color:%1'>■</span> ").arg(deviceColor(machine, device).name());
}

}  // namespace

WhyPanel::WhyPanel(QWidget* parent) : QWidget(parent), m_text(new QTextBrowser(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_text);
    setFocusProxy(m_text);
    m_text->setAccessibleName(tr("Why the step takes as long as it does"));
    m_text->setOpenLinks(false);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setPlaceholderText(tr("Open a network to see where the step time and memory go."));
    m_text->setWordWrapMode(QTextOption::WordWrap);
    connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
        bool isNumber = false;
        const qulonglong number = url.path().toULongLong(&isNumber);
        if (!isNumber) return;
        if (url.scheme() == QLatin1String("segment")) {
            Q_EMIT segmentActivated(number);
        } else {
            Q_EMIT opActivated(static_cast<OpId>(number));
        }
    });
}

void WhyPanel::setWhy(std::shared_ptr<const TimelineWhy> why) {
    if (why == m_why) return;
    m_why = std::move(why);
    fill();
}

void WhyPanel::setObjective(const QString& paragraph, const std::vector<double>& device_s) {
    if (paragraph == m_objective && device_s == m_deviceLoads_s) return;
    m_objective = paragraph;
    m_deviceLoads_s = device_s;
    fill();
}

void WhyPanel::showPeak(DeviceId device) {
    m_text->scrollToAnchor(QStringLiteral("peak%1").arg(device));
}

void WhyPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_why) fill();
}

void WhyPanel::fill() {
    const int scrolled = m_text->verticalScrollBar()->value();
    m_text->setHtml(m_why ? html() : QString());
    m_text->verticalScrollBar()->setValue(scrolled);
}

QString WhyPanel::html() const {
    const Problem& problem = *m_why->timeline->problem;
    const Machine& machine = *problem.machine;
    const CriticalPath& path = m_why->path;
    const double total_s = path.total_s();
    QStringList rows;
    QString html;
    if (!m_objective.isEmpty()) {
        html = QStringLiteral("<p style='margin-top:8px'>%1</p>").arg(m_objective.toHtmlEscaped());
        const double most_s = m_deviceLoads_s.empty() ? 0 : std::ranges::max(m_deviceLoads_s);
        for (DeviceId device = 0; device < m_deviceLoads_s.size(); ++device) {
            if (m_deviceLoads_s[device] <= 0) continue;
            const QString name =
                swatch(machine, device) + QString::fromStdString(machine.device(device).name).toHtmlEscaped();
            const bool busiest = m_deviceLoads_s[device] == most_s;
            rows << cell(busiest ? QStringLiteral("<b>%1</b>").arg(name) : name, false) +
                        cell(secondsText(m_deviceLoads_s[device]), true);
        }
        html += table(rows);
    }
    html += heading(tr("Critical path of the simulated step")) + pathSummary(*m_why);

    rows = {cell({}, false) + cell(tr("working"), true) + cell(tr("waiting"), true) +
            cell(tr("share"), true)};
    const auto add = [&](const QString& name, double work_s, double queue_s) {
        rows << cell(name, false) + cell(secondsText(work_s), true) +
                    cell(queue_s > 0 ? secondsText(queue_s) : QString(), true) +
                    cell(percentText((work_s + queue_s) / total_s), true);
    };
    // A summary of a single row would take as much room as the row itself.
    const std::size_t told = m_why->shares.size() > kShares + 1 ? kShares : m_why->shares.size();
    for (const TimelineWhy::Share& share : std::span(m_why->shares).first(told)) {
        const QString name = QString::fromStdString(share.isDevice ? machine.device(share.resource).name
                                                                   : machine.channels()[share.resource].name);
        add((share.isDevice ? swatch(machine, share.resource) : QString()) +
                segmentLink(share.longest, name.toHtmlEscaped()),
            share.work_s, share.queue_s);
    }
    double work_s = 0, queue_s = 0;
    for (const TimelineWhy::Share& share : std::span(m_why->shares).subspan(told)) {
        work_s += share.work_s;
        queue_s += share.queue_s;
    }
    if (told < m_why->shares.size()) add(tr("%1 others").arg(m_why->shares.size() - told), work_s, queue_s);
    if (path.host_s > 0) add(tr("host"), path.host_s, 0);
    html += table(rows);

    const auto list = [&](const QString& title, const std::vector<std::size_t>& segments) {
        if (segments.empty()) return;
        rows.clear();
        for (const std::size_t segment : segments)
            rows << cell(secondsText(path.segments[segment].duration_s()), true) +
                        cell(segmentLink(segment, segmentText(*m_why, segment)), false);
        html += heading(title) + table(rows);
    };
    list(tr("Longest waits"), m_why->longest_waits);
    list(tr("Longest work"), m_why->longest_work);

    html += heading(tr("Memory"));
    for (const MemoryPeak& peak : m_why->peaks) {
        if (peak.bytes <= 0) continue;
        html += QStringLiteral("<p style='margin-top:4px; margin-bottom:0'><a name='peak%1'></a>%2<b>%3</b> ")
                    .arg(peak.device)
                    .arg(swatch(machine, peak.device),
                         QString::fromStdString(machine.device(peak.device).name).toHtmlEscaped()) +
                peakText(*m_why, peak.device, true) + QStringLiteral("</p>");
    }
    return html;
}

}  // namespace placewright
