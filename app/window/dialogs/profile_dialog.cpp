// SPDX-License-Identifier: MIT
#include "app/window/dialogs/profile_dialog.hpp"

#include <algorithm>

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/window/dialogs/form_rows.hpp"
#include "app/window/dialogs/measure_plan_view.hpp"
#include "app/window/dialogs/trace_row.hpp"
#include "app/window/document.hpp"
#include "app/window/settings.hpp"
#include "widgets/progress_bar.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// Returns why the open network cannot be profiled with the present options; empty if it can.
QString hindranceOf(const Document& document) {
    if (!document.isOpen()) return ProfileDialog::tr("Open a network to profile its ops.");
    if (document.job().language) return languageHindrance(document);
    if (document.options().problem.recomputation != Recomputation::none)
        return ProfileDialog::tr(
            "Ops are profiled without recomputation: choose \"Keep everything\" in Run ▸ "
            "Simulation…, then profile.");
    for (const Device& device : document.job().machine->devices()) {
        if (device.model.empty())
            return ProfileDialog::tr(
                       "%1 has no model, under which its times could be kept: give it one in the "
                       "machine file.")
                .arg(toQString(device.name));
    }
    return {};
}

}  // namespace

ProfileDialog::ProfileDialog(Document* document, QWidget* parent)
    : QDialog(parent),
      m_document(document),
      m_plan(new MeasurePlanView(
          document, [document] { return hindranceOf(*document); }, true)) {
    setObjectName(QStringLiteral("profileDialog"));
    auto* what = new QLabel(tr(
        "Runs the whole network on one device of each model, and keeps the times of its ops by what they do: "
        "they also serve other networks with such ops."));
    what->setWordWrap(true);

    m_file = new FileLabel;
    m_file->setObjectName(QStringLiteral("profileFile"));
    m_file->setFile(lastFile());
    m_choose = named(new QPushButton(tr("C&hoose…")), "chooseProfileFile",
                     tr("Keep the times in another file; those that it has stay, but for ops that are "
                        "measured again."));
    m_choose->setAutoDefault(false);
    auto* file = new QHBoxLayout;
    file->addWidget(m_file, 1);
    file->addWidget(m_choose);
    m_steps = named(spinBox(1, 100'000, {}), "profileSteps",
                    tr("Steps that count on each model; the median of their times is kept."));
    m_steps->setValue(settings::benchmarkSteps.get());
    m_transfers =
        named(new QCheckBox(tr("Measure &transfers too")), "profileTransfers",
              tr("Also measures transfers of 1 kB to 1 GB between the models; takes a minute or more."));
    m_throttles = throttleBox();
    auto* form = new QFormLayout;
    auto* fileTitle = new QLabel(tr("Measured times in"));
    fileTitle->setToolTip(m_choose->toolTip());
    form->addRow(fileTitle, file);
    addRow(form, tr("&Steps"), m_steps);
    addCheck(form, m_transfers);
    addCheck(form, m_throttles);

    m_progress = makeProgressBar(tr("Progress of the profile"));
    m_state = new QLabel;
    m_state->setObjectName(QStringLiteral("profileState"));
    m_state->setWordWrap(true);
    m_models = new QTreeWidget;
    m_models->setObjectName(QStringLiteral("profileModels"));
    m_models->setAccessibleName(tr("What was measured"));
    m_models->setHeaderLabels({tr("Model"), tr("Ops measured"), tr("Ops in the file"), tr("Between ops")});
    m_models->headerItem()->setToolTip(1, tr("Ops that do the same count once"));
    m_models->headerItem()->setToolTip(
        3, tr("What this program itself takes between two ops, which simulations with these times include"));
    m_models->setRootIsDecorated(false);
    m_models->setSelectionMode(QAbstractItemView::NoSelection);
    m_models->header()->setStretchLastSection(false);
    m_models->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_models->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_models->setMinimumHeight(5 * fontMetrics().lineSpacing());

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    m_start = buttons->addButton(tr("&Start"), QDialogButtonBox::ActionRole);
    m_start->setObjectName(QStringLiteral("startProfile"));
    m_use = buttons->addButton(tr("Si&mulate with these times"), QDialogButtonBox::ActionRole);
    m_use->setObjectName(QStringLiteral("useProfile"));
    m_use->setToolTip(tr("Simulate this network with the times in this file; Ctrl+Z undoes this."));
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(what);
    layout->addWidget(m_plan);
    layout->addLayout(form);
    layout->addWidget(m_progress);
    layout->addWidget(m_state);
    layout->addWidget(m_models, 1);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_choose, &QPushButton::clicked, this, &ProfileDialog::chooseFile);
    connect(m_start, &QPushButton::clicked, this, &ProfileDialog::start);
    connect(m_use, &QPushButton::clicked, this,
            [this] { m_document->useProfile(m_document->profiled()->file); });
    connect(m_transfers, &QCheckBox::toggled, this, &ProfileDialog::showState);
    connect(m_plan, &MeasurePlanView::decided, this, &ProfileDialog::showState);
    connect(document, &Document::measuringChanged, this, &ProfileDialog::showState);
    connect(document, &Document::profileChanged, this, &ProfileDialog::showState);
    resize(560, 520);
    m_plan->look();
}

