// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QObject>

#include "core/job/job.hpp"

class QAction;
class QProgressBar;
class QStatusBar;
class QToolButton;

namespace placewright {

class Document;
class Run;
class StatusLabel;
struct Pair;

/// Contents of the main window's status bar: value of the placement, lower bound, progress of search or
/// loading.
class StatusLine : public QObject {
    Q_OBJECT
public:
    /// `proof`: the action that tightens the bound, which a tooltip names. `follow`: the action that follows
    /// the best search.
    StatusLine(const Document* document, QStatusBar* bar, const QAction* proof, QAction* follow);

    void show();
    /// Shows how the screen differs from placement A; null: nothing is compared.
    void showPinned(const Pair* pair);
    /// Shows or hides the progress of loading.
    void showLoading();

Q_SIGNALS:
    void cancelRequested();
    void stopMeasuringRequested();
    /// Options that make the placement fit or, with `whole`, all of the network on that device.
    void optionsChosen(const placewright::JobOptions& options, std::optional<placewright::DeviceId> whole);

private:
    /// Shows the objective value of the current placement.
    void showFigure();
    /// Shows what makes the placement fit that does not.
    void showRemedies();
    /// Shows the lower bound and the gap to it.
    void showBound();
    /// Shows which searches run, which of them the screen follows, and their progress.
    void showSearches();
    QString followText(const std::vector<const Run*>& running) const;
    /// Shows the progress of a benchmark or profile, which stands in place of that of searches.
    void showMeasuring();

    const Document* m_document;
    const QAction* m_proof;
    StatusLabel* m_figure = nullptr;
    QToolButton* m_remedies = nullptr;  ///< its menu has an entry for each
    StatusLabel* m_pinned = nullptr;
    StatusLabel* m_bound = nullptr;
    StatusLabel* m_search = nullptr;
    QToolButton* m_follow = nullptr;
    QProgressBar* m_progress = nullptr;
    QToolButton* m_cancel = nullptr;
    QToolButton* m_stopMeasuring = nullptr;
};

}  // namespace placewright
