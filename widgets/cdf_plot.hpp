// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include <QSet>
#include <QString>
#include <QWidget>

#include "widgets/plot_style.hpp"

class QCheckBox;
class QComboBox;
class QCPItemStraightLine;
class QCPItemText;
class QCPItemTracer;
class QCustomPlot;
class QLabel;
class QPainter;
class QTreeWidget;
class QStackedWidget;

namespace placewright {

struct CdfGraph {
    QString name;
    double one_device_s = 0;  ///< to compare with; 0: unknown
};

struct CdfValue {
    std::size_t graph = 0;   ///< index into CdfData::graphs
    double step_time_s = 0;  ///< or what else the data is about
    bool fits = true;        ///< a placement that does not has no step time: it counts as slower than all others
};

/// One way of placing.
struct CdfScheme {
    QString title;
    std::vector<CdfValue> values;
    /// That each graph will have when all are there; 0: those that there are. Those that are missing are no share of the curve.
    std::size_t values_per_graph = 0;
};

/// Ways of placing a family of graphs.
struct CdfData {
    std::vector<CdfGraph> graphs;
    std::vector<CdfScheme> schemes;
    QString goal = QStringLiteral("Step time");  ///< what the values are
    QString members = QStringLiteral("graphs");  ///< what `graphs` are
};

/// Empirical cumulative distribution of step times over a family of graphs, one step curve a scheme, with their medians; in seconds, or
/// relative to one device as far as the data tells what a graph takes there. The list below the plot is its legend, and ticks schemes on
/// and off; what is off stays off when new data has a scheme of that title. The horizontal axis follows the data until the person zooms
/// or drags; a double click or "Fit" makes it follow again.
class CdfPlot : public QWidget {
    Q_OBJECT
public:
    explicit CdfPlot(QWidget* parent = nullptr);
    /// Graph i of the plot is scheme i. Cheap: called while values come in.
    void setData(CdfData family);
    /// With a legend, which stands beside the plot otherwise.
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }
    /// Shown while there are no values.
    void setEmptyText(const QString& text);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    struct Point {
        double x = 0;  ///< on the axis
        const CdfValue* value = nullptr;
    };
    /// A scheme on the present axis.
    struct Curve {
        std::vector<Point> points;       ///< ascending; of the placements that fit
        bool whole = true;               ///< nothing is missing any more
        std::size_t count = 0;           ///< with those that do not, and those that are still missing
        std::optional<double> median{};  ///< on the axis; nothing where it is missing, or of a placement that does not fit

        double percent(std::size_t point) const { return 100.0 * static_cast<double>(point + 1) / static_cast<double>(count); }
    };

    bool relative() const;
    bool shown(std::size_t scheme) const { return !m_off.contains(m_data.schemes[scheme].title); }
    QString valueText(double x) const;
    void updateCurves();
    void updateList();
    void updateAxes();
    void updateStyle();
    void fit();
    void showValueAt(QPoint position);
    void hideValue();

    CdfData m_data;
    std::vector<Curve> m_curves;
    QSet<QString> m_off;  ///< titles of schemes that are not ticked
    TimeUnit m_unit;
    bool m_relativeWanted = true;  ///< where the data allows it
    bool m_following = true;       ///< the axis follows the data

    QStackedWidget* m_pages = nullptr;
    QLabel* m_empty = nullptr;
    QComboBox* m_axis = nullptr;
    QCheckBox* m_log = nullptr;
    QTreeWidget* m_list = nullptr;
    QCustomPlot* m_plot = nullptr;
    QCPItemStraightLine *m_half = nullptr, *m_oneDevice = nullptr;
    QCPItemText* m_oneDeviceLabel = nullptr;
    QCPItemTracer* m_tracer = nullptr;
};

}  // namespace placewright
