// SPDX-License-Identifier: MIT
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;
class QMenu;
class QTimer;
class QToolButton;

namespace placewright {

/// A bar to find ops by words and filters (see OpQuery), with a menu that inserts the filters. Enter and
/// Shift+Enter step through the matches, Escape closes.
class FindBar : public QWidget {
    Q_OBJECT
public:
    explicit FindBar(QWidget* parent = nullptr);
    void open();
    /// `current` counts from 1; 0: none is selected. `detail` says more about the matches.
    void setMatchCount(int current, int count, const QString& detail = {});
    /// Whether words are regular expressions.
    bool isRegex() const;
    /// What the filter menu offers.
    void setChoices(const QStringList& kinds, const QStringList& devices);

Q_SIGNALS:
    /// Emitted a short pause after typing, and when words become regular expressions or plain.
    void textChanged(const QString& text);
    /// 1: next match, -1: previous match.
    void stepRequested(int direction);
    void closed();

protected:
    void keyPressEvent(QKeyEvent*) override;

private:
    void step(int direction);
    void dismiss();
    void insert(const QString& filter);

    QLineEdit* m_edit = nullptr;
    QLabel* m_count = nullptr;
    QLabel* m_detail = nullptr;
    QToolButton* m_regex = nullptr;
    QMenu* m_filters = nullptr;
    QToolButton* m_previous = nullptr;
    QToolButton* m_next = nullptr;
    QTimer* m_pause = nullptr;
};

}  // namespace placewright
