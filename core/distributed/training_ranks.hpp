// SPDX-License-Identifier: MIT
// Distributes one training over several processes: each draws and differentiates the episodes of its workers;
// rank 0 also prints and writes files.
#pragma once

#include <deque>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "core/distributed/mailbox.hpp"
#include "core/distributed/ranks.hpp"
#include "core/learn/trainer.hpp"

namespace placewright {

/// Thrown if rank 0 has ended the training before its end.
class TrainingEnded : public std::runtime_error {
public:
    TrainingEnded() : std::runtime_error("the training was ended") {}
};

/// To be used on the thread that made it. mpirun notices a rank that dies and sends SIGTERM to rank 0, which
/// should then request `stop`.
class TrainingRanks final : public TrainingPeers {
public:
    /// `stop`: stops the training; no effect on ranks other than 0.
    explicit TrainingRanks(std::stop_token stop);
    /// Rank 0 ends the other ranks, wherever they are in the training.
    ~TrainingRanks() override;
    TrainingRanks(const TrainingRanks&) = delete;
    TrainingRanks& operator=(const TrainingRanks&) = delete;

    std::uint32_t rank() const override { return static_cast<std::uint32_t>(mailbox_.rank()); }
    std::uint32_t size() const override { return static_cast<std::uint32_t>(mailbox_.size()); }

    /// Throws TrainingEnded if `stop` is requested or rank 0 has ended; on rank 0 RankError for a rank that
    /// failed.
    std::vector<Bytes> exchange(Bytes own) override;

    /// Throws RankError on rank 0 if another rank has a different text of what the training depends on.
    void require_same(const std::string& conditions);

    /// Reports to rank 0 why this rank cannot continue, and waits until the training has ended.
    void fail(const std::string& why);

private:
    enum Tag : int {
        kHost,            ///< host name
        kShare,           ///< share of an exchange
        kCannotContinue,  ///< reason
        kEndOfTraining,
    };

    std::string name(int rank) const;
    void take();

    Mailbox mailbox_;
    std::stop_token stop_;
    std::vector<std::string> hosts_;  ///< [rank]; known to rank 0
    std::vector<std::deque<Bytes>>
        shares_;  ///< [rank]: shares that have arrived for this exchange and the next
    bool ended_ = false;
};

}  // namespace placewright
