// SPDX-License-Identifier: MIT
#include "app/window/machine/machine_editor.hpp"

#include <algorithm>
#include <utility>

#include <QAction>
#include <QComboBox>
#include <QCompleter>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include "app/window/document.hpp"
#include "app/window/machine/machine_table.hpp"
#include "core/base/text.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "widgets/palette.hpp"
#include "widgets/text.hpp"
#include "widgets/topology_view.hpp"

namespace placewright {
namespace {

template <class Item>
QStringList figureTitles(std::span<const Figure<Item>> figures) {
    QStringList titles;
    for (const auto& figure : figures)
        titles << QStringLiteral("%1 (%2)").arg(toQString(figure.name), toQString(figure.unit));
    return titles;
}

template <class Item>
QStringList figureTips(std::span<const Figure<Item>> figures) {
    QStringList tips;
    for (const auto& figure : figures)
        tips << MachineEditor::tr("%1; %2 to %3 %4")
                    .arg(toQString(figure.help), toQString(short_number(figure.least)),
                         toQString(short_number(figure.most)), toQString(figure.unit));
    return tips;
}

/// The value of a text in a figure's unit. Throws MachineError for what is no number.
template <class Item>
double valueOf(const QString& text, const Figure<Item>& figure) {
    if (const auto value = numberOf(text)) return *value;
    throw MachineError("", in_quotes(text.toStdString()) + " is not a number, expected " +
                               short_number(figure.least) + " to " + short_number(figure.most) + ' ' +
                               std::string(figure.unit));
}

}  // namespace

MachineEditor::MachineEditor(Document* document, QWidget* parent)
    : QDialog(parent),
      m_document(document),
      m_topology(new TopologyView),
      m_name(new QLineEdit),
      m_pages(new QTabWidget),
      m_state(new QLabel) {
    setWindowTitle(tr("Machine"));
    setObjectName(QStringLiteral("machineEditor"));
    auto* layout = new QVBoxLayout(this);
    auto* top = new QHBoxLayout;
    auto* nameLabel = new QLabel(tr("&Name"));
    nameLabel->setBuddy(m_name);
    m_name->setObjectName(QStringLiteral("machineName"));
    top->addWidget(nameLabel);
    top->addWidget(m_name, 1);
    layout->addLayout(top);
    auto* parts = new QSplitter(Qt::Vertical);
    parts->addWidget(m_topology);
    parts->addWidget(m_pages);
    parts->setSizes({260, 300});
    parts->setChildrenCollapsible(false);
    layout->addWidget(parts, 1);
    m_pages->addTab(makeDevices(), tr("&Devices"));
    m_pages->addTab(makeLinks(), tr("&Links"));
    m_pages->addTab(makeRoutes(), tr("&Routes"));
    m_state->setObjectName(QStringLiteral("machineState"));
    m_state->setWordWrap(true);
    layout->addWidget(m_state);
    auto* buttons = new QHBoxLayout;
    const auto addButton = [&](const QString& text, const char* name) {
        auto* button = new QPushButton(text);
        button->setObjectName(QString::fromLatin1(name));
        button->setAutoDefault(false);
        buttons->addWidget(button);
        return button;
    };
    connect(addButton(tr("&Open…"), "openMachine"), &QPushButton::clicked, this,
            &MachineEditor::openRequested);
    connect(addButton(tr("&Save machine…"), "saveMachine"), &QPushButton::clicked, this,
            &MachineEditor::saveRequested);
    buttons->addStretch(1);
    connect(addButton(tr("Close"), "closeEditor"), &QPushButton::clicked, this, &QDialog::reject);
    layout->addLayout(buttons);

    QUndoStack* stack = document->undoStack();
    QAction* undo = stack->createUndoAction(this);
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = stack->createRedoAction(this);
    redo->setShortcuts({Qt::CTRL | Qt::SHIFT | Qt::Key_Z, Qt::CTRL | Qt::Key_Y});
    addActions({undo, redo});

    connect(m_name, &QLineEdit::editingFinished, this, [this] {
        const auto before = machine();
        if (!before || m_name->text() == toQString(before->name())) return;
        enter(tr("Rename the machine"),
              [&] { return with_name(*before, m_name->text().trimmed().toStdString()); });
    });
    connect(m_topology, &TopologyView::selectionEdited, this, &MachineEditor::selectInTables);
    connect(m_pages, &QTabWidget::currentChanged, this, [this] {
        if (!m_filling) selectRow();
    });
    connect(document, &Document::problemChanged, this, &MachineEditor::showMachine);
    connect(document, &Document::machineChanged, this, &MachineEditor::showMachine);
    // The message of the main window is behind this one.
    connect(document, &Document::message, this, [this](bool error, const QString& text) {
        if (error && isVisible()) tell(text);
    });
    resize(QSize(940, 660));
    m_devices->setFocus();
    showMachine();
}

std::shared_ptr<const Machine> MachineEditor::machine() const {
    return m_document->whatIfBase();
}

QTableWidget* MachineEditor::makeTable(const QString& name, const QStringList& titles,
                                       const QStringList& tips, FigureDelegate::Rules rules) {
    auto* table = new QTableWidget(0, static_cast<int>(titles.size()));
    table->setObjectName(name);
    table->setHorizontalHeaderLabels(titles);
    for (int column = 0; column < tips.size(); ++column)
        table->horizontalHeaderItem(column)->setToolTip(tips[column]);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(fontMetrics().lineSpacing() + 8);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                           QAbstractItemView::AnyKeyPressed);
    auto* delegate = new FigureDelegate(std::move(rules), table);
    connect(delegate, &FigureDelegate::refused, this, &MachineEditor::tell);
    table->setItemDelegate(delegate);
    connect(table, &QTableWidget::currentCellChanged, this, [this] {
        if (!m_filling) selectRow();
    });
    return table;
}

