// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <QObject>
#include <QString>

#include "app/curriculum.hpp"
#include "app/latest_value.hpp"
#include "core/search/evaluator.hpp"
#include "core/search/search.hpp"

namespace placewright {

struct FamilyInfo;

/// A policy, and what it is to be trained on.
struct TrainingRequest {
    // The networks: one of these.
    const FamilyInfo* family = nullptr;  ///< half of `count` members are trained on, the others are for tests
    std::uint32_t count = 0;
    std::uint64_t family_seed = 1;
    std::string folder;                  ///< of network files; those in its subfolders train and test, if it has them
    std::shared_ptr<const Job> network;  ///< that is open

    std::string machine;  ///< file or name of a shipped one
    JobOptions options;
    const PolicyInfo* policy = nullptr;
    OptionValues values;
    std::uint64_t seed = 1;
    std::uint64_t updates = 500;  ///< in all
    /// To go on with, from a file; null: a new policy. All of the above must be as it was trained with, but for the updates.
    std::shared_ptr<const PolicyFile> resumed = nullptr;

    /// Whether a training of `before` can go on as this one, with more updates or fewer.
    bool continues(const TrainingRequest& before) const;
};

/// Threads that leave one core to the window.
unsigned background_threads();

/// Training off the window's thread, from reading or making the networks on. It can be stopped at any time and started again from where it
/// was; each start ends in exactly one of finished, stopped or failed.
class TrainingRun : public QObject {
    Q_OBJECT
public:
    enum class State { running, finished, stopped, failed };

    explicit TrainingRun(TrainingRequest request, QObject* parent = nullptr);
    ~TrainingRun() override;

    /// Trains until the policy has that many updates behind it. Not while it runs.
    void start(std::uint64_t updates);
    void stop();
    /// Takes no time of any core; goes on as if it had not been held.
    void setPaused(bool paused) { m_pause.set(paused); }
    bool isPaused() const { return m_state == State::running && m_pause.paused(); }

    State state() const { return m_state; }
    const QString& failure() const { return m_shown.failure; }
    const TrainingRequest& request() const { return m_request; }
    /// Null until all networks are there.
    const std::shared_ptr<const Curriculum>& curriculum() const { return m_shown.curriculum; }
    /// Networks that are there.
    std::size_t loaded() const { return m_shown.loaded; }
    /// What was last heard of the training; null before its first update.
    const std::shared_ptr<const TrainingState>& training() const { return m_shown.training; }
    std::uint64_t updates() const { return training() ? training()->updates : 0; }
    double eta_s() const { return m_shown.eta_s; }
    /// The policy as it was last heard of; null before the first update.
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

    TrainingRequest m_request;  ///< its updates are those of the last start
    State m_state = State::stopped;
    Update m_shown;

    Pause m_pause;
    LatestValue<Update> m_update;  ///< what receive() has not taken yet

    // Of the thread, and nobody's while there is none.
    Update m_now;
    std::optional<Trainer> m_trainer;
    std::vector<std::unique_ptr<Evaluator>> m_evaluators;
    std::uint64_t m_planned = 0;  ///< updates that the trainer was made for

    std::jthread m_thread;  ///< last: it is joined before the rest goes
};

}  // namespace placewright
