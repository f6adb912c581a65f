// SPDX-License-Identifier: MIT
#include "app/window/measuring.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTimer>

#include "app/window/latest_value.hpp"
#include "core/base/statistics.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/measure/profiler.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

/// Runs `work`, and adds what to do to errors of a step.
template <class Work>
auto withRemedies(const Work& work) {
    try {
        return work();
    } catch (const OutOfMemory& error) {
        throw std::runtime_error(
            Measuring::tr("%1; place fewer ops there, or take a smaller batch in Run ▸ Simulation…")
                .arg(toQString(error.what()))
                .toStdString());
    }
}

constexpr std::chrono::milliseconds kTellInterval(33);  // of progress
constexpr std::uint32_t kRepeats = 5;                   // of each size of message

/// Throws if a file could not be written, before minutes are spent on what it is to hold.
void checkWritable(const QString& name) {
    QDir().mkpath(QFileInfo(name).absolutePath());
    const bool isNew = !QFileInfo::exists(name);
    QFile file(name);
    if (!file.open(QIODevice::Append))
        throw std::runtime_error(Measuring::tr("%1 cannot be written: %2; choose another file")
                                     .arg(name, file.errorString())
                                     .toStdString());
    file.close();
    if (isNew) file.remove();
}

ProfileReport measureProfile(const ProfileRequest& request, const std::stop_token& stop,
                             const std::function<void(double)>& stepTold, const MeasureProgress& progress,
                             const MeasureProgress& transferred) {
    const Path file = request.file.toStdString();
    if (std::filesystem::exists(file))
        read_profile(file);  // a damaged one is refused before anything is measured
    checkWritable(request.file);
    MeasureOptions options;
    options.steps = request.steps;
    options.step_told = stepTold;
    std::optional<NetworkProfile> found =
        profile_network(request.job.problem, request.devices, options, stop, progress);
    if (found && request.transfers) {
        const auto transfers = profile_transfers(request.job.machine, request.devices, message_sizes(),
                                                 kRepeats, request.throttles, stop, transferred);
        if (transfers) {
            found->archive.merge(*transfers);
        } else {
            found.reset();
        }
    }
    ProfileReport report;
    if (!found) return report;  // it was cancelled
    const ProfileArchive archive = add_to_profile(found->archive, file);
    report.file = request.file;
    report.transfers = found->archive.transfers.size();
    for (const std::string& warning : found->warnings) report.warnings << toQString(warning);
    for (const auto& [model, profile] : found->archive.devices)
        report.models.push_back(
            {toQString(model), profile.ops.size(), archive.devices.at(model).ops.size(), profile.overhead_s});
    return report;
}

}  // namespace

bool MeasurePlan::usesCores() const {
    return std::ranges::find(devices, PhysicalDevice::Kind::logical_cpu, &PhysicalDevice::kind) !=
           devices.end();
}

/// Takes progress on the thread that measures to the window's: at most 30 times a second, since steps may
/// take less than a millisecond.
class Measuring::Teller : public std::enable_shared_from_this<Measuring::Teller> {
public:
    explicit Teller(Measuring& owner) : m_owner(owner) {}

    // On the thread that measures.
    void stepTook(double time_s) { m_times_s.push_back(time_s); }
    void stepDone(std::uint32_t done, std::uint32_t all) {
        const Clock::time_point now = Clock::now();
        if (done == 1) m_first = now;
        if (!isDue(done, all, now)) return;
        Progress progress{done, all};
        if (!m_times_s.empty()) progress.median_s = median(m_times_s);
        // The first step takes longer than those after it.
        const double each_s = done > 1 ? seconds(now - m_first) / (done - 1) : seconds(now - m_start);
        progress.left_s = each_s * (all - done);
        tell(progress);
    }
    /// Transfers differ too much in size to say how long those that are left take.
    void transferDone(std::uint32_t done, std::uint32_t all) {
        if (isDue(done, all, Clock::now())) tell({done, all, {}, {}, true});
    }
    void placementTook(MeasuredPlacements::Each each) {
        const std::scoped_lock lock(m_mutex);
        m_placements.push_back(std::move(each));
        ++m_done;
    }
    void placementsProgressed(double left_s, std::uint32_t all) {
        if (!m_progress.put({m_done, all, {}, left_s})) return;
        // Told a moment later, together with what is measured until then.
        QMetaObject::invokeMethod(
            &m_owner,
            [self = shared_from_this()] {
                QTimer::singleShot(kTellInterval, &self->m_owner, [self] { self->receive(); });
            },
            Qt::QueuedConnection);
    }

    // On the window's thread.
    void tellPlacements() {
        std::vector<MeasuredPlacements::Each> placements;
        {
            const std::scoped_lock lock(m_mutex);
            placements.swap(m_placements);
        }
        if (!placements.empty()) Q_EMIT m_owner.placementsMeasured(placements);
    }

private:
    using Clock = std::chrono::steady_clock;
    static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

    bool isDue(std::uint32_t done, std::uint32_t all, Clock::time_point now) {
        if (done != all && done > 1 && now - m_told < kTellInterval) return false;
        m_told = now;
        return true;
    }
    void tell(const Progress& progress) {
        if (!m_progress.put(progress)) return;
        QMetaObject::invokeMethod(
            &m_owner, [self = shared_from_this()] { self->receive(); }, Qt::QueuedConnection);
    }

