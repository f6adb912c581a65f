// SPDX-License-Identifier: MIT
#include "app/window/computer_finder.hpp"

#include <utility>

#include <QDir>
#include <QFileInfo>
#include <QStringList>

#include "app/window/settings.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/measure/this_computer.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {

ComputerFinder::ComputerFinder(QObject* parent) : QObject(parent) {
    connect(&m_background, &Background::settled, this, &ComputerFinder::settled);
}

ComputerFinder::~ComputerFinder() {
    m_lane.cancel();
}

QString ComputerFinder::file() {
    return fileBesideSettings(QStringLiteral("this-computer.json"));
}

ComputerFinder::Content ComputerFinder::find(const QString& writtenTo) {
    const ThisComputer computer = this_computer(shipped_devices());
    if (!writtenTo.isEmpty()) {
        QDir().mkpath(QFileInfo(writtenTo).absolutePath());
        write_machine(computer.machine, writtenTo.toStdString());
    }
    Content content;
    QStringList lines;
    for (std::size_t i = 0; i < computer.devices.size(); ++i) {
        const Device& device = computer.machine.devices()[i];
        const auto& free = computer.devices[i].free_bytes;
        lines << tr("%1: %2, %3%4")
                     .arg(toQString(device.name), toQString(device.model), bytesText(device.memory_bytes),
                          free ? tr(", %1 free now").arg(bytesText(*free)) : QString());
    }
    lines << QString();
    for (const std::string& note : computer.notes) lines << toQString(note) + QLatin1Char('.');
    content.notes = lines.join(QLatin1Char('\n'));
    content.summary = toQString(models_of(computer.machine.devices()));
    if (computer.machine.devices().back().kind == DeviceKind::cpu)
        content.summary = tr("%1, no GPU found").arg(content.summary);
    return content;
}

void ComputerFinder::look() {
    run({});
}

void ComputerFinder::choose() {
    run(file());
}

void ComputerFinder::forget() {
    m_lane.cancel();
}

void ComputerFinder::run(const QString& writtenTo) {
    m_background.run(
        m_lane, [writtenTo](const std::stop_token&) { return find(writtenTo); },
        [this, writtenTo](Content content) {
            m_content = std::move(content);
            Q_EMIT found();
            if (!writtenTo.isEmpty()) Q_EMIT chosen(writtenTo);
        },
        [this, writtenTo](const QString& error) {
            // Nobody asked for what the start page would offer.
            if (!writtenTo.isEmpty()) Q_EMIT failed(error);
        });
}

}  // namespace placewright
