// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <stop_token>

#include <QWidget>

#include "app/background.hpp"
#include "core/io/trace_file.hpp"
#include "widgets/timeline_data.hpp"

class QLabel;
class QPushButton;

namespace placewright {

class TimelineView;

/// A trace as the timeline draws it: its lanes are devices, with a stream for each row, and each name that occurs is an op. Lanes beyond
/// the first 256 that have events are left out. Null if `stop` was requested.
std::shared_ptr<const TimelineData> traceTimeline(const TraceFile& trace, const std::stop_token& stop = {});

/// A measured run: the timeline of a trace file with what was found in it. Reads in the background; goes when it is closed.
class TraceWindow : public QWidget {
    Q_OBJECT
public:
    explicit TraceWindow(const QString& file, QWidget* parent = nullptr);
    ~TraceWindow() override;

    bool isReading() const { return m_lane.busy(); }
    TimelineView* timelineView() const { return m_timeline; }
    /// Whether there is a network that could take the times of its ops from the trace.
    void setNetworkOpen(bool open);

Q_SIGNALS:
    /// The times of this trace shall be those of the network's ops.
    void timesWanted(const QString& file);

private:
    void enableTimes();

    TimelineView* m_timeline = nullptr;
    QLabel* m_report = nullptr;
    QPushButton* m_takeTimes = nullptr;
    bool m_isRead = false, m_networkOpen = false;

    Background::Lane m_lane;
    Background m_background{1};  ///< last: its destructor waits for the work
};

}  // namespace placewright
