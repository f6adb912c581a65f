// SPDX-License-Identifier: MIT
#include "app/window/workspace_keeper.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFileInfo>
#include <QLocale>
#include <QMainWindow>
#include <QStandardPaths>
#include <QUndoStack>
#include <QUuid>

#include "app/window/document.hpp"
#include "app/window/gallery.hpp"
#include "app/window/learn/learning.hpp"
#include "app/window/offer_bar.hpp"
#include "app/window/questions.hpp"
#include "app/window/settings.hpp"
#include "core/io/text/folder_lock.hpp"
#include "core/io/text/whole_file.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

constexpr int kAutosaveMs = 20'000;
/// Writing the session takes at most one part in so many of the time.
constexpr qint64 kWritesOneIn = 20;
/// Time that the end of a session may take of the window's thread.
constexpr int kQuickMs = 60;
/// Time until the first autosave after a search has begun.
constexpr int kFirstSaveMs = 3000;
/// Programs write a file in several steps.
constexpr int kFileSettlesMs = 500;
/// No program takes longer to write a session.
constexpr int kWriteEnds_s = 3600;

const auto kSuffix = QStringLiteral(".placewright"), kPolicySuffix = QStringLiteral(".safetensors");
const auto kLast = QStringLiteral("last.placewright");
const auto kFileValue = "workspace_file", kModifiedValue = "modified", kLeftOutValue = "left_out",
           kChecksumValue = "workspace_checksum";

QString textOf(const OptionValues& values, const char* name) {
    const auto* text = valueOf<std::string>(values, name);
    return text != nullptr ? toQString(*text) : QString();
}

bool truthOf(const OptionValues& values, const char* name) {
    const bool* truth = valueOf<bool>(values, name);
    return truth != nullptr && *truth;
}

/// File of the policy that a session keeps.
QString policyOf(const QString& session) {
    return session.chopped(kSuffix.size()) + kPolicySuffix;
}

/// "Inception-v3 on 4x V100, 77.6 ms and an unsaved policy (today's date and time)".
QString sessionText(const QString& file) {
    QStringList parts;
    const QFileInfo workspace(file), policy(policyOf(file));
    if (workspace.exists()) parts << toQString(workspace_head(file.toStdString()).title);
    if (policy.exists()) parts << WorkspaceKeeper::tr("an unsaved policy");
    return QStringLiteral("%1 (%2)").arg(
        parts.join(WorkspaceKeeper::tr(" and ")),
        QLocale().toString((workspace.exists() ? workspace : policy).lastModified(), QLocale::ShortFormat));
}

bool isSession(const QString& file) {
    return QFileInfo(file).absolutePath() == QFileInfo(WorkspaceKeeper::sessionFolder()).absoluteFilePath();
}

/// A new name beside a workspace, under which its present content is kept, or with another suffix what
/// belongs to it.
QString nameOfKept(const QString& file, const QString& suffix = kSuffix) {
    const QFileInfo of(file);
    const QString stem =
        of.absolutePath() + QLatin1Char('/') +
        (isSession(file) ? QStringLiteral("kept") : of.completeBaseName() + QStringLiteral("-kept")) +
        QDateTime::currentDateTime().toString(QStringLiteral("-yyyyMMdd-HHmmss"));
    QString name = stem + suffix;
    for (int i = 2; QFileInfo::exists(name); ++i) name = stem + QStringLiteral("-%1").arg(i) + suffix;
    return name;
}

/// Moves a file to the trash, or gives it another name where there is no trash.
void discard(const QString& file, const QString& name) {
    // Without this folder Qt 6.4 takes the current one for the trash.
    const QString trashIsIn = QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation);
    if (!QDir().mkpath(trashIsIn) || !QFile::moveToTrash(file)) QFile::rename(file, name);
}

/// Copies a file beside itself and returns the copy; empty if there is no file. Throws std::runtime_error.
QString keptCopy(const QString& file) {
    if (!QFileInfo::exists(file)) return {};
    const QString copy = nameOfKept(file);
    if (!QFile::copy(file, copy))
        throw std::runtime_error(
            WorkspaceKeeper::tr("%1 was not written: it holds runs that could not be opened, "
                                "and no copy could be made at %2")
                .arg(file, copy)
                .toStdString());
    return copy;
}

