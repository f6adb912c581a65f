// SPDX-License-Identifier: MIT
#include "app/window/move_menu.hpp"

#include <QAction>
#include <QMenu>

#include "app/window/option_text.hpp"
#include "widgets/palette.hpp"
#include "widgets/text.hpp"

namespace placewright {
QString menuText(QString name) {
    return name.replace(QLatin1Char('&'), QLatin1String("&&"));
}

MoveMenu::MoveMenu(Document* document, QMenu* menu) : QObject(menu), m_document(document), m_menu(menu) {
    connect(m_menu, &QMenu::aboutToShow, this, &MoveMenu::fill);
    connect(m_menu, &QMenu::aboutToHide, m_document, &Document::cancelPreview);
    connect(m_document, &Document::previewReady, this, [this](const DropPreviews& previews) {
        if (m_menu->isVisible()) showPreviews(previews);
    });
}

void MoveMenu::fill() {
    m_menu->clear();
    if (!m_document->isOpen()) return;
    const Machine& machine = *m_document->problem()->machine;
    const bool any = !m_document->selection().empty();
    for (DeviceId device = 0; device < machine.devices().size(); ++device) {
        QAction* action = m_menu->addAction(deviceIcon(machine, device, m_menu->devicePixelRatioF()),
                                            menuText(toQString(machine.device(device).name)), this,
                                            [this, device] { Q_EMIT moveRequested(device); });
        action->setIconVisibleInMenu(true);
        action->setEnabled(any);
    }
    if (any) m_document->requestPreview(m_document->selection());
}

void MoveMenu::showPreviews(const DropPreviews& previews) {
    const auto actions = m_menu->actions();
    const Machine& machine = *m_document->problem()->machine;
    for (DeviceId device = 0; device < std::min<std::size_t>(previews.size(), actions.size()); ++device) {
        const DropPreview& preview = previews[device];
        // What follows the tab stands in the column of the keys.
        actions[device]->setText(menuText(toQString(machine.device(device).name)) + QLatin1Char('\t') +
                                 dropTargetText(preview));
        actions[device]->setEnabled(preview.possible);
    }
}

}  // namespace placewright
