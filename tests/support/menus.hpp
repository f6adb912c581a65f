// SPDX-License-Identifier: MIT
#pragma once

#include <QApplication>
#include <QMenu>
#include <QMouseEvent>
#include <QTest>

namespace placewright::test {

/// Moves the mouse to an entry of an open menu and clicks on it. Qt ignores a click unless the mouse has
/// moved since the menu opened.
inline void clickInMenu(QMenu* menu, QAction* action) {
    const QPoint at = menu->actionGeometry(action).center();
    constexpr int kMoves = 8;  // more than six
    for (int i = 0; i < kMoves; ++i) {
        QMouseEvent move(QEvent::MouseMove, at, menu->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(menu, &move);
    }
    QTest::mouseClick(menu, Qt::LeftButton, {}, at);
}

}  // namespace placewright::test