FigureDelegate::Rules MachineEditor::rulesOf(EditOf edit, std::function<QString(const QModelIndex&)> title,
                                             std::function<QStringList(const QModelIndex&)> choices) {
    return {[this, edit](const QModelIndex& cell, const QString& text) {
                try {
                    (this->*edit)(cell, text);
                    return QString();
                } catch (const MachineError& error) {
                    return toQString(error.what());
                }
            },
            [this, edit, title = std::move(title)](const QModelIndex& cell, const QString& text) {
                enter(title(cell), [&] { return (this->*edit)(cell, text); });
            },
            std::move(choices)};
}

QWidget* MachineEditor::makeDevices() {
    QStringList titles{tr("Name"), tr("Model")};
    QStringList tips{tr("Name of the device"), tr("Model, with the figures of the catalogue of devices")};
    titles << figureTitles(device_figures());
    tips << figureTips(device_figures());
    QStringList models;
    for (const auto& model : shipped_devices().devices()) models << toQString(model->model);
    m_devices =
        makeTable(QStringLiteral("machineDevices"), titles, tips,
                  rulesOf(
                      &MachineEditor::deviceEdit,
                      [this](const QModelIndex& cell) {
                          return tr("Change %1 of %2")
                              .arg(m_devices->horizontalHeaderItem(cell.column())
                                       ->text()
                                       .section(QLatin1Char(' '), 0, 0)
                                       .toLower(),
                                   toQString(machine()->device(static_cast<DeviceId>(cell.row())).name));
                      },
                      [models](const QModelIndex& cell) {
                          return cell.column() == kDeviceModel ? models : QStringList();
                      }));
    m_model = new QComboBox;
    m_model->setObjectName(QStringLiteral("newModel"));
    m_model->addItems(models);
    m_model->setEditable(true);
    m_model->setInsertPolicy(QComboBox::NoInsert);
    m_model->completer()->setFilterMode(Qt::MatchContains);
    m_model->completer()->setCompletionMode(QCompleter::PopupCompletion);
    m_model->setAccessibleName(tr("Model of the device to add"));
    m_model->setToolTip(tr("Model of the device to add; type a part of its name to find it"));
    auto* page = new QWidget;
    auto* layout = new QVBoxLayout(page);
    layout->addWidget(m_devices, 1);
    auto* row = new QHBoxLayout;
    const auto addButton = [&](const QString& text, const char* name, const QString& tip,
                               void (MachineEditor::*slot)()) {
        auto* button = new QPushButton(text);
        button->setObjectName(QString::fromLatin1(name));
        button->setToolTip(tip);
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, slot);
        row->addWidget(button);
        return button;
    };
    row->addWidget(m_model, 1);
    m_add =
        addButton(tr("&Add"), "addDevice", tr("Add a device of this model, linked like the selected device"),
                  &MachineEditor::addDevice);
    m_duplicate = addButton(tr("D&uplicate"), "duplicateDevice",
                            tr("Add a device like the selected one, with links like its links"),
                            &MachineEditor::duplicateDevice);
    m_remove = addButton(tr("Re&move"), "removeDevice",
                         tr("Remove the selected device and its links; its ops move to another device"),
                         &MachineEditor::removeDevice);
    layout->addLayout(row);
    return page;
}

