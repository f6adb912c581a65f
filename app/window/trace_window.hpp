// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <stop_token>

#include <QWidget>

#include "app/window/background.hpp"
#include "core/io/traces/trace_file.hpp"
#include "widgets/timeline_data.hpp"

class QLabel;
class QPushButton;

namespace placewright {

class TimelineView;

/// Converts a trace for the timeline: lanes become devices with one stream per row, and each distinct name
/// becomes an op. Lanes with events beyond the first 256 are left out. Returns null if `stop` was requested.
std::shared_ptr<const TimelineData> traceTimeline(const TraceFile& trace, const std::stop_token& stop = {});

/// Window with the timeline of a trace file, which is a measured run, and a report of its content. Reads in
/// the background; deletes itself when closed.
class TraceWindow : public QWidget {
    Q_OBJECT
public:
    explicit TraceWindow(const QString& file, QWidget* parent = nullptr);
    ~TraceWindow() override;

    bool isReading() const { return m_lane.busy(); }
    TimelineView* timelineView() const { return m_timeline; }
    /// Sets whether a network is open that could take op times from the trace.
    void setNetworkOpen(bool open);

Q_SIGNALS:
    /// The user wants the network's ops to take the times of this trace.
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