/// Removes what programs that were killed in the middle of a write have left.
void removeUnfinished(const QDir& folder) {
    const QDateTime old = QDateTime::currentDateTime().addSecs(-kWriteEnds_s);
    for (const QFileInfo& info :
         folder.entryInfoList({QStringLiteral(".placewright-*.tmp")}, QDir::Files | QDir::Hidden)) {
        if (info.lastModified() < old) QFile::remove(info.absoluteFilePath());
    }
}

}  // namespace

QString WorkspaceKeeper::sessionFolder() {
    const QString state = qEnvironmentVariable("XDG_STATE_HOME");
    return state.isEmpty() ? fileBesideSettings(QStringLiteral("sessions"))
                           : state + QStringLiteral("/placewright/sessions");
}

WorkspaceKeeper::WorkspaceKeeper(Document* document, Learning* learning, OfferBar* offers,
                                 QMainWindow* window, View view)
    : QObject(window),
      m_document(document),
      m_learning(learning),
      m_offers(offers),
      m_window(window),
      m_view(std::move(view)) {
    connect(document->undoStack(), &QUndoStack::indexChanged, this, &WorkspaceKeeper::note);
    connect(document, &Document::runsChanged, this, [this] {
        const std::size_t runs = m_document->runs().size();
        if (runs > std::exchange(m_runCount, runs)) {
            // The first seconds of a search find most: they are kept soon.
            m_soonMs = kFirstSaveMs;
            m_autosave.stop();
        }
        if (const quint64 now = runsSignature(); std::exchange(m_runsNoted, now) != now) return note();
        noteView();
    });
    for (const auto changed : {&Document::measuredChanged, &Document::measuredPlacementsChanged})
        connect(document, changed, this, [this] {
            if (const quint64 now = runsSignature(); std::exchange(m_runsNoted, now) != now) note();
        });
    connect(learning, &Learning::learnedChanged, this, [this] {
        m_hasHadPolicy = m_hasHadPolicy || m_learning->hasUnsavedPolicy();
        noteView();
    });
    connect(document, &Document::selectionChanged, this, &WorkspaceKeeper::noteView);
    connect(document, &Document::sceneChanged, this, &WorkspaceKeeper::noteView);
    connect(document, &Document::problemChanged, this, &WorkspaceKeeper::watch);
    connect(document, &Document::replaced, this, [this] {
        ++m_work;
        m_file.clear();
        m_fileLeftOut = m_sessionLeftOut = {};
        m_runsNoted = runsSignature();
        setModified(false);
    });
    connect(document, &Document::workspaceOpened, this, &WorkspaceKeeper::opened);
    m_soonMs = kFirstSaveMs;
    m_autosave.setSingleShot(true);
    connect(&m_autosave, &QTimer::timeout, this, &WorkspaceKeeper::writeSession);
    m_settled.setSingleShot(true);
    m_settled.setInterval(kFileSettlesMs);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, [this](const QString& file) {
        m_changed.insert(file);
        m_settled.start();
    });
    connect(&m_settled, &QTimer::timeout, this, [this] {
        for (const QString& file : std::exchange(m_changed, {})) offerReload(file);
    });
}

WorkspaceKeeper::~WorkspaceKeeper() {
    m_background.disconnect(this);
}

WorkspaceSnapshot WorkspaceKeeper::snapshot() const {
    WorkspaceSnapshot snapshot = m_document->snapshot();
    m_view.add(snapshot);
    return snapshot;
}

void WorkspaceKeeper::setModified(bool modified) {
    m_modified = modified;
    m_window->setWindowModified(modified);
}

void WorkspaceKeeper::note() {
    if (!m_document->isOpen()) return;
    ++m_revision;
    // What the program itself does with a network that is just open is no work to save.
    if (!m_modified && !(m_file.isEmpty() && m_document->isAsOpened() && m_document->measured() == nullptr &&
                         m_document->measuredPlacements() == nullptr))
        setModified(true);
    noteView();
}

void WorkspaceKeeper::noteView() {
    if (m_session.isEmpty() || m_autosave.isActive()) return;
    m_autosave.start(m_soonMs < m_autosaveMs ? std::min(m_autosave.interval(), m_soonMs)
                                             : m_autosave.interval());
}

