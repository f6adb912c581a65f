// SPDX-License-Identifier: MIT
#include "app/window/trace_window.hpp"

#include <algorithm>
#include <limits>

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QShortcut>
#include <QVBoxLayout>

#include "widgets/timeline_view.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostLanes = 256;

struct ReadTrace {
    std::shared_ptr<const TimelineData> timeline;
    QStringList report;
};

}  // namespace

std::shared_ptr<const TimelineData> traceTimeline(const TraceFile& trace, const std::stop_token& stop) {
    std::vector<Device> devices;
    std::vector<std::optional<DeviceId>> device_of(trace.lanes.size());
    for (std::size_t i = 0; i < trace.lanes.size() && devices.size() < kMostLanes; ++i) {
        const TraceLane& lane = trace.lanes[i];
        if (lane.rows == 0) continue;
        device_of[i] = static_cast<DeviceId>(devices.size());
        Device& device = devices.emplace_back();
        device.name = lane.process + " · " + lane.thread;
        // Two lanes may have the same name.
        for (std::size_t twin = 2; std::ranges::count(devices, device.name, &Device::name) > 1; ++twin)
            device.name = lane.process + " · " + lane.thread + " #" + std::to_string(twin);
        device.model = lane.model;
        device.peak_flops = device.memory_bandwidth = device.memory_bytes = 1;
    }
    Channel channel;
    channel.name = "none";
    channel.bandwidth = 1;
    std::vector<Route> routes;
    for (DeviceId from = 0; from < devices.size(); ++from) {
        for (DeviceId to = 0; to < devices.size(); ++to) {
            if (from != to) routes.push_back({from, to, {0}});
        }
    }

    GraphBuilder builder("trace", 1, Training::none);
    constexpr OpId kUnused = kInvalidOp;
    std::vector<OpId> op_of(trace.names.size(), kUnused);
    auto problem = std::make_shared<Problem>();
    Trace spans;
    Outcome outcome;
    outcome.device_busy_s.resize(devices.size());
    for (std::size_t i = 0; i < trace.lanes.size(); ++i) {
        if (device_of[i])
            outcome.device_busy_s[*device_of[i]] = static_cast<double>(trace.lanes[i].busy_ns) * 1e-9;
    }
    const auto unnamed = [&] {
        std::string name = "(no name)";
        while (std::ranges::find(trace.names, name) != trace.names.end()) name += ' ';
        return name;
    };
    for (const TraceEvent& event : trace.events) {
        if (stop.stop_requested()) return nullptr;
        if (!device_of[event.lane]) continue;
        OpId& op = op_of[event.name];
        if (op == kUnused) {
            op = static_cast<OpId>(builder.size());
            Op named;
            named.name = trace.names[event.name].empty() ? unnamed() : trace.names[event.name];
            named.kind = trace.names[event.category];
            named.phase = event.phase;
            builder.add(std::move(named));
        }
        Span span;
        span.resource = *device_of[event.lane];
        span.stream = static_cast<std::uint16_t>(
            std::min<std::uint32_t>(event.row, std::numeric_limits<std::uint16_t>::max()));
        span.op = op;
        span.start_s = span.queued_s = static_cast<double>(event.start_ns) * 1e-9;
        span.end_s = static_cast<double>(event.end_ns()) * 1e-9;
        spans.spans.push_back(span);
    }
    if (stop.stop_requested()) return nullptr;
    outcome.total_time_s = outcome.step_time_s = static_cast<double>(trace.duration_ns) * 1e-9;
    outcome.peak_bytes.assign(devices.size(), 0);
    outcome.resident_bytes.assign(devices.size(), 0);
    // The memory of a process is drawn below its first lane.
    std::vector<std::optional<DeviceId>> holder_of(trace.names.size());
    for (const TraceMemory& sample : trace.memory) {
        std::optional<DeviceId>& holder = holder_of[sample.process];
        if (!holder) {
            const auto lane =
                std::ranges::find(trace.lanes, trace.names[sample.process], &TraceLane::process);
            if (lane != trace.lanes.end())
                holder = device_of[static_cast<std::size_t>(lane - trace.lanes.begin())];
        }
        if (!holder) continue;
        spans.memory.push_back({*holder, static_cast<double>(sample.time_ns) * 1e-9, sample.bytes});
        outcome.peak_bytes[*holder] = std::max(outcome.peak_bytes[*holder], sample.bytes);
    }
    // Only the fields of a problem that the timeline reads: nothing is simulated. Each op is a group of its
    // own and has no inputs.
    problem->devices = static_cast<std::uint32_t>(devices.size());
    // Limits are not known: with so large ones the timeline leaves them out.
    problem->memory_limit_bytes.assign(
        devices.size(), 5 * std::max(1.0, devices.empty() ? 0 : std::ranges::max(outcome.peak_bytes)));
    problem->machine =
        std::make_shared<const Machine>("trace", std::move(devices), std::vector{channel}, std::move(routes));
    problem->graph = problem->forward = problem->network = std::make_shared<const Graph>(builder.build());
    problem->ops = static_cast<std::uint32_t>(problem->graph->size());
    problem->grouping = group_by_constraints(*problem->graph);
    problem->groups = static_cast<std::uint32_t>(problem->grouping.size());
    problem->input_begin.assign(problem->graph->size() + 1, 0);
    return TimelineData::build(std::move(problem), std::move(spans), std::move(outcome),
                               TimelineData::Source::measured);
}

