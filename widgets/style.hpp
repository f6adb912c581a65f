// SPDX-License-Identifier: MIT
#pragma once

#include <QProxyStyle>

namespace placewright {

/// The look of the program: Qt's Fusion with flat bars and tabs, quiet panel titles, distances of 4 pixels
/// and the program's icons in place of those of the desktop.
class Style : public QProxyStyle {
    Q_OBJECT
public:
    Style();

    using QProxyStyle::polish;
    /// Gives tables digits of one width.
    void polish(QWidget* widget) override;

    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* result) const override;
    QIcon standardIcon(StandardPixmap which, const QStyleOption* option,
                       const QWidget* widget) const override;
    QPixmap standardPixmap(StandardPixmap which, const QStyleOption* option,
                           const QWidget* widget) const override;
};

}  // namespace placewright
