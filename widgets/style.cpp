// SPDX-License-Identifier: MIT
#include "widgets/style.hpp"

#include <QPainter>
#include <QStyleOption>
#include <QTabBar>
#include <QTableView>
#include <QTreeView>

#include "widgets/icons.hpp"
#include "widgets/palette.hpp"
#include "widgets/theme.hpp"

namespace placewright {
namespace {

struct StandardIcon {
    QStyle::StandardPixmap which;
    const char* name;
    IconTone tone = IconTone::plain;
};

constexpr StandardIcon kStandardIcons[]{
    {QStyle::SP_MessageBoxInformation, "info", IconTone::accent},
    {QStyle::SP_MessageBoxQuestion, "circle-question-mark", IconTone::accent},
    {QStyle::SP_MessageBoxWarning, "triangle-alert", IconTone::warning},
    {QStyle::SP_MessageBoxCritical, "octagon-alert", IconTone::warning},
    {QStyle::SP_TitleBarCloseButton, "x"},
    {QStyle::SP_DockWidgetCloseButton, "x"},
    {QStyle::SP_TitleBarNormalButton, "picture-in-picture-2"},
    {QStyle::SP_LineEditClearButton, "x"},
    {QStyle::SP_ToolBarHorizontalExtensionButton, "chevrons-right"},
    {QStyle::SP_ArrowUp, "chevron-up"},
    {QStyle::SP_ArrowDown, "chevron-down"},
    {QStyle::SP_ArrowLeft, "arrow-left"},
    {QStyle::SP_ArrowRight, "arrow-right"},
    {QStyle::SP_ArrowBack, "arrow-left"},
    {QStyle::SP_ArrowForward, "arrow-right"},
    {QStyle::SP_DirIcon, "folder"},
    {QStyle::SP_DirOpenIcon, "folder-open"},
    {QStyle::SP_DirClosedIcon, "folder"},
    {QStyle::SP_DirHomeIcon, "house"},
    {QStyle::SP_DirLinkIcon, "folder"},
    {QStyle::SP_FileIcon, "file"},
    {QStyle::SP_FileLinkIcon, "file"},
    {QStyle::SP_FileDialogToParent, "arrow-up"},
    {QStyle::SP_FileDialogNewFolder, "folder-plus"},
    {QStyle::SP_FileDialogDetailedView, "table"},
    {QStyle::SP_FileDialogListView, "list"},
    {QStyle::SP_FileDialogInfoView, "info"},
    {QStyle::SP_FileDialogBack, "arrow-left"},
    {QStyle::SP_FileDialogStart, "house"},
    {QStyle::SP_FileDialogEnd, "arrow-right"},
    {QStyle::SP_ComputerIcon, "monitor"},
    {QStyle::SP_DesktopIcon, "monitor"},
    {QStyle::SP_DriveHDIcon, "hard-drive"},
    {QStyle::SP_DriveNetIcon, "network"},
    {QStyle::SP_TrashIcon, "trash-2"},
    {QStyle::SP_BrowserReload, "refresh-cw"},
    {QStyle::SP_DialogOpenButton, "folder-open"},
    {QStyle::SP_DialogSaveButton, "save"},
    {QStyle::SP_DialogCloseButton, "x"},
    {QStyle::SP_DialogCancelButton, "x"},
    {QStyle::SP_DialogOkButton, "check"},
    {QStyle::SP_DialogApplyButton, "check"},
    {QStyle::SP_DialogResetButton, "rotate-cw"},
    {QStyle::SP_DialogDiscardButton, "trash-2"},
    {QStyle::SP_DialogHelpButton, "circle-question-mark"},
    {QStyle::SP_MediaPlay, "play"},
    {QStyle::SP_MediaPause, "pause"},
    {QStyle::SP_MediaStop, "square"},
};

constexpr int kUnderline = 2;  // of the selected tab, pixels

/// A line between areas, hardly seen.
QColor hairline(const QPalette& palette) {
    return mixedColor(palette.color(QPalette::Window), palette.color(QPalette::WindowText), 0.14F);
}

/// Flat, the selected one in the colour of its page and with a line in the accent on the side of the page's
/// border.
void drawTab(const QStyleOptionTab& tab, QPainter& painter) {
    const QPalette& palette = tab.palette;
    const bool selected = (tab.state & QStyle::State_Selected) != 0;
    const bool hovered =
        (tab.state & QStyle::State_MouseOver) != 0 && (tab.state & QStyle::State_Enabled) != 0;
    const QColor window = palette.color(QPalette::Window);
    painter.fillRect(tab.rect, selected  ? palette.color(QPalette::Base)
                               : hovered ? mixedColor(window, palette.color(QPalette::WindowText), 0.07F)
                                         : window);
    if (!selected) return;
    QRect line = tab.rect;
    switch (tab.shape) {
        case QTabBar::RoundedSouth:
        case QTabBar::TriangularSouth:
            line.setTop(line.bottom() - kUnderline + 1);
            break;
        case QTabBar::RoundedWest:
        case QTabBar::TriangularWest:
            line.setWidth(kUnderline);
            break;
        case QTabBar::RoundedEast:
        case QTabBar::TriangularEast:
            line.setLeft(line.right() - kUnderline + 1);
            break;
        default:
            line.setHeight(kUnderline);
    }
    painter.fillRect(line, palette.color(QPalette::Highlight));
}

}  // namespace

Style::Style() : QProxyStyle(QStringLiteral("Fusion")) {}

void Style::polish(QWidget* widget) {
    QProxyStyle::polish(widget);
    if (qobject_cast<QTableView*>(widget) == nullptr && qobject_cast<QTreeView*>(widget) == nullptr) return;
    if (const QFont font = tabularFont(widget->font()); font != widget->font()) widget->setFont(font);
}

/// Fusion outlines check boxes and radio buttons darker than the window, which is invisible on a dark one.
void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const {
    if (element == PE_PanelToolBar || element == PE_FrameTabBarBase) return;
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    const bool round = element == PE_IndicatorRadioButton;
    if ((element != PE_IndicatorCheckBox && !round) || !isDark(option->palette)) return;
    QColor outline = option->palette.color(QPalette::WindowText);
    outline.setAlphaF(0.5F);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(outline);
    painter->setBrush(Qt::NoBrush);
    const QRectF edge = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
    if (round) {
        painter->drawEllipse(edge);
    } else {
        painter->drawRect(edge);
    }
    painter->restore();
}

void Style::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                        const QWidget* widget) const {
    if (element == CE_ToolBar) {
        painter->fillRect(option->rect, option->palette.color(QPalette::Window));
        painter->fillRect(QRect(option->rect.left(), option->rect.bottom(), option->rect.width(), 1),
                          hairline(option->palette));
        return;
    }
    if (element == CE_TabBarTabShape) {
        if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option))
            return drawTab(*tab, *painter);
    }
    if (element == CE_DockWidgetTitle) {
        if (const auto* dock = qstyleoption_cast<const QStyleOptionDockWidget*>(option)) {
            QRect area = subElementRect(SE_DockWidgetTitleBarText, option, widget).adjusted(4, 0, 0, 0);
            painter->save();
            QFont font = painter->font();
            font.setWeight(QFont::DemiBold);
            painter->setFont(font);
            painter->setPen(mutedColor(dock->palette));
            painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextShowMnemonic,
                              QFontMetrics(font).elidedText(dock->title, Qt::ElideRight, area.width()));
            painter->restore();
            return;
        }
    }
    QProxyStyle::drawControl(element, option, painter, widget);
}

