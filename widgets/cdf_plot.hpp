// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include <QColor>
#include <QSet>
#include <QString>

#include "widgets/plot_frame.hpp"
#include "widgets/plot_style.hpp"

class QCheckBox;
class QComboBox;
class QCPItemStraightLine;
class QCPItemText;
class QTreeWidget;

namespace placewright {

struct CdfGraph {
    QString name;
    double one_device_s = 0;  ///< value on one device, to compare with; 0: unknown
};

struct CdfValue {
    std::size_t graph = 0;   ///< index into CdfData::graphs
    double step_time_s = 0;  ///< or the value of another objective, CdfData::objective
    bool fits = true;  ///< a placement that does not fit has no value: it counts as slower than all others
    std::size_t count = 1;  ///< how many values are this one
};

/// One way of placing the graphs, drawn as one curve.
struct CdfScheme {
    QString title;
    std::vector<CdfValue> values;
    /// Number of values that each graph will have at the end; 0: only the present values count. Missing
    /// values count in the total but not as a share of the curve.
    std::size_t values_per_graph = 0;
    QColor color{};  ///< invalid: the colour of its position in CdfData::schemes
};

/// The results of several schemes on a family of graphs.
struct CdfData {
    std::vector<CdfGraph> graphs;
    std::vector<CdfScheme> schemes;
    QString objective = QStringLiteral("Step time");  ///< title of the values
    QString members = QStringLiteral("graphs");       ///< noun for the elements of `graphs`
    QString rows = QStringLiteral("Algorithm");       ///< what a scheme is, over the list
    /// Values are in seconds, or (in `step_time_s` all the same) in bytes.
    enum class Quantity { seconds, bytes } quantity = Quantity::seconds;
};

/// Empirical cumulative distribution of step times over a family of graphs, one step curve per scheme, with
/// the medians. Values are in seconds, or relative to one device for graphs whose value there is known. The
/// list below the plot is its legend and shows or hides schemes; a hidden scheme stays hidden when new data
/// has a scheme of the same title. The horizontal axis follows the data until the user zooms or drags; a
/// double click or "Fit" makes it follow again.
class CdfPlot : public PlotFrame {
    Q_OBJECT
public:
    explicit CdfPlot(QWidget* parent = nullptr);
    /// Graph i of the plot is scheme i. Cheap: called while values arrive.
    void setData(CdfData family);

protected:
    /// Makes the horizontal axis logarithmic or linear, as its tick does.
    void setLogarithmic(bool logarithmic);
    /// Whether values are shown relative to one device where the data allows it, from the next setData() on.
    void setRelativeWanted(bool wanted) { m_relativeWanted = wanted; }
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Point {
        double x = 0;  ///< on the axis
        const CdfValue* value = nullptr;
        std::size_t upTo = 0;  ///< number of values up to this one
    };
    /// A scheme in the units of the present axis.
    struct Curve {
        std::vector<Point> points;       ///< ascending; only placements that fit
        bool whole = true;               ///< no value is missing
        std::size_t count = 0;           ///< of all values, also misfits and missing ones
        std::optional<double> median{};  ///< on the axis; none while values are missing or if it does not fit

        double percent(std::size_t point) const {
            return 100.0 * static_cast<double>(points[point].upTo) / static_cast<double>(count);
        }
        /// Position in `points` of the value with this rank, from 0; points.size() if it does not fit.
        std::size_t pointOf(std::size_t rank) const;
    };

    bool relative() const;
    bool shown(std::size_t scheme) const { return !m_off.contains(m_data.schemes[scheme].title); }
    QString valueText(double x) const;
    void makeList();
    void updateUnit();
    Curve curveOf(const CdfScheme& scheme) const;
    QPen penOf(std::size_t scheme) const;
    void updateCurves();
    void updateList();
    void fitList();
    void fit();
    void updateAxes() override;
    void updateStyle() override;
    void showValueAt(QPoint position) override;

    CdfData m_data;
    std::vector<Curve> m_curves;
    QSet<QString> m_off;  ///< titles of the hidden schemes
    TimeUnit m_unit;
    bool m_relativeWanted = true;  ///< shown relative where the data allows it

    QComboBox* m_axis = nullptr;
    QCheckBox* m_log = nullptr;
    QTreeWidget* m_list = nullptr;
    QCPItemStraightLine *m_half = nullptr, *m_oneDevice = nullptr;
    QCPItemText* m_oneDeviceLabel = nullptr;
};

}  // namespace placewright