QWidget* MachineEditor::makeLinks() {
    QStringList titles{tr("Name"), tr("Model"), tr("Used by")};
    QStringList tips{tr("Name of the link: a channel in one direction, or one that both share"),
                     tr("Model of the link, with the figures of the catalogue"),
                     tr("Routes that cross the link; those of several routes wait for each other")};
    titles << figureTitles(channel_figures());
    tips << figureTips(channel_figures());
    QStringList models;
    for (const LinkModel& model : shipped_devices().links()) models << toQString(model.model);
    m_links = makeTable(
        QStringLiteral("machineLinks"), titles, tips,
        rulesOf(
            &MachineEditor::linkEdit,
            [this](const QModelIndex& cell) {
                return tr("Change %1 of %2")
                    .arg(m_links->horizontalHeaderItem(cell.column())
                             ->text()
                             .section(QLatin1Char(' '), 0, 0)
                             .toLower(),
                         toQString(machine()->channels()[static_cast<std::size_t>(cell.row())].name));
            },
            [models](const QModelIndex& cell) {
                return cell.column() == kLinkModel ? models : QStringList();
            }));
    auto* page = new QWidget;
    auto* layout = new QVBoxLayout(page);
    layout->addWidget(m_links, 1);
    auto* row = new QHBoxLayout;
    row->addStretch(1);
    m_separate = new QPushButton(tr("&Do not share"));
    m_separate->setObjectName(QStringLiteral("separateLink"));
    m_separate->setToolTip(tr("Give each route that crosses the selected link a copy of its own"));
    m_separate->setAutoDefault(false);
    connect(m_separate, &QPushButton::clicked, this, &MachineEditor::separateLink);
    row->addWidget(m_separate);
    layout->addLayout(row);
    return page;
}

QWidget* MachineEditor::makeRoutes() {
    m_routes =
        makeTable(QStringLiteral("machineRoutes"), {tr("From"), tr("To"), tr("Links, in order")},
                  {{},
                   {},
                   tr("Names of the links that a transfer crosses, separated by commas; routes that name the "
                      "same link share it")},
                  rulesOf(&MachineEditor::routeEdit, [this](const QModelIndex& cell) {
                      const Route& route = machine()->routes()[static_cast<std::size_t>(cell.row())];
                      return tr("Change the route from %1 to %2")
                          .arg(toQString(machine()->device(route.from).name),
                               toQString(machine()->device(route.to).name));
                  }));
    return m_routes;
}

MachineEdit MachineEditor::deviceEdit(const QModelIndex& cell, const QString& text) const {
    const auto device = static_cast<DeviceId>(cell.row());
    if (cell.column() == kDeviceName) return with_device_name(*machine(), device, text.toStdString());
    if (cell.column() == kDeviceModel) {
        const auto model = shipped_devices().find_device(text.toStdString());
        if (!model)
            throw MachineError("", "no device of the catalogue is called " + in_quotes(text.toStdString()) +
                                       similar_text(shipped_devices().similar_devices(text.toStdString())));
        return with_model(*machine(), device, model);
    }
    const auto& figure = device_figures()[static_cast<std::size_t>(cell.column() - kDeviceFigures)];
    return with_figure(*machine(), device, figure, valueOf(text, figure));
}

MachineEdit MachineEditor::linkEdit(const QModelIndex& cell, const QString& text) const {
    const auto channel = static_cast<ChannelId>(cell.row());
    if (cell.column() == kLinkName) return with_channel_name(*machine(), channel, text.toStdString());
    if (cell.column() == kLinkModel) {
        const LinkModel* model = shipped_devices().find_link(text.toStdString());
        if (model == nullptr)
            throw MachineError("", "no link of the catalogue is called " + in_quotes(text.toStdString()) +
                                       similar_text(shipped_devices().similar_links(text.toStdString())));
        return with_link_model(*machine(), channel, *model);
    }
    const auto& figure = channel_figures()[static_cast<std::size_t>(cell.column() - kLinkFigures)];
    return with_figure(*machine(), channel, figure, valueOf(text, figure));
}

