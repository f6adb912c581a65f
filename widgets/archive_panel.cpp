// SPDX-License-Identifier: MIT
#include "widgets/archive_panel.hpp"

namespace placewright {

ArchivePanel::ArchivePanel(QWidget* parent)
    : QTabWidget(parent), m_map(new ArchiveMap), m_axes(new EliteAxes) {
    setDocumentMode(true);
    addTab(m_map, tr("Map"));
    setTabToolTip(0, tr("The best placement of each niche, coloured by its value"));
    addTab(m_axes, tr("Parallel axes"));
    setTabToolTip(1, tr("A line for each elite over all dimensions"));
    connect(m_map, &ArchiveMap::eliteActivated, this, &ArchivePanel::eliteActivated);
    connect(m_axes, &EliteAxes::eliteActivated, this, &ArchivePanel::eliteActivated);
}

void ArchivePanel::setArchive(std::shared_ptr<const ArchiveView> archive, ArchiveSource source) {
    m_map->setArchive(archive, source);
    m_axes->setArchive(std::move(archive), source.run);
}

void ArchivePanel::setRun(const QString& title) {
    m_map->setRun(title);
    m_axes->setRun(title);
}

bool ArchivePanel::isEmpty() const {
    return m_map->isEmpty();
}

void ArchivePanel::setObjective(const QString& title) {
    m_map->setObjective(title);
    m_axes->setObjective(title);
}

void ArchivePanel::renderWhole(QPainter& painter, const QRect& target) const {
    if (currentWidget() == m_axes) return m_axes->renderWhole(painter, target);
    m_map->renderWhole(painter, target);
}

}  // namespace placewright
