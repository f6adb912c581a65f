// SPDX-License-Identifier: MIT
// The measured runs of the open network.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <QObject>
#include <QString>
#include <QStringList>

#include "app/window/background.hpp"
#include "app/window/scenario.hpp"
#include "core/sim/measured_run.hpp"
#include "widgets/measured_runs.hpp"

namespace placewright {

/// A measured run as a workspace keeps it.
struct KeptMeasurement {
    QString name;
    QString file;                              ///< trace that it was read from; empty: none
    std::shared_ptr<const Scenario> scenario;  ///< that was measured; the ids in `run` are of its problem
    std::shared_ptr<const MeasuredRun> run;
    bool saved = false;  ///< in another file than the one that it was read from
};

/// Holds the measured runs of one network: reads them from traces, carries them to other machines and options
/// by the names of ops and devices, and compares them with the simulation on screen as long as that is of the
/// step that they measured. Lives on the window's
/// thread; what takes long runs in the background.
class Measurements : public QObject {
    Q_OBJECT
public:
    explicit Measurements(QObject* parent = nullptr);
    ~Measurements() override;

    /// Forgets all runs.
    void clear();
    /// Compares the runs with another simulation of the network, also in another scenario than before.
    void compareWith(std::shared_ptr<const TimelineData> simulated, std::shared_ptr<const Scenario> scenario);
    /// Reads traces of the scenario's problem and adds a run for each that has one of its ops; a file that
    /// was opened before replaces its run. `placement`: as measured_trace() takes it.
    void open(const QStringList& files, std::shared_ptr<const Scenario> scenario, Placement placement);
    /// Adds a run of the scenario's problem.
    void add(std::shared_ptr<const Scenario> scenario, MeasuredRun run);
    /// Adds the runs of a workspace.
    void restore(std::vector<KeptMeasurement> runs);
    /// Removes a run; 0: all that are compared.
    void remove(int id);

    /// All runs, also those that are of another step or have no op of the present problem.
    std::vector<KeptMeasurement> all() const;
    /// Names of the runs whose step is that of the one scenario, but not that of the other.
    QStringList namesOfOnly(const Scenario& one, const Scenario& other) const;
    /// Changes whenever runs are added or removed.
    quint64 revision() const { return m_revision; }

    /// The runs that measured the step of the present scenario, compared with the latest simulation; may lag
    /// behind it briefly. Null if there are none.
    const std::shared_ptr<const MeasuredRuns>& measured() const { return m_measured; }
    /// The file that a run was read from; empty if it was not.
    QString fileOf(int id) const;
    /// A run as it was measured, and the problem of its ids; null if there is none of this id.
    std::pair<std::shared_ptr<const MeasuredRun>, std::shared_ptr<const Problem>> runOf(int id) const;
    /// Notes that a run has been written to a file.
    void setSaved(int id);
    void setSaved(const MeasuredRun* run);
    /// Number of runs of the scenario's network that are in no file.
    std::size_t unsaved(const Scenario& scenario) const;
    /// The number of all benchmarks that are in no file.
    std::size_t unsaved() const;
    /// Whether any file is being read.
    bool isReading() const { return m_readLane.busy(); }
    bool isBusy() const { return m_readLane.busy() || m_compareLane.busy(); }
    void cancelReading();
    void cancel();

Q_SIGNALS:
    void measuredChanged();
    void readingChanged();
    /// Traces have been read; `report` says what is in them.
    void opened(const QString& report);
    /// These files are traces that have no op of the network; `report` says what is in those opened with them
    /// that have some.
    void unmatched(const QStringList& files, const QString& report);
    void failed(const QString& error);
    void settled();  ///< some work ended; isBusy() may have changed

private:
    struct Kept : KeptMeasurement {
        int id = 0;
        std::shared_ptr<const Problem> shownFor;  ///< problem of `shown`; null before the first comparison
        SimulationOptions shownWith;              ///< with which its placement was simulated
        NamedRun shown{};  ///< the run in the terms of `shownFor`; null if it is of another step or has no op
    };
    struct ReadTraces;
    struct Compared;

    void keep(QString name, QString file, std::shared_ptr<const Scenario> scenario, MeasuredRun run);
    /// Compares with one simulation at a time: a search may produce them faster than they are compared.
    void compare();
    static ReadTraces read(const QStringList& files, const Problem& problem, const Placement& placement,
                           const std::stop_token& stop);

    std::vector<Kept> m_kept;
    int m_nextId = 1;
    quint64 m_revision = 0;
    QStringList m_reading;  ///< while m_readLane is busy
    std::shared_ptr<const TimelineData> m_simulated;
    std::shared_ptr<const Scenario> m_scenario;  ///< of m_simulated
    std::shared_ptr<const MeasuredRuns> m_measured;
    bool m_changed = false;  ///< runs or simulation have changed since the comparison under way began
    Background::Lane m_readLane, m_compareLane;
    Background m_background{2};  ///< last: its destructor waits for the work in the lanes
};

}  // namespace placewright
