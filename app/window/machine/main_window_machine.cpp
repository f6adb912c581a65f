// SPDX-License-Identifier: MIT
// What the main window does with machines.
#include <QFileDialog>
#include <QRegularExpression>
#include <QScrollArea>

#include "app/window/machine/machine_editor.hpp"
#include "app/window/machine/what_if_panel.hpp"
#include "app/window/main_window.hpp"
#include "app/window/panels.hpp"
#include "app/window/settings.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/text.hpp"

namespace placewright {

void MainWindow::openMachineEditor() {
    if (!m_document->isOpen()) return;
    if (m_machineEditor == nullptr) {
        m_machineEditor = new MachineEditor(m_document.get(), this);
        connect(m_machineEditor, &MachineEditor::openRequested, this, &MainWindow::openMachine);
        connect(m_machineEditor, &MachineEditor::saveRequested, this, &MainWindow::saveMachine);
    }
    m_machineEditor->show();
    m_machineEditor->raise();
    m_machineEditor->activateWindow();
}

void MainWindow::showWhatIf() {
    // The panel is inside an area that scrolls.
    QWidget* area = m_whatIf;
    while (area != nullptr && qobject_cast<QScrollArea*>(area) == nullptr) area = area->parentWidget();
    m_panels->raise(area);
    m_whatIf->focusFirst();
}

void MainWindow::resetWhatIf() {
    m_document->setWhatIf({});
    m_document->endWhatIf();
}

void MainWindow::openMachine() {
    const QString file = QFileDialog::getOpenFileName(this, tr("Open machine"), settings::openFolder.get(),
                                                      tr("Machines (*.json);;All files (*)"));
    if (file.isEmpty()) return;
    rememberFolderOf(file, settings::openFolder);
    m_document->setMachine(file);
}

void MainWindow::saveMachine() {
    if (!m_document->isOpen()) return;
    const auto machine = m_document->machineToEdit();
    QString proposal = toQString(saved_name(*machine)).toLower();
    proposal.replace(QRegularExpression(QStringLiteral("[^a-z0-9]+")), QStringLiteral("-"));
    const QString file = askSaveFile(this, tr("Save machine"), exportFolderFor(m_document->networkFile()),
                                     proposal + QStringLiteral(".json"), tr("Machine (*.json)"),
                                     QStringLiteral(".json"), settings::exportFolder);
    if (file.isEmpty()) return;
    try {
        write_machine(to_save(*machine), file.toStdString());
    } catch (const InputError& error) {
        return showError(toQString(error.what()));
    }
    showInformation(tr("Machine written to %1").arg(file));
    // The machine in use is now that of the file.
    if (m_document->isMachineEdited()) m_document->setMachine(file);
}

}  // namespace placewright
