// SPDX-License-Identifier: MIT
#include "app/window/dialogs/benchmark_dialog.hpp"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "app/window/dialogs/form_rows.hpp"
#include "app/window/dialogs/measure_plan_view.hpp"
#include "app/window/dialogs/trace_row.hpp"
#include "app/window/document.hpp"
#include "app/window/settings.hpp"
#include "widgets/text.hpp"

namespace placewright {

BenchmarkDialog::BenchmarkDialog(Document* document, QWidget* parent)
    : QDialog(parent), m_document(document) {
    m_plan = new MeasurePlanView(document, [document] {
        if (document->job().language) return languageHindrance(*document);
        return document->job().simulation.batches > 1
                   ? tr("Pipelines of several batches cannot be run: set Batches to 1 in Run ▸ Simulation…, "
                        "then measure.")
                   : QString();
    });
    setObjectName(QStringLiteral("benchmarkDialog"));
    m_what = new QLabel;
    m_what->setWordWrap(true);
    m_hindrance = new QLabel;
    m_hindrance->setObjectName(QStringLiteral("hindrance"));
    m_hindrance->setWordWrap(true);
    m_hindrance->hide();
    m_steps = named(spinBox(1, 100'000, {}), "benchmarkSteps",
                    tr("Steps that count; one more runs before them. More steps show how much they differ."));
    m_steps->setValue(settings::benchmarkSteps.get());
    auto* form = new QFormLayout;
    addRow(form, tr("&Steps"), m_steps);
    m_throttles = throttleBox();
    m_throttles->hide();
    addCheck(form, m_throttles);
    auto* note = new QLabel(
        tr("How long it takes is shown after the first step. Searches pause meanwhile. Other programs, and "
           "work in this window, disturb the measurement."));
    note->setWordWrap(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    m_start = buttons->button(QDialogButtonBox::Ok);
    m_start->setObjectName(QStringLiteral("startBenchmark"));
    m_start->setText(tr("&Start"));
    m_start->setEnabled(false);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_what);
    layout->addWidget(m_plan, 1);
    layout->addLayout(form);
    layout->addWidget(note);
    layout->addWidget(m_hindrance);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_plan, &MeasurePlanView::decided, this, &BenchmarkDialog::showPlan);
    connect(document, &Document::problemChanged, this, &BenchmarkDialog::showNetwork);
    connect(document, &Document::measuringChanged, this, &BenchmarkDialog::showPlan);
    resize(520, 320);
    showNetwork();
    m_plan->look();
}

void BenchmarkDialog::showNetwork() {
    if (!m_document->isOpen()) return;
    setWindowTitle(tr("Benchmark %1").arg(toQString(m_document->problem()->graph->name())));
    m_what->setText(m_document->problem()->inference
                        ? tr("Runs forward passes under the placement on screen for real, and shows what was "
                             "measured beside the simulation.")
                        : tr("Runs training steps under the placement on screen for real, and shows what was "
                             "measured beside the simulation."));
}

void BenchmarkDialog::showPlan() {
    const QString hindrance = m_document->measuringHindrance();
    m_hindrance->setText(hindrance);
    m_hindrance->setVisible(!hindrance.isEmpty());
    m_start->setEnabled(m_plan->plan().has_value() &&
                        m_document->measuring().running() == Measuring::Kind::none);
    m_throttles->setVisible(m_plan->plan() && m_plan->plan()->usesCores());
    if (m_start->isEnabled() && !m_steps->hasFocus()) m_start->setFocus();
}

void BenchmarkDialog::accept() {
    if (!m_plan->plan()) return;
    showPlan();  // what hinders may have begun, or ended, meanwhile
    if (!m_hindrance->text().isEmpty()) return;
    MeasureOptions options;
    options.steps = static_cast<std::uint32_t>(m_steps->value());
    options.throttles = m_throttles->isChecked();
    settings::benchmarkSteps.set(m_steps->value());
    settings::throttles.set(m_throttles->isChecked());
    m_document->startBenchmark(m_plan->plan()->devices, options);
    QDialog::accept();
}

}  // namespace placewright
