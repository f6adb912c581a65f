// SPDX-License-Identifier: MIT
#include "widgets/message_bar.hpp"

#include <chrono>

#include <QAccessible>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include "widgets/icons.hpp"
#include "widgets/palette.hpp"

namespace placewright {
namespace {

/// Information hides after this time; errors stay.
constexpr std::chrono::seconds kInformationTime(10);

constexpr int kStripe = 4;
/// With room for fewer characters the buttons are below the text.
constexpr int kNarrow = 40;

/// Returns the beginning of a text that is long or has several lines, otherwise the whole text.
QString summaryOf(const QString& text) {
    constexpr qsizetype kLongest = 300;
    const QString firstLine = text.section(u'\n', 0, 0);
    if (firstLine.size() == text.size() && text.size() <= kLongest) return text;
    return firstLine.left(kLongest).trimmed() + u'…';
}

QColor accent(MessageBar::Kind kind, const QPalette& palette) {
    return kind == MessageBar::Kind::error ? warningColor(palette) : palette.color(QPalette::Highlight);
}

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Message"));
    m_icon = new QLabel(this);
    m_text = new QLabel(this);
    m_text->setObjectName("text");
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_text->setWordWrap(true);
    m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Minimum);

    m_details = new QToolButton(this);
    m_details->setObjectName("details");
    m_details->setText(tr("Details"));
    m_details->setToolTip(tr("Shows the whole message"));
    m_details->setCheckable(true);
    connect(m_details, &QToolButton::toggled, this, &MessageBar::showText);

    auto* copy = new QToolButton(this);
    copy->setObjectName("copy");
    copy->setText(tr("Copy"));
    copy->setToolTip(tr("Copies the message to the clipboard"));
    connect(copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_message); });

    auto* close = new QToolButton(this);
    close->setObjectName("close");
    close->setIcon(lineIcon(QStringLiteral("x")));
    close->setAccessibleName(tr("Close"));
    close->setToolTip(tr("Closes the message (Esc)"));
    connect(close, &QToolButton::clicked, this, &QWidget::hide);

    auto* message = new QHBoxLayout;
    message->addWidget(m_icon);
    message->addWidget(m_text, 1);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    for (QToolButton* button : {m_details, copy, close}) {
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::StrongFocus);
        buttons->addWidget(button, 0, Qt::AlignTop);
    }
    m_layout = new QBoxLayout(QBoxLayout::LeftToRight, this);
    m_layout->setContentsMargins(8 + kStripe, 4, 8, 4);
    m_layout->addLayout(message, 1);
    m_layout->addLayout(buttons);
    hide();
    m_fade.setSingleShot(true);
    connect(&m_fade, &QTimer::timeout, this, &QWidget::hide);
}

void MessageBar::showMessage(Kind kind, const QString& text) {
    m_kind = kind;
    m_message = text.trimmed();
    m_details->setChecked(false);
    m_details->setVisible(summaryOf(m_message) != m_message);
    showIcon();
    showText();
    setAccessibleDescription(m_message);
    show();
    update();
    if (kind == Kind::information) {
        m_fade.start(kInformationTime);
    } else {
        m_fade.stop();
    }
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void MessageBar::dropInformation() {
    if (m_kind == Kind::information) hide();
}

void MessageBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool isNarrow = width() < kNarrow * fontMetrics().averageCharWidth();
    m_layout->setDirection(isNarrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void MessageBar::showText() {
    m_text->setText(m_details->isChecked() ? m_message : summaryOf(m_message));
}

void MessageBar::showIcon() {
    const QIcon icon = m_kind == Kind::error ? lineIcon(QStringLiteral("triangle-alert"), IconTone::warning)
                                             : lineIcon(QStringLiteral("info"), IconTone::accent);
    m_icon->setPixmap(icon.pixmap(QSize(16, 16), devicePixelRatioF()));
}

bool MessageBar::event(QEvent* event) {
    // Escape closes the focused bar, even if the window has a shortcut for it.
    if (event->type() == QEvent::ShortcutOverride &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    return QWidget::event(event);
}

void MessageBar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) showIcon();
}

void MessageBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        hide();
    } else {
        QWidget::keyPressEvent(event);
    }
}

void MessageBar::paintEvent(QPaintEvent*) {
    const QColor color = accent(m_kind, palette());
    QPainter painter(this);
    painter.fillRect(rect(), mixedColor(palette().color(QPalette::Window), color, 0.15F));
    painter.fillRect(QRect(0, 0, kStripe, height()), color);
}

}  // namespace placewright
