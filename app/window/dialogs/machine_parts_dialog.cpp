// SPDX-License-Identifier: MIT
#include "app/window/dialogs/machine_parts_dialog.hpp"

#include <algorithm>
#include <optional>

#include <QComboBox>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QStringList>
#include <QVBoxLayout>

#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kMostOfAModel = 16;
constexpr auto kUsualGpu = "NVIDIA GeForce RTX 4090";
constexpr auto kSecondGpu = "NVIDIA GeForce RTX 3060";

void choose(QComboBox* box, const QString& text) {
    box->setCurrentIndex(std::max(0, box->findText(text)));
}

}  // namespace

MachinePartsDialog::MachinePartsDialog(QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Machine from parts"));
    auto* layout = new QVBoxLayout(this);
    auto* form = new QFormLayout;
    layout->addLayout(form);
    const auto addGpus = [&](const QString& label, const Gpus& gpus) {
        auto* row = new QHBoxLayout;
        row->addWidget(gpus.count);
        row->addWidget(new QLabel(QStringLiteral("×")));
        row->addWidget(gpus.model, 1);
        auto* name = new QLabel(label);
        name->setBuddy(gpus.count);
        form->addRow(name, row);
    };
    m_first = makeGpus(QStringLiteral("firstGpus"), 1, QString::fromLatin1(kUsualGpu));
    m_first.count->setValue(2);
    addGpus(tr("&GPUs"), m_first);
    m_second = makeGpus(QStringLiteral("secondGpus"), 0, QString::fromLatin1(kSecondGpu));
    m_second.count->setSpecialValueText(tr("None"));
    addGpus(tr("&Other GPUs"), m_second);

    const DeviceCatalogue& catalogue = shipped_devices();
    m_link = new QComboBox;
    m_link->setObjectName(QStringLiteral("link"));
    m_link->addItem(tr("As on the data sheet"));
    for (const LinkModel& link : catalogue.links()) m_link->addItem(toQString(link.model));
    m_link->setToolTip(
        tr("Link of each GPU to the host, and to the other GPUs unless they have a link of their "
           "own such as NVLink, which has to be chosen here; the lanes of consumer boards are often "
           "fewer than those of the card."));
    m_link->setAccessibleName(tr("Link"));
    form->addRow(tr("&Link"), m_link);
    m_cpu = new QComboBox;
    m_cpu->setObjectName(QStringLiteral("cpu"));
    for (const auto& device : catalogue.devices()) {
        if (device->kind == DeviceKind::cpu) m_cpu->addItem(toQString(device->model));
    }
    choose(m_cpu, QString::fromLatin1(kUsualCpu));
    m_cpu->setToolTip(tr("CPU of the host; its memory has the usual size of such hosts."));
    m_cpu->setAccessibleName(tr("CPU"));
    form->addRow(tr("&CPU"), m_cpu);

    m_result = new QLabel;
    m_result->setObjectName(QStringLiteral("result"));
    m_result->setWordWrap(true);
    m_result->setMinimumWidth(360);
    layout->addWidget(m_result);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    layout->addWidget(buttons);
    m_ok = buttons->button(QDialogButtonBox::Ok);
    for (QComboBox* box : {m_first.model, m_second.model, m_link, m_cpu})
        connect(box, &QComboBox::currentTextChanged, this, &MachinePartsDialog::showResult);
    for (QSpinBox* box : {m_first.count, m_second.count})
        connect(box, &QSpinBox::valueChanged, this, &MachinePartsDialog::showResult);
    showResult();
}

MachinePartsDialog::Gpus MachinePartsDialog::makeGpus(const QString& name, int least, const QString& chosen) {
    Gpus gpus;
    gpus.count = new QSpinBox;
    gpus.count->setObjectName(name + QStringLiteral("Count"));
    gpus.count->setRange(least, kMostOfAModel);
    gpus.count->setAccessibleName(tr("Number of GPUs"));
    gpus.count->setToolTip(tr("Number of GPUs of the model beside it"));
    gpus.model = new QComboBox;
    gpus.model->setObjectName(name + QStringLiteral("Model"));
    for (const auto& device : shipped_devices().devices()) {
        if (device->kind != DeviceKind::cpu) gpus.model->addItem(toQString(device->model));
    }
    gpus.model->setEditable(true);
    gpus.model->setInsertPolicy(QComboBox::NoInsert);
    gpus.model->completer()->setFilterMode(Qt::MatchContains);
    gpus.model->completer()->setCompletionMode(QCompleter::PopupCompletion);
    choose(gpus.model, chosen);
    gpus.model->setAccessibleName(tr("Model of the GPUs"));
    gpus.model->setToolTip(tr("Model of the GPUs; type a part of its name to find it"));
    return gpus;
}

QString MachinePartsDialog::machine() const {
    QStringList parts;
    for (const Gpus* gpus : {&m_first, &m_second}) {
        if (gpus->count->value() > 0)
            parts << QStringLiteral("%1x %2").arg(gpus->count->value()).arg(gpus->model->currentText());
    }
    if (m_link->currentIndex() > 0) parts << m_link->currentText();
    parts << m_cpu->currentText();
    return parts.join(QStringLiteral(", "));
}

void MachinePartsDialog::showResult() {
    m_second.model->setEnabled(m_second.count->value() > 0);
    std::optional<Machine> found;
    try {
        found = machine_of_parts(machine().toStdString(), shipped_devices());
    } catch (const InputError&) {
        // A model that is being typed.
    }
    if (found && found->channels().empty()) found.reset();  // without a GPU
    m_ok->setEnabled(found.has_value());
    if (!found) return m_result->setText(tr("Choose a model of GPU from the list."));
    const Machine& made = *found;
    double memory_bytes = 0;
    for (const Device& device : made.devices()) {
        if (device.kind != DeviceKind::cpu) memory_bytes += device.memory_bytes;
    }
    const Channel& channel = made.channels().back();
    m_result->setText(
        tr("%1 of GPU memory; each GPU sends %2 per second over %3.")
            .arg(bytesText(memory_bytes), bytesText(channel.bandwidth), toQString(channel.model)));
}

}  // namespace placewright
