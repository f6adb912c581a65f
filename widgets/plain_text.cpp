// SPDX-License-Identifier: MIT
#include "widgets/plain_text.hpp"

#include <QApplication>
#include <QEvent>
#include <QLabel>
#include <QTextDocument>

namespace placewright {
namespace {

/// Sees each label before it is shown or measured first. Tooltips are left out: many are meant as rich text.
class PlainLabels : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() != QEvent::Polish) return false;
        auto* label = qobject_cast<QLabel*>(watched);
        if (label != nullptr && label->textFormat() == Qt::AutoText && !label->inherits("QTipLabel"))
            label->setTextFormat(Qt::PlainText);
        return false;
    }
};

}  // namespace

QString plainToolTip(const QString& text) {
    if (!Qt::mightBeRichText(text)) return text;
    return QStringLiteral("<p style='white-space:pre'>%1</p>").arg(text.toHtmlEscaped());
}

void makeLabelsPlain() {
    const auto name = QStringLiteral("plainLabels");
    if (qApp->findChild<QObject*>(name, Qt::FindDirectChildrenOnly) != nullptr) return;
    auto* labels = new PlainLabels(qApp);
    labels->setObjectName(name);
    qApp->installEventFilter(labels);
}

}  // namespace placewright
