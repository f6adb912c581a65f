// SPDX-License-Identifier: MIT
#pragma once

#include <QApplication>
#include <QMenu>
#include <QMouseEvent>
#include <QTest>

namespace placewright::test {

/// Clicks on an entry of an open menu, as a person does whose mouse has moved there: Qt ignores a click where
/// the menu came up.
inline void clickInMenu(QMenu* menu, QAction* action) {
    const QPoint at = menu->actionGeometry(action).center();
    constexpr int kMoves = 8;  // Qt asks for more than six
    for (int i = 0; i < kMoves; ++i) {
        QMouseEvent move(QEvent::MouseMove, at, menu->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(menu, &move);
    }
    QTest::mouseClick(menu, Qt::LeftButton, {}, at);
}

}  // namespace placewright::test
