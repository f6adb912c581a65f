// SPDX-License-Identifier: MIT
#include "app/window/dialogs/calibration_dialog.hpp"

#include <algorithm>
#include <utility>

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHeaderView>
#include <QMenu>
#include <QProgressBar>
#include <QScreen>
#include <QScrollBar>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/dialogs/form_rows.hpp"
#include "app/window/dialogs/profile_dialog.hpp"
#include "app/window/dialogs/trace_row.hpp"
#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/latest_value.hpp"
#include "app/window/settings.hpp"
#include "core/base/text.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/calibration_plot.hpp"
#include "widgets/palette.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

// Columns of the list of networks.
constexpr int kNameColumn = 0, kBatchColumn = 1, kUsedColumn = 2;
constexpr int kFileRole = Qt::UserRole;

// Columns of the table of classes; a title repeats its group, since a header has no groups.
enum ClassColumn {
    kClass,
    kShare,
    kFittedOps,
    kFittedBefore,
    kFittedAfter,
    kHeldOutOps,
    kHeldOutBefore,
    kHeldOutAfter,
    kHeldOutSum,
    kClassColumns
};

QString offText(double share) {
    return QStringLiteral("%1 %").arg(100 * share, 0, 'f', 1);
}

QString signedOffText(double share) {
    return (share > 0 ? QStringLiteral("+") : QString()) + offText(share);
}

QTreeWidget* makeTable(const char* name, const QString& accessibleName, const QStringList& titles) {
    auto* table = new QTreeWidget;
    table->setObjectName(QString::fromLatin1(name));
    table->setAccessibleName(accessibleName);
    table->setHeaderLabels(titles);
    table->setRootIsDecorated(false);
    table->setUniformRowHeights(true);
    table->setSelectionMode(QAbstractItemView::NoSelection);
    table->header()->setStretchLastSection(false);
    table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    return table;
}

void alignNumbers(QTreeWidgetItem* item, int from) {
    for (int column = from; column < item->columnCount(); ++column)
        item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
}

QTreeWidgetItem* classRow(QTreeWidget* table, const QString& name, const CalibrationPart& fitted,
                          const CalibrationPart& heldOut, double all_s) {
    auto* row = new QTreeWidgetItem(table, QStringList(name));
    const double share = all_s > 0 ? (fitted.measured_s + heldOut.measured_s) / all_s : 0;
    row->setText(kShare, share > 0 && share < 0.005 ? QStringLiteral("<1 %") : percentText(share));
    const auto show = [&](const CalibrationPart& part, int first) {
        row->setText(first, QString::number(part.samples));
        if (part.samples == 0) return;
        row->setText(first + 1, offText(part.before.weighted));
        row->setText(first + 2, offText(part.after.weighted));
        if (part.after.weighted <= part.before.weighted) return;
        row->setForeground(first + 2, warningColor(table->palette()));
        row->setToolTip(first + 2,
                        CalibrationDialog::tr("Worse than before: these ops are not like the others that "
                                              "share their parameters, or too few of them were measured"));
    };
    show(fitted, kFittedOps);
    show(heldOut, kHeldOutOps);
    if (heldOut.samples > 0) row->setText(kHeldOutSum, signedOffText(heldOut.after.total));
    // The layout of the table does not move with the number of columns that have text.
    for (int column = kShare; column < kClassColumns; ++column)
        row->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    return row;
}

/// The file of times that is most likely wanted; empty if there is none.
QString likelyTimes(const Document& document) {
    if (document.isOpen() && !document.options().profile.empty())
        return toQString(document.options().profile.string());
    if (document.profiled()) return document.profiled()->file;
    for (const QString& file : {settings::profileFile.get(), ProfileDialog::defaultFile()}) {
        if (!file.isEmpty() && QFileInfo::exists(file)) return file;
    }
    return {};
}

/// A name of a file for a machine: letters, digits and "-".
QString fileNameOf(const Machine& machine) {
    QString name;
    for (const QChar c : toQString(machine.name()))
        if (c.isLetterOrNumber()) {
            name += c;
        } else if (!name.isEmpty() && !name.endsWith(QLatin1Char('-'))) {
            name += QLatin1Char('-');
        }
    return name;
}

}  // namespace

