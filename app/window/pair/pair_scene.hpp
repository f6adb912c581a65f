// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include <QObject>

#include "app/window/background.hpp"
#include "app/window/document.hpp"

namespace placewright {

/// The graph on screen with the same closed modules, laid out for the room that it has beside another one.
/// Has the layout on screen until its own is ready.
class PairScene : public QObject {
    Q_OBJECT
public:
    explicit PairScene(Document* document);
    ~PairScene() override;

    void setRoom(const LayoutRoom& room);
    /// Null while the document has none.
    std::shared_ptr<const GraphScene> scene() const {
        return m_original == m_document->scene() ? m_scene : nullptr;
    }

Q_SIGNALS:
    void changed();

private:
    void update();

    Document* m_document;
    std::optional<LayoutRoom> m_room;
    std::shared_ptr<const GraphScene> m_scene;
    std::shared_ptr<const GraphScene> m_original;  ///< scene of the document that m_scene shows
    Background::Lane m_lane;
    Background m_background{1};
};

}  // namespace placewright