MachineEdit MachineEditor::routeEdit(const QModelIndex& cell, const QString& text) const {
    std::vector<std::string> names;
    for (const QString& name : text.split(QLatin1Char(','), Qt::SkipEmptyParts))
        names.push_back(name.trimmed().toStdString());
    const Route& route = machine()->routes()[static_cast<std::size_t>(cell.row())];
    return with_route(*machine(), route.from, route.to, names);
}

void MachineEditor::enter(const QString& title, const std::function<MachineEdit()>& edit) {
    if (const QString why = m_document->editHindrance(); !why.isEmpty()) return tell(why);
    try {
        m_document->editMachine(title, edit());
        tell({});
    } catch (const MachineError& error) {
        tell(toQString(error.what()));
    }
    // The tables show what was entered at once; the main window follows.
    showMachine();
}

void MachineEditor::addDevice() {
    const auto model = shipped_devices().find_device(m_model->currentText().toStdString());
    if (!model) return tell(tr("Choose a model from the list to add a device."));
    const auto before = machine();
    DeviceId like = static_cast<DeviceId>(std::max(0, m_devices->currentRow()));
    // Links of the same kind of device suit better than those of a CPU.
    if (before->device(like).kind != model->kind) {
        const auto found = std::ranges::find(before->devices(), model->kind, &Device::kind);
        if (found != before->devices().end()) like = static_cast<DeviceId>(found - before->devices().begin());
    }
    enter(tr("Add %1").arg(toQString(model->model)),
          [&] { return with_device(*before, device_of(model), like); });
    m_devices->setCurrentCell(m_devices->rowCount() - 1, 0);
}

void MachineEditor::duplicateDevice() {
    const int row = m_devices->currentRow();
    if (row < 0) return;
    const auto before = machine();
    const auto device = static_cast<DeviceId>(row);
    enter(tr("Duplicate %1").arg(toQString(before->device(device).name)),
          [&] { return with_device(*before, before->device(device), device); });
    m_devices->setCurrentCell(m_devices->rowCount() - 1, 0);
}

void MachineEditor::removeDevice() {
    const int row = m_devices->currentRow();
    if (row < 0) return;
    const auto before = machine();
    const auto device = static_cast<DeviceId>(row);
    enter(tr("Remove %1").arg(toQString(before->device(device).name)),
          [&] { return without_device(*before, device); });
}

void MachineEditor::separateLink() {
    const int row = m_links->currentRow();
    if (row < 0) return;
    const auto before = machine();
    const auto channel = static_cast<ChannelId>(row);
    enter(tr("Give each route its own %1").arg(toQString(before->channels()[channel].name)),
          [&] { return with_own_channels(*before, channel); });
}

void MachineEditor::tell(const QString& problem) {
    QPalette colors = palette();
    if (!problem.isEmpty()) colors.setColor(QPalette::WindowText, warningColor(palette()));
    m_state->setPalette(colors);
    QString text = problem;
    if (text.isEmpty()) {
        text = tr("Double-click a figure to change it. Ctrl+Z undoes an edit.");
        if (!m_document->whatIf().is_none())
            text += tr(" These figures are without the what-if factors, which stay on.");
    }
    m_state->setText(text);
}

void MachineEditor::showEvent(QShowEvent* event) {
    QDialog::showEvent(event);
    showMachine();
    tell(m_document->job().own_machine ? m_document->editHindrance() : QString());
}

void MachineEditor::showMachine() {
    if (!m_document->isOpen()) return;
    const auto shown = machine();
    m_filling = true;
    if (!m_name->hasFocus() || !m_name->isModified()) m_name->setText(toQString(shown->name()));
    m_topology->setMachine(shown);
    fillDevices(*shown);
    fillLinks(*shown);
    fillRoutes(*shown);
    m_filling = false;
    const bool may = !m_document->job().own_machine;
    for (QWidget* control :
         std::initializer_list<QWidget*>{m_name, m_devices, m_links, m_routes, m_model, m_add})
        control->setEnabled(may);
    selectRow();
}

void MachineEditor::fillDevices(const Machine& machine) {
    setRows(m_devices, machine.devices().size());
    for (int row = 0; row < m_devices->rowCount(); ++row) {
        const Device& device = machine.device(static_cast<DeviceId>(row));
        setCell(m_devices, row, kDeviceName, toQString(device.name), Cell::text)
            ->setIcon(deviceIcon(machine, static_cast<DeviceId>(row), devicePixelRatioF()));
        setCell(m_devices, row, kDeviceModel, toQString(device.model), Cell::text);
        int column = kDeviceFigures;
        for (const auto& figure : device_figures()) {
            const bool byClass = figure.name == "Efficiency" && !has_one_efficiency(device);
            setCell(m_devices, row, column++, byClass ? tr("by class of op") : numberText(figure.get(device)),
                    Cell::number);
        }
    }
    fitColumns(m_devices, kDeviceModel);
    m_pages->setTabText(0, tr("&Devices (%1)").arg(machine.devices().size()));
}

