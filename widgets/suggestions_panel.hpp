// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QWidget>

#include "core/search/single_moves.hpp"
#include "widgets/op_view.hpp"

class QLabel;
class QProgressBar;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace placewright {

/// The single moves that would help most, best first; a double-click, Enter or the button asks for one. Says so if none helps.
class SuggestionsPanel : public QWidget {
    Q_OBJECT
public:
    explicit SuggestionsPanel(QWidget* parent = nullptr);

    /// `moves` of `placement`. `goal`: what they make small, "Step time".
    void showMoves(const Problem& problem, const Placement& placement, const SingleMoves& moves, const QString& goal);
    void showProgress(std::size_t done, std::size_t total);
    /// Shows why there are no suggestions.
    void showText(const QString& text);

Q_SIGNALS:
    void moveRequested(const placewright::OpList& ops, placewright::DeviceId device);
    /// The person clicked a move of these ops.
    void selectionEdited(const placewright::OpList& ops);
    /// The pointer or the keyboard is at a move of this op; kInvalidOp at none.
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
