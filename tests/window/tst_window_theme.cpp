// SPDX-License-Identifier: MIT
// The themes: that all texts can be read in both, that a switch reaches all that is open, and the icons.
#include <map>

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QFontMetricsF>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QRegularExpression>
#include <QStyle>
#include <QTest>
#include <QTextEdit>
#include <QToolBar>
#include <QToolButton>

#include "app/window/settings.hpp"
#include "core/machine/machine.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/window.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/icons.hpp"
#include "widgets/palette.hpp"
#include "widgets/plot_style.hpp"
#include "widgets/runs_view.hpp"
#include "widgets/theme.hpp"

using namespace placewright;
using namespace placewright::test;

namespace {

constexpr double kText = 4.5, kGraphics = 3;  // WCAG 2.1, 1.4.3 and 1.4.11

/// The most frequent colour of the picture, and the highest contrast of any of its pixels with it.
struct Seen {
    QColor background;
    double contrast = 1;
};
Seen look(const QImage& image) {
    std::map<QRgb, int> counts;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) ++counts[image.pixel(x, y)];
    }
    Seen seen;
    int most = 0;
    for (const auto& [color, count] : counts) {
        if (count > most) most = count, seen.background = QColor::fromRgb(color);
    }
    for (const auto& [color, count] : counts)
        seen.contrast = std::max(seen.contrast, contrast(QColor::fromRgb(color), seen.background));
    return seen;
}

QImage pictureOf(QWidget& widget) {
    return widget.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

double lightness(const QImage& image) {
    return image.scaled(1, 1, Qt::IgnoreAspectRatio, Qt::SmoothTransformation).pixelColor(0, 0).lightnessF();
}

void choose(Shown& shown, ActionId theme) {
    shown.window.action(theme)->trigger();
    QCoreApplication::processEvents();
    QTest::qWait(30);
}

}  // namespace

class TestWindowTheme : public QObject {
    Q_OBJECT

    std::unique_ptr<Workplace> m_place;

private Q_SLOTS:
    void init() { m_place = std::make_unique<Workplace>(); }
    void cleanup() { applyTheme(Theme::system); }

    static void bothThemes() {
        QTest::addColumn<Theme>("theme");
        QTest::newRow("light") << Theme::light;
        QTest::newRow("dark") << Theme::dark;
    }

    void coloursAreReadable_data() { bothThemes(); }
    void coloursAreReadable() {
        QFETCH(const Theme, theme);
        const QPalette palette = themePalette(theme);
        const auto color = [&](QPalette::ColorRole role) { return palette.color(role); };
        QCOMPARE(isDark(palette), theme == Theme::dark);
        const QList<QColor> backgrounds{color(QPalette::Window), color(QPalette::Base),
                                        color(QPalette::AlternateBase)};
        const QList<QColor> texts{
            color(QPalette::WindowText), color(QPalette::Text), color(QPalette::PlaceholderText),
            color(QPalette::Link),       mutedColor(palette),   warningColor(palette),
            shorterColor(palette),       pathColor(palette)};
        for (const QColor& background : backgrounds) {
            for (const QColor& text : texts)
                QVERIFY2(contrast(text, background) >= kText,
                         qPrintable(text.name() + QStringLiteral(" on ") + background.name()));
            QVERIFY(contrast(color(QPalette::Highlight), background) >= kGraphics);
            QVERIFY(contrast(palette.color(QPalette::Disabled, QPalette::WindowText), background) >= 2);
        }
        QVERIFY(contrast(color(QPalette::ButtonText), color(QPalette::Button)) >= kText);
        QVERIFY(contrast(color(QPalette::ToolTipText), color(QPalette::ToolTipBase)) >= kText);
        QVERIFY(contrast(color(QPalette::HighlightedText), color(QPalette::Highlight)) >= kText);
        QVERIFY(contrast(axisColor(palette), color(QPalette::Base)) >= kGraphics);
        // Runs have lines of their colours on the base.
        for (int run = 0; run < 8; ++run)
            QVERIFY(contrast(runColor(run, color(QPalette::Base)), color(QPalette::Base)) > 2.2);
    }

    /// Yellow on white and wine on black have an edge.
    void deviceColoursStandOut_data() { bothThemes(); }
    void deviceColoursStandOut() {
        QFETCH(const Theme, theme);
        const QColor base = themePalette(theme).color(QPalette::Base);
        const Machine machine = test::uniform_machine(12);
        int edges = 0;
        for (DeviceId device = 0; device < machine.devices().size(); ++device) {
            const QPen edge = deviceEdge(machine, device, base);
            if (edge.style() == Qt::NoPen) {
                QVERIFY(contrast(deviceColor(machine, device), base) >= kGraphics);
            } else {
                QVERIFY(contrast(edge.color(), base) >= kGraphics);
                ++edges;
            }
            // Texts on it.
            const QColor color = deviceColor(machine, device);
            QVERIFY(contrast(readableOn(color), color) >= kText);
        }
        QVERIFY(edges > 0);
    }