quint64 WorkspaceKeeper::runsSignature() const {
    quint64 signature = m_document->measuredRevision();
    for (const auto& run : m_document->runs()) {
        constexpr quint64 kPrime = 1'099'511'628'211;
        for (const quint64 value :
             {static_cast<quint64>(run->id()), static_cast<quint64>(run->state()) + 1,
              static_cast<quint64>(run->progress().evaluations), static_cast<quint64>(qHash(run->name()))})
            signature = (signature ^ value) * kPrime;
    }
    return signature;
}

bool WorkspaceKeeper::save(bool waits) {
    if (!m_document->isOpen()) return false;
    return m_file.isEmpty() ? saveAs(waits) : write(m_file, waits, false);
}

bool WorkspaceKeeper::saveAs(bool waits) {
    if (!m_document->isOpen()) return false;
    const QString name = toQString(m_document->problem()->graph->name()) + kSuffix;
    const QString file =
        askSaveFile(m_window, tr("Save workspace"), exportFolderFor(m_document->networkFile()), name,
                    tr("Workspaces (*%1)").arg(kSuffix), kSuffix, settings::exportFolder);
    return !file.isEmpty() && write(file, waits, true);
}

bool WorkspaceKeeper::write(const QString& file, bool waits, bool overwrites) {
    struct Written {
        WorkspaceSnapshot snapshot;
        double score_s = 0;
        QString kept;
        bool isChanged = false;  ///< the file on disk, which was left as it is
    };
    QEventLoop loop;
    bool written = false, isChanged = false;
    WorkspaceSnapshot now = snapshot();
    const bool keeps = QFileInfo(file).absoluteFilePath() == m_file &&
                       (m_fileLeftOut.inFile || now.leftOut > m_fileLeftOut.parts);
    m_background.run(
        m_saveLane,
        [this, file, now = std::move(now), keeps, overwrites](const std::stop_token& stop) {
            // Of two that are asked for one after the other, the later one is written last, or alone.
            const std::scoped_lock lock(m_writing);
            if (stop.stop_requested()) return Written{now, 0, {}};
            Written result{now, scoreOf(now.scenario->job, now.placement), {}};
            const std::string text = workspace_text(workspaceOf(now), file.toStdString());
            const FolderLock fileLock(file.toStdString());  // no other window writes between check and write
            const QByteArray known = overwrites ? QByteArray() : checksumKnown(file);
            result.isChanged = !known.isEmpty() && QFileInfo::exists(file) && checksumOf(file) != known;
            if (result.isChanged) return result;
            if (keeps) result.kept = keptCopy(file);
            write_file(file.toStdString(), text);
            noteChecksum(file, checksumOfText(text));
            return result;
        },
        [this, file, revision = m_revision, work = m_work, &written, &isChanged,
         waits](const Written& result) {
            if (waits) (result.isChanged ? isChanged : written) = true;
            if (work != m_work) return;  // something else was opened meanwhile
            if (result.isChanged) {
                if (!waits) writeChanged(file, false);
                return;
            }
            m_document->keep(result.snapshot, result.score_s);
            m_file = QFileInfo(file).absoluteFilePath();
            m_fileLeftOut = {false, result.snapshot.leftOut};
            tellKept(result.kept);
            rememberFile(m_file);
            if (revision == m_revision) setModified(false);
            writeSession();  // which says what is in the file
            Q_EMIT saved(m_file);
        },
        [this](const QString& error) { Q_EMIT failed(error); });
    if (!waits) return true;
    connect(&m_background, &Background::settled, &loop, [&] {
        if (!m_saveLane.busy()) loop.quit();
    });
    loop.exec(QEventLoop::ExcludeUserInputEvents);
    return isChanged ? writeChanged(file, true) : written;
}

bool WorkspaceKeeper::writeChanged(const QString& file, bool waits) {
    const quint64 work = m_work;
    const ChangedFile answer = askAboutChanged(m_window, file);
    if (work != m_work || answer == ChangedFile::cancel) return false;
    return answer == ChangedFile::saveAs ? saveAs(waits) : write(file, waits, true);
}

void WorkspaceKeeper::noteChecksum(const QString& file, const QByteArray& checksum) {
    const std::scoped_lock lock(m_checking);
    m_checksums[QFileInfo(file).absoluteFilePath()] = checksum;
}