CalibrationDialog::CalibrationDialog(Document* document, QWidget* parent)
    : QDialog(parent), m_document(document) {
    setObjectName(QStringLiteral("calibrationDialog"));
    setWindowTitle(tr("Calibrate devices"));
    auto* sides = new QHBoxLayout;
    sides->setSpacing(12);
    sides->addWidget(makeForm());
    sides->addWidget(makeResults(), 1);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_use = named(buttons->addButton(tr("&Use these costs"), QDialogButtonBox::ActionRole), "useCosts",
                  tr("Simulate on this machine with the fitted costs; the placement stays, and Ctrl+Z in the "
                     "main window goes back"));
    m_save = named(buttons->addButton(tr("&Save machine…"), QDialogButtonBox::ActionRole), "saveMachine",
                   tr("Write the machine with the fitted costs, for other networks and for "
                      "placewright-cli --machine"));
    auto* layout = new QVBoxLayout(this);
    layout->addLayout(sides, 1);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &CalibrationDialog::reject);
    connect(m_use, &QPushButton::clicked, this, &CalibrationDialog::useCosts);
    connect(m_save, &QPushButton::clicked, this, &CalibrationDialog::saveMachine);
    for (QPushButton* button : {m_use, m_save, buttons->button(QDialogButtonBox::Close)})
        button->setAutoDefault(false);
    connect(document, &Document::problemChanged, this, &CalibrationDialog::showProblem);
    connect(document, &Document::machineChanged, this, &CalibrationDialog::showControls);
    connect(document, &Document::measuringChanged, this, &CalibrationDialog::showControls);
    connect(document, &Document::profileChanged, this, [this] {
        if (m_document->profiled()) m_file->setFile(m_document->profiled()->file);
        showControls();
    });
    connect(document, &Document::message, this, [this](bool isError, const QString& text) {
        if (isError && !std::exchange(m_using, {}).isEmpty()) tell(text, true);
    });
    m_file->setFile(likelyTimes(*document));
    showProblem();
    resize(QSize(1080, 720).boundedTo(screen()->availableSize()));
}

CalibrationDialog::~CalibrationDialog() {
    m_lane.cancel();
}

