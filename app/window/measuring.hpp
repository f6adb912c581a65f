// SPDX-License-Identifier: MIT
// Steps that are run for real on this computer, off the window's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QString>
#include <QStringList>

#include "app/window/background.hpp"
#include "app/window/best_measuring.hpp"
#include "core/job/job.hpp"
#include "core/measure/measurement.hpp"

namespace placewright {

/// Where the devices of a problem would run on this computer, and what stands against it.
struct MeasurePlan {
    std::vector<PhysicalDevice> devices;
    QStringList notes;    ///< where each device runs, and what runs on the same core
    QStringList refused;  ///< ops that cannot be run, with the reason, a line each
    QString foreign;      ///< why times of ops cannot be kept (foreign_device_text()); empty if they can
    QString library;      ///< "LibTorch 1.13.1"

    /// Whether any device is a core of a CPU.
    bool usesCores() const;
};

/// What is to be profiled: the ops of the job's network on each model of device.
struct ProfileRequest {
    Job job;
    std::vector<PhysicalDevice> devices;
    std::uint32_t steps = 10;
    bool transfers = false;  ///< also transfers between the models
    bool throttles = false;  ///< MeasureOptions
    QString file;            ///< archive that the times are added to; need not exist
};

/// What a profile has measured, and what the archive now holds.
struct ProfileReport {
    struct Model {
        QString name;
        std::size_t measured = 0, kept = 0;  ///< ops, told apart by what they do
        double overhead_s = 0;               ///< between two ops
    };
    QString file;
    std::vector<Model> models;
    std::size_t transfers = 0;  ///< ordered pairs of models
    QStringList warnings;       ///< NetworkProfile::warnings
};

/// Runs steps, placements of searches and profiles, one at a time. Lives on the window's thread.
class Measuring : public QObject {
    Q_OBJECT
public:
    enum class Kind { none, benchmark, profile, best };

    struct Progress {
        std::uint32_t done = 0, all = 0;   ///< steps, those that warm up included; of Kind::best, placements
        std::optional<double> median_s{};  ///< of the steps that count so far; not of Kind::best
        std::optional<double> left_s{};    ///< nothing before the first step, and for transfers
        bool transfers = false;            ///< `done` and `all` count transfers, which follow the steps
    };

    explicit Measuring(QObject* parent = nullptr);
    ~Measuring() override;

    /// Finds out where the problem's devices would run; answered by looked() or lookFailed(). Only the latest
    /// request is answered.
    void look(std::shared_ptr<const Problem> problem);

    /// Measures a placement, as measure() does; ends with measured() or failed(), unless it is cancelled.
    void benchmark(std::shared_ptr<const Problem> problem, Placement placement,
                   std::vector<PhysicalDevice> devices, MeasureOptions options);
    /// Measures the ops of a network and adds their times to a file; ends with profiled() or failed(), unless
    /// it is cancelled. Nothing is written in that case.
    void profile(ProfileRequest request);
    /// Measures placements of a run, as measureBest() does: each is told by placementsMeasured(), and the end
    /// by bestMeasured() or failed(), unless it is cancelled.
    void best(BestRequest request);

    /// What runs.
    Kind running() const { return m_lane.busy() ? m_kind : Kind::none; }
    /// What runs, or ran last.
    Kind kind() const { return m_kind; }
    const Progress& progress() const { return m_progress; }
    /// The placement that the benchmark measures, or measured last.
    const Placement& placement() const { return m_placement; }
    /// How long it has been running.
    double elapsed_s() const;
    bool isBusy() const { return m_lane.busy() || m_lookLane.busy(); }
    /// Ends what runs after the op under way; its result is dropped, but placements that were measured are
    /// told.
    void cancel();
    /// Also drops the answer of look().
    void cancelAll();

Q_SIGNALS:
    void looked(const placewright::MeasurePlan& plan);
    void lookFailed(const QString& error);
    /// Something began, went on or ended.
    void changed();
    void measured(const placewright::Measurement& measurement);
    void profiled(const placewright::ProfileReport& report);
    void placementsMeasured(const std::vector<placewright::MeasuredPlacements::Each>& measured);
    void bestMeasured();
    void failed(const QString& error);
    void settled();  ///< some work ended; isBusy() may have changed

private:
    class Teller;

    /// Begins progress of something, whose work tells of it.
    std::shared_ptr<Teller> begin(Kind kind);
    void fail(const QString& error);

    Kind m_kind = Kind::none;
    Placement m_placement;
    Progress m_progress;
    std::shared_ptr<Teller> m_teller;               ///< of what runs
    std::chrono::steady_clock::time_point m_began;  ///< when that began
    Background::Lane m_lane, m_lookLane;
    Background m_looking{1};     ///< of its own, so that no look waits for a measurement
    Background m_background{1};  ///< these are last: their destructors wait for the work in the lanes
};

}  // namespace placewright