QByteArray WorkspaceKeeper::checksumKnown(const QString& file) {
    const std::scoped_lock lock(m_checking);
    const auto found = m_checksums.find(QFileInfo(file).absoluteFilePath());
    return found == m_checksums.end() ? QByteArray() : found->second;
}

void WorkspaceKeeper::startSession(bool reopens) {
    const QString folder = sessionFolder();
    QDir().mkpath(folder);
    removeUnfinished(QDir(folder));
    const QString id = QUuid::createUuid().toString(QUuid::Id128).left(12);
    m_session = folder + QStringLiteral("/session-") + id + kSuffix;
    m_lock = std::make_unique<QLockFile>(m_session + QStringLiteral(".lock"));
    m_lock->setStaleLockTime(0);  // only the end of the program makes it stale
    if (!m_lock->tryLock(0)) {
        m_session.clear();
        Q_EMIT failed(tr("%1 cannot be written: the session is not kept until you save it.").arg(folder));
        return;
    }
    bool known = false;
    const int interval = qEnvironmentVariableIntValue("PLACEWRIGHT_AUTOSAVE_MS", &known);
    m_autosaveMs = known && interval > 0 ? interval : kAutosaveMs;
    m_autosave.setInterval(m_autosaveMs);
    offerRecovery();
    const QString last = folder + QLatin1Char('/') + kLast;
    if (!reopens || !QFileInfo::exists(last)) return;
    // Where another session can be restored, the user chooses: the last one is replaced when this window
    // closes.
    if (settings::reopenLast.get() && m_recovery.file.isEmpty()) return m_document->openWorkspace(last);
    m_offers->offer(QStringLiteral("last"), tr("Last session: %1").arg(sessionText(last)),
                    {{tr("Reopen"), [this, last] { m_document->openWorkspace(last); }}, {tr("Close"), {}}});
}

void WorkspaceKeeper::offerRecovery() {
    m_recovery = {};
    const QDir folder(sessionFolder());
    QStringList known{QFileInfo(m_session).absoluteFilePath()};
    for (const QFileInfo& info : folder.entryInfoList(
             {QStringLiteral("session-*") + kSuffix, QStringLiteral("session-*") + kPolicySuffix},
             QDir::Files, QDir::Time)) {
        const QString file = folder.absoluteFilePath(info.completeBaseName() + kSuffix);
        if (known.contains(file)) continue;
        known << file;
        auto lock = std::make_unique<QLockFile>(file + QStringLiteral(".lock"));
        lock->setStaleLockTime(0);
        if (!lock->tryLock(0)) continue;  // its window is open
        m_recovery = {file, std::move(lock)};
        const QString why = !QFileInfo::exists(file) ? tr("An earlier window left %1.")
                            : workspace_head(file.toStdString()).closed_by_system
                                ? tr("Placewright was closed by the system. It kept %1.")
                                : tr("Placewright ended unexpectedly. It kept %1.");
        m_offers->offer(QStringLiteral("recovery"), why.arg(sessionText(file)),
                        {{tr("Restore"), [this] { restoreRecovery(); }},
                         {tr("Discard"), [this, file] {
                              discard(file, nameOfKept(file));
                              if (const QString policy = policyOf(file); QFileInfo::exists(policy))
                                  discard(policy, nameOfKept(file, kPolicySuffix));
                              offerRecovery();
                          }}});
        return;
    }
}

void WorkspaceKeeper::restoreRecovery() {
    const QString file = m_recovery.file;
    if (QFileInfo::exists(file)) return m_document->openWorkspace(file);
    takePolicy(file);
    if (m_isPolicyTaken) QFile::remove(policyOf(file));
    offerRecovery();
}

void WorkspaceKeeper::takePolicy(const QString& session) {
    const QString from = policyOf(session);
    m_isPolicyTaken = false;
    if (!QFileInfo::exists(from)) return;
    const bool takes = m_learning->takesPolicy() && !m_session.isEmpty();
    const QString to = takes ? policyOf(m_session) : nameOfKept(session, kPolicySuffix);
    // A copy: both are there until this session is written.
    if (takes) QFile::remove(to);
    m_isPolicyTaken = QFile::copy(from, to);
    if (!m_isPolicyTaken) {
        Q_EMIT failed(
            tr("The unsaved policy could not be copied from %1 to %2. The next start offers it again.")
                .arg(from, to));
    } else if (takes) {
        m_learning->resumeKept(to);
    } else {
        m_offers->offer(QStringLiteral("policy"),
                        tr("This window has a policy already. The one that the session kept is in %1; "
                           "open that file to train it further.")
                            .arg(to),
                        {{tr("Close"), {}}});
    }
}

