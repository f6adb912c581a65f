// SPDX-License-Identifier: MIT
#pragma once

#include <QObject>

#include "app/window/document.hpp"

class QMenu;

namespace placewright {

/// A device's name in a menu, in which "&" would mark a key.
QString menuText(QString name);

/// Lists the devices in a menu, each with what moving the selected ops there would give.
class MoveMenu : public QObject {
    Q_OBJECT
public:
    MoveMenu(Document* document, QMenu* menu);

Q_SIGNALS:
    void moveRequested(placewright::DeviceId device);

private:
    void fill();
    void showPreviews(const DropPreviews& previews);

    Document* m_document;
    QMenu* m_menu;
};

}  // namespace placewright
