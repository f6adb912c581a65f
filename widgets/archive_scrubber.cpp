// SPDX-License-Identifier: MIT
#include "widgets/archive_scrubber.hpp"

#include <algorithm>

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QStyle>
#include <QToolButton>

namespace placewright {
namespace {

constexpr int kFrameMs = 40;
constexpr int kFrames = 200;  ///< of the whole history, at most

}  // namespace

ArchiveScrubber::ArchiveScrubber(QWidget* parent) : QWidget(parent) {
    m_play = new QToolButton(this);
    m_play->setObjectName("play");
    m_play->setCheckable(true);
    m_play->setAutoRaise(true);
    m_slider = new QSlider(Qt::Horizontal, this);
    m_slider->setObjectName("history");
    m_slider->setAccessibleName(tr("History of the archive"));
    m_slider->setToolTip(tr("Drag to see how the search filled the archive; the right end is now"));
    m_label = new QLabel(this);
    m_label->setObjectName("moment");
    m_label->setMinimumWidth(fontMetrics().horizontalAdvance(tr("after %L1").arg(100'000)));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_play);
    layout->addWidget(m_slider, 1);
    layout->addWidget(m_label);
    connect(m_play, &QToolButton::toggled, this, &ArchiveScrubber::play);
    connect(m_slider, &QSlider::valueChanged, this, [this](int value) {
        if (value == m_slider->maximum()) {
            m_moment.reset();
        } else {
            const std::size_t next = static_cast<std::size_t>(value);
            m_moment = m_times[next];
            m_same = next -
                     static_cast<std::size_t>(std::ranges::lower_bound(m_times, *m_moment) - m_times.begin());
        }
        showPosition();
        Q_EMIT moved();
    });
    connect(&m_timer, &QTimer::timeout, this, &ArchiveScrubber::step);
    m_timer.setInterval(kFrameMs);
    play(false);
    setArchive(nullptr);
}

void ArchiveScrubber::setArchive(const ArchiveView* archive) {
    m_times.clear();
    if (archive != nullptr) {
        for (const ArchiveView::Event& event : archive->history) m_times.push_back(event.evaluations);
    }
    setVisible(!m_times.empty());
    const int last = static_cast<int>(m_times.size());
    int at = last;
    if (m_moment && last > 0) {
        const auto from = std::ranges::lower_bound(m_times, *m_moment) - m_times.begin();
        at = std::min(static_cast<int>(from) + static_cast<int>(m_same), last);
    }
    const QSignalBlocker blocker(m_slider);
    m_slider->setRange(0, last);
    m_slider->setPageStep(std::max(1, last / 20));
    m_slider->setValue(at);
    if (at == last) m_moment.reset();
    showPosition();
}

void ArchiveScrubber::reset() {
    m_play->setChecked(false);
    m_moment.reset();
    const QSignalBlocker blocker(m_slider);
    m_slider->setValue(m_slider->maximum());
    showPosition();
}

std::optional<std::size_t> ArchiveScrubber::position() const {
    if (!m_moment) return std::nullopt;
    return static_cast<std::size_t>(m_slider->value());
}

void ArchiveScrubber::showPosition() {
    const int at = m_slider->value();
    m_label->setText(!m_moment ? tr("now")
                     : at == 0 ? tr("start")
                               : tr("after %L1").arg(m_times[static_cast<std::size_t>(at) - 1]));
    m_label->setToolTip(tr("Placements that the algorithm had seen at the moment shown"));
}

void ArchiveScrubber::play(bool play) {
    m_play->setIcon(style()->standardIcon(play ? QStyle::SP_MediaPause : QStyle::SP_MediaPlay));
    m_play->setText(play ? tr("Pause") : tr("Play"));
    m_play->setToolTip(play ? tr("Hold the replay here") : tr("Replay how the search filled the archive"));
    if (play && !m_moment) m_slider->setValue(0);
    play ? m_timer.start() : m_timer.stop();
}

void ArchiveScrubber::step() {
    m_slider->setValue(m_slider->value() + std::max(1, m_slider->maximum() / kFrames));
    if (!m_moment) m_play->setChecked(false);
}

}  // namespace placewright