void WorkspaceKeeper::writeSession() {
    if (m_session.isEmpty()) return;
    if (m_sessionLane.busy()) return m_autosave.start();
    const std::shared_ptr<const PolicyFile> policy = m_learning->unsavedPolicy();
    const bool isOpen = m_document->isOpen();
    // A policy that this window could not read, or not yet, is in the file alone.
    const bool dropsPolicy = !policy && m_hasHadPolicy;
    if (!isOpen && !policy && !dropsPolicy) return;
    WorkspaceSnapshot now = isOpen ? snapshot() : WorkspaceSnapshot();
    now.view[kFileValue] = m_file.toStdString();
    now.view[kModifiedValue] = m_modified;
    now.view[kLeftOutValue] = m_fileLeftOut.inFile;
    if (!m_file.isEmpty()) now.view[kChecksumValue] = checksumKnown(m_file).toHex().toStdString();
    now.closedBySystem = m_closedBySystem;
    const bool keeps = now.leftOut > m_sessionLeftOut.parts;
    const std::size_t leftOut = now.leftOut;
    struct Written {
        QString kept;
        qint64 took_ms = 0;
    };
    m_background.run(
        m_sessionLane,
        [file = m_session, now = std::move(now), keeps, isOpen, policy, dropsPolicy](const std::stop_token&) {
            QElapsedTimer clock;
            clock.start();
            if (policy)
                write_policy(policy->record, policy->state, *policy->design.policy,
                             policyOf(file).toStdString());
            else if (dropsPolicy)
                QFile::remove(policyOf(file));
            const QString kept = keeps ? keptCopy(file) : QString();
            if (isOpen) write_workspace(workspaceOf(now), file.toStdString());
            return Written{kept, clock.elapsed()};
        },
        [this, leftOut, work = m_work](const Written& written) {
            m_sessionFailed = false;
            m_soonMs = std::min(2 * m_soonMs, m_autosaveMs);
            m_autosave.setInterval(
                static_cast<int>(std::max<qint64>(m_autosaveMs, kWritesOneIn * written.took_ms)));
            tellKept(written.kept);
            // Else what was written is the work before a session was restored.
            if (work == m_work) {
                m_sessionLeftOut.parts = leftOut;
                leaveRecovered();
            }
            sessionWritten(true);
        },
        [this](const QString& error) {
            const bool isTold = std::exchange(m_sessionFailed, true);
            if (!isTold) Q_EMIT failed(tr("The session is not kept until you save it: %1").arg(error));
            if (!isEnding()) m_autosave.start();
            sessionWritten(isTold);
        });
}

/// `ends`: nothing keeps a session that ends; false: its end has failed, which the user does not know yet.
void WorkspaceKeeper::sessionWritten(bool ends) {
    if (!isEnding()) return;
    if (m_ending == Ending::late) {
        m_ending = Ending::writes;
        return writeSession();
    }
    const bool waits = std::exchange(m_endWaits, false);
    m_ending = ends && waits ? Ending::done : Ending::no;
    if (ends) leaveSession();
    if (!waits) return;
    if (ends) {
        Q_EMIT ended();
    } else {
        Q_EMIT endFailed();
    }
}

void WorkspaceKeeper::leaveRecovered() {
    const QString file = std::exchange(m_recovered, {});
    if (file.isEmpty()) return;
    const bool isOffered = file == m_recovery.file;
    const bool isLast = QFileInfo(file).fileName() == kLast;  // which this one will replace
    if (isOffered && m_isPolicyTaken) QFile::remove(policyOf(file));
    if (m_isRecoveredWhole) {
        if (isOffered) QFile::remove(file);
    } else if (isOffered || isLast) {
        const QString kept = nameOfKept(file);
        if (QFile::rename(file, kept)) tellKept(kept);
    }
    if (isOffered) offerRecovery();
}