int Style::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
    switch (metric) {
        case PM_SmallIconSize:
        case PM_ButtonIconSize:
        case PM_TabBarIconSize:
        case PM_ListViewIconSize:
            return 16;
        case PM_ToolBarIconSize:
            return 20;
        case PM_MessageBoxIconSize:
            return 32;
        case PM_ToolBarItemSpacing:
        case PM_ToolBarItemMargin:
        case PM_DockWidgetTitleMargin:
        case PM_DockWidgetSeparatorExtent:
            return 4;
        case PM_ToolBarFrameWidth:
            return 0;
        case PM_LayoutLeftMargin:
        case PM_LayoutTopMargin:
        case PM_LayoutRightMargin:
        case PM_LayoutBottomMargin:
            return 12;
        case PM_LayoutHorizontalSpacing:
        case PM_LayoutVerticalSpacing:
            return 8;
        default:
            return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int Style::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                     QStyleHintReturn* result) const {
    switch (hint) {
        case SH_ToolTip_WakeUpDelay:
            // Tooltips carry most information on an op in the graph and the timeline, so they appear at once.
            return 150;
        case SH_DialogButtonBox_ButtonsHaveIcons:
            return 0;
        default:
            return QProxyStyle::styleHint(hint, option, widget, result);
    }
}

QIcon Style::standardIcon(StandardPixmap which, const QStyleOption* option, const QWidget* widget) const {
    for (const StandardIcon& known : kStandardIcons) {
        if (known.which == which) return lineIcon(QLatin1String(known.name), known.tone);
    }
    return QProxyStyle::standardIcon(which, option, widget);
}

QPixmap Style::standardPixmap(StandardPixmap which, const QStyleOption* option, const QWidget* widget) const {
    for (const StandardIcon& known : kStandardIcons) {
        if (known.which != which) continue;
        const int size = proxy()->pixelMetric(PM_SmallIconSize, option, widget);
        return lineIcon(QLatin1String(known.name), known.tone).pixmap(QSize(size, size));
    }
    return QProxyStyle::standardPixmap(which, option, widget);
}

}  // namespace placewright
