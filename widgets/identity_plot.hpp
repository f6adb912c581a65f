// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <QTimer>

#include "widgets/plot_frame.hpp"

class QCPItemStraightLine;

namespace placewright {

/// Base of plots of measured against simulated or predicted times: a dot each on log axes of the same range,
/// with a line where both are equal.
class IdentityPlot : public PlotFrame {
    Q_OBJECT
public:
    /// Where the dot with this key is, in pixels of the plot; nothing if there is none.
    std::optional<QPointF> positionOf(std::uint32_t key) const;

protected:
    struct Dot {
        std::uint32_t key = 0;     ///< of what it stands for
        std::uint32_t series = 0;  ///< dots of a series share a colour
        double simulated_s = 0, measured_s = 0;
    };

    enum class Shape { circle, triangle, diamond };  ///< a diamond is larger and outlined

    /// `across`: title of the axis of Dot::simulated_s.
    IdentityPlot(Legend legend, const QString& accessibleName, const QString& fitTip, QString across,
                 QWidget* parent);

    /// The dots ascend in their keys; times are positive.
    void setDots(std::vector<Dot> dots);
    const std::vector<Dot>& dots() const { return m_dots; }
    /// Draws a ring round the dots with these keys.
    void setMarked(const std::vector<std::uint32_t>& keys);
    /// Draws a dashed line where times are measured with this multiple of what is simulated; 0: none.
    void setTypical(double factor);

    virtual QString seriesName(std::uint32_t series) const = 0;
    virtual QColor seriesColor(std::uint32_t series) const = 0;
    virtual Shape seriesShape(std::uint32_t series) const;
    /// The tooltip of a dot, as plain text.
    virtual QString textOf(const Dot& dot) const = 0;
    /// The user clicked on a dot, or beside all: null.
    virtual void clicked(const Dot* dot) = 0;
    /// The user double-clicked on a dot. Returns false if that means nothing, so that it fits the axes.
    virtual bool activated(const Dot& /*dot*/) { return false; }

    void updateAxes() override;
    void updateStyle() override;
    void showValueAt(QPoint position) override;
    bool doubleClicked(QPoint position) override;

private:
    QPointF pointOf(const Dot& dot) const;
    /// The dot nearest to a position, if it is near.
    const Dot* dotAt(QPoint position) const;
    void updateGraphs();
    void updateMarks();

    std::vector<Dot> m_dots;
    std::vector<std::uint32_t> m_marked;
    double m_factor = 0;
    double m_perSecond = 1e3;
    QString m_unit, m_across;
    QPoint m_pressed;
    QTimer m_clickedBeside;        ///< runs after a click beside all dots until it cannot be a double-click
    bool m_doubleClicked = false;  ///< the button has not been released since
    QCPItemStraightLine *m_identity = nullptr, *m_typical = nullptr;
};

}  // namespace placewright
