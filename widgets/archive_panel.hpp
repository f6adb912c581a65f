// SPDX-License-Identifier: MIT
#pragma once

#include <QTabWidget>

#include "widgets/archive_view.hpp"
#include "widgets/elite_axes.hpp"

namespace placewright {

/// The archive of a search on two pages: as a map, and as lines over parallel axes.
class ArchivePanel : public QTabWidget {
    Q_OBJECT
public:
    explicit ArchivePanel(QWidget* parent = nullptr);

    ArchiveMap* map() const { return m_map; }
    EliteAxes* axes() const { return m_axes; }
    /// As ArchiveMap::setArchive().
    void setArchive(std::shared_ptr<const ArchiveView> archive, ArchiveSource source = {});
    /// Names the run that the archive is of.
    void setRun(const QString& title);
    bool isEmpty() const;
    void setObjective(const QString& title);
    /// Draws the page on screen.
    void renderWhole(QPainter& painter, const QRect& target) const;

Q_SIGNALS:
    void eliteActivated(std::shared_ptr<const placewright::Placement> placement, double stepTime);

private:
    ArchiveMap* m_map;
    EliteAxes* m_axes;
};

}  // namespace placewright