void WorkspaceKeeper::tellKept(const QString& file) {
    if (file.isEmpty()) return;
    m_offers->offer(QStringLiteral("kept"),
                    tr("Runs or placements could not be taken along: a file that they depend on has changed "
                       "or is missing. They are kept in %1; restore the old file, then open it.")
                        .arg(file),
                    {{tr("Close"), {}}});
}

void WorkspaceKeeper::saveSession(bool closedBySystem) {
    if (m_session.isEmpty()) return;
    m_closedBySystem = closedBySystem;
    m_background.finish();  // two must not write the file at once
    m_sessionLane.cancel();
    writeSession();
    m_background.finish();
}

bool WorkspaceKeeper::endSession() {
    if (m_session.isEmpty()) return true;
    if (!isEnding()) {
        m_autosave.stop();
        if (!m_document->isOpen()) {
            leaveSession();
            return true;
        }
        const bool isWriting = m_sessionLane.busy();  // two must not write the file at once
        m_ending = isWriting ? Ending::late : Ending::writes;
        if (!isWriting) writeSession();
    }
    m_endWaits = false;
    m_background.finishWithin(kQuickMs);
    m_endWaits = isEnding();
    return m_session.isEmpty();
}

void WorkspaceKeeper::leaveSession() {
    const QString last = sessionFolder() + QLatin1Char('/') + kLast;
    if (m_document->isOpen() && QFileInfo::exists(m_session)) {
        QFile::remove(last);
        QFile::rename(m_session, last);
    } else {
        QFile::remove(m_session);
    }
    // The user was asked to save it.
    if (m_hasHadPolicy) QFile::remove(policyOf(m_session));
    m_session.clear();
    m_lock.reset();
}

void WorkspaceKeeper::opened(const QString& file, const OpenedWorkspace& opened) {
    if (file != m_recovery.file) m_offers->withdraw(QStringLiteral("last"));
    // Before the view, which resumes an older state of the policy from a file.
    if (isSession(file)) takePolicy(file);
    m_view.show(opened);
    m_runsNoted = runsSignature();
    if (isSession(file)) {
        m_recovered = file;
        m_isRecoveredWhole = !opened.isIncomplete;
        m_file = textOf(opened.view, kFileValue);
        if (!m_file.isEmpty())
            noteChecksum(m_file, QByteArray::fromHex(textOf(opened.view, kChecksumValue).toLatin1()));
        // What the session could not take along may be in the file, too.
        m_fileLeftOut.inFile = opened.isIncomplete || truthOf(opened.view, kLeftOutValue);
        setModified(truthOf(opened.view, kModifiedValue));
        writeSession();
        return;
    }
    m_file = QFileInfo(file).absoluteFilePath();
    noteChecksum(m_file, opened.checksum);
    m_fileLeftOut.inFile = opened.isIncomplete;
    rememberFile(m_file);
    m_document->keep(m_document->snapshot(), m_document->screenScore_s());
    setModified(false);
}

void WorkspaceKeeper::watch() {
    if (const QStringList before = m_watcher.files(); !before.isEmpty()) m_watcher.removePaths(before);
    m_offers->withdraw(QStringLiteral("reload"));
    if (!m_document->isOpen()) return;
    for (const QString& file : {toQString(m_document->networkPath().string()), m_document->machineFile()}) {
        // Of the folder of a language model the file that says what it is.
        const QString read =
            QFileInfo(file).isDir() ? QDir(file).filePath(QStringLiteral("config.json")) : file;
        if (QFileInfo(read).isFile()) m_watcher.addPath(read);
    }
}

void WorkspaceKeeper::offerReload(const QString& file) {
    if (!QFileInfo::exists(file)) return;
    m_watcher.addPath(file);  // a file that was replaced is no longer watched
    // Every language model has a file of the same name.
    const QFileInfo info(file);
    const QString name = info.fileName() == QLatin1String("config.json")
                             ? info.dir().dirName() + QLatin1Char('/') + info.fileName()
                             : info.fileName();
    m_offers->offer(QStringLiteral("reload"),
                    tr("%1 has changed on disk. Reload it? The placement stays.").arg(name),
                    {{tr("Reload"), [this] { m_document->reload(); }}, {tr("Ignore"), {}}});
}

}  // namespace placewright
