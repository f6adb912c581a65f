// SPDX-License-Identifier: MIT
#pragma once

#include <QTimer>

#include "widgets/cdf_plot.hpp"

class QComboBox;

namespace placewright {

class Document;
class Run;

/// The distributions of what the window shows: the scores that searches gave to placements, the times of ops
/// and transfers of the placement on screen, and the results of a comparison. Grows while searches run, at
/// most ten times a second, and only while it is seen.
class LiveCdf : public CdfPlot {
    Q_OBJECT
public:
    enum class Content { searches, ops, transfers, bytes, comparison };

    explicit LiveCdf(const Document* document, QWidget* parent = nullptr);

    /// Until the user chooses, the searches are shown, or a comparison while there is none.
    Content content() const;
    /// Runs, or the placement on screen, have changed.
    void refresh();
    /// Brings what is drawn up to date, also of a panel that is not seen.
    void complete();
    void setComparison(CdfData comparison);
    /// Whether the panel is in front.
    void setSeen(bool seen);

protected:
    void changeEvent(QEvent* event) override;

private:
    void fill();
    CdfData searches() const;
    /// Durations of ops or transfers, or bytes of transfers, on screen.
    CdfData spans(Content content) const;
    QColor colorOf(const Run& run) const;

    const Document* m_document;
    QComboBox* m_choice = nullptr;
    CdfData m_comparison;
    Content m_filled = Content::searches;
    bool m_chosen = false;  ///< by the user
    bool m_seen = false;
    bool m_late = false;  ///< something changed since the last fill()
    QTimer m_pause;       ///< between two of them
};

}  // namespace placewright
