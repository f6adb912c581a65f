// SPDX-License-Identifier: MIT
#include "app/window/tool_bars.hpp"

#include <algorithm>

#include <QComboBox>
#include <QFileInfo>
#include <QLabel>
#include <QPainter>
#include <QSpinBox>
#include <QStyle>
#include <QToolBar>
#include <QToolButton>

#include "app/window/actions.hpp"
#include "app/window/algorithm_box.hpp"
#include "app/window/budget_box.hpp"
#include "app/window/computer_finder.hpp"
#include "app/window/dialogs/machine_parts_dialog.hpp"
#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/io/shipped.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kEditedRole = Qt::UserRole + 1;  ///< of the entry of an edited machine

/// Returns a media icon of the style in the colour of button texts; the style's own icons are black.
QIcon mediaIcon(QStyle::StandardPixmap which, const QWidget* widget) {
    const QIcon black = widget->style()->standardIcon(which);
    QIcon icon;
    for (const auto& [mode, group] :
         {std::pair(QIcon::Normal, QPalette::Active), std::pair(QIcon::Disabled, QPalette::Disabled)}) {
        QPixmap pixmap = black.pixmap(QSize(24, 24), widget->devicePixelRatioF());
        QPainter painter(&pixmap);
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(pixmap.rect(), widget->palette().color(group, QPalette::ButtonText));
        painter.end();
        icon.addPixmap(pixmap, mode);
    }
    return icon;
}

/// Adds the widget to the toolbar, with a label whose mnemonic leads to it.
void addLabelled(QToolBar* to, const QString& label, QWidget* widget, const QString& tip) {
    auto* title = new QLabel(label);
    title->setContentsMargins(10, 0, 4, 0);
    title->setBuddy(widget);
    widget->setAccessibleName(QString(label).remove(QLatin1Char('&')));
    widget->setToolTip(tip);
    to->addWidget(title);
    to->addWidget(widget);
}

/// Lines of plain text as a tooltip that wraps them: plain tooltips are as wide as their longest line.
QString wrappedTip(const QString& text) {
    return QStringLiteral("<qt>%1</qt>")
        .arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>")));
}

QString machineTip() {
    return ToolBars::tr("Machine whose devices run the ops; open a machine file to use your own");
}

QToolBar* addBar(QMainWindow* window, const QString& title, const QString& name) {
    QToolBar* bar = window->addToolBar(title);
    bar->setObjectName(name);
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    return bar;
}

}  // namespace

ToolBars::ToolBars(QMainWindow* window, Document* document, const Actions& actions, ComputerFinder* computer)
    : QObject(window), m_window(window), m_document(document), m_actions(actions), m_computer(computer) {
    m_bar = addBar(window, tr("Main"), QStringLiteral("mainToolBar"));
    m_searchBar = addBar(window, tr("Search"), QStringLiteral("searchToolBar"));
    makeMain();
    makeSearch();
}

void ToolBars::makeMain() {
    auto* open = m_bar->addAction(m_window->style()->standardIcon(QStyle::SP_DialogOpenButton), tr("Open"));
    connect(open, &QAction::triggered, m_actions[ActionId::open], &QAction::trigger);
    open->setToolTip(tipWithKeys(tr("Open a network, machine or placement file"), {QKeySequence::Open}));

    m_machine = new QComboBox;
    m_machine->setObjectName(QStringLiteral("machine"));
    m_machine->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    addLabelled(m_bar, tr("&Machine"), m_machine, machineTip());
    connect(m_machine, &QComboBox::activated, this, [this](int index) {
        QString machine = m_machine->itemData(index).toString();
        m_computer->forget();
        // It may have changed since the last time.
        if (machine == ComputerFinder::file()) return m_computer->choose();
        if (machine.isEmpty()) {
            MachinePartsDialog dialog(m_window);
            if (dialog.exec() != QDialog::Accepted) return showMachine();
            machine = dialog.machine();
        }
        if (machine != m_document->machineFile() || m_document->isLoading()) m_document->setMachine(machine);
    });
    connect(m_computer, &ComputerFinder::found, this, &ToolBars::showComputer);
    connect(m_computer, &ComputerFinder::chosen, m_document, &Document::setMachine);
    connect(m_computer, &ComputerFinder::failed, this, &ToolBars::showMachine);
    auto* edit = new QToolButton;
    edit->setObjectName(QStringLiteral("editMachineButton"));
    edit->setText(tr("…"));
    edit->setAccessibleName(tr("Edit machine"));
    edit->setToolTip(m_actions[ActionId::editMachine]->toolTip());
    connect(edit, &QToolButton::clicked, m_actions[ActionId::editMachine], &QAction::trigger);
    m_bar->addWidget(edit);
    m_simulation = new QToolButton;
    m_simulation->setObjectName(QStringLiteral("simulationButton"));
    connect(m_simulation, &QToolButton::clicked, m_actions[ActionId::simulation], &QAction::trigger);
    m_bar->addWidget(m_simulation);
    m_simulation->setAutoRaise(false);  // looks like a button beside the combo boxes
    auto* exportButton = new QToolButton;
    exportButton->setObjectName(QStringLiteral("exportButton"));
    exportButton->setText(tr("Export"));
    exportButton->setIcon(m_window->style()->standardIcon(QStyle::SP_DialogSaveButton));
    exportButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    exportButton->setPopupMode(QToolButton::InstantPopup);
    exportButton->setMenu(m_actions.menu(MenuId::exports));
    exportButton->setToolTip(tr("Export the placement or a picture"));
    m_bar->addWidget(exportButton);
    m_bar->addAction(m_actions[ActionId::benchmark]);
    if (QWidget* button = m_bar->widgetForAction(m_actions[ActionId::benchmark]))
        button->setObjectName(QStringLiteral("benchmarkButton"));
    showMeasuring(Measuring::Kind::none);
}

