// SPDX-License-Identifier: MIT
#include "app/window/gallery.hpp"

#include <utility>

#include <QCoreApplication>
#include <QFileInfo>

#include "app/window/settings.hpp"
#include "core/graph/networks.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"
#include "widgets/quantities.hpp"
#include "widgets/text.hpp"

namespace placewright {

constexpr int kMostRecent = 9;

QString titleOf(const ShippedFile& network) {
    const NetworkInfo* info = find_network(network.name);
    return info != nullptr ? toQString(info->title) : toQString(network.name);
}

std::vector<StartEntry> galleryEntries() {
    std::vector<StartEntry> gallery;
    for (const ShippedFile& shipped : shipped_networks()) {
        StartEntry entry{toQString(shipped.name), {}, toQString(shipped.file.string()), true};
        try {
            const Graph graph = read_network(shipped.file).graph;
            const GraphTotals sums = totals(graph);
            entry.title = titleOf(shipped);
            entry.detail = QCoreApplication::translate("StartPage", "%1 · %2 · %3 parameters · batch %4")
                               .arg(opsText(sums.ops), flopsText(sums.forward_flops),
                                    countText(static_cast<double>(sums.parameter_bytes) / 4))
                               .arg(graph.batch());
            entry.picture = makeStartPicture(graph);
        } catch (const InputError& error) {
            entry.detail = toQString(error.what());
            entry.available = false;
        }
        gallery.push_back(std::move(entry));
    }
    return gallery;
}

std::vector<StartEntry> recentEntries() {
    std::vector<StartEntry> entries;
    for (const QString& file : settings::recentFiles.get()) {
        const QFileInfo info(file);
        entries.push_back({info.completeBaseName(), info.absolutePath(), file, info.exists()});
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

}  // namespace placewright
