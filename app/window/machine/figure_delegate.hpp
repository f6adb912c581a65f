// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include <QStringList>
#include <QStyledItemDelegate>

class QAbstractItemView;
class QLabel;

namespace placewright {

/// Edits cells whose texts must be valid. While a text is not, the reason stands below its field, and Return
/// and Tab leave the field open; Escape goes back to the value before.
class FigureDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    /// What may be entered in a cell.
    struct Rules {
        /// Returns why the text cannot be the value of the cell; empty if it can.
        std::function<QString(const QModelIndex& cell, const QString& text)> problem;
        std::function<void(const QModelIndex& cell, const QString& text)> enter;
        /// Texts to choose from; empty: the text is free.
        std::function<QStringList(const QModelIndex& cell)> choices;
    };
    FigureDelegate(Rules rules, QAbstractItemView* view);

    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const override;
    void setEditorData(QWidget* editor, const QModelIndex& index) const override;
    void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override;
    void destroyEditor(QWidget* editor, const QModelIndex& index) const override;
    bool eventFilter(QObject* editor, QEvent* event) override;

Q_SIGNALS:
    /// A field with a text that is not valid was left, so that the cell keeps its value.
    void refused(const QString& problem) const;

private:
    QString problemOf(const QWidget* editor) const;
    void showProblem(QWidget* editor) const;

    Rules m_rules;
    QLabel* m_problem;
};

}  // namespace placewright
