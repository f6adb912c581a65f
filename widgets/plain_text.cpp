// SPDX-License-Identifier: MIT
#include "widgets/plain_text.hpp"

#include <QTextDocument>

namespace placewright {

QString plainToolTip(const QString& text) {
    if (!Qt::mightBeRichText(text)) return text;
    return QStringLiteral("<p style='white-space:pre'>%1</p>").arg(text.toHtmlEscaped());
}

}  // namespace placewright