QWidget* CalibrationDialog::makeForm() {
    auto* what = new QLabel(
        tr("Ops that were never measured take predicted times. Here the predictions for a device are fitted "
           "to times that were measured on it.\n\nSome ops are held out: the fit does not see them. Their "
           "errors show how well the ops of other networks will be predicted."));
    what->setWordWrap(true);

    m_file = new FileLabel(tr("none yet"));
    m_file->setObjectName(QStringLiteral("calibrationFile"));
    m_choose = named(new QPushButton(tr("C&hoose…")), "chooseTimes",
                     tr("Take the times of a profile (Run ▸ Profile this network…, or placewright-cli "
                        "profile) or of a trace of the open network, such as that of PyTorch's profiler"));
    m_profile = named(new QPushButton(tr("&Profile this network first…")), "profileFirst",
                      tr("Measure the ops of the open network on this computer"));
    auto* file = new QHBoxLayout;
    file->addWidget(m_file, 1);
    file->addWidget(m_choose);

    m_networks = named(
        makeTable("calibrationNetworks", tr("Networks"), {tr("Network"), tr("Batch"), tr("Measured ops")}),
        "calibrationNetworks",
        tr("A profile has the times of ops by what they do; the networks say what that is. Add those that "
           "were profiled, in the same batch size, to fit to more ops."));
    m_networks->setSelectionMode(QAbstractItemView::SingleSelection);
    m_networks->setUniformRowHeights(false);  // a row with a spin box is higher
    m_networks->setFixedHeight(7 * fontMetrics().lineSpacing());
    m_add = named(new QToolButton, "addNetwork", tr("Add a network whose ops are in the profile too"));
    m_add->setText(tr("&Add network"));
    m_add->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_add);
    menu->addAction(tr("From a file…"), this, [this] {
        const QString chosen = QFileDialog::getOpenFileName(
            this, tr("Add a network"), settings::openFolder.get(),
            tr("Networks (*.json *.onnx *.pt *.pth *.pt2 *.gguf *.dot *.gv);;All files (*)"));
        if (chosen.isEmpty()) return;
        rememberFolderOf(chosen, settings::openFolder);
        addNetwork(QFileInfo(chosen).fileName(), chosen);
    });
    menu->addSeparator();
    for (const ShippedFile& shipped : shipped_networks())
        menu->addAction(titleOf(shipped), this,
                        [this, title = titleOf(shipped), path = toQString(shipped.file.string())] {
                            addNetwork(title, path);
                        });
    m_add->setMenu(menu);
    m_remove = named(new QPushButton(tr("&Remove")), "removeNetwork",
                     tr("Remove the selected network from this list; the open one stays"));
    auto* networkButtons = new QHBoxLayout;
    networkButtons->addWidget(m_add);
    networkButtons->addWidget(m_remove);
    networkButtons->addStretch(1);

    m_model = named(new QComboBox, "calibrationModel",
                    tr("Model of device whose costs are fitted; of a trace that does not say it, the model "
                       "that it was measured on"));
    m_model->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_model->setMinimumContentsLength(16);
    m_heldOut = named(spinBox(0, static_cast<int>(kMostHeldOut * 100), tr(" %")), "heldOut",
                      tr("Share of the ops that the fit does not see, to test it: forward and backward "
                         "together, and always the same ones"));
    m_heldOut->setValue(20);
    m_fit = new QPushButton;
    m_fit->setObjectName(QStringLiteral("fitDevices"));
    m_fit->setDefault(true);
    m_progress = makeProgressBar(tr("Progress of the fit"));
    m_progress->setRange(0, 0);
    m_state = new QLabel;
    m_state->setObjectName(QStringLiteral("calibrationState"));
    m_state->setWordWrap(true);
    m_state->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    for (QPushButton* button : {m_choose, m_profile, m_remove}) button->setAutoDefault(false);

    auto* form = new QFormLayout;
    auto* fileTitle = new QLabel(tr("Measured times"));
    fileTitle->setToolTip(m_choose->toolTip());
    form->addRow(fileTitle, file);
    form->addRow(m_profile);
    form->addRow(m_networks);
    form->addRow(networkButtons);
    addRow(form, tr("&Devices"), m_model);
    m_modelTitle = qobject_cast<QLabel*>(form->labelForField(m_model));
    addRow(form, tr("Held &out"), m_heldOut);

    auto* side = new QWidget;
    side->setFixedWidth(52 * fontMetrics().averageCharWidth());
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(what);
    layout->addLayout(form);
    layout->addWidget(m_fit);
    layout->addWidget(m_progress);
    layout->addWidget(m_state, 1);
    connect(m_choose, &QPushButton::clicked, this, &CalibrationDialog::chooseTimes);
    connect(m_profile, &QPushButton::clicked, this, &CalibrationDialog::profileWanted);
    connect(m_remove, &QPushButton::clicked, this, &CalibrationDialog::removeNetwork);
    connect(m_networks, &QTreeWidget::itemSelectionChanged, this, &CalibrationDialog::showControls);
    connect(m_fit, &QPushButton::clicked, this, &CalibrationDialog::fitOrCancel);
    return side;
}

