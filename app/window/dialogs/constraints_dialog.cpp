// SPDX-License-Identifier: MIT
#include "app/window/dialogs/constraints_dialog.hpp"

#include <set>

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QShortcut>
#include <QVBoxLayout>

#include "app/window/document.hpp"
#include "app/window/settings.hpp"
#include "core/graph/constrained_ops.hpp"
#include "core/io/placements/constraints_file.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/text.hpp"

namespace placewright {

ConstraintsDialog::ConstraintsDialog(Document* document, QWidget* parent)
    : QDialog(parent), m_document(document) {
    setWindowTitle(tr("Constraints"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* hint =
        new QLabel(tr("Every search and every move obeys these rules. Edit ▸ Constraints adds rules "
                      "for what is selected."));
    hint->setWordWrap(true);
    m_rules = new QListWidget;
    m_rules->setObjectName(QStringLiteral("constraints"));
    m_rules->setAccessibleName(tr("Rules"));
    m_rules->setToolTip(tr("Select a rule to select its ops; Delete removes it"));
    m_rules->setSelectionMode(QAbstractItemView::ExtendedSelection);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_remove = buttons->addButton(tr("&Remove"), QDialogButtonBox::ActionRole);
    m_load = buttons->addButton(tr("&Load…"), QDialogButtonBox::ActionRole);
    m_save = buttons->addButton(tr("&Save…"), QDialogButtonBox::ActionRole);
    m_remove->setToolTip(tr("Remove the selected rules (Delete)"));
    m_load->setToolTip(tr("Replace the rules by those of a file"));
    m_save->setToolTip(tr("Write the rules as JSON, also for placewright-cli --constraints"));
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(hint);
    layout->addWidget(m_rules, 1);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_remove, &QPushButton::clicked, this, &ConstraintsDialog::removeRules);
    connect(m_load, &QPushButton::clicked, this, &ConstraintsDialog::loadFile);
    connect(m_save, &QPushButton::clicked, this, &ConstraintsDialog::saveFile);
    connect(m_rules, &QListWidget::itemSelectionChanged, this, &ConstraintsDialog::selectOps);
    auto* erase = new QShortcut(QKeySequence(QKeySequence::Delete), m_rules);
    erase->setContext(Qt::WidgetShortcut);
    connect(erase, &QShortcut::activated, this, &ConstraintsDialog::removeRules);
    connect(m_document, &Document::machineChanged, this, &ConstraintsDialog::fill);
    connect(m_document, &Document::problemChanged, this, &ConstraintsDialog::fill);
    fill();
    resize(fontMetrics().averageCharWidth() * 80, fontMetrics().height() * 18);
}

void ConstraintsDialog::fill() {
    const QSignalBlocker quiet(m_rules);
    m_rules->clear();
    const Constraints& constraints = m_document->options().problem.constraints;
    for (const Constraint& rule : constraints.rules) {
        QString text = toQString(constraint_text(rule));
        if (!text.isEmpty()) text[0] = text[0].toUpper();
        m_rules->addItem(text);
    }
    selectOps();
}

void ConstraintsDialog::selectOps() {
    const Constraints& constraints = m_document->options().problem.constraints;
    const bool open = m_document->isOpen();
    m_remove->setEnabled(open && !m_rules->selectedItems().isEmpty());
    m_load->setEnabled(open);
    m_save->setEnabled(open && !constraints.rules.empty());
    if (!open || m_rules->selectedItems().isEmpty()) return;
    std::set<OpId> ops;
    for (const QListWidgetItem* item : m_rules->selectedItems()) {
        const auto row = static_cast<std::size_t>(m_rules->row(item));
        if (row >= constraints.rules.size()) continue;
        for (const OpId op : ops_of(constraints.rules[row], *m_document->problem()->graph)) ops.insert(op);
    }
    m_document->setSelection(OpList(ops.begin(), ops.end()));
}

void ConstraintsDialog::removeRules() {
    Constraints kept = m_document->latestConstraints();
    for (int row = m_rules->count(); row-- > 0;) {
        if (m_rules->item(row)->isSelected() && static_cast<std::size_t>(row) < kept.rules.size())
            kept.rules.erase(kept.rules.begin() + row);
    }
    m_document->setConstraints(kept);
}

void ConstraintsDialog::loadFile() {
    const QString file = QFileDialog::getOpenFileName(
        this, tr("Load constraints"), settings::openFolder.get(), tr("Constraints (*.json);;All files (*)"));
    if (file.isEmpty()) return;
    try {
        m_document->setConstraints(read_constraints(file.toStdString()));
    } catch (const InputError& error) {
        Q_EMIT failed(toQString(error.what()));
    }
}

void ConstraintsDialog::saveFile() {
    QString file = QFileDialog::getSaveFileName(
        this, tr("Save constraints"),
        exportFolderFor(m_document->networkFile()) + QStringLiteral("/constraints.json"),
        tr("Constraints (*.json)"));
    if (file.isEmpty()) return;
    try {
        write_constraints(m_document->options().problem.constraints, file.toStdString());
    } catch (const InputError& error) {
        Q_EMIT failed(toQString(error.what()));
    }
}

}  // namespace placewright
