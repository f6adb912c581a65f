// SPDX-License-Identifier: MIT
#include "app/window/pair/pair_scene.hpp"

namespace placewright {

PairScene::PairScene(Document* document) : m_document(document) {
    connect(document, &Document::sceneChanged, this, &PairScene::update);
    update();
}

PairScene::~PairScene() {
    m_lane.cancel();
}

void PairScene::setRoom(const LayoutRoom& room) {
    if (m_room && alike(*m_room, room)) return;
    m_room = room;
    update();
}

void PairScene::update() {
    m_lane.cancel();
    const std::shared_ptr<const GraphScene> original = m_document->scene();
    if (original != m_original) {
        m_original = original;
        m_scene = original;
        Q_EMIT changed();
    }
    if (!original || !m_room || alike(m_scene->room, *m_room)) return;
    if (alike(original->room, *m_room)) {
        m_scene = original;
        Q_EMIT changed();
        return;
    }
    m_background.run(
        m_lane,
        [problem = m_document->problem(), original, room = *m_room](std::stop_token stop) {
            return buildGraphScene(*problem, &original->closed, room, stop);
        },
        [this](std::shared_ptr<const GraphScene> scene) {
            m_scene = std::move(scene);
            Q_EMIT changed();
        },
        [](const QString&) {});  // the layout on screen serves, too
}

}  // namespace placewright
