// SPDX-License-Identifier: MIT
#pragma once

#include <QObject>
#include <QString>

#include "app/window/background.hpp"

namespace placewright {

/// Looks at the computer that the window runs on, on a thread of its own, and keeps it as a machine file
/// beside the settings, so that searches can name it later.
class ComputerFinder : public QObject {
    Q_OBJECT
public:
    explicit ComputerFinder(QObject* parent = nullptr);
    ~ComputerFinder() override;

    /// The machine file that choose() writes.
    static QString file();

    bool isBusy() const { return m_lane.busy(); }
    /// What was found, in a few words: "2x NVIDIA T4, EPYC 7302". Empty before.
    const QString& summary() const { return m_content.summary; }
    /// Where each figure is from, for a tooltip. Empty before.
    const QString& notes() const { return m_content.notes; }

    /// Looks at the computer, without writing anything.
    void look();
    /// Looks at the computer and writes the file; then chosen() or failed() follows, unless forget() or
    /// another choose() comes first.
    void choose();
    void forget();

Q_SIGNALS:
    /// summary() and notes() changed.
    void found();
    void chosen(const QString& file);
    void failed(const QString& error);
    /// Work ended, with or without success.
    void settled();

private:
    struct Content {
        QString summary, notes;
    };
    static Content find(const QString& writtenTo);
    void run(const QString& writtenTo);

    Content m_content;
    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
