// SPDX-License-Identifier: MIT
#pragma once

#include <QDialog>

class QLineEdit;
class QTreeWidget;

namespace placewright {

/// All keys and mouse gestures, by menu and view, with a field to search them.
class ShortcutsDialog : public QDialog {
    Q_OBJECT
public:
    explicit ShortcutsDialog(QWidget* parent);

private:
    void fill();
    /// Hides the rows that do not have all the words.
    void search(const QString& text);

    QLineEdit* m_edit = nullptr;
    QTreeWidget* m_rows = nullptr;
};

}  // namespace placewright
