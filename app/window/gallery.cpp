// SPDX-License-Identifier: MIT
#include "app/window/gallery.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

#include "app/window/machine/edited_scenario.hpp"
#include "app/window/settings.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/parameter_count.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/networks/network_file.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {

constexpr int kMostRecent = 9;

namespace {

/// The kinds of networks, in the order of the start page.
const QStringList& sections() {
    static const QStringList all{
        QCoreApplication::translate("StartPage", "Images: convolutional networks"),
        QCoreApplication::translate("StartPage", "Language: transformers"),
        QCoreApplication::translate("StartPage", "Language models: a token at a time"),
        QCoreApplication::translate("StartPage", "Language: recurrent networks, unrolled"),
        {}};
    return all;
}

QString sectionOf(const Graph& graph) {
    for (const Op& op : graph.ops()) {
        if (op.kind.find("lstm") != op.kind.npos || op.kind.find("gru") != op.kind.npos) return sections()[3];
        if (op.kind.find("conv") != op.kind.npos) return sections()[0];
        if (op.kind.find("attention") != op.kind.npos || op.kind.find("layer_norm") != op.kind.npos)
            return sections()[1];
    }
    return {};
}

/// "4 GPUs, 1 CPU".
QString devicesOf(const Machine& machine) {
    int cpus = 0;
    const auto all = static_cast<int>(machine.devices().size());
    for (const Device& device : machine.devices()) cpus += device.kind == DeviceKind::cpu;
    QStringList parts;
    if (all > cpus)
        parts << (all - cpus == 1 ? QCoreApplication::translate("StartPage", "1 GPU")
                                  : QCoreApplication::translate("StartPage", "%1 GPUs").arg(all - cpus));
    if (cpus > 0)
        parts << (cpus == 1 ? QCoreApplication::translate("StartPage", "1 CPU")
                            : QCoreApplication::translate("StartPage", "%1 CPUs").arg(cpus));
    return parts.join(QStringLiteral(", "));
}

}  // namespace

QString titleOf(const ShippedFile& network) {
    const NetworkInfo* info = find_network(network.name);
    return info != nullptr ? toQString(info->title) : toQString(network.name);
}

QString nameOfFile(const QString& file) {
    const QFileInfo info(file);
    if (info.isDir()) return info.fileName();
    const QString folder = info.dir().dirName();
    return info.fileName() == QLatin1String("config.json") && !folder.isEmpty() ? folder
                                                                                : info.completeBaseName();
}

std::vector<StartEntry> recentEntries() {
    std::vector<StartEntry> entries;
    for (const QString& file : settings::recentFiles.get()) {
        const QFileInfo info(file);
        entries.push_back({nameOfFile(file), info.absolutePath(), file, info.exists()});
    }
    return entries;
}

bool rememberFile(const QString& path) {
    if (!QFileInfo::exists(path)) return false;
    const QString absolute = QFileInfo(path).absoluteFilePath();
    QStringList files = settings::recentFiles.get();
    files.removeAll(absolute);
    files.prepend(absolute);
    settings::recentFiles.set(files.mid(0, kMostRecent));
    return true;
}

Gallery::Gallery(QObject* parent) : QObject(parent) {
    for (const ShippedFile& shipped : shipped_networks())
        m_content.networks.push_back({titleOf(shipped), {}, toQString(shipped.file.string()), true});
    m_background.run(
        m_lane, [](const std::stop_token& stop) { return readAll(stop); },
        [this](Content content) {
            m_content = std::move(content);
            for (const QString& error : std::as_const(m_content.errors)) Q_EMIT failed(error);
            Q_EMIT read();
        },
        [this](const QString& error) { Q_EMIT failed(error); });
}

Gallery::~Gallery() {
    m_lane.cancel();
}

QString Gallery::machineTitle(const QString& machine) const {
    const auto found = m_content.titleOfMachine.find(machine);
    return found == m_content.titleOfMachine.end() ? machine : found->second;
}

QString Gallery::chosenMachineTitle(const QString& machine) const {
    const auto found = m_content.titleOfMachine.find(machine);
    return found == m_content.titleOfMachine.end() ? titleOfMachine(machine) : found->second;
}

/// What ships does not change while the program runs: further windows get what the first has read.
Gallery::Content Gallery::readAll(const std::stop_token& stop) {
    static std::mutex mutex;
    static std::optional<Content> known;
    {
        const std::scoped_lock lock(mutex);
        if (known) return *known;
    }
    Content content;
    for (const ShippedFile& shipped : shipped_machines()) {
        try {
            const Machine machine = read_machine(shipped.file);
            content.titleOfMachine[toQString(shipped.name)] = toQString(machine.name());
            content.machines.push_back(
                {toQString(machine.name()), devicesOf(machine), toQString(shipped.name), true});
        } catch (const std::exception& error) {
            content.errors << toQString(error.what());
        }
    }
    for (const ShippedFile& shipped : shipped_networks()) {
        if (stop.stop_requested()) return content;
        StartEntry entry{titleOf(shipped), {}, toQString(shipped.file.string()), true};
        try {
            const NetworkFile file = read_network(shipped.file);
            const Graph& graph = file.graph;
            const GraphTotals sums = totals(graph);
            const QString figures =
                QStringLiteral("%1 · %2\n").arg(opsText(sums.ops), flopsText(sums.forward_flops));
            const QString parameters = QCoreApplication::translate("StartPage", "%1 parameters")
                                           .arg(countText(parameter_count(graph)));
            entry.detail =
                figures + (file.language
                               ? QCoreApplication::translate("StartPage", "%1 · context %2")
                                     .arg(parameters,
                                          countText(static_cast<double>(file.language->sequence.value_or(0))))
                               : QCoreApplication::translate("StartPage", "%1 · batch %2")
                                     .arg(parameters)
                                     .arg(graph.batch()));
            entry.picture = makeStartPicture(graph);
            entry.section = file.language ? sections()[2] : sectionOf(graph);
        } catch (const std::exception& error) {
            entry.detail = toQString(error.what());
            entry.available = false;
        }
        content.networks.push_back(std::move(entry));
    }
    const auto order = [](const StartEntry& entry) { return sections().indexOf(entry.section); };
    std::ranges::stable_sort(content.networks, {}, order);
    if (content.errors.isEmpty()) {
        const std::scoped_lock lock(mutex);
        known = content;
    }
    return content;
}

}  // namespace placewright
