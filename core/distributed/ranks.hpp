// SPDX-License-Identifier: MIT
// One search on many processes: rank 0 searches, prints and writes, and scores placements like all others, which do nothing else.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "core/distributed/mailbox.hpp"
#include "core/search/evaluator.hpp"

namespace placewright {

/// A rank cannot do its part, or is gone.
class RankError : public std::runtime_error {
public:
    RankError(std::string rank, const std::string& what) : std::runtime_error(what), rank_(std::move(rank)) {}
    /// "rank 3 on node7"
    const std::string& rank() const { return rank_; }

private:
    std::string rank_;
};

/// What a rank scores with.
struct RankWork {
    std::unique_ptr<Evaluator> evaluator;
    std::string conditions;  ///< all that its scores depend on: the same text on every rank
};

/// Rank 0's view of the others, which are serving.
class LeadingRank {
public:
    /// `stop`: of the search; requested, too, when a rank turns out to be gone.
    explicit LeadingRank(std::stop_source stop);
    /// Ends the others if end() has not.
    ~LeadingRank();
    LeadingRank(const LeadingRank&) = delete;
    LeadingRank& operator=(const LeadingRank&) = delete;

    /// Waits until all ranks have what they score with, and returns an evaluator that spreads batches over them, this one included; it may
    /// not outlive this object. Scores are those of `own`, whatever the number of ranks. Throws RankError for a rank that failed or
    /// has other conditions. To be called once.
    std::unique_ptr<Evaluator> evaluator(RankWork own);

    /// Ends the other ranks. Returns what is wrong with one of them: it failed, or did not answer in time. The time is short if `stop` is
    /// requested: when a process dies mpirun sends SIGTERM to all others, and SIGKILL a second later.
    const std::optional<RankError>& end();

private:
    friend class DistributedEvaluator;
    struct Peer;

    std::string name(int rank) const;
    void fail(int rank, const std::string& what);
    /// Takes in what has come; scores and reports are left with their peers.
    void take();
    /// Asks the ranks that `awaited` is true of for a sign of life now and then; one that gives none fails.
    void watch(const std::function<bool(const Peer&)>& awaited);
    /// Polls until `done`; false if the search was stopped before.
    bool poll(const std::function<bool()>& done, const std::function<bool(const Peer&)>& awaited);

    Mailbox mailbox_;
    std::stop_source stop_;
    std::vector<Peer> peers_;  ///< by rank; the first is this one, and unused
    std::optional<RankError> error_;
    bool ended_ = false;
};

/// What the ranks other than 0 do: make what they score with, score what rank 0 sends, until it says that it is over. An exception of
/// `prepare` is told to rank 0.
void serve_rank(const std::function<RankWork()>& prepare);

}  // namespace placewright