    void theAccentIsNoDevicesColour() {
        for (const Theme theme : {Theme::light, Theme::dark}) {
            const QColor accent = themePalette(theme).color(QPalette::Highlight);
            for (int series = 0; series < 8; ++series) {
                const QColor other = seriesColor(series);
                const int apart = std::abs(accent.red() - other.red()) +
                                  std::abs(accent.green() - other.green()) +
                                  std::abs(accent.blue() - other.blue());
                QVERIFY2(apart > 120, qPrintable(other.name()));
            }
        }
    }

    void allTextOfPanelsIsReadable_data() { bothThemes(); }
    void allTextOfPanelsIsReadable() {
        QFETCH(const Theme, theme);
        settings::theme.set(static_cast<int>(theme));
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "4x-v100-nvlink"));
        int texts = 0;
        const auto check = [&](QWidget* of) {
            const QList<QWidget*> widgets = of->findChildren<QWidget*>();
            for (QWidget* widget : widgets) {
                if (!widget->isVisible() || !widget->isEnabled() || widget->visibleRegion().isEmpty())
                    continue;
                const auto* label = qobject_cast<QLabel*>(widget);
                const auto* button = qobject_cast<QAbstractButton*>(widget);
                const auto* edit = qobject_cast<QTextEdit*>(widget);
                const bool hasText = (label != nullptr && !label->text().isEmpty()) ||
                                     (button != nullptr && !button->text().isEmpty()) || edit != nullptr;
                if (!hasText) continue;
                ++texts;
                const Seen seen = look(pictureOf(*widget));
                QVERIFY2(seen.contrast >= kText, qPrintable(of->objectName() + QStringLiteral(" ") +
                                                            widget->metaObject()->className() +
                                                            QStringLiteral(" %1").arg(seen.contrast)));
                QCOMPARE(seen.background.lightnessF() < 0.5, theme == Theme::dark);
            }
        };
        for (QDockWidget* panel : shown.window.findChildren<QDockWidget*>()) {
            panel->raise();
            QTest::qWait(10);
            check(panel);
            // Panels that draw their texts themselves, without any selection.
            const Seen seen = look(pictureOf(*panel->widget()));
            QVERIFY2(seen.contrast >= kText, qPrintable(panel->objectName()));
        }
        check(shown.window.centralWidget());
        QVERIFY2(texts > 10, qPrintable(QString::number(texts)));
    }

    /// B11: the hint of the Selection panel was dark on dark.
    void hintsAreReadableInTheDark() {
        settings::theme.set(static_cast<int>(Theme::dark));
        Shown shown;
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph())));
        auto* hint = shown.window.findChild<QDockWidget*>("selectionDock")->findChild<QTextEdit*>();
        const Seen seen = look(pictureOf(*hint));
        QVERIFY2(seen.contrast >= kText, qPrintable(QString::number(seen.contrast)));
    }

    void aSwitchReachesAllThatIsOpen() {
        Shown shown;
        shown.window.resize(1400, 1000);
        QVERIFY(shown.open(m_place->write("wide.json", test::wide_graph()), "4x-v100-nvlink"));
        shown.window.action(ActionId::proof)->setChecked(false);  // else the bound changes meanwhile
        shown.document.setSelection({shown.op("branch3")});
        shown.document.startSearch(request("random", 50));
        QVERIFY(shown.waitUntilIdle());
        const auto pictures = [&] {
            std::map<QString, QImage> of;
            for (QDockWidget* panel : shown.window.findChildren<QDockWidget*>()) {
                panel->raise();
                QTest::qWait(20);
                of[panel->objectName()] = pictureOf(*panel->widget());
            }
            of[QStringLiteral("graph")] = pictureOf(*shown.window.graphView());
            for (QWidget* bar :
                 shown.window.findChildren<QWidget*>(QRegularExpression(QStringLiteral("ToolBar$"))))
                of[bar->objectName()] = pictureOf(*bar);
            return of;
        };
        choose(shown, ActionId::themeLight);
        pictures();  // some panels grow when they are seen first
        const auto light = pictures();
        choose(shown, ActionId::themeDark);
        const auto dark = pictures();
        QVERIFY(light.size() >= 15);
        for (const auto& [name, image] : light) {
            QVERIFY2(lightness(image) > 0.6, qPrintable(name));
            QVERIFY2(lightness(dark.at(name)) < 0.4, qPrintable(name));
        }
        choose(shown, ActionId::themeLight);
        for (const auto& [name, image] : pictures()) {
            QVERIFY2(image.size() == light.at(name).size(), qPrintable(name));
            QVERIFY2(image == light.at(name), qPrintable(name));
        }
    }

    void theThemeIsRemembered() {
        {
            Shown first;
            QVERIFY(first.window.action(ActionId::themeSystem)->isChecked());
            QVERIFY(!isDark(first.window.palette()));  // the tests have no dark desktop
            choose(first, ActionId::themeDark);
            QVERIFY(isDark(first.window.palette()));
            QVERIFY(first.window.close());
        }
        applyTheme(Theme::light);
        Shown second;
        QVERIFY(isDark(second.window.palette()));
        QVERIFY(second.window.action(ActionId::themeDark)->isChecked());
        choose(second, ActionId::themeSystem);
        QVERIFY(!isDark(second.window.palette()));
    }

    // --- icons ---

    void iconsFollowThePalette() {
        const auto ink = [](const QIcon& icon, QIcon::Mode mode = QIcon::Normal,
                            QIcon::State state = QIcon::Off) {
            const QImage image = icon.pixmap(QSize(32, 32), 1, mode, state).toImage();
            QColor color;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    if (image.pixelColor(x, y).alpha() == 255) color = image.pixelColor(x, y);
                }
            }
            return color;
        };
        const QIcon icon = lineIcon(QStringLiteral("square")),
                    warning = lineIcon(QStringLiteral("square"), IconTone::warning);
        QVERIFY(!icon.isNull());
        QVERIFY(lineIcon(QStringLiteral("no such icon")).isNull());
        for (const Theme theme : {Theme::light, Theme::dark, Theme::light}) {
            applyTheme(theme);
            const QPalette palette = themePalette(theme);
            QCOMPARE(ink(icon), palette.color(QPalette::WindowText));
            QCOMPARE(ink(icon, QIcon::Disabled), palette.color(QPalette::Disabled, QPalette::WindowText));
            QCOMPARE(ink(icon, QIcon::Selected), palette.color(QPalette::HighlightedText));
            QCOMPARE(ink(icon, QIcon::Normal, QIcon::On), palette.color(QPalette::Link));
            QCOMPARE(ink(warning), warningColor(palette));
        }
        const QPixmap twice = icon.pixmap(QSize(16, 16), 2.0);
        QCOMPARE(twice.size(), QSize(32, 32));
        QCOMPARE(twice.devicePixelRatio(), 2.0);
    }

    void allIconsAreOurs() {
        Shown shown;
        const auto isOurs = [](const QIcon& icon) { return !icon.isNull() && !icon.name().isEmpty(); };
        for (const QToolBar* bar : shown.window.findChildren<QToolBar*>()) {
            for (const QToolButton* button : bar->findChildren<QToolButton*>()) {
                if (button->isVisible()) QVERIFY2(isOurs(button->icon()), qPrintable(button->text()));
            }
        }
        int icons = 0;
        for (const QMenu* menu : shown.window.findChildren<QMenu*>()) {
            for (const QAction* action : menu->actions()) {
                if (action->icon().isNull()) continue;
                QVERIFY2(isOurs(action->icon()), qPrintable(action->text()));
                ++icons;
            }
        }
        QVERIFY2(icons > 50, qPrintable(QString::number(icons)));
        const QStyle* style = QApplication::style();
        for (const auto which :
             {QStyle::SP_MessageBoxInformation, QStyle::SP_MessageBoxQuestion, QStyle::SP_MessageBoxWarning,
              QStyle::SP_MessageBoxCritical, QStyle::SP_TitleBarCloseButton, QStyle::SP_TitleBarNormalButton,
              QStyle::SP_DirIcon, QStyle::SP_FileIcon, QStyle::SP_FileDialogToParent,
              QStyle::SP_FileDialogNewFolder, QStyle::SP_LineEditClearButton,
              QStyle::SP_ToolBarHorizontalExtensionButton})
            QVERIFY2(isOurs(style->standardIcon(which)), qPrintable(QString::number(which)));
        QMessageBox box(QMessageBox::Warning, "Title", "Text", QMessageBox::Ok, &shown.window);
        QVERIFY(!box.iconPixmap().isNull());
    }

    void digitsOfTablesHaveOneWidth() {
        const QFontMetricsF metrics(tabularFont(QApplication::font()));
        for (char digit = '1'; digit <= '9'; ++digit)
            QCOMPARE(metrics.horizontalAdvance(QLatin1Char(digit)),
                     metrics.horizontalAdvance(QLatin1Char('0')));
    }
};

PLACEWRIGHT_WINDOW_TEST_MAIN(TestWindowTheme)
#include "tst_window_theme.moc"
