// SPDX-License-Identifier: MIT
#include "app/window/tool_bars.hpp"

#include <algorithm>

#include <QAbstractItemView>
#include <QComboBox>
#include <QLabel>
#include <QLayout>
#include <QSpinBox>
#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <QToolBar>
#include <QToolButton>

#include "app/window/actions.hpp"
#include "app/window/algorithm_box.hpp"
#include "app/window/budget_box.hpp"
#include "app/window/computer_finder.hpp"
#include "app/window/dialogs/machine_parts_dialog.hpp"
#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/machine/edited_scenario.hpp"
#include "app/window/option_text.hpp"
#include "app/window/settings.hpp"
#include "core/io/shipped.hpp"
#include "widgets/icons.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kEditedRole = Qt::UserRole + 1;  ///< of the entry of an edited machine

// Widths of what changes its text, in letters: nothing moves, and one row of a window of 1280 pixels holds
// all.
constexpr int kAroundIcon = 8, kSeedLetters = 10;
constexpr int kSpare = 16;  ///< pixels
constexpr int kMachineLetters = 15, kSimulationLetters = 14, kAlgorithmLetters = 15;

/// Shows its text in a width that does not depend on it; text() is the whole.
class ElidingButton : public QToolButton {
public:
    explicit ElidingButton(int characters) {
        setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        setFixedWidth(fontMetrics().averageCharWidth() * characters + iconSize().width() + kRoom);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QStylePainter painter(this);
        QStyleOptionToolButton option;
        initStyleOption(&option);
        option.text =
            fontMetrics().elidedText(option.text, Qt::ElideRight, width() - iconSize().width() - kRoom);
        painter.drawComplexControl(QStyle::CC_ToolButton, option);
    }

private:
    static constexpr int kRoom = 20;  // round icon and text
};

/// Gives the button of an action the width of the longest text that it gets.
void fixWidth(QToolBar* bar, QAction* action, const QString& name, const QStringList& texts) {
    auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
    if (button == nullptr) return;
    button->setObjectName(name);
    const QFontMetrics metrics = button->fontMetrics();
    const int around = button->sizeHint().width() - metrics.horizontalAdvance(action->iconText());
    int longest = 0;
    for (const QString& text : texts) longest = std::max(longest, metrics.horizontalAdvance(text));
    button->setFixedWidth(around + longest);
}

/// Gives the box a width of so many letters, whatever is chosen, and its list room for all names.
void fixWidth(QComboBox* box, int characters) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(characters);
    constexpr int kBesideText = 40;
    box->view()->setMinimumWidth(box->view()->sizeHintForColumn(0) + kBesideText);
}

/// Adds the widget to the toolbar, with a label whose mnemonic leads to it.
void addLabelled(QToolBar* to, const QString& label, QWidget* widget, const QString& tip) {
    auto* title = new QLabel(label);
    title->setContentsMargins(8, 0, 4, 0);
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
    m_actions[ActionId::open]->setIconText(tr("Open"));
    m_bar->addAction(m_actions[ActionId::open]);
    addShrinking(qobject_cast<QToolButton*>(m_bar->widgetForAction(m_actions[ActionId::open])));

    m_machine = new QComboBox;
    m_machine->setObjectName(QStringLiteral("machine"));
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
    edit->setIcon(m_actions[ActionId::editMachine]->icon());
    edit->setAccessibleName(tr("Edit machine"));
    edit->setToolTip(m_actions[ActionId::editMachine]->toolTip());
    connect(edit, &QToolButton::clicked, m_actions[ActionId::editMachine], &QAction::trigger);
    m_bar->addWidget(edit);
    m_simulation = new ElidingButton(kSimulationLetters);
    m_simulation->setIcon(m_actions[ActionId::simulation]->icon());
    m_simulation->setObjectName(QStringLiteral("simulationButton"));
    connect(m_simulation, &QToolButton::clicked, m_actions[ActionId::simulation], &QAction::trigger);
    m_bar->addWidget(m_simulation);
    m_simulation->setAutoRaise(false);  // looks like a button beside the combo boxes
    auto* exportButton = new QToolButton;
    exportButton->setObjectName(QStringLiteral("exportButton"));
    exportButton->setText(tr("Export"));
    exportButton->setIcon(m_actions.menu(MenuId::exports)->icon());
    exportButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    exportButton->setPopupMode(QToolButton::InstantPopup);
    exportButton->setMenu(m_actions.menu(MenuId::exports));
    exportButton->setToolTip(tr("Export the placement or a picture"));
    m_bar->addWidget(exportButton);
    addShrinking(exportButton);
    m_bar->addAction(m_actions[ActionId::benchmark]);
    showMeasuring(Measuring::Kind::none);
    fixWidth(m_bar, m_actions[ActionId::benchmark], QStringLiteral("benchmarkButton"),
             {tr("Benchmark"), tr("Stop")});
    addShrinking(m_bar->findChild<QToolButton*>(QStringLiteral("benchmarkButton")));
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
    fixWidth(m_machine, kMachineLetters);
}

