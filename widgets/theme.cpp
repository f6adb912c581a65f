// SPDX-License-Identifier: MIT
#include "widgets/theme.hpp"

#include <QApplication>
#include <QEvent>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QToolTip>

#include "widgets/palette.hpp"
#include "widgets/style.hpp"

namespace placewright {
namespace {

/// The colours that a theme is made of.
struct Colors {
    QRgb window, base, alternate, button, raised;
    QRgb text, faint, disabled;
    QRgb accent, onAccent, link;
    QRgb light, midlight, mid, dark, shadow;  ///< of frames
};

constexpr Colors kLight{.window = 0xfff4f5f7,
                        .base = 0xffffffff,
                        .alternate = 0xfff7f7fa,
                        .button = 0xfffafbfc,
                        .raised = 0xffffffff,
                        .text = 0xff1c1f26,
                        .faint = 0xff666b75,
                        .disabled = 0xffa0a4ad,
                        .accent = 0xff6b4bd0,
                        .onAccent = 0xffffffff,
                        .link = 0xff5f3dc4,
                        .light = 0xffffffff,
                        .midlight = 0xffe9ebef,
                        .mid = 0xffc4c8d0,
                        .dark = 0xff9aa0ab,
                        .shadow = 0xff6b717c};
constexpr Colors kDark{.window = 0xff24272d,
                       .base = 0xff191b20,
                       .alternate = 0xff1e2126,
                       .button = 0xff30343c,
                       .raised = 0xff30343c,
                       .text = 0xffe4e6eb,
                       .faint = 0xff9aa0ab,
                       .disabled = 0xff6d737e,
                       .accent = 0xff7a5be0,
                       .onAccent = 0xffffffff,
                       .link = 0xffb49dff,
                       .light = 0xff434853,
                       .midlight = 0xff373b44,
                       .mid = 0xff4a505b,
                       .dark = 0xff14161a,
                       .shadow = 0xff0c0d10};

QPalette paletteOf(const Colors& colors) {
    QPalette palette;
    const auto set = [&palette](QPalette::ColorRole role, QRgb color) {
        palette.setColor(role, QColor::fromRgb(color));
    };
    set(QPalette::Window, colors.window);
    set(QPalette::Base, colors.base);
    set(QPalette::AlternateBase, colors.alternate);
    set(QPalette::Button, colors.button);
    set(QPalette::ToolTipBase, colors.raised);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText,
                            QPalette::BrightText})
        set(role, colors.text);
    set(QPalette::PlaceholderText, colors.faint);
    set(QPalette::Highlight, colors.accent);
    set(QPalette::HighlightedText, colors.onAccent);
    set(QPalette::Link, colors.link);
    set(QPalette::LinkVisited, colors.link);
    set(QPalette::Light, colors.light);
    set(QPalette::Midlight, colors.midlight);
    set(QPalette::Mid, colors.mid);
    set(QPalette::Dark, colors.dark);
    set(QPalette::Shadow, colors.shadow);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, QColor::fromRgb(colors.disabled));
    palette.setColor(QPalette::Disabled, QPalette::Highlight, QColor::fromRgb(colors.mid));
    return palette;
}

Theme theTheme = Theme::system;

void usePalette() {
    // The palette of the desktop, which ours hides.
    if (theTheme == Theme::system) QApplication::setPalette(QPalette());
    const bool dark =
        theTheme == Theme::dark || (theTheme == Theme::system && isDark(QGuiApplication::palette()));
    const QPalette palette = themePalette(dark ? Theme::dark : Theme::light);
    QApplication::setPalette(palette);
    QToolTip::setPalette(palette);
}

/// Follows the desktop while the theme is that of the system.
class DesktopWatch : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::ThemeChange && theTheme == Theme::system && !m_pending) {
            m_pending = true;  // each window is told
            QMetaObject::invokeMethod(
                this,
                [this] {
                    m_pending = false;
                    if (theTheme == Theme::system) usePalette();
                },
                Qt::QueuedConnection);
        }
        return false;
    }

private:
    bool m_pending = false;
};

}  // namespace

QPalette themePalette(Theme theme) {
    return paletteOf(theme == Theme::dark ? kDark : kLight);
}

void applyTheme(Theme theme) {
    static const char* const kWatch = "desktopWatch";
    if (qApp->findChild<QObject*>(QLatin1String(kWatch), Qt::FindDirectChildrenOnly) == nullptr) {
        QApplication::setStyle(new Style);
        auto* watch = new DesktopWatch(qApp);
        watch->setObjectName(QLatin1String(kWatch));
        qApp->installEventFilter(watch);
    } else if (theme == theTheme && theme != Theme::system) {
        return;
    }
    theTheme = theme;
    usePalette();
}

Theme appliedTheme() {
    return theTheme;
}

QFont tabularFont(const QFont& font) {
    const auto isTabular = [](const QFont& candidate) {
        const QFontMetricsF metrics(candidate);
        const double zero = metrics.horizontalAdvance(QLatin1Char('0'));
        for (char digit = '1'; digit <= '9'; ++digit) {
            if (metrics.horizontalAdvance(QLatin1Char(digit)) != zero) return false;
        }
        return true;
    };
    if (isTabular(font)) return font;
    QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    fixed.setPointSizeF(font.pointSizeF());
    for (const char* family : {"Noto Sans", "DejaVu Sans", "Liberation Sans"}) {
        QFont like(font);
        like.setFamily(QLatin1String(family));
        if (QFontInfo(like).family() == QLatin1String(family) && isTabular(like)) return like;
    }
    return fixed;
}

}  // namespace placewright
