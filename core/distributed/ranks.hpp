// SPDX-License-Identifier: MIT
// Distributes one search over several processes: rank 0 searches, prints and writes files; all ranks score
// placements.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "core/distributed/mailbox.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {

/// Thrown if a rank failed or no longer answers.
class RankError : public std::runtime_error {
public:
    RankError(std::string rank, const std::string& what) : std::runtime_error(what), rank_(std::move(rank)) {}
    /// "rank 3 on node7"
    const std::string& rank() const { return rank_; }

private:
    std::string rank_;
};

/// What a rank needs to score placements.
struct RankWork {
    std::unique_ptr<Evaluator> evaluator;
    std::string conditions;  ///< text of everything that its scores depend on; the same on every rank
};

/// The other ranks, which serve, as seen from rank 0.
class LeadingRank {
public:
    /// `stop`: stop source of the search; also requested if MPI fails.
    explicit LeadingRank(std::stop_source stop);
    /// Ends the other ranks if end() has not done so.
    ~LeadingRank();
    LeadingRank(const LeadingRank&) = delete;
    LeadingRank& operator=(const LeadingRank&) = delete;

    /// Waits until all ranks are ready, and returns an evaluator that distributes batches over them,
    /// including this one; it may not outlive this object. Scores are those of `own`, whatever the number of
    /// ranks. What a rank is given that takes long, fails or no longer answers, others score again. Throws
    /// RankError for a rank that fails before it is ready or has other conditions. To be called once.
    std::unique_ptr<Evaluator> evaluator(RankWork own);

    /// Ends the other ranks. Returns the error of one of them, if any: it failed, or did not answer in time.
    /// The time is short if `stop` is requested: when a process dies, mpirun sends SIGTERM to all others, and
    /// SIGKILL a second later.
    const std::optional<RankError>& end();

    /// Whether the error that end() returns is what stopped the search; else it went on without the rank.
    bool ends_search() const { return ends_search_; }

private:
    friend class DistributedEvaluator;
    struct Peer;

    std::string name(int rank) const;
    /// Gives up a rank; the others go on.
    void lose(int rank, const std::string& what);
    /// Number of other ranks that are not lost.
    std::size_t working() const;
    /// Receives the messages that have arrived; stores scores and reports with their peers.
    void take();
    /// Regularly asks the ranks for which `awaited` is true for a sign of life; one that gives none is lost.
    void watch(const std::function<bool(const Peer&)>& awaited);

    Mailbox mailbox_;
    std::stop_source stop_;
    std::vector<Peer> peers_;  ///< [rank]; the first one is this rank, and unused
    std::optional<RankError> error_;
    bool ended_ = false;
    bool ends_search_ = false;
    std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();  ///< for messages
};

/// Runs a rank other than 0: prepares for scoring, then scores what rank 0 sends until rank 0 ends it. An
/// exception of `prepare` is reported to rank 0.
void serve_rank(const std::function<RankWork()>& prepare);

}  // namespace placewright