void ToolBars::makeSearch() {
    m_searchBar->addAction(m_actions[ActionId::optimize]);
    m_searchBar->addAction(m_actions[ActionId::pause]);
    showSearching(false, false);
    fixWidth(m_searchBar, m_actions[ActionId::optimize], QStringLiteral("optimizeButton"),
             {tr("Optimize"), tr("Stop")});
    fixWidth(m_searchBar, m_actions[ActionId::pause], QStringLiteral("pauseButton"),
             {tr("Pause"), tr("Resume")});
    addShrinking(m_searchBar->findChild<QToolButton*>(QStringLiteral("pauseButton")));
    m_algorithm = new AlgorithmBox;
    m_algorithm->setObjectName(QStringLiteral("algorithm"));
    addLabelled(m_searchBar, tr("&Algorithm"), m_algorithm,
                tr("Algorithm that searches for better placements"));
    fixWidth(m_algorithm, kAlgorithmLetters);
    auto* options = new QToolButton;
    options->setIcon(m_actions[ActionId::algorithmOptions]->icon());
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
    m_seed->setMaximumWidth(m_seed->fontMetrics().averageCharWidth() * kSeedLetters);
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

bool ToolBars::takeTypedBudget() {
    return m_budget->takeTyped();
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
        m_machine->insertItem(
            index,
            m_document->isOpen() ? toQString(m_document->problem()->machine->name()) : titleOfMachine(file),
            file);
        if (m_document->isMachineEdited()) m_machine->setItemData(index, true, kEditedRole);
    }
    m_machine->setCurrentIndex(index);
}

void ToolBars::addShrinking(QToolButton* button) {
    m_shrinking.push_back({button, button->sizeHint().width()});
}

/// Where there is no room for all texts in one row, buttons whose icons say enough lose theirs, one by one.
/// Toolbars that do not fit then either get two rows, so that no control hides behind an arrow.
void ToolBars::fitRows() {
    const auto hideTexts = [this](std::size_t count) {
        for (std::size_t i = 0; i < m_shrinking.size(); ++i) {
            const auto& [button, wide] = m_shrinking[i];
            const bool texts = i + count < m_shrinking.size();  // the last first
            button->setToolButtonStyle(texts ? Qt::ToolButtonTextBesideIcon : Qt::ToolButtonIconOnly);
            if (button->minimumWidth() == button->maximumWidth())
                button->setFixedWidth(texts ? wide : button->iconSize().width() + kAroundIcon);
        }
        m_bar->layout()->invalidate();
        m_searchBar->layout()->invalidate();
    };
    const auto spare = [this] {
        return m_window->width() - m_bar->sizeHint().width() - m_searchBar->sizeHint().width();
    };
    hideTexts(0);
    std::size_t hidden = 0;
    while (hidden < m_shrinking.size() && spare() < 0) hideTexts(++hidden);
    // Two rows become one only with room to spare, or they would flip while the border is dragged slowly.
    const bool isApart = m_window->toolBarBreak(m_searchBar);
    const bool apart = spare() < (isApart && hidden == m_shrinking.size() ? kSpare : 0);
    if (apart) {
        hideTexts(0);
        if (std::max(m_bar->sizeHint().width(), m_searchBar->sizeHint().width()) > m_window->width())
            hideTexts(m_shrinking.size());
    }
    if (apart && !isApart) m_window->insertToolBarBreak(m_searchBar);
    if (!apart && isApart) m_window->removeToolBarBreak(m_searchBar);
}

void ToolBars::showOptions() {
    fitRows();
    const QStringList changes = changedOptions(m_document->options(), m_document->job().language);
    const QString all = changes.join(QStringLiteral(" · "));
    m_simulation->setText(changes.isEmpty() ? tr("Simulation…") : all);
    m_simulation->setAccessibleName(changes.isEmpty() ? tr("Simulation") : tr("Simulation: %1").arg(all));
    m_simulation->setToolTip(
        changes.isEmpty()
            ? m_actions[ActionId::simulation]->toolTip()
            : QStringLiteral("<qt>%1<br><b>%2</b></qt>")
                  .arg(m_actions[ActionId::simulation]->toolTip().toHtmlEscaped(), all.toHtmlEscaped()));
}

std::vector<ToolBars::Choice> ToolBars::choices() const {
    return {{m_machine, tr("Machine"), QStringLiteral("cpu")},
            {m_algorithm, tr("Algorithm"), QStringLiteral("route")}};
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

void ToolBars::showSearching(bool searching, bool paused) {
    QAction* optimize = m_actions[ActionId::optimize];
    optimize->setText(searching ? tr("&Stop") : tr("&Optimize"));
    optimize->setIconText(searching ? tr("Stop") : tr("Optimize"));
    optimize->setIcon(
        lineIcon(searching ? QStringLiteral("square") : QStringLiteral("play"), IconTone::accent));
    optimize->setToolTip(searching ? tr("Stop all searches and keep their best placements (F5)")
                                   : tr("Search for a better placement (F5)"));
    QAction* pause = m_actions[ActionId::pause];
    pause->setText(paused ? tr("Resum&e") : tr("&Pause"));
    pause->setIconText(paused ? tr("Resume") : tr("Pause"));
    pause->setIcon(lineIcon(paused ? QStringLiteral("play") : QStringLiteral("pause")));
    pause->setToolTip(paused ? tr("Resume all searches (F6)")
                             : tr("Pause all searches (their results are unaffected) (F6)"));
}

}  // namespace placewright