QWidget* CalibrationDialog::makeResults() {
    m_empty = new QLabel;
    m_empty->setObjectName(QStringLiteral("calibrationEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setMargin(40);
    m_empty->setForegroundRole(QPalette::PlaceholderText);
    m_empty->setBackgroundRole(QPalette::Base);
    m_empty->setAutoFillBackground(true);

    m_shown = named(new QComboBox, "shownModel", tr("Model of device whose fit is shown"));
    m_shown->setAccessibleName(tr("Shown model"));
    m_summary = new QLabel;
    m_summary->setObjectName(QStringLiteral("calibrationSummary"));
    m_summary->setWordWrap(true);
    m_classes = makeTable("calibrationClasses", tr("Errors by class of op"),
                          {tr("Class of ops"), tr("Share\nof time"), tr("Fitted\nops"), tr("Fitted\nbefore"),
                           tr("Fitted\nafter"), tr("Held out\nops"), tr("Held out\nbefore"),
                           tr("Held out\nafter"), tr("Held out\nsum")});
    QTreeWidgetItem* titles = m_classes->headerItem();
    const QString error = tr("Mean error of the predicted time of an op, by measured time");
    titles->setToolTip(kClass, tr("Ops of a class are bound by the same parameters"));
    titles->setToolTip(kShare, tr("Share of the measured time of all ops"));
    titles->setToolTip(kFittedOps, tr("Number of ops that the fit saw"));
    titles->setToolTip(kFittedBefore, error + tr(", of ops that the fit saw, with the costs of the machine"));
    titles->setToolTip(kFittedAfter, error + tr(", of ops that the fit saw, with the fitted costs"));
    titles->setToolTip(kHeldOutOps, tr("Number of ops that the fit did not see"));
    titles->setToolTip(kHeldOutBefore,
                       error + tr(", of ops that the fit did not see, with the costs of the machine"));
    titles->setToolTip(kHeldOutAfter, error + tr(", of ops that the fit did not see, with the fitted costs"));
    titles->setToolTip(kHeldOutSum,
                       tr("Error of the predicted sum of all ops that the fit did not see: + too long"));
    for (int column = kShare; column < kClassColumns; ++column)
        titles->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_classes->setMinimumHeight(6 * fontMetrics().lineSpacing());
    auto* note = new QLabel(
        tr("Before, after: mean error of the predicted time of an op, by measured time. Sum: error of all "
           "these ops together after the fit, as it adds up in steps of a network."));
    note->setWordWrap(true);
    note->setForegroundRole(QPalette::PlaceholderText);

    m_plot = new CalibrationPlot;
    m_plot->setObjectName(QStringLiteral("calibrationPlot"));
    m_parameters =
        makeTable("calibrationParameters", tr("Parameters"), {tr("Parameter"), tr("Before"), tr("After")});
    m_parameters->headerItem()->setToolTip(0, tr("Names as in the machine file"));
    m_notMeasured = new QLabel;
    m_notMeasured->setObjectName(QStringLiteral("notMeasured"));
    m_notMeasured->setWordWrap(true);
    m_notMeasured->setMargin(6);
    auto* parameters = new QWidget;
    auto* parametersLayout = new QVBoxLayout(parameters);
    parametersLayout->setContentsMargins(0, 0, 0, 0);
    parametersLayout->setSpacing(0);
    parametersLayout->addWidget(m_parameters, 1);
    parametersLayout->addWidget(m_notMeasured);
    auto* tabs = new QTabWidget;
    tabs->setObjectName(QStringLiteral("calibrationTabs"));
    tabs->addTab(m_plot, tr("O&ps"));
    tabs->addTab(parameters, tr("Para&meters"));

    auto* table = new QWidget;
    auto* tableLayout = new QVBoxLayout(table);
    tableLayout->setContentsMargins(0, 0, 0, 0);
    tableLayout->addWidget(m_classes, 1);
    tableLayout->addWidget(note);
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(table);
    splitter->addWidget(tabs);
    splitter->setChildrenCollapsible(false);
    splitter->setStretchFactor(0, 4);
    splitter->setStretchFactor(1, 5);
    auto* results = new QWidget;
    auto* layout = new QVBoxLayout(results);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_shown);
    layout->addWidget(m_summary);
    layout->addWidget(splitter, 1);
    m_pages = new QStackedWidget;
    m_pages->addWidget(m_empty);
    m_pages->addWidget(results);
    connect(m_shown, &QComboBox::currentIndexChanged, this, &CalibrationDialog::showShownModel);
    return m_pages;
}

void CalibrationDialog::chooseTimes() {
    const QString now = m_file->file();
    const QString file = QFileDialog::getOpenFileName(
        this, tr("Measured times of ops"),
        now.isEmpty() ? settings::openFolder.get() : QFileInfo(now).absolutePath(),
        tr("Profiles and traces (*.json *.json.gz);;All files (*)"));
    if (file.isEmpty()) return;
    m_file->setFile(file);
    showControls();
}

void CalibrationDialog::addNetwork(const QString& title, const QString& file) {
    for (int row = 0; row < m_networks->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_networks->topLevelItem(row);
        if (item->data(kNameColumn, kFileRole).toString() == file) return m_networks->setCurrentItem(item);
    }
    auto* item = new QTreeWidgetItem(m_networks, {title});
    item->setData(kNameColumn, kFileRole, file);
    item->setToolTip(kNameColumn, plainToolTip(file));
    item->setTextAlignment(kUsedColumn, Qt::AlignRight | Qt::AlignVCenter);
    auto* batch = spinBox(0, 1'000'000, {}, tr("as in file"));
    batch->setAccessibleName(tr("Batch of %1").arg(title));
    batch->setToolTip(tr("Batch size that the network was profiled with, if its file leaves it open"));
    item->setSizeHint(kBatchColumn, batch->sizeHint());
    m_networks->setItemWidget(item, kBatchColumn, batch);
    m_networks->setCurrentItem(item);
}

void CalibrationDialog::removeNetwork() {
    QTreeWidgetItem* item = m_networks->currentItem();
    if (item != nullptr && m_networks->indexOfTopLevelItem(item) > 0) delete item;
    showControls();
}

CalibrationRequest CalibrationDialog::request() const {
    CalibrationRequest request = calibrationOf(*m_document);
    for (int row = 1; row < m_networks->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_networks->topLevelItem(row);
        CalibrationRequest::Network network{item->text(kNameColumn),
                                            item->data(kNameColumn, kFileRole).toString()};
        const auto* batch = qobject_cast<QSpinBox*>(m_networks->itemWidget(item, kBatchColumn));
        if (batch != nullptr && batch->value() > 0) network.reading.batch = batch->value();
        request.networks.push_back(std::move(network));
    }
    request.times = m_file->file();
    request.model = m_model->currentData().toString();
    request.heldOut = m_heldOut->value() / 100.0;
    return request;
}

void CalibrationDialog::fitOrCancel() {
    if (isFitting()) return cancel();
    if (!hindrance().isEmpty()) return;
    const auto latest = std::make_shared<LatestValue<QString>>();
    const int fit = ++m_fits;
    const QString machineName = toQString(m_document->job().machine->name());
    m_background.run(
        m_lane,
        [this, latest, fit, request = request()](const std::stop_token& stop) {
            return calibrateDevices(request, stop, [&](const QString& stage) {
                if (!latest->put(stage)) return;
                QMetaObject::invokeMethod(
                    this,
                    [this, latest, fit] {
                        const QString now = latest->take();
                        if (fit != m_fits || !isFitting()) return;  // of a fit that was cancelled
                        tell(now);
                        Q_EMIT staged(now);
                    },
                    Qt::QueuedConnection);
            });
        },
        [this, machineName](CalibrationReport report) {
            m_machineName = machineName;
            tell({});
            showResult(std::move(report));
        },
        [this](const QString& error) {
            tell(error, true);
            showControls();
        });
    tell(tr("Starting…"));
    showControls();
}

void CalibrationDialog::cancel() {
    if (!isFitting()) return;
    m_lane.cancel();
    ++m_fits;
    tell(tr("Cancelled; nothing has changed."));
    showControls();
}

void CalibrationDialog::reject() {
    cancel();
    QDialog::reject();
}

void CalibrationDialog::useCosts() {
    if (!m_report) return;
    QString file = m_saved;
    try {
        if (file.isEmpty()) {
            const QString folder = QFileInfo(QSettings().fileName()).absolutePath();
            QDir().mkpath(folder);
            // Files of earlier calibrations stay as they are: runs and workspaces name them.
            int number = 1;
            do {
                file = folder + QLatin1Char('/') + fileNameOf(*m_report->machine) +
                       (number > 1 ? QStringLiteral("-%1").arg(number) : QString()) + QStringLiteral(".json");
                ++number;
            } while (QFileInfo::exists(file));
            write_machine(*m_report->machine, file.toStdString());
        }
    } catch (const InputError& error) {
        return tell(toQString(error.what()), true);
    }
    m_using = file;
    tell(tr("Changing the machine…"));
    m_document->setMachine(file);
}

/// Says what the machine in use now is, after useCosts().
void CalibrationDialog::tellUsed() {
    QString text = tr("The machine is now %1; Ctrl+Z in the main window takes it back.")
                       .arg(toQString(m_document->job().machine->name()));
    const CostModel& model = *m_document->options().problem.cost.model;
    if (model.id == "measured")
        text += tr(" Ops with measured times keep these; the others take the fitted costs.");
    else if (model.id != "roofline")
        text += tr(" Its costs have no effect with the cost model %1: choose Roofline in Run ▸ Simulation….")
                    .arg(toQString(model.title));
    tell(text);
}

void CalibrationDialog::saveMachine() {
    if (!m_report) return;
    const QString file = askSaveFile(this, tr("Save machine"), exportFolderFor(),
                                     fileNameOf(*m_report->machine) + QStringLiteral(".json"),
                                     tr("Machine (*.json)"), QStringLiteral(".json"), settings::exportFolder);
    if (file.isEmpty()) return;
    try {
        write_machine(*m_report->machine, file.toStdString());
    } catch (const InputError& error) {
        return tell(toQString(error.what()), true);
    }
    m_saved = file;
    tell(tr("The machine is in %1.").arg(file));
}

QString CalibrationDialog::hindrance() const {
    if (!m_document->isOpen()) return tr("Open a network first.");
    if (m_document->job().own_machine)
        return tr("%1 %2: open another network.")
            .arg(toQString(m_document->problem()->network->name()),
                 QString::fromLatin1(kNoCalibrationOfWorkloads));
    if (m_document->measuring().running() != Measuring::Kind::none)
        return tr("Steps are being measured; fit when that has ended.");
    if (m_file->file().isEmpty()) return tr("Choose measured times first.");
    return {};
}

void CalibrationDialog::showProblem() {
    if (!m_document->isOpen()) return showControls();
    if (m_network != m_document->networkFile()) {
        cancel();
        m_network = m_document->networkFile();
        m_report.reset();
        m_networks->clear();
        new QTreeWidgetItem(m_networks);
    }
    if (!m_using.isEmpty() && m_using == m_document->machineFile()) {
        tellUsed();
    } else if (!isFitting()) {
        tell({});  // what was said of a machine may have been undone
    }
    m_using.clear();
    const Graph& network = *m_document->problem()->network;
    QTreeWidgetItem* open = m_networks->topLevelItem(0);
    open->setText(kNameColumn, toQString(network.name()));
    open->setData(kNameColumn, kFileRole, toQString(m_document->networkPath().string()));
    open->setToolTip(kNameColumn, plainToolTip(toQString(m_document->networkPath().string())));
    open->setText(kBatchColumn, QString::number(network.batch()));
    alignNumbers(open, kBatchColumn);
    open->setTextAlignment(kUsedColumn, Qt::AlignRight | Qt::AlignVCenter);
    const QString model = m_model->currentData().toString();
    m_model->clear();
    m_model->addItem(tr("All with measured times"), QString());
    const Machine& machine = *m_document->job().machine;
    for (const DeviceId id : first_of_each_model(machine)) {
        const QString name = toQString(machine.device(id).model);
        m_model->addItem(name, name);
    }
    m_model->setCurrentIndex(std::max(0, m_model->findData(model)));
    const bool several = m_model->count() > 2;
    m_model->setVisible(several);
    m_modelTitle->setVisible(several);
    showControls();
}

void CalibrationDialog::showControls() {
    const bool fitting = isFitting();
    const QString why = hindrance();
    const bool hasTimes = !m_file->file().isEmpty();
    m_fit->setText(fitting ? tr("&Cancel") : tr("&Fit costs"));
    m_fit->setEnabled(fitting || why.isEmpty());
    m_fit->setToolTip(why);
    m_progress->setVisible(fitting);
    for (QWidget* control : std::initializer_list<QWidget*>{m_choose, m_networks, m_add, m_model, m_heldOut})
        control->setEnabled(!fitting);
    m_remove->setEnabled(!fitting && m_networks->indexOfTopLevelItem(m_networks->currentItem()) > 0);
    m_profile->setVisible(!hasTimes);
    m_use->setEnabled(m_report != nullptr && !fitting);
    m_save->setEnabled(m_report != nullptr && !fitting);
    m_pages->setCurrentIndex(m_report ? 1 : 0);
    m_empty->setText(
        !why.isEmpty() && hasTimes ? why
        : hasTimes ? tr("Press Fit costs. A table then shows how far the predicted times of ops are from the "
                        "measured ones, before and after.")
                   : tr("Nothing was measured yet.\n\n\"Profile this network first…\" measures its ops on "
                        "this computer. A trace of the open network that was recorded elsewhere will do too: "
                        "choose its file."));
}

void CalibrationDialog::showResult(CalibrationReport report) {
    m_report = std::make_shared<const CalibrationReport>(std::move(report));
    m_saved.clear();
    {
        const QSignalBlocker blocker(m_shown);
        m_shown->clear();
        for (const CalibratedDevice& each : m_report->found.devices)
            m_shown->addItem(toQString(m_report->measured.machine->device(each.id).model));
        m_shown->setCurrentIndex(0);
    }
    m_shown->setVisible(m_shown->count() > 1);
    showShownModel();
    showControls();
    m_use->setFocus();
}

void CalibrationDialog::showShownModel() {
    if (!m_report || m_shown->currentIndex() < 0) return;
    const CalibratedDevice& of = m_report->found.devices[static_cast<std::size_t>(m_shown->currentIndex())];
    const Calibration& found = of.found;
    const double all_s = found.fitted.measured_s + found.held_out.measured_s;
    QString text = tr("%1 (%2): %3 measured, %4 together.")
                       .arg(toQString(m_report->measured.machine->device(of.id).model), m_machineName,
                            opsText(found.fitted.samples + found.held_out.samples), secondsText(all_s));
    text += found.held_out.samples > 0
                ? tr(" Ops that the fit did not see are predicted with an error of %1 (before it: %2).")
                      .arg(offText(found.held_out.after.weighted), offText(found.held_out.before.weighted))
                : tr(" No op was held out, so that nothing shows how well other networks are predicted.");
    if (found.unpredicted > 0)
        text += tr(" %1 that took %2, such as views, take no time in the cost model.")
                    .arg(opsText(found.unpredicted), secondsText(found.unpredicted_s));
    for (const std::string& missing : m_report->found.missing)
        text += tr("\nNot fitted: %1.").arg(toQString(missing));
    m_summary->setText(text);

    m_classes->clear();
    for (const CalibratedClass& each : found.classes)
        classRow(m_classes, toQString(to_string(each.work_class)), each.fitted, each.held_out, all_s);
    QTreeWidgetItem* all = classRow(m_classes, tr("all"), found.fitted, found.held_out, all_s);
    QFont bold = m_classes->font();
    bold.setBold(true);
    for (int column = 0; column < kClassColumns; ++column) all->setFont(column, bold);

    std::vector<CalibratedOp> ops;
    for (std::size_t i = 0; i < of.samples.size(); ++i) {
        const CalibrationSample& sample = of.samples[i];
        const Calibration::Residual& residual = found.residuals[i];
        QString name = toQString(sample.op);
        if (m_report->measured.names.size() > 1)
            name = tr("%1 of %2").arg(name, toQString(m_report->measured.names[of.network[i]]));
        ops.push_back({name, toQString(to_string(sample.work.work_class)), residual.held_out,
                       sample.measured_s, sample.before_s, residual.after_s});
    }
    m_plot->setOps(std::move(ops));
    // All columns are seen without scrolling.
    QHeaderView* header = m_classes->header();
    header->setSectionResizeMode(kClass, QHeaderView::ResizeToContents);
    m_classes->setMinimumWidth(header->length() + 2 * m_classes->frameWidth() +
                               m_classes->verticalScrollBar()->sizeHint().width());
    header->setSectionResizeMode(kClass, QHeaderView::Stretch);

    m_parameters->clear();
    for (const CalibratedParameter& parameter : found.parameters)
        alignNumbers(new QTreeWidgetItem(
                         m_parameters, {toQString(parameter.name), toQString(short_number(parameter.before)),
                                        toQString(short_number(parameter.after))}),
                     1);
    QStringList kept;
    for (const std::string& name : found.not_measured) kept << toQString(name);
    m_notMeasured->setVisible(!kept.isEmpty());
    m_notMeasured->setText(tr("Not measured, kept as they were: %1.").arg(kept.join(QStringLiteral(", "))));
    showCounts();
}

/// Shows beside each network how many of its ops the shown fit has times of.
void CalibrationDialog::showCounts() {
    const CalibratedDevice& of = m_report->found.devices[static_cast<std::size_t>(m_shown->currentIndex())];
    for (int row = 0; row < m_networks->topLevelItemCount(); ++row) {
        const auto count = std::ranges::count(of.network, static_cast<std::size_t>(row));
        m_networks->topLevelItem(row)->setText(kUsedColumn, QString::number(count));
    }
}

void CalibrationDialog::tell(const QString& text, bool isError) {
    QPalette colors;  // else as the window
    if (isError) colors.setColor(QPalette::WindowText, warningColor(palette()));
    m_state->setPalette(colors);
    m_state->setText(text);
}

}  // namespace placewright
