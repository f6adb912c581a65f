// SPDX-License-Identifier: MIT
#include "widgets/find_bar.hpp"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QTimer>
#include <QToolButton>

#include "widgets/icons.hpp"

namespace placewright {
namespace {

constexpr int kPauseMs = 120;

/// Shortens its text to its width.
class ElidedLabel : public QLabel {
public:
    using QLabel::QLabel;

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter(this).drawText(contentsRect(), Qt::AlignVCenter | Qt::AlignLeft,
                                fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width()));
    }
};

}  // namespace

FindBar::FindBar(QWidget* parent)
    : QWidget(parent), m_edit(new QLineEdit(this)), m_count(new QLabel(this)), m_pause(new QTimer(this)) {
    setAccessibleName(tr("Find ops"));
    m_edit->setPlaceholderText(tr("Find ops: conv kind:relu device:gpu:1 >10ms"));
    m_edit->setAccessibleName(tr("Text to find"));
    m_edit->setToolTip(
        tr("<qt>Words are found in kinds and names of ops, else in modules. Filters: kind: name: module: "
           "device: &gt;10ms &lt;2us value&gt;3. All of them must hold.<br>Enter: next match, Shift+Enter: "
           "previous "
           "match, Escape: close</qt>"));
    m_edit->setClearButtonEnabled(true);
    m_count->setAccessibleName(tr("Matches"));
    m_count->setMinimumWidth(m_count->fontMetrics().horizontalAdvance(tr("%1 of %2").arg(8888).arg(8888)));

    m_detail = new ElidedLabel(this);
    m_detail->setAccessibleName(tr("What is found"));
    m_detail->setTextFormat(Qt::PlainText);
    // The words that are typed need the room more than what is found, whose text is also a tool tip.
    m_detail->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_edit->setMinimumWidth(m_edit->fontMetrics().horizontalAdvance(QLatin1Char('m')) * 14);

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

    m_regex = new QToolButton(this);
    m_regex->setText(QStringLiteral(".*"));
    m_regex->setCheckable(true);
    m_regex->setAutoRaise(true);
    m_regex->setAccessibleName(tr("Regular expression"));
    m_regex->setToolTip(tr("Words are regular expressions: conv[12]$, branch(1x1|pool)"));
    connect(m_regex, &QToolButton::toggled, this, [this] {
        m_pause->stop();
        Q_EMIT textChanged(m_edit->text());
    });
    m_filters = new QMenu(this);
    auto* filter = new QToolButton(this);
    filter->setText(tr("Filter"));
    filter->setAutoRaise(true);
    filter->setPopupMode(QToolButton::InstantPopup);
    filter->setMenu(m_filters);
    filter->setAccessibleName(tr("Filter"));
    filter->setToolTip(tr("Insert a filter by kind, device, module or duration"));
    setChoices({}, {});

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(6, 3, 6, 3);
    row->addWidget(m_edit, 3);
    row->addWidget(filter);
    row->addWidget(m_regex);
    row->addWidget(m_count);
    row->addWidget(m_detail, 2);
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

bool FindBar::isRegex() const {
    return m_regex->isChecked();
}

void FindBar::setChoices(const QStringList& kinds, const QStringList& devices) {
    m_filters->clear();
    const auto add = [this](QMenu* menu, const QString& filter) {
        menu->addAction(filter, this, [this, filter] { insert(filter); });
    };
    const auto list = [&](const QString& title, const QString& prefix, const QStringList& choices) {
        if (choices.isEmpty()) return;
        QMenu* menu = m_filters->addMenu(title);
        for (const QString& choice : choices) add(menu, prefix + choice);
    };
    list(tr("&Kind"), QStringLiteral("kind:"), kinds);
    list(tr("&Device"), QStringLiteral("device:"), devices);
    QMenu* durations = m_filters->addMenu(tr("D&uration"));
    for (const char* duration : {">10us", ">100us", ">1ms", ">10ms", "<10us", "<100us", "<1ms"})
        add(durations, QLatin1String(duration));
    for (const char* field : {"name:", "module:"}) add(m_filters, QLatin1String(field));
}

/// Appends a filter to the text; one of the same field is replaced.
void FindBar::insert(const QString& filter) {
    QStringList words = m_edit->text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    const auto colon = filter.indexOf(QLatin1Char(':'));
    const QString field = colon < 0 ? filter.left(1) : filter.left(colon + 1);
    words.removeIf([&](const QString& word) { return word.startsWith(field); });
    words << filter;
    const bool ends = colon != filter.size() - 1;  // a field without a text waits for it
    m_edit->setText(words.join(QLatin1Char(' ')) + (ends ? QStringLiteral(" ") : QString()));
    m_edit->setFocus();
}

void FindBar::setMatchCount(int current, int count, const QString& detail) {
    const bool searching = !m_edit->text().isEmpty();
    m_detail->setText(searching ? detail : QString());
    m_detail->setToolTip(m_detail->text());
    m_detail->setVisible(!m_detail->text().isEmpty());
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
