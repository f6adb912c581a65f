// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include <QDialog>

#include "core/graph/constraints.hpp"

class QListWidget;
class QPushButton;

namespace placewright {

class Document;

/// The rules that every placement of the document obeys: a click selects the ops of a rule; rules are
/// removed, read from a file and written.
class ConstraintsDialog : public QDialog {
    Q_OBJECT
public:
    ConstraintsDialog(Document* document, QWidget* parent);

Q_SIGNALS:
    void failed(const QString& error);

private:
    void fill();
    void enableButtons();
    void selectOps();
    void removeRules();
    void loadFile();
    void saveFile();

    Document* m_document;
    std::vector<Constraint> m_shown;  ///< the rules in the list, those of a change under way
    QListWidget* m_rules = nullptr;
    QPushButton *m_remove = nullptr, *m_load = nullptr, *m_save = nullptr;
};

}  // namespace placewright
