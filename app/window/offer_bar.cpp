// SPDX-License-Identifier: MIT
#include "app/window/offer_bar.hpp"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace placewright {

OfferBar::OfferBar(QWidget* parent) : QWidget(parent) {
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    hide();
}

void OfferBar::offer(const QString& name, const QString& text, const std::vector<Choice>& choices) {
    withdraw(name);
    auto* row = new QFrame(this);
    row->setObjectName(name);
    row->setFrameShape(QFrame::StyledPanel);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(12, 4, 8, 4);
    auto* label = new QLabel(text);
    label->setObjectName(QStringLiteral("text"));
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    layout->addWidget(label, 1);
    for (const Choice& choice : choices) {
        auto* button = new QPushButton(choice.text);
        layout->addWidget(button);
        connect(button, &QPushButton::clicked, this, [this, name, act = choice.act] {
            withdraw(name);
            if (act) act();
        });
    }
    this->layout()->addWidget(row);
    show();
}

void OfferBar::withdraw(const QString& name) {
    QWidget* row = findChild<QWidget*>(name, Qt::FindDirectChildrenOnly);
    if (row == nullptr) return;
    row->setObjectName({});
    row->hide();
    layout()->removeWidget(row);
    row->deleteLater();  // one of its buttons may have been pressed
    setVisible(layout()->count() > 0);
}

QString OfferBar::text(const QString& name) const {
    const QWidget* row = findChild<QWidget*>(name, Qt::FindDirectChildrenOnly);
    return row != nullptr ? row->findChild<QLabel*>(QStringLiteral("text"))->text() : QString();
}

}  // namespace placewright
