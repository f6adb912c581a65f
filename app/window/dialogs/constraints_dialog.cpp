// SPDX-License-Identifier: MIT
#include "app/window/dialogs/constraints_dialog.hpp"

#include <set>
#include <utility>

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
    for (const auto changed :
         {&Document::loadingChanged, &Document::machineChanged, &Document::problemChanged})
        connect(m_document, changed, this, &ConstraintsDialog::fill);
    fill();
    resize(fontMetrics().averageCharWidth() * 80, fontMetrics().height() * 18);
}

void ConstraintsDialog::fill() {
    if (std::vector<Constraint> rules = m_document->latestConstraints().rules; rules != m_shown) {
        const QSignalBlocker quiet(m_rules);
        m_rules->clear();
        m_shown = std::move(rules);
        for (const Constraint& rule : m_shown) {
            QString text = toQString(constraint_text(rule));
            if (!text.isEmpty()) text[0] = text[0].toUpper();
            m_rules->addItem(text);
        }
    }
    enableButtons();
}

void ConstraintsDialog::enableButtons() {
    const bool open = m_document->isOpen();
    m_remove->setEnabled(open && !m_rules->selectedItems().isEmpty());
    m_load->setEnabled(open);
    m_save->setEnabled(open && !m_document->options().problem.constraints.rules.empty());
}

void ConstraintsDialog::selectOps() {
    enableButtons();
    if (!m_document->isOpen() || m_rules->selectedItems().isEmpty()) return;
    std::set<OpId> ops;
    for (const QListWidgetItem* item : m_rules->selectedItems()) {
        const Constraint& rule = m_shown[static_cast<std::size_t>(m_rules->row(item))];
        for (const OpId op : ops_of(rule, *m_document->problem()->graph)) ops.insert(op);
    }
    m_document->setSelection(OpList(ops.begin(), ops.end()));
}

void ConstraintsDialog::removeRules() {
    Constraints kept = m_document->latestConstraints();
    for (int row = m_rules->count(); row-- > 0;) {
        if (m_rules->item(row)->isSelected()) kept.rules.erase(kept.rules.begin() + row);
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
