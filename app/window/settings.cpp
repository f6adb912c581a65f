// SPDX-License-Identifier: MIT
#include "app/window/settings.hpp"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QStandardPaths>

#include "core/io/shipped.hpp"
#include "widgets/text.hpp"

namespace placewright {

void settings::reset() {
    const QStringList kept{QLatin1String(openFolder.key),   QLatin1String(exportFolder.key),
                           QLatin1String(policyFolder.key), QLatin1String(experimentFolder.key),
                           QLatin1String(recentFiles.key),  QLatin1String(geometry.key)};
    QSettings stored;
    for (const QString& key : stored.allKeys()) {
        if (!kept.contains(key)) stored.remove(key);
    }
}

QString fileBesideSettings(const QString& name) {
    return QFileInfo(QSettings().fileName()).absolutePath() + QLatin1Char('/') + name;
}

void rememberFolderOf(const QString& file, const Setting<QString>& folder) {
    folder.set(QFileInfo(file).absolutePath());
}

QString exportFolderFor(const QString& opened) {
    const QString own = QDir(toQString(models_folder().string())).absolutePath();
    const bool isFile = opened.contains(QLatin1Char('/')) || QFileInfo(opened).isFile();
    const QString beside = isFile ? QFileInfo(opened).absolutePath() : QString();
    for (const QString& folder : {settings::exportFolder.get(), beside, settings::openFolder.get()}) {
        const bool isOwn = QDir(folder).absolutePath().startsWith(own);
        if (!folder.isEmpty() && !isOwn && QFileInfo(folder).isDir()) return folder;
    }
    const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    return QFileInfo(documents).isDir() ? documents : QDir::homePath();
}

QString askSaveFile(QWidget* parent, const QString& title, const QString& start, const QString& suggestion,
                    const QString& filter, const QString& suffix, const Setting<QString>& folder) {
    const QString file = QFileDialog::getSaveFileName(
        parent, title, start.isEmpty() ? suggestion : start + QLatin1Char('/') + suggestion, filter);
    if (file.isEmpty()) return {};
    rememberFolderOf(file, folder);
    return QFileInfo(file).suffix().isEmpty() ? file + suffix : file;
}

}  // namespace placewright
