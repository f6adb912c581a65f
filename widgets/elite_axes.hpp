// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <QWidget>

#include "core/search/progress.hpp"

class QLabel;
class QSlider;

namespace placewright {

/// Shows the elites of an archive as parallel coordinates: a line for each over the dimensions of the archive
/// and the objective value, fast ones above slow ones and at the upper end of their axis. Dragging along an
/// axis keeps the elites within that range, a click on the axis all of them again; a slider keeps the best
/// share. A click on a line activates its elite. Elites that do not fit the memory are left out.
class EliteAxes : public QWidget {
    Q_OBJECT
public:
    explicit EliteAxes(QWidget* parent = nullptr);
    /// Keeps ranges and selection if `archive` has the same dimensions as the last one and is of the same
    /// run. Null shows an empty page.
    void setArchive(std::shared_ptr<const ArchiveView> archive, int run = 0);
    /// Title of the objective that elites are scored by.
    void setObjective(const QString& title);
    /// Names the run that the archive is of.
    void setRun(const QString& title);
    void renderWhole(QPainter& painter, const QRect& target) const;
    /// Number of elites that pass all ranges and the share.
    std::size_t kept() const { return m_kept.size(); }

Q_SIGNALS:
    void eliteActivated(std::shared_ptr<const placewright::Placement> placement, double stepTime);

private:
    class Canvas;
    friend class Canvas;
    using Elite = ArchiveView::Elite;
    using Range = std::pair<double, double>;

    std::size_t axes() const { return m_archive ? m_archive->dimensions.size() + 1 : 0; }
    /// Height of an elite on an axis, from 0 at its lower end to 1.
    double heightOn(const Elite& elite, std::size_t axis) const;
    void update();
    void activate(const Elite& elite);

    std::shared_ptr<const ArchiveView> m_archive;
    int m_run = 0;
    QString m_title;  ///< of the run
    QString m_objective;
    double m_best_s = 0, m_worst_s = 0;
    std::vector<const Elite*> m_elites;          ///< that fit, best first
    std::vector<const Elite*> m_kept;            ///< best first
    std::vector<std::optional<Range>> m_ranges;  ///< by axis
    std::optional<std::uint32_t> m_chosen;       ///< cell of the elite that was activated

    Canvas* m_canvas = nullptr;
    QSlider* m_share = nullptr;
    QLabel *m_shareText = nullptr, *m_count = nullptr;
};

}  // namespace placewright
