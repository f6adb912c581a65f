// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/latest_value.hpp"
#include "core/job/lessons.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/search.hpp"

namespace placewright {

struct FamilyInfo;

/// A policy and what to train it on.
struct TrainingRequest {
    // The networks: exactly one of family, folder and network.
    const FamilyInfo* family = nullptr;  ///< half of its `count` members for training, the others for tests
    std::uint32_t count = 0;
    std::uint64_t family_seed = 1;
    std::string folder;  ///< folder of network files; with subfolders train and test, those in them
    std::shared_ptr<const Job> network;  ///< the open network

    std::string machine;  ///< file, or name of a bundled machine
    QString machineTitle;
    JobOptions options;
    const PolicyInfo* policy = nullptr;
    OptionValues values;
    std::uint64_t seed = 1;
    std::uint64_t updates = 500;  ///< in total, including those before a resume
    /// Policy of a file to resume; null: a new policy. All of the above but `updates` must equal what it was
    /// trained with.
    std::shared_ptr<const PolicyFile> resumed = nullptr;

    /// Whether a training of `before` can continue as this one; the number of updates may differ.
    bool continues(const TrainingRequest& before) const;
};

/// Number of threads that leaves one core to the window (at least 1).
unsigned background_threads();

/// Training on a thread of its own, including the reading or making of the networks. It can be stopped at any
/// time and started again from its last state; each start ends in exactly one of finished, stopped or failed.
class TrainingRun : public QObject {
    Q_OBJECT
public:
    enum class State { running, finished, stopped, failed };

    explicit TrainingRun(TrainingRequest request, QObject* parent = nullptr);
    ~TrainingRun() override;

    /// Trains until the policy has `updates` updates in total. Must not be called while running.
    void start(std::uint64_t updates);
    void stop();
    /// A paused training uses no core; its result is not affected.
    void setPaused(bool paused) { m_pause.set(paused); }
    bool isPaused() const { return m_state == State::running && m_pause.paused(); }

    State state() const { return m_state; }
    const QString& failure() const { return m_shown.failure; }
    const TrainingRequest& request() const { return m_request; }
    /// Null until all networks are loaded.
    const std::shared_ptr<const Curriculum>& curriculum() const { return m_shown.curriculum; }
    /// Number of networks loaded so far.
    std::size_t loaded() const { return m_shown.loaded; }
    /// State of the training as last received; null before its first update.
    const std::shared_ptr<const TrainingState>& training() const { return m_shown.training; }
    std::uint64_t updates() const { return training() ? training()->updates : 0; }
    double eta_s() const { return m_shown.eta_s; }
    /// The policy as last received; null before the first update.
    std::shared_ptr<const PolicyFile> policy() const;

Q_SIGNALS:
    void progressed();  ///< at most ten times a second
    void ended();

private:
    struct Update {
        std::shared_ptr<const Curriculum> curriculum;
        std::shared_ptr<const TrainingState> training;
        std::size_t loaded = 0;
        double eta_s = 0;
        std::optional<State> end;
        QString failure;
    };

    void work(std::stop_token stop, std::uint64_t updates);
    bool load(const std::stop_token& stop);
    void train(const std::stop_token& stop, std::uint64_t updates);
    void publish();
    void receive();

    TrainingRequest m_request;  ///< `updates` is that of the last start()
    State m_state = State::stopped;
    Update m_shown;

    Pause m_pause;
    LatestValue<Update> m_update;  ///< the update that receive() has not taken yet

    // Used by the thread only, while there is one.
    Update m_now;
    std::optional<Trainer> m_trainer;
    std::vector<std::unique_ptr<Evaluator>> m_evaluators;
    std::uint64_t m_planned = 0;  ///< total updates that the trainer was made for

    std::jthread m_thread;  ///< last: it is joined before the rest is destroyed
};

}  // namespace placewright
