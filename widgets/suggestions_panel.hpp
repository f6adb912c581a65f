// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QWidget>

#include "core/cost/problem.hpp"
#include "core/search/progress.hpp"
#include "widgets/op_view.hpp"

class QLabel;
class QProgressBar;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace placewright {

/// Lists the single moves that improve the placement most, best first; a double-click, Enter or the button
/// requests one. Says so if no move improves it.
class SuggestionsPanel : public QWidget {
    Q_OBJECT
public:
    explicit SuggestionsPanel(QWidget* parent = nullptr);

    /// Shows `moves` of `placement`. `objective`: title of the objective, "Step time".
    void showMoves(const Problem& problem, const Placement& placement, const SingleMoves& moves,
                   const QString& objective);
    /// Shows that `done` of `total` moves have been simulated; `total` 0: not known yet.
    void showProgress(std::size_t done, std::size_t total);
    /// Shows why there are no suggestions.
    void showText(const QString& text);

Q_SIGNALS:
    /// The user wants these ops moved to `device`.
    void moveRequested(const placewright::OpList& ops, placewright::DeviceId device);
    /// The user clicked a move of these ops.
    void selectionEdited(const placewright::OpList& ops);
    /// The pointer or the keyboard is on a move of this op; kInvalidOp: on none.
    void opHovered(placewright::OpId op);

protected:
    void hideEvent(QHideEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    struct Row {
        OpList ops;  ///< forward ops of the group
        DeviceId to = 0;
    };

    const Row& rowOf(const QTreeWidgetItem* item) const;
    void hover(const QTreeWidgetItem* item);
    void requestCurrent();

    QLabel* m_text = nullptr;
    QProgressBar* m_progress = nullptr;
    QTreeWidget* m_list = nullptr;
    QPushButton* m_apply = nullptr;
    std::vector<Row> m_rows;
};

}  // namespace placewright
