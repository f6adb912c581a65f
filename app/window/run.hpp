// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/latest_value.hpp"
#include "app/window/simulated.hpp"
#include "core/base/quantile_sketch.hpp"
#include "core/io/state/score_file.hpp"
#include "core/job/job.hpp"
#include "core/measure/measured_search.hpp"
#include "core/search/search.hpp"

namespace placewright {

struct RunRequest {
    std::string algorithm;
    OptionValues options;
    Budget budget;
    std::uint64_t seed = 1;
    std::vector<Placement> starts;  ///< start placements in addition to starting_placements()
    /// Placement predicted by a policy, simulated in place of a search; null for a search.
    std::shared_ptr<const Placement> predicted;
    /// Scores of a saved search that is resumed; null for a new search.
    std::shared_ptr<const std::vector<RecordedScore>> known;
    /// Started by the window itself: ends without a word, and what it finds is no work that could be lost.
    bool unasked = false;
};

/// The scores that a search has received, from which it can be repeated. Thread-safe.
class ScoreRecord {
public:
    /// Begins with `known`, which may be null.
    explicit ScoreRecord(std::shared_ptr<const std::vector<RecordedScore>> known)
        : m_known(std::move(known)) {}
    void append(std::span<const RecordedScore> scores);
    std::size_t size() const;
    /// The first of them, at most so many. O(scores).
    std::vector<RecordedScore> scores(std::size_t most = SIZE_MAX) const;

private:
    const std::shared_ptr<const std::vector<RecordedScore>> m_known;
    mutable std::mutex m_mutex;
    std::vector<RecordedScore> m_added;
};

/// One search on a thread of its own. Progress reaches the owner's thread at most 30 times a second; a slow
/// receiver gets fewer, never a queue of them. Ends in exactly one of finished, cancelled or failed; a
/// cancelled run keeps its best so far.
class Run : public QObject {
    Q_OBJECT
public:
    enum class State { running, finished, cancelled, failed };

    /// What a run had come to when it was saved.
    struct Past {
        State state = State::finished;
        QString failure{};
        double start_s = 0;
        SearchProgress progress{};
        QString name{};
        bool exhausted = false;
        std::shared_ptr<const QuantileSketch> sketch{};
        std::shared_ptr<const Simulated> simulated{};  ///< of the best placement; null: none
        QString splitting{};
    };

    Run(int id, Job job, RunRequest request, QObject* parent = nullptr);
    /// A run that ended earlier; it must not be started. `request` has its scores.
    Run(int id, Job job, RunRequest request, Past past);
    ~Run() override;

    /// Starts the search. `start_s`: objective value of the last start placement; 0: unknown.
    void start(double start_s = 0);
    /// Ends the search, also one that starts later.
    void cancel() { m_stop.request_stop(); }
    /// A paused run takes no time of any core; its elapsed time stands still.
    void setPaused(bool paused) { m_pause.set(paused); }
    bool isPaused() const { return m_state == State::running && m_pause.paused(); }

    bool isStarted() const { return m_thread.joinable(); }

    int id() const { return m_id; }
    /// Name that the user gave to the run; empty: that of its algorithm and number.
    const QString& name() const { return m_name; }
    void setName(const QString& name) { m_name = name; }
    State state() const { return m_state; }
    const QString& failure() const { return m_failure; }
    /// Whether the search ended because it had no more placements to propose.
    bool isExhausted() const { return m_exhausted; }
    /// What splitting modules gains and costs; empty before the end, and where frameworks move no modules.
    const QString& splitting() const { return m_splitting; }
    const Job& job() const { return m_job; }
    const RunRequest& request() const { return m_request; }
    double start_s() const { return m_start_s; }
    /// The parameters needed, with scores(), to resume the search; nothing for a prediction.
    std::optional<SavedSearch> saved() const;
    /// The scores so far; grows while the run is running.
    const std::shared_ptr<const ScoreRecord>& scores() const { return m_scores; }
    const SearchProgress& progress() const { return m_progress; }
    /// A recent best placement (the best one once the run has ended); null before the first.
    const std::shared_ptr<const Simulated>& simulated() const { return m_simulated; }
    /// The distribution of the objective values of all placements that were scored; null before the first.
    /// Those that do not fit the memory are unknown() there. May lag behind while the run is running.
    const std::shared_ptr<const QuantileSketch>& sketch() const { return m_sketch; }
    /// At most so many of the placements that the run keeps, best first, each once: the elites of its
    /// archive, where it has one, else the best of all that it scored (at most kMostKept); the best placement
    /// is among them. May lag behind while the run is running.
    std::vector<ScoredPlacement> bestPlacements(std::size_t most) const;
    static constexpr std::size_t kMostKept = 100;

Q_SIGNALS:
    void progressed();
    /// The state is no longer running.
    void ended();

private:
    struct Update {
        SearchProgress progress;
        std::shared_ptr<const Simulated> simulated;
        std::shared_ptr<const std::vector<ScoredPlacement>> best;
        std::shared_ptr<const QuantileSketch> sketch;
        std::optional<State> end;
        bool exhausted = false;
        QString failure, splitting;
    };

    void search(const std::stop_token& stop);
    QString comparedWithWholeModules(SearchResult& result, const AlgorithmInfo& algorithm,
                                     const std::stop_token& stop);
    void publish(Update update);
    void receive();

    const int m_id;
    const Job m_job;
    const RunRequest m_request;
    double m_start_s = 0;
    State m_state = State::running;
    bool m_exhausted = false;
    QString m_name, m_failure, m_splitting;
    SearchProgress m_progress;
    std::shared_ptr<const Simulated> m_simulated;
    std::shared_ptr<const std::vector<ScoredPlacement>> m_best;  ///< null before the first
    std::shared_ptr<const QuantileSketch> m_sketch;

    const std::shared_ptr<ScoreRecord> m_record;
    const std::shared_ptr<const ScoreRecord> m_scores;
    Pause m_pause;
    std::stop_source m_stop;
    LatestValue<Update> m_update;  ///< the update that receive() has not taken yet
    std::thread m_thread;
};

}  // namespace placewright
