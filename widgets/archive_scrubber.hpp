// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <QTimer>
#include <QWidget>

#include "core/search/progress.hpp"

class QLabel;
class QSlider;
class QToolButton;

namespace placewright {

/// Goes through the history of an archive: a slider whose right end is the present, and a button that plays
/// it. Each step of the slider is a new elite, so that much happens at any place of it.
class ArchiveScrubber : public QWidget {
    Q_OBJECT
public:
    explicit ArchiveScrubber(QWidget* parent = nullptr);
    /// Keeps the chosen moment; the present stays the present. Hidden without a history.
    void setArchive(const ArchiveView* archive);
    /// Goes to the present.
    void reset();
    /// The number of events until the chosen moment; nothing at the present.
    std::optional<std::size_t> position() const;

Q_SIGNALS:
    void moved();

private:
    void play(bool play);
    void step();
    void showPosition();

    std::vector<std::uint64_t> m_times;     ///< [event]: evaluations
    std::optional<std::uint64_t> m_moment;  ///< evaluations at the chosen moment; nothing: the present
    std::size_t m_same = 0;                 ///< events at that moment that have happened
    QToolButton* m_play = nullptr;
    QSlider* m_slider = nullptr;
    QLabel* m_label = nullptr;
    QTimer m_timer;
};

}  // namespace placewright
