// SPDX-License-Identifier: MIT
// What the tests of single widgets share: a widget on the screen, its pixels, the text of its tooltips, and a
// dark palette.
#pragma once

#include <QImage>
#include <QPalette>
#include <QTest>
#include <QTextDocument>
#include <QWidget>

namespace placewright::test {

template <class Widget>
void showAt(Widget& widget, QSize size) {
    widget.resize(size);
    widget.show();
    QVERIFY(QTest::qWaitForWindowExposed(&widget));
}

/// Number of pixels of the picture with another colour.
inline qsizetype otherThan(const QImage& image, const QColor& color) {
    qsizetype count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) != color;
    }
    return count;
}

/// A name that would load a file if it were taken for markup.
inline constexpr const char* kMarkupName = "<img src=\"/x.png\">";

/// What a tooltip shows as text; an image is one character that no name contains.
inline QString readText(const QString& toolTip) {
    if (!Qt::mightBeRichText(toolTip)) return toolTip;
    QTextDocument document;
    document.setHtml(toolTip);
    return document.toPlainText();
}

inline QPalette darkPalette() {
    QPalette palette;
    palette.setColor(QPalette::Window, QColor(45, 45, 48));
    palette.setColor(QPalette::WindowText, QColor(230, 230, 230));
    palette.setColor(QPalette::Base, QColor(30, 30, 32));
    palette.setColor(QPalette::Text, QColor(230, 230, 230));
    return palette;
}

}  // namespace placewright::test
