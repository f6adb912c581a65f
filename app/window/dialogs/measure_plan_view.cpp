// SPDX-License-Identifier: MIT
#include "app/window/dialogs/measure_plan_view.hpp"

#include <algorithm>
#include <utility>

#include <QCheckBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QVBoxLayout>

#include "app/window/dialogs/trace_row.hpp"
#include "app/window/document.hpp"
#include "app/window/settings.hpp"
#include "widgets/palette.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {

QCheckBox* throttleBox() {
    auto* box =
        named(new QCheckBox(MeasurePlanView::tr("Transfers take at &least as long as simulated")), "throttle",
              MeasurePlanView::tr("Copies between cores of one CPU cross no link; this gives them the "
                                  "speed of the links of the machine."));
    box->setChecked(settings::throttles.get());
    return box;
}

QString languageHindrance(const Document& document) {
    return MeasurePlanView::tr("%1 %2.").arg(toQString(document.problem()->network->name()),
                                             QLatin1String(kLanguageModelsAreSimulated));
}

MeasurePlanView::MeasurePlanView(Document* document, std::function<QString()> hindrance, bool keepsTimes,
                                 QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_hindrance(std::move(hindrance)),
      m_keepsTimes(keepsTimes),
      m_title(new QLabel),
      m_list(new QPlainTextEdit),
      m_remedy(new QLabel) {
    m_title->setObjectName(QStringLiteral("planTitle"));
    m_title->setWordWrap(true);
    m_list->setObjectName(QStringLiteral("planList"));
    m_list->setReadOnly(true);
    m_list->setTabChangesFocus(true);
    m_list->setAccessibleName(tr("Devices of this computer, or ops that cannot be run"));
    m_list->hide();
    m_remedy->setObjectName(QStringLiteral("planRemedy"));
    m_remedy->setWordWrap(true);
    m_remedy->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_title);
    layout->addWidget(m_list, 1);
    layout->addWidget(m_remedy);
    layout->addStretch();
    connect(document, &Document::problemChanged, this, &MeasurePlanView::look);
    connect(document, &Document::planFound, this, &MeasurePlanView::showPlan);
    connect(document, &Document::planFailed, this, [this](const QString& error) {
        if (m_looking) refuse(tr("Nothing can be measured: %1").arg(error));
    });
}

void MeasurePlanView::look() {
    m_plan.reset();
    m_list->hide();
    m_remedy->hide();
    if (const QString hindrance = m_hindrance(); !hindrance.isEmpty()) return refuse(hindrance);
    m_title->setPalette(QPalette());
    m_title->setText(tr("Looking at the devices of this computer…"));
    m_looking = true;
    m_document->findPlan();
    Q_EMIT decided();
}

void MeasurePlanView::refuse(const QString& reason) {
    m_looking = false;
    m_plan.reset();
    QPalette colors;  // else as the window
    colors.setColor(QPalette::WindowText, warningColor(palette()));
    m_title->setPalette(colors);
    m_title->setText(reason);
    Q_EMIT decided();
}

/// `grows`: takes what room there is, for lines that may wrap.
void MeasurePlanView::showList(const QStringList& lines, bool grows) {
    constexpr qsizetype kLeast = 2, kMost = 8;
    m_list->setPlainText(lines.join(QLatin1Char('\n')));
    const auto rows = static_cast<int>(std::clamp(lines.size(), kLeast, kMost));
    const int height = rows * fontMetrics().lineSpacing() + 14;
    m_list->setMinimumHeight(height);
    m_list->setMaximumHeight(grows ? QWIDGETSIZE_MAX : height);
    m_list->show();
}

void MeasurePlanView::showPlan(const MeasurePlan& plan) {
    if (!m_looking) return;
    m_looking = false;
    if (!plan.refused.isEmpty()) {
        refuse(tr("%1 cannot be run with %2:")
                   .arg(opsText(static_cast<std::size_t>(plan.refused.size())), plan.library));
        showList(plan.refused, true);
        m_remedy->setText(
            tr("Run this network where its ops exist, with a profiler, and open the trace (File ▸ Open…): it "
               "is compared with the simulation in the same way."));
        m_remedy->show();
        return;
    }
    if (m_keepsTimes && !plan.foreign.isEmpty())
        return refuse(tr("%1. Profile on a computer that has this device, or choose This computer as the "
                         "machine in the toolbar.")
                          .arg(plan.foreign));
    m_plan = plan;
    m_title->setText(tr("Devices of the machine, as they run on this computer with %1:").arg(plan.library));
    showList(plan.notes, false);
    Q_EMIT decided();
}

}  // namespace placewright
