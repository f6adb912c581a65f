// SPDX-License-Identifier: MIT
#include "widgets/find_bar.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QToolButton>

#include "widgets/icons.hpp"

namespace placewright {
namespace {

constexpr int kPauseMs = 120;

}  // namespace

FindBar::FindBar(QWidget* parent)
    : QWidget(parent), m_edit(new QLineEdit(this)), m_count(new QLabel(this)), m_pause(new QTimer(this)) {
    setAccessibleName(tr("Find ops"));
    m_edit->setPlaceholderText(tr("Find by name, kind or scope"));
    m_edit->setAccessibleName(tr("Text to find"));
    m_edit->setToolTip(tr("Enter: next match, Shift+Enter: previous match, Escape: close"));
    m_edit->setClearButtonEnabled(true);
    m_count->setAccessibleName(tr("Matches"));
    m_count->setMinimumWidth(m_count->fontMetrics().horizontalAdvance(tr("%1 of %2").arg(8888).arg(8888)));

    const auto button = [&](const QString& icon, const QString& name, const QString& toolTip, auto action) {
        auto* added = new QToolButton(this);
        added->setIcon(lineIcon(icon));
        added->setAutoRaise(true);
        added->setAccessibleName(name);
        added->setToolTip(toolTip);
        connect(added, &QToolButton::clicked, this, action);
        return added;
    };
    m_previous = button(QStringLiteral("chevron-up"), tr("Previous match"),
                        tr("Previous match (Shift+Enter)"), [this] { step(-1); });
    m_next = button(QStringLiteral("chevron-down"), tr("Next match"), tr("Next match (Enter)"),
                    [this] { step(1); });
    auto* close = button(QStringLiteral("x"), tr("Close"), tr("Close (Escape)"), [this] { dismiss(); });

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(6, 3, 6, 3);
    row->addWidget(m_edit, 1);
    row->addWidget(m_count);
    row->addWidget(m_previous);
    row->addWidget(m_next);
    row->addWidget(close);

    m_pause->setSingleShot(true);
    m_pause->setInterval(kPauseMs);
    connect(m_edit, &QLineEdit::textChanged, m_pause, qOverload<>(&QTimer::start));
    connect(m_pause, &QTimer::timeout, this, [this] { Q_EMIT textChanged(m_edit->text()); });
    setMatchCount(0, 0);
}

void FindBar::open() {
    show();
    m_edit->setFocus(Qt::ShortcutFocusReason);
    m_edit->selectAll();
    if (!m_edit->text().isEmpty()) m_pause->start();  // search again for the text of last time
}

void FindBar::setMatchCount(int current, int count) {
    const bool searching = !m_edit->text().isEmpty();
    if (!searching) {
        m_count->clear();
    } else if (count == 0) {
        m_count->setText(tr("No matches"));
    } else if (current > 0) {
        m_count->setText(tr("%1 of %2").arg(current).arg(count));
    } else {
        m_count->setText(count == 1 ? tr("1 match") : tr("%1 matches").arg(count));
    }
    m_previous->setEnabled(count > 0);
    m_next->setEnabled(count > 0);
}

void FindBar::step(int direction) {
    // Enter right after typing steps through the matches of the new text, so search for it first.
    if (m_pause->isActive()) {
        m_pause->stop();
        Q_EMIT textChanged(m_edit->text());
    }
    Q_EMIT stepRequested(direction);
}

void FindBar::dismiss() {
    m_pause->stop();
    hide();
    Q_EMIT closed();
}

void FindBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        dismiss();
    } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        step(event->modifiers() & Qt::ShiftModifier ? -1 : 1);
    } else {
        QWidget::keyPressEvent(event);
    }
}

}  // namespace placewright
