// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <QByteArray>
#include <QFileSystemWatcher>
#include <QLockFile>
#include <QObject>
#include <QSet>
#include <QString>
#include <QTimer>

#include "app/window/background.hpp"
#include "app/window/workspace.hpp"

class QMainWindow;

namespace placewright {

class Document;
class Learning;
class OfferBar;

/// Keeps a window's work in files: the workspace that the user saves, and the session, which is written by
/// itself so that nothing is lost when the program ends unexpectedly. A trained policy that is in no file of
/// the user is in a file beside the session. All files are written on another thread.
class WorkspaceKeeper : public QObject {
    Q_OBJECT
public:
    /// How the keeper sees the window.
    struct View {
        std::function<void(WorkspaceSnapshot&)> add;  ///< adds what is of the window
        std::function<void(const OpenedWorkspace&)> show;
    };

    WorkspaceKeeper(Document* document, Learning* learning, OfferBar* offers, QMainWindow* window, View view);
    ~WorkspaceKeeper() override;

    /// The file of the workspace; empty while it is in none.
    const QString& file() const { return m_file; }
    bool isModified() const { return m_modified; }
    /// Saves the workspace; asks for a file if it has none, and what to do if its file has changed on disk
    /// since this window opened or saved it. With `waits`, returns once it is written, and
    /// false if it is not.
    bool save(bool waits = false);
    /// The same in a file that the user chooses.
    bool saveAs(bool waits = false);

    /// Begins to write the session within an interval ($PLACEWRIGHT_AUTOSAVE_MS, or 20 s) of each change, and
    /// offers sessions that ended unexpectedly. `reopens`: offers, or reopens, the session of the window that
    /// was closed last.
    void startSession(bool reopens);
    /// Writes the session now; the next start offers it. Without effect before startSession().
    /// `closedBySystem`: says that the program was asked to terminate.
    void saveSession(bool closedBySystem = false);
    /// The window closes: its session becomes the one that was closed last. Returns whether it has; if not,
    /// it is still being written, and ended() or endFailed() follows.
    bool endSession();
    bool isEnding() const { return m_ending == Ending::late || m_ending == Ending::writes; }
    bool hasEnded() const { return m_ending == Ending::done; }
    /// The folder of sessions.
    static QString sessionFolder();

public Q_SLOTS:
    /// Something changed that the session keeps, but that nobody misses who has saved before: the view, the
    /// selection.
    void noteView();

Q_SIGNALS:
    void failed(const QString& error);
    void saved(const QString& file);
    void ended();
    /// The session could not be written when it was to end, for the first time.
    void endFailed();

private:
    struct Recovery {
        QString file;  ///< of the session; its policy, or itself, may not be there
        std::unique_ptr<QLockFile> lock;
    };

    /// `overwrites`: also a file that is not the one that this window read or wrote last.
    bool write(const QString& file, bool waits, bool overwrites);
    /// The file has changed on disk: asks what to do, and does it.
    bool writeChanged(const QString& file, bool waits);
    void noteChecksum(const QString& file, const QByteArray& checksum);
    QByteArray checksumKnown(const QString& file);
    WorkspaceSnapshot snapshot() const;
    void note();
    /// Changes whenever something of the runs does that is worth saving.
    quint64 runsSignature() const;
    void setModified(bool modified);
    void writeSession();
    void sessionWritten(bool written);
    void leaveSession();
    void offerRecovery();
    void restoreRecovery();
    /// Takes the policy of a session into this one, or keeps it in a file if there is another policy here.
    void takePolicy(const QString& session);
    void opened(const QString& file, const OpenedWorkspace& opened);
    /// The session that was restored is now in that of this window.
    void leaveRecovered();
    void tellKept(const QString& file);
    void watch();
    void offerReload(const QString& file);

    Document* m_document;
    Learning* m_learning;
    OfferBar* m_offers;
    QMainWindow* m_window;
    View m_view;
    QString m_file;
    bool m_modified = false;
    quint64 m_revision = 0;   ///< counts changes
    quint64 m_work = 0;       ///< counts networks and workspaces that were opened
    quint64 m_runsNoted = 0;  ///< signature of the runs when they were noted

    QString m_session;  ///< file of the session; empty before startSession()
    std::unique_ptr<QLockFile> m_lock;
    QTimer m_autosave;
    int m_autosaveMs = 0;  ///< shortest time between a change and its autosave
    /// `late`: what is being written began before.
    enum class Ending { no, late, writes, done } m_ending = Ending::no;
    bool m_endWaits = false;       ///< somebody waits for ended()
    bool m_sessionFailed = false;  ///< said already
    int m_soonMs = 0;              ///< time until the next autosave, if that is shorter than usual
    std::size_t m_runCount = 0;
    Recovery m_recovery;  ///< the session that is offered, or was restored
    QString m_recovered;  ///< file of the session that is on screen; empty: none
    bool m_isRecoveredWhole = true;
    bool m_isPolicyTaken = false;  ///< that of the session that is on screen
    bool m_hasHadPolicy = false;   ///< an unsaved one; the file beside the session is of it
    bool m_closedBySystem = false;
    /// What the files have that is not on screen: it is copied before they are written over.
    struct LeftOut {
        bool inFile = false;    ///< since the file was opened
        std::size_t parts = 0;  ///< WorkspaceSnapshot::leftOut when the file was written last
    };
    LeftOut m_fileLeftOut, m_sessionLeftOut;

    QFileSystemWatcher m_watcher;
    QTimer m_settled;  ///< since a watched file has changed
    QSet<QString> m_changed;

    std::mutex m_writing;  ///< held while a workspace that the user saves is written
    std::mutex m_checking;
    /// Of the files that this window has read or written, as it did last; guarded by m_checking. A file
    /// without one is written without a question.
    std::map<QString, QByteArray> m_checksums;
    Background::Lane m_saveLane, m_sessionLane;
    Background m_background{2};  ///< last: its destructor waits for the work in the lanes
};

}  // namespace placewright
