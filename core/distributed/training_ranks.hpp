// SPDX-License-Identifier: MIT
// One training on many processes: each draws and differentiates the episodes of its workers; rank 0 prints and writes besides.
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

/// Rank 0 has ended the training before it was through.
class TrainingEnded : public std::runtime_error {
public:
    TrainingEnded() : std::runtime_error("the training was ended") {}
};

/// To be used on the thread that made it. A rank that dies is mpirun's to notice: it tells rank 0 by SIGTERM, which is to request `stop`.
class TrainingRanks final : public TrainingPeers {
public:
    /// `stop`: of the training; without effect on ranks other than 0.
    explicit TrainingRanks(std::stop_token stop);
    /// Rank 0 ends the others, wherever they are in the training.
    ~TrainingRanks() override;
    TrainingRanks(const TrainingRanks&) = delete;
    TrainingRanks& operator=(const TrainingRanks&) = delete;

    std::uint32_t rank() const override { return static_cast<std::uint32_t>(mailbox_.rank()); }
    std::uint32_t size() const override { return static_cast<std::uint32_t>(mailbox_.size()); }

    /// Throws TrainingEnded if `stop` is requested or rank 0 has gone; on rank 0 RankError for a rank that failed.
    std::vector<std::vector<std::byte>> exchange(std::vector<std::byte> own) override;

    /// Throws RankError on rank 0 if another rank has another text: all that the training depends on.
    void require_same(const std::string& conditions);

    /// Tells rank 0 why this rank cannot go on, and waits until the training has ended.
    void fail(const std::string& why);

private:
    std::string name(int rank) const;
    void take();

    Mailbox mailbox_;
    std::stop_token stop_;
    std::vector<std::string> hosts_;                          ///< [rank]; known to rank 0
    std::vector<std::deque<std::vector<std::byte>>> shares_;  ///< [rank]: that have come, of this exchange and the next
    bool ended_ = false;
};

}  // namespace placewright
