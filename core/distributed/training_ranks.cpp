// SPDX-License-Identifier: MIT
#include "core/distributed/training_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

namespace placewright {

TrainingRanks::TrainingRanks(std::stop_token stop) : stop_(std::move(stop)), hosts_(size()), shares_(size()) {
    if (rank() > 0) mailbox_.post(0, kHost, bytes_of(mailbox_.host()));
}

TrainingRanks::~TrainingRanks() {
    if (rank() == 0) {
        for (int other = 1; other < mailbox_.size(); ++other) mailbox_.post(other, kEndOfTraining);
    }
    // Ranks that are still in an exchange learn of the end there, and shares that no rank waits for any more
    // may stay under way.
    mailbox_.sent();
    mailbox_.close();
}

std::string TrainingRanks::name(int rank) const {
    const std::string& host = hosts_[static_cast<std::size_t>(rank)];
    return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
}

void TrainingRanks::take() {
    while (std::optional<Message> message = mailbox_.next()) {
        const auto from = static_cast<std::size_t>(message->rank);
        if (message->tag == kHost) hosts_[from] = text_of(message->bytes);
        if (message->tag == kShare) shares_[from].push_back(std::move(message->bytes));
        if (message->tag == kCannotContinue) throw RankError(name(message->rank), text_of(message->bytes));
        if (message->tag == kEndOfTraining) ended_ = true;
    }
    if (!mailbox_.error().empty()) throw std::runtime_error(mailbox_.error());
}

std::vector<Bytes> TrainingRanks::exchange(Bytes own) {
    for (int other = 0; other < mailbox_.size(); ++other) {
        if (other != mailbox_.rank()) mailbox_.post(other, kShare, own);
    }
    shares_[rank()].push_back(std::move(own));
    // A long message needs both sides to take part, so no rank leaves before its own share is on its way.
    const auto done = [&] {
        return mailbox_.sent() && std::ranges::none_of(shares_, &std::deque<Bytes>::empty);
    };
    for (take(); !done(); take()) {
        if (ended_ || (rank() == 0 && stop_.stop_requested())) throw TrainingEnded();
        std::this_thread::sleep_for(kPause);
    }
    std::vector<Bytes> all;
    for (std::deque<Bytes>& waiting : shares_) {
        all.push_back(std::move(waiting.front()));
        waiting.pop_front();
    }
    return all;
}

void TrainingRanks::require_same(const std::string& conditions) {
    const std::vector<Bytes> all = exchange(bytes_of(conditions));
    if (rank() > 0) return;
    const auto other = std::ranges::find_if(all, [&](const Bytes& text) { return text != all.front(); });
    if (other != all.end())
        throw RankError(name(static_cast<int>(other - all.begin())),
                        "has other networks, machines or policies than rank 0");
}

void TrainingRanks::fail(const std::string& why) {
    mailbox_.post(0, kCannotContinue, bytes_of(why));
    while (!ended_) {
        mailbox_.sent();
        take();
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace placewright
