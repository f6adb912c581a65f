// SPDX-License-Identifier: MIT
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QTimer;
class QToolButton;

namespace placewright {

/// A bar to find ops by name, kind or scope. Enter and Shift+Enter step through the matches, Escape closes.
class FindBar : public QWidget {
    Q_OBJECT
public:
    explicit FindBar(QWidget* parent = nullptr);
    void open();
    void setMatchCount(int current, int count);  ///< `current` counts from 1; 0: none is selected

Q_SIGNALS:
    /// Emitted a short pause after typing.
    void textChanged(const QString& text);
    /// 1: next match, -1: previous match.
    void stepRequested(int direction);
    void closed();

protected:
    void keyPressEvent(QKeyEvent*) override;

private:
    void step(int direction);
    void dismiss();

    QLineEdit* m_edit = nullptr;
    QLabel* m_count = nullptr;
    QToolButton* m_previous = nullptr;
    QToolButton* m_next = nullptr;
    QTimer* m_pause = nullptr;
};

}  // namespace placewright