QString ProfileDialog::defaultFile() {
    return fileBesideSettings(QStringLiteral("measured-times.json"));
}

QString ProfileDialog::lastFile() {
    return settings::profileFile.isStored() ? settings::profileFile.get() : defaultFile();
}

void ProfileDialog::chooseFile() {
    // Its times stay, so there is nothing to warn of.
    QString file = QFileDialog::getSaveFileName(this, tr("Keep measured times in"), m_file->file(),
                                                tr("Measured times (*.json);;All files (*)"), nullptr,
                                                QFileDialog::DontConfirmOverwrite);
    if (file.isEmpty()) return;
    if (QFileInfo(file).suffix().isEmpty()) file += QStringLiteral(".json");
    m_file->setFile(file);
    settings::profileFile.set(file);
}

void ProfileDialog::start() {
    if (m_document->measuring().running() == Measuring::Kind::profile) return m_document->cancelMeasuring();
    if (!m_plan->plan()) return;
    if (const QString hindrance = m_document->measuringHindrance(); !hindrance.isEmpty())
        return m_state->setText(hindrance);
    settings::throttles.set(m_throttles->isChecked());
    m_document->startProfile(m_plan->plan()->devices, static_cast<std::uint32_t>(m_steps->value()),
                             m_transfers->isChecked(), m_transfers->isChecked() && m_throttles->isChecked(),
                             m_file->file());
}

void ProfileDialog::showState() {
    if (m_document->isOpen())
        setWindowTitle(tr("Profile %1").arg(toQString(m_document->problem()->graph->name())));
    const Measuring& measuring = m_document->measuring();
    const bool runs = measuring.running() == Measuring::Kind::profile;
    const bool another = !runs && measuring.running() != Measuring::Kind::none;
    m_start->setText(runs ? tr("&Stop") : tr("&Start"));
    m_start->setEnabled(runs || (m_plan->plan() && !another));
    for (QWidget* control : std::initializer_list<QWidget*>{m_choose, m_steps, m_transfers})
        control->setEnabled(!runs);
    m_throttles->setVisible(m_plan->plan() && m_plan->plan()->usesCores());
    m_throttles->setEnabled(!runs && m_transfers->isChecked());
    const Measuring::Progress& progress = measuring.progress();
    m_progress->setVisible(runs);
    m_progress->setRange(0, static_cast<int>(progress.all));
    m_progress->setValue(static_cast<int>(progress.done));
    const auto& report = m_document->profiled();
    m_use->setVisible(report.has_value() && !runs);
    m_models->setVisible(report.has_value() && !runs);
    m_models->clear();
    if (runs && progress.transfers) {
        m_state->setText(tr("Transfers: %1 of %2").arg(progress.done).arg(progress.all));
    } else if (runs) {
        m_state->setText(progress.done == 0 ? tr("The first step shows how long all take.")
                         : progress.left_s  ? tr("%1 of %2, %3 left")
                                                 .arg(progress.done)
                                                 .arg(progress.all)
                                                 .arg(toQString(format_clock(*progress.left_s)))
                                           : QString());
    } else if (another) {
        m_state->setText(m_document->measuringHindrance());
    } else if (!report) {
        m_state->setText(m_document->profileFailure());
    } else {
        QString kept = report->transfers == 0
                           ? tr("Times of ops are in %1.").arg(report->file)
                           : tr("Times of ops and of transfers between %1 pairs of models are in %2.")
                                 .arg(report->transfers)
                                 .arg(report->file);
        for (const QString& warning : report->warnings) kept += tr("\nWarning: %1.").arg(warning);
        // Below a failure, what was measured before.
        const QString& failure = m_document->profileFailure();
        m_state->setText(failure.isEmpty() ? kept : tr("%1\nBefore that: %2").arg(failure, kept));
        for (const ProfileReport::Model& model : report->models) {
            auto* item =
                new QTreeWidgetItem(m_models, {model.name, QString::number(model.measured),
                                               QString::number(model.kept), secondsText(model.overhead_s)});
            for (const int column : {1, 2, 3})
                item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        }
    }
}

}  // namespace placewright