    void receive() {
        Progress progress = m_progress.take();
        if (m_owner.m_teller.get() != this) return;  // of something that was cancelled
        m_owner.m_progress = progress;
        tellPlacements();
        Q_EMIT m_owner.changed();
    }

    Measuring& m_owner;
    std::vector<double> m_times_s;
    Clock::time_point m_start = Clock::now(), m_first, m_told;
    LatestValue<Progress> m_progress;

    std::mutex m_mutex;
    std::vector<MeasuredPlacements::Each> m_placements;  ///< guarded by m_mutex; not told yet
    std::uint32_t m_done = 0;                            ///< placements
};

Measuring::Measuring(QObject* parent) : QObject(parent) {
    for (const Background* each : {&m_background, &m_looking})
        connect(each, &Background::settled, this, &Measuring::settled);
}

Measuring::~Measuring() {
    for (Background* each : {&m_background, &m_looking}) each->disconnect(this);
    m_lane.cancel();
    m_lookLane.cancel();
}

void Measuring::look(std::shared_ptr<const Problem> problem) {
    m_looking.run(
        m_lookLane,
        [problem = std::move(problem)](const std::stop_token&) {
            MeasurePlan plan;
            plan.devices = physical_devices(*problem->machine);
            for (const std::string& note : device_notes(*problem->machine, plan.devices))
                plan.notes << toQString(note);
            plan.foreign = toQString(foreign_device_text(*problem->machine, plan.devices));
            for (const std::string& reason : measure_module().unsupported(*problem))
                plan.refused << toQString(reason);
            plan.library = toQString(measure_module().version());
            return plan;
        },
        [this](const MeasurePlan& plan) { Q_EMIT looked(plan); },
        [this](const QString& error) { Q_EMIT lookFailed(error); });
}

std::shared_ptr<Measuring::Teller> Measuring::begin(Kind kind) {
    m_kind = kind;
    m_progress = {};
    m_began = std::chrono::steady_clock::now();
    m_teller = std::make_shared<Teller>(*this);
    return m_teller;
}

void Measuring::fail(const QString& error) {
    m_teller.reset();
    Q_EMIT changed();
    Q_EMIT failed(error);
}

void Measuring::benchmark(std::shared_ptr<const Problem> problem, Placement placement,
                          std::vector<PhysicalDevice> devices, MeasureOptions options) {
    const auto teller = begin(Kind::benchmark);
    m_placement = placement;
    options.step_told = [teller](double time_s) { teller->stepTook(time_s); };
    m_background.run(
        m_lane,
        [=, placement = std::move(placement), devices = std::move(devices)](const std::stop_token& stop) {
            return withRemedies([&] {
                return measure(problem, placement, devices, options, stop,
                               [&](std::uint32_t done, std::uint32_t all) { teller->stepDone(done, all); });
            });
        },
        [this](const std::optional<Measurement>& measurement) {
            m_teller.reset();
            Q_EMIT changed();
            if (measurement) Q_EMIT measured(*measurement);
        },
        [this](const QString& error) { fail(error); });
    Q_EMIT changed();
}

void Measuring::profile(ProfileRequest request) {
    const auto teller = begin(Kind::profile);
    m_background.run(
        m_lane,
        [teller, request = std::move(request)](const std::stop_token& stop) {
            return withRemedies([&] {
                return measureProfile(
                    request, stop, [&](double time_s) { teller->stepTook(time_s); },
                    [&](std::uint32_t done, std::uint32_t all) { teller->stepDone(done, all); },
                    [&](std::uint32_t done, std::uint32_t all) { teller->transferDone(done, all); });
            });
        },
        [this](const ProfileReport& report) {
            m_teller.reset();
            Q_EMIT changed();
            Q_EMIT profiled(report);
        },
        [this](const QString& error) { fail(error); });
    Q_EMIT changed();
}

void Measuring::best(BestRequest request) {
    const auto teller = begin(Kind::best);
    const auto all = static_cast<std::uint32_t>(request.wanted());
    m_progress.all = all;
    m_background.run(
        m_lane,
        [teller, all, request = std::move(request)](const std::stop_token& stop) {
            measureBest(
                request, stop, [&](MeasuredPlacements::Each each) { teller->placementTook(std::move(each)); },
                [&](double left_s) { teller->placementsProgressed(left_s, all); });
            return true;
        },
        [this](bool) {
            std::exchange(m_teller, nullptr)->tellPlacements();
            Q_EMIT bestMeasured();
            Q_EMIT changed();
        },
        [this](const QString& error) {
            m_teller->tellPlacements();
            fail(error);
        });
    Q_EMIT changed();
}

double Measuring::elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_began).count();
}

void Measuring::cancel() {
    if (!m_lane.busy()) return;
    m_lane.cancel();
    std::exchange(m_teller, nullptr)->tellPlacements();
    Q_EMIT changed();
    Q_EMIT settled();
}

void Measuring::cancelAll() {
    m_lookLane.cancel();
    cancel();
}

}  // namespace placewright
