// SPDX-License-Identifier: MIT
// What the start page and the menus offer to open: recent files and what ships with the program.
#pragma once

#include <map>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/background.hpp"
#include "core/io/shipped.hpp"
#include "widgets/start_page.hpp"

namespace placewright {

/// Returns the network's title, or its name if it has none.
QString titleOf(const ShippedFile& network);

/// The name of a file without its ending; of a language model that of its folder.
QString nameOfFile(const QString& file);

/// Returns the recent files, the latest first; those that no longer exist are not available.
std::vector<StartEntry> recentEntries();

/// Puts a file at the top of the recent files; returns false, without effect, if it does not exist.
bool rememberFile(const QString& path);

/// The networks and machines that ship with the program. They are read once, on a thread of their own; until
/// then entries have names alone.
class Gallery : public QObject {
    Q_OBJECT
public:
    explicit Gallery(QObject* parent = nullptr);
    ~Gallery() override;

    bool isRead() const { return !m_lane.busy(); }
    /// Networks that cannot be read are not available and tell why.
    const std::vector<StartEntry>& networks() const { return m_content.networks; }
    /// Machines that can be read; their paths are names.
    const std::vector<StartEntry>& machines() const { return m_content.machines; }
    /// Returns the title of a shipped machine, or the text itself if it names none.
    QString machineTitle(const QString& machine) const;
    /// Returns the title of a machine that is chosen, as a file, a shipped name or parts (titleOfMachine()).
    QString chosenMachineTitle(const QString& machine) const;

Q_SIGNALS:
    /// All titles are known.
    void read();
    /// A machine cannot be read.
    void failed(const QString& error);

private:
    struct Content {
        std::vector<StartEntry> networks, machines;
        std::map<QString, QString> titleOfMachine;
        QStringList errors;
    };
    static Content readAll(const std::stop_token& stop);

    Content m_content;
    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
