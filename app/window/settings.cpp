// SPDX-License-Identifier: MIT
#include "app/window/settings.hpp"

#include <QFileDialog>
#include <QFileInfo>

namespace placewright {

QString fileBesideSettings(const QString& name) {
    return QFileInfo(QSettings().fileName()).absolutePath() + QLatin1Char('/') + name;
}

void rememberFolderOf(const QString& file, const Setting<QString>& folder) {
    folder.set(QFileInfo(file).absolutePath());
}

QString lastExportFolder() {
    return settings::exportFolder.isStored() ? settings::exportFolder.get() : settings::openFolder.get();
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