void ToolBars::fillMachines() {
    m_machine->addItem(tr("This computer"), ComputerFinder::file());
    showComputer();
    for (const ShippedFile& shipped : shipped_machines())
        m_machine->addItem(toQString(shipped.name), toQString(shipped.name));
    m_machine->addItem(tr("From parts…"), QString());
    m_machine->setItemData(m_machine->count() - 1,
                           tr("Make a machine of GPUs, a link and a CPU that the catalogue of devices knows"),
                           Qt::ToolTipRole);
}

void ToolBars::showComputer() {
    const QString what = tr("Looks at the CPUs, GPUs and links of this computer and makes a machine of them");
    const QString& notes = m_computer->notes();
    m_machine->setItemData(0, notes.isEmpty() ? what : wrappedTip(notes), Qt::ToolTipRole);
    showMachineTip();
}

void ToolBars::showMachineTip() {
    const QString& notes = m_computer->notes();
    const bool here = m_document->machineFile() == ComputerFinder::file() && !notes.isEmpty();
    m_machine->setToolTip(here ? wrappedTip(machineTip() + QStringLiteral("\n\n") + notes) : machineTip());
}

void ToolBars::showMachineTitles(const Gallery& gallery) {
    for (int i = 0; i < m_machine->count(); ++i) {
        const QString machine = m_machine->itemData(i).toString();
        if (const QString title = gallery.machineTitle(machine); title != machine)
            m_machine->setItemText(i, title);
    }
}

