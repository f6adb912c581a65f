// SPDX-License-Identifier: MIT
// Rules for placements, set by what is selected.
#include <QMenu>

#include "app/window/actions.hpp"
#include "app/window/constraint_edits.hpp"
#include "app/window/dialogs/constraints_dialog.hpp"
#include "app/window/main_window.hpp"
#include "app/window/move_menu.hpp"
#include "app/window/offer_bar.hpp"
#include "widgets/graph_view.hpp"
#include "widgets/message_bar.hpp"
#include "widgets/palette.hpp"
#include "widgets/text.hpp"

namespace placewright {

std::vector<Constraint::Member> MainWindow::selectedMembers(std::size_t least, const QString& otherwise) {
    if (!m_document->isOpen() || !m_document->scene()) return {};
    const auto members =
        membersOf(*m_document->scene(), *m_document->problem()->graph, m_document->selection());
    if (members.size() >= least) return members;
    showError(otherwise);
    return {};
}

void MainWindow::pinHere() {
    const auto members = selectedMembers(1, tr("Nothing is pinned: select ops or modules first."));
    if (members.empty()) return;
    m_document->setConstraints(pinnedHere(m_document->latestConstraints(), *m_document->problem(), members,
                                          m_document->deviceOfOps()));
}

void MainWindow::fillPinMenu() {
    QMenu* menu = m_actions->menu(MenuId::pinTo);
    menu->clear();
    if (!m_document->isOpen()) return;
    const Machine& machine = *m_document->problem()->machine;
    for (DeviceId device = 0; device < machine.devices().size(); ++device) {
        const std::string& name = machine.device(device).name;
        QAction* action = menu->addAction(
            deviceIcon(machine, device, devicePixelRatioF()), menuText(toQString(name)), this, [this, name] {
                const auto members =
                    selectedMembers(1, tr("Nothing is pinned: select ops or modules first."));
                if (!members.empty())
                    m_document->setConstraints(pinnedTo(m_document->latestConstraints(), members, name));
            });
        action->setIconVisibleInMenu(true);
        action->setEnabled(!m_document->selection().empty());
    }
}

void MainWindow::addRule(Constraint::Rule rule, const QString& otherwise) {
    auto members = selectedMembers(2, otherwise);
    if (members.empty()) return;
    Constraints constraints = m_document->latestConstraints();
    constraints.rules.push_back({rule, std::move(members), {}});
    m_document->setConstraints(constraints);
}

void MainWindow::keepTogether() {
    addRule(Constraint::Rule::together,
            tr("Nothing is kept together: select two or more ops or closed modules first."));
}

void MainWindow::keepApart() {
    addRule(Constraint::Rule::apart,
            tr("Nothing is kept apart: select two or more ops or closed modules first."));
}

void MainWindow::removeConstraints() {
    if (!m_document->isOpen()) return;
    const Constraints now = m_document->latestConstraints();
    const Constraints fewer = withoutOps(now, *m_document->problem()->graph, m_document->selection());
    if (fewer == now) return showInformation(tr("No constraint applies to the selection."));
    m_document->setConstraints(fewer);
}

void MainWindow::openConstraints() {
    auto* dialog = findChild<ConstraintsDialog*>();
    if (dialog == nullptr) {
        dialog = new ConstraintsDialog(m_document.get(), this);
        connect(dialog, &ConstraintsDialog::failed, this, &MainWindow::showError);
    }
    dialog->show();
    dialog->raise();
    dialog->activateWindow();
}

void MainWindow::offerToDropRules(const QString& reason, std::size_t count) {
    m_message->hide();
    m_offers->offer(kBrokenRules, tr("Nothing was changed: %1.").arg(reason),
                    {{count == 1 ? tr("&Drop the rule") : tr("&Drop %L1 rules").arg(count),
                      [this] { m_document->dropBrokenRules(); }},
                     {tr("Cancel"), {}}});
}

void MainWindow::showPadlocks() {
    m_graph->setPinned(m_document->isOpen() ? pinnedOps(*m_document->problem()) : OpList());
}

}  // namespace placewright
