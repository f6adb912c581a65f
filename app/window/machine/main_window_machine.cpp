// SPDX-License-Identifier: MIT
// What the main window does with machines.
#include <QFileDialog>
#include <QMessageBox>
#include <QPushButton>
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
    auto machine = m_document->whatIfBase();
    bool leavesFactors = false;
    if (!m_document->whatIf().is_none()) {
        QMessageBox question(QMessageBox::Question, tr("Save machine"),
                             tr("Save the machine with its what-if factors?"), QMessageBox::NoButton, this);
        question.setInformativeText(
            tr("With the factors, the file has the changed bandwidth, memory and speed. Without them, it has "
               "those of the machine, and the factors stay on."));
        auto* with = question.addButton(tr("&With factors"), QMessageBox::AcceptRole);
        auto* without = question.addButton(tr("With&out factors"), QMessageBox::AcceptRole);
        question.addButton(QMessageBox::Cancel);
        question.setDefaultButton(without);
        question.exec();
        if (question.clickedButton() != with && question.clickedButton() != without) return;
        leavesFactors = question.clickedButton() == without;
        if (!leavesFactors)
            machine = std::make_shared<const Machine>(what_if(*machine, m_document->whatIf()));
    }
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
    showInformation(leavesFactors ? tr("Machine written to %1, without the what-if factors").arg(file)
                                  : tr("Machine written to %1").arg(file));
    // The machine in use is now that of the file.
    if (m_document->isMachineEdited() && !leavesFactors) m_document->setMachine(file);
}

}  // namespace placewright