void MachineEditor::fillLinks(const Machine& machine) {
    setRows(m_links, machine.channels().size());
    for (int row = 0; row < m_links->rowCount(); ++row) {
        const Channel& channel = machine.channels()[static_cast<std::size_t>(row)];
        setCell(m_links, row, kLinkName, toQString(channel.name), Cell::text);
        setCell(m_links, row, kLinkModel, toQString(channel.model), Cell::text);
        setCell(m_links, row, kLinkUse, usersText(machine, static_cast<ChannelId>(row)), Cell::fixed);
        int column = kLinkFigures;
        for (const auto& figure : channel_figures()) {
            const bool bySize = figure.name == "Efficiency" && !channel.efficiency_by_bytes.empty();
            setCell(m_links, row, column++, bySize ? tr("by size") : numberText(figure.get(channel)),
                    Cell::number);
        }
    }
    fitColumns(m_links, kLinkUse);
    m_pages->setTabText(1, tr("&Links (%1)").arg(machine.channels().size()));
}

void MachineEditor::fillRoutes(const Machine& machine) {
    setRows(m_routes, machine.routes().size());
    for (int row = 0; row < m_routes->rowCount(); ++row) {
        const Route& route = machine.routes()[static_cast<std::size_t>(row)];
        QStringList names;
        for (const ChannelId channel : route.channels) names << toQString(machine.channels()[channel].name);
        setCell(m_routes, row, 0, toQString(machine.device(route.from).name), Cell::fixed);
        setCell(m_routes, row, 1, toQString(machine.device(route.to).name), Cell::fixed);
        setCell(m_routes, row, 2, names.join(QStringLiteral(", ")), Cell::text);
    }
    fitColumns(m_routes, 2);
    m_pages->setTabText(2, tr("&Routes (%1)").arg(machine.routes().size()));
}

/// Selects in the picture what the current row of the page on screen stands for.
void MachineEditor::selectRow() {
    const int page = m_pages->currentIndex();
    const auto shown = machine();
    // Rows of an edit that was dropped stand for nothing until the tables are filled again.
    const auto row = [](const QTableWidget* table, std::size_t rows) {
        return static_cast<std::size_t>(table->currentRow() + 1) <= rows ? table->currentRow() : -1;
    };
    const int device = row(m_devices, shown->devices().size()), link = row(m_links, shown->channels().size()),
              route = row(m_routes, shown->routes().size());
    m_duplicate->setEnabled(m_add->isEnabled() && device >= 0);
    m_remove->setEnabled(m_add->isEnabled() && device >= 0 && m_devices->rowCount() > 1);
    m_separate->setEnabled(m_add->isEnabled() && link >= 0 &&
                           routes_across(*shown)[static_cast<std::size_t>(link)] > 1);
    if (page == 0) {
        m_topology->setSelectedChannels({});
        m_topology->setSelectedDevice(device < 0 ? std::nullopt
                                                 : std::optional(static_cast<DeviceId>(device)));
        return;
    }
    m_topology->setSelectedDevice({});
    if (page == 1 && link >= 0) {
        m_topology->setSelectedChannels({static_cast<ChannelId>(link)});
    } else if (page == 2 && route >= 0) {
        m_topology->setSelectedChannels(shown->routes()[static_cast<std::size_t>(route)].channels);
    } else {
        m_topology->setSelectedChannels({});
    }
}

void MachineEditor::selectInTables() {
    m_filling = true;
    const std::vector<ChannelId> channels = m_topology->selectedChannels();
    if (const auto device = m_topology->selectedDevice()) {
        m_pages->setCurrentIndex(0);
        m_devices->setCurrentCell(*device, 0);
    } else if (!channels.empty()) {
        m_pages->setCurrentIndex(1);
        m_links->setCurrentCell(channels.front(), 0);
    } else {
        for (QTableWidget* table : {m_devices, m_links, m_routes}) table->setCurrentCell(-1, -1);
    }
    m_filling = false;
    selectRow();
}

}  // namespace placewright