TraceWindow::TraceWindow(const QString& file, QWidget* parent) : QWidget(parent, Qt::Window) {
    setObjectName(QStringLiteral("traceWindow"));
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("%1 — Placewright").arg(QFileInfo(file).fileName()));
    m_report = new QLabel(tr("Reading %1…").arg(file));
    m_report->setObjectName(QStringLiteral("report"));
    m_report->setTextFormat(Qt::PlainText);
    m_report->setWordWrap(true);
    m_report->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_report->setContentsMargins(8, 6, 8, 2);
    m_takeTimes = new QPushButton(tr("&Use op times of this trace…"));
    m_takeTimes->setObjectName(QStringLiteral("takeTimes"));
    connect(m_takeTimes, &QPushButton::clicked, this, [this, file] { Q_EMIT timesWanted(file); });
    enableTimes();
    auto* top = new QHBoxLayout;
    top->setContentsMargins(0, 6, 8, 2);
    top->addWidget(m_report, 1);
    top->addWidget(m_takeTimes, 0, Qt::AlignTop);
    m_timeline = new TimelineView;
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addLayout(top);
    layout->addWidget(m_timeline, 1);
    resize(QSize(1120, 640).boundedTo(screen()->availableSize() * 0.9));
    auto* close = new QShortcut(QKeySequence::Close, this);
    connect(close, &QShortcut::activated, this, &QWidget::close);
    connect(m_timeline, &TimelineView::selectionEdited, m_timeline, &TimelineView::setSelection);
    connect(m_timeline, &TimelineView::opHovered, m_timeline, &TimelineView::setHovered);
    m_background.run(
        m_lane,
        [path = file.toStdString()](std::stop_token stop) {
            const TraceFile trace = read_trace(path, stop);
            ReadTrace read{traceTimeline(trace, stop), {}};
            for (const std::string& line : trace.report()) read.report << QString::fromStdString(line);
            return read;
        },
        [this](const ReadTrace& read) {
            m_timeline->setData(read.timeline);
            m_timeline->setFocus();
            m_report->setText(read.report.join(QStringLiteral(" · ")));
            m_isRead = true;
            enableTimes();
        },
        [this](const QString& error) { m_report->setText(error); });
}

TraceWindow::~TraceWindow() {
    m_lane.cancel();
}

void TraceWindow::setNetworkOpen(bool open) {
    m_networkOpen = open;
    enableTimes();
}

void TraceWindow::enableTimes() {
    m_takeTimes->setEnabled(m_isRead && m_networkOpen);
    m_takeTimes->setToolTip(m_networkOpen
                                ? tr("Simulate the open network with the op times of this trace; a preview "
                                     "is shown before anything changes")
                                : tr("Open the network of this trace to simulate it with these times"));
}

}  // namespace placewright
