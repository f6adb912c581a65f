// SPDX-License-Identifier: MIT
// What the plots of curves share: a row of controls, a text while there is nothing to plot, and axes that
// follow the data until the user zooms.
#pragma once

#include <QWidget>

class QCheckBox;
class QComboBox;
class QCPItemTracer;
class QCustomPlot;
class QHBoxLayout;
class QLabel;
class QPainter;
class QStackedWidget;
class QToolButton;
class QVBoxLayout;

namespace placewright {

/// Base of the plots of curves. The axes follow the data until the user zooms or drags; a double click or the
/// button "Fit" makes them follow again.
class PlotFrame : public QWidget {
    Q_OBJECT
public:
    /// Draws the plot into `target`, with a legend of its own if there is none on screen.
    void renderWhole(QPainter& painter, const QRect& target) const;
    QCustomPlot* plot() const { return m_plot; }
    bool isEmpty() const;
    /// Text of the page that is shown while there is nothing to plot.
    void setEmptyText(const QString& text);

protected:
    enum class Legend { on_screen, in_pictures, none };

    /// The empty page is shown at first. `fitTip`: tooltip of the button "Fit".
    PlotFrame(Legend legend, const QString& accessibleName, const QString& fitTip, QWidget* parent);

    /// Adds a control left of "Fit"; its object name is `name`.
    QCheckBox* addCheck(const QString& name, const QString& text, const QString& toolTip);
    QComboBox* addChoice(const QString& name, const QStringList& items, const QString& accessibleName,
                         const QString& toolTip);
    /// Adds a widget between the controls and the plot, shown also while there is nothing to plot.
    void addAbove(QWidget* widget);
    /// Adds a widget below the plot, shown together with it.
    void addBelow(QWidget* widget);
    /// Adds a widget that takes the room left of the controls.
    void addBeside(QWidget* widget);
    /// Adds the dot that showValue() moves, above the items added so far.
    void addTracer();

    /// Shows the empty page, or the plot.
    void setEmpty(bool empty);
    bool isFollowing() const { return m_following; }
    /// Lets the axes follow the data from the next updateAxes() on.
    void follow() { m_following = true; }
    /// Moves the dot to a point of the plot and shows plain text as tooltip at `position`, in
    /// pixels of the plot.
    void showValue(QPointF point, QPoint position, const QString& text);

    /// Updates scales and titles, fits the axes to the data if they follow it, and redraws.
    virtual void updateAxes() = 0;
    /// Gives all parts of the plot the colours of the palette and the font.
    virtual void updateStyle();
    /// Shows what is drawn near `position`, in pixels of the plot, or hides what was shown.
    virtual void showValueAt(QPoint position) = 0;
    virtual void hideValue();
    /// Handles a double-click. Returns false if it means nothing there, so that it fits the axes.
    virtual bool doubleClicked(QPoint /*position*/) { return false; }

    bool eventFilter(QObject*, QEvent*) override;

private:
    void addControl(QWidget* control, const QString& name, const QString& toolTip);
    void fitAgain();

    bool m_following = true;
    bool m_legendInPictures = false;
    QVBoxLayout* m_layout = nullptr;
    QHBoxLayout* m_controls = nullptr;
    QToolButton* m_fit = nullptr;
    QStackedWidget* m_pages = nullptr;
    QLabel* m_empty = nullptr;
    QVBoxLayout* m_filled = nullptr;  ///< the plot and what is below it
    QCustomPlot* m_plot = nullptr;
    QCPItemTracer* m_tracer = nullptr;
};

}  // namespace placewright
