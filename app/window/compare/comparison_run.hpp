// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <QObject>
#include <QString>

#include "app/window/latest_value.hpp"
#include "core/job/compared_case.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// Every algorithm on every network on every machine, with seeds 1 to `seeds`.
struct ComparisonRequest {
    std::vector<std::string> networks, machines;  ///< files, or names of bundled ones
    JobOptions options;
    std::string supplemented{};  ///< the network that the supplements in `options` belong to
    std::vector<Contestant> contestants;
    std::size_t seeds = 5;
    std::uint64_t evaluations = 20'000;  ///< evaluations of each search

    std::size_t searches() const { return networks.size() * machines.size() * contestants.size() * seeds; }
};

/// A network on a machine with those of its searches that have ended.
struct CaseOnItsWay {
    std::shared_ptr<const Job> job;  ///< null after a failure
    ComparedCase compared;
    std::string fingerprint;  ///< problem_fingerprint() of the problem
    QString failure;          ///< why this network cannot be compared on this machine
};

/// A comparison on a thread of its own, one case after the other. Ends in exactly one of finished, cancelled
/// or failed; searches that ended before are kept.
class ComparisonRun : public QObject {
    Q_OBJECT
public:
    enum class State { running, finished, cancelled, failed };

    explicit ComparisonRun(ComparisonRequest request, QObject* parent = nullptr);
    /// Searches that ended before, from a table; finished. `file`: its name, for the user. `rows`: of the
    /// table, in which a later search replaces an earlier one.
    ComparisonRun(const Objective& objective, const std::vector<ComparedCase>& cases, QString file,
                  std::size_t rows, QObject* parent = nullptr);
    ~ComparisonRun() override;

    void start();
    void cancel();

    State state() const { return m_shown.end.value_or(State::running); }
    const QString& failure() const { return m_shown.failure; }
    const ComparisonRequest& request() const { return m_request; }
    /// The table that the searches are from; empty if they were run here.
    const QString& file() const { return m_file; }
    const std::vector<std::shared_ptr<const CaseOnItsWay>>& cases() const { return m_shown.cases; }
    std::size_t finishedSearches() const { return m_shown.finished; }
    /// Searches of the table that later ones replace.
    std::size_t replacedSearches() const {
        return m_rows > finishedSearches() ? m_rows - finishedSearches() : 0;
    }
    /// Estimated seconds until all cases are done, if each takes as long as the current one.
    double remaining_s() const { return m_shown.remaining_s; }

Q_SIGNALS:
    void progressed();
    void ended();

private:
    struct Update {
        std::vector<std::shared_ptr<const CaseOnItsWay>> cases;
        std::size_t finished = 0;
        double remaining_s = 0;
        std::optional<State> end;
        QString failure;
    };

    void work(std::stop_token stop);
    void compareCase(const std::string& network, const std::string& machine, std::stop_token stop,
                     Update& update);
    void publish(Update update);
    void receive();

    const ComparisonRequest m_request;
    const QString m_file;
    const std::size_t m_rows = 0;
    Update m_shown;

    LatestValue<Update> m_update;  ///< the update that receive() has not taken yet
    std::jthread m_thread;         ///< last: it is joined before the rest is destroyed
};

}  // namespace placewright