void ToolBars::makeSearch() {
    m_actions[ActionId::optimize]->setIcon(mediaIcon(QStyle::SP_MediaPlay, m_window));
    m_searchBar->addAction(m_actions[ActionId::optimize]);
    if (QWidget* button = m_searchBar->widgetForAction(m_actions[ActionId::optimize]))
        button->setObjectName(QStringLiteral("optimizeButton"));
    m_algorithm = new AlgorithmBox;
    m_algorithm->setObjectName(QStringLiteral("algorithm"));
    addLabelled(m_searchBar, tr("&Algorithm"), m_algorithm,
                tr("Algorithm that searches for better placements"));
    auto* options = new QToolButton;
    options->setText(tr("…"));
    options->setAccessibleName(tr("Algorithm options"));
    options->setToolTip(m_actions[ActionId::algorithmOptions]->toolTip());
    connect(options, &QToolButton::clicked, m_actions[ActionId::algorithmOptions], &QAction::trigger);
    m_searchBar->addWidget(options);

    m_budget = new BudgetBox;
    addLabelled(
        m_searchBar, tr("&Budget"), m_budget,
        tr("When a search ends: after a time, after so many evaluations (simulated placements), or when "
           "it is stopped. Another budget can be typed: 45 s, 2 min, 50,000. Only with a number of "
           "evaluations does the same seed give the same result."));
    m_seed = new QSpinBox;
    m_seed->setObjectName(QStringLiteral("seed"));
    m_seed->setRange(0, 1'000'000'000);
    m_seed->setValue(1);
    addLabelled(m_searchBar, tr("See&d"), m_seed,
                tr("Seed of the search; the same seed and start placement give the same result"));

    chooseAlgorithm(settings::algorithm.fallback);
}

QString ToolBars::algorithm() const {
    return m_algorithm->currentData().toString();
}

void ToolBars::chooseAlgorithm(const QString& id) {
    const int index = m_algorithm->findData(id);
    if (index >= 0) m_algorithm->setCurrentIndex(index);
}

const Budget& ToolBars::budget() const {
    return m_budget->budget();
}

void ToolBars::chooseBudget(const Budget& budget) {
    m_budget->setBudget(budget);
}

std::uint64_t ToolBars::seed() const {
    return static_cast<std::uint64_t>(m_seed->value());
}

void ToolBars::chooseSeed(int seed) {
    m_seed->setValue(seed);
}

void ToolBars::showMachine() {
    showMachineTip();
    const bool own = m_document->isOpen() && m_document->job().own_machine;
    m_machine->setEnabled(!own);
    if (own) {
        m_machine->setPlaceholderText(toQString(m_document->problem()->machine->name()));
        m_machine->setCurrentIndex(-1);
        return;
    }
    const QString& file = m_document->machineFile();
    int index = m_machine->findData(file);
    if (index < 0 && m_document->isMachineEdited()) {
        // The latest edited machine has one entry, not one for each edit.
        index = m_machine->findData(true, kEditedRole);
        if (index >= 0) m_machine->removeItem(index);
        index = -1;
    }
    if (index < 0) {
        index = m_machine->count() - 1;
        m_machine->insertItem(index,
                              m_document->isOpen() ? toQString(m_document->problem()->machine->name())
                                                   : QFileInfo(file).completeBaseName(),
                              file);
        if (m_document->isMachineEdited()) m_machine->setItemData(index, true, kEditedRole);
    }
    m_machine->setCurrentIndex(index);
}

/// Toolbars that do not fit into one row get two, so that no control hides behind an arrow.
void ToolBars::showOptions() {
    constexpr int kLeast = 80, kMost = 450;
    const QStringList changes = changedOptions(m_document->options());
    const QString all = changes.join(QStringLiteral(" · "));
    const int first = m_bar->sizeHint().width() - m_simulation->sizeHint().width() + 24;
    const bool apart = first + kLeast + m_searchBar->sizeHint().width() > m_window->width();
    if (apart && !m_window->toolBarBreak(m_searchBar)) m_window->insertToolBarBreak(m_searchBar);
    if (!apart && m_window->toolBarBreak(m_searchBar)) m_window->removeToolBarBreak(m_searchBar);
    const int room = m_window->width() - first - (apart ? 0 : m_searchBar->sizeHint().width());
    m_simulation->setText(changes.isEmpty() ? tr("Simulation…")
                                            : m_window->fontMetrics().elidedText(
                                                  all, Qt::ElideRight, std::clamp(room, kLeast, kMost)));
    m_simulation->setAccessibleName(changes.isEmpty() ? tr("Simulation") : tr("Simulation: %1").arg(all));
    m_simulation->setToolTip(
        changes.isEmpty()
            ? m_actions[ActionId::simulation]->toolTip()
            : QStringLiteral("<qt>%1<br><b>%2</b></qt>")
                  .arg(m_actions[ActionId::simulation]->toolTip().toHtmlEscaped(), all.toHtmlEscaped()));
}

void ToolBars::showMeasuring(Measuring::Kind kind) {
    const bool measuring = kind != Measuring::Kind::none;
    m_actions[ActionId::measureBest]->setEnabled(!measuring && m_document->isOpen());
    QAction* benchmark = m_actions[ActionId::benchmark];
    benchmark->setText(measuring ? tr("Stop &measuring") : tr("&Benchmark…"));
    // A toolbar has no room for a name that changes its width.
    benchmark->setIconText(measuring ? tr("Stop") : tr("Benchmark"));
    benchmark->setToolTip(kind == Measuring::Kind::best ? tr("Stop measuring; what was measured is kept (F7)")
                          : measuring
                              ? tr("Stop measuring; nothing is kept of it (F7)")
                              : tr("Run steps of the placement on screen for real, on this computer (F7)"));
}

void ToolBars::showSearching(bool searching) {
    QAction* optimize = m_actions[ActionId::optimize];
    optimize->setText(searching ? tr("&Stop") : tr("&Optimize"));
    optimize->setIcon(mediaIcon(searching ? QStyle::SP_MediaStop : QStyle::SP_MediaPlay, m_window));
    optimize->setToolTip(searching ? tr("Stop all searches and keep their best placements (F5)")
                                   : tr("Search for a better placement (F5)"));
}

}  // namespace placewright
