// SPDX-License-Identifier: MIT
#include "app/window/machine/figure_delegate.hpp"

#include <algorithm>
#include <utility>

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>

#include "widgets/palette.hpp"

namespace placewright {
namespace {

constexpr auto kCell = "cell";  ///< property of an editor: its index

QString textOf(const QWidget* editor) {
    if (const auto* box = qobject_cast<const QComboBox*>(editor)) return box->currentText().trimmed();
    const auto* line = qobject_cast<const QLineEdit*>(editor);
    return line != nullptr ? line->text().trimmed() : QString();
}

}  // namespace

FigureDelegate::FigureDelegate(Rules rules, QAbstractItemView* view)
    : QStyledItemDelegate(view), m_rules(std::move(rules)), m_problem(new QLabel(view->viewport())) {
    m_problem->setObjectName(QStringLiteral("fieldProblem"));
    m_problem->setAutoFillBackground(true);
    m_problem->setFrameShape(QFrame::Box);
    m_problem->setMargin(3);
    m_problem->hide();
}

QWidget* FigureDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                                      const QModelIndex& index) const {
    const QStringList choices = m_rules.choices ? m_rules.choices(index) : QStringList();
    QWidget* editor = nullptr;
    if (choices.isEmpty()) {
        auto* line = new QLineEdit(parent);
        connect(line, &QLineEdit::textChanged, this, [this, line] { showProblem(line); });
        editor = line;
    } else {
        auto* box = new QComboBox(parent);
        box->setEditable(true);
        box->setInsertPolicy(QComboBox::NoInsert);
        box->addItems(choices);
        box->completer()->setFilterMode(Qt::MatchContains);
        box->completer()->setCompletionMode(QCompleter::PopupCompletion);
        connect(box, &QComboBox::currentTextChanged, this, [this, box] { showProblem(box); });
        connect(box, &QComboBox::activated, this, [this, box] {
            auto* self = const_cast<FigureDelegate*>(this);
            Q_EMIT self->commitData(box);
            Q_EMIT self->closeEditor(box);
        });
        editor = box;
    }
    editor->setProperty(kCell, QVariant::fromValue(QPersistentModelIndex(index)));
    editor->setMinimumHeight(option.rect.height());
    return editor;
}

void FigureDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
    const QString text = index.data(Qt::DisplayRole).toString();
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
        box->setCurrentText(text);
        box->lineEdit()->selectAll();
    } else if (auto* line = qobject_cast<QLineEdit*>(editor); line != nullptr && line->text().isEmpty()) {
        line->setText(text);
    }
    m_problem->hide();
}

void FigureDelegate::setModelData(QWidget* editor, QAbstractItemModel*, const QModelIndex& index) const {
    const QString text = textOf(editor);
    if (text == index.data(Qt::DisplayRole).toString()) return;
    if (const QString problem = problemOf(editor); !problem.isEmpty()) {
        Q_EMIT refused(problem);
        return;
    }
    m_rules.enter(index, text);
}

void FigureDelegate::destroyEditor(QWidget* editor, const QModelIndex& index) const {
    m_problem->hide();
    QStyledItemDelegate::destroyEditor(editor, index);
}

QString FigureDelegate::problemOf(const QWidget* editor) const {
    const QModelIndex cell = editor->property(kCell).value<QPersistentModelIndex>();
    const QString text = textOf(editor);
    return cell.isValid() && text != cell.data(Qt::DisplayRole).toString() ? m_rules.problem(cell, text)
                                                                           : QString();
}

void FigureDelegate::showProblem(QWidget* editor) const {
    const QString problem = problemOf(editor);
    QPalette colors;
    if (!problem.isEmpty()) colors.setColor(QPalette::Text, warningColor(colors));
    editor->setPalette(colors);
    m_problem->setVisible(!problem.isEmpty());
    if (problem.isEmpty()) return;
    QPalette warned = m_problem->palette();
    warned.setColor(QPalette::WindowText, warningColor(warned));
    m_problem->setPalette(warned);
    m_problem->setText(problem);
    m_problem->adjustSize();
    const QWidget* viewport = m_problem->parentWidget();
    QPoint at = editor->geometry().bottomLeft() + QPoint(0, 2);
    if (at.y() + m_problem->height() > viewport->height()) at.setY(editor->y() - m_problem->height() - 2);
    at.setX(std::max(0, std::min(at.x(), viewport->width() - m_problem->width())));
    m_problem->move(at);
    m_problem->raise();
}

bool FigureDelegate::eventFilter(QObject* watched, QEvent* event) {
    auto* editor = qobject_cast<QWidget*>(watched);
    if (editor != nullptr && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const bool leaves =
            key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Tab || key == Qt::Key_Backtab;
        if (leaves && !problemOf(editor).isEmpty()) {
            showProblem(editor);
            return true;
        }
    }
    return QStyledItemDelegate::eventFilter(watched, event);
}

}  // namespace placewright
