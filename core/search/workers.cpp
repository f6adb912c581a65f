// SPDX-License-Identifier: MIT
#include "core/search/workers.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/search/threads.hpp"

namespace placewright {
namespace {

/// For how long a helper looks for work before it sleeps: longer than a search thinks between two batches.
constexpr auto kSpin = std::chrono::microseconds(100);
/// Looks at the word between two looks at the clock.
constexpr int kLooks = 64;
/// Looks after which the calling thread offers its core to others while it waits: some tens of microseconds.
constexpr int kLooksBeforeYield = 20'000;
/// Numbers of one round.
constexpr std::size_t kMostNumbers = std::size_t{1} << 31;

}  // namespace

Workers::Workers(unsigned threads) {
    const unsigned all = usable_threads(threads);
    for (unsigned thread = 1; thread < all; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
}

Workers::~Workers() {
    ends_ = true;
    ++round_;
    round_.notify_all();
}

void Workers::share(std::size_t count, const Job& job) {
    job_ = job;
    for (std::size_t first = 0; first < count; first += kMostNumbers)
        share_part(first, std::min(kMostNumbers, count - first));
    if (!error_) return;
    failed_.clear();
    std::rethrow_exception(std::exchange(error_, nullptr));
}

void Workers::share_part(std::size_t first, std::size_t count) {
    // Nobody takes numbers now: all of the round before were taken and have returned.
    const std::uint32_t round = round_.load(std::memory_order_relaxed) + 1;
    end_ = first + count;
    running_.store(count, std::memory_order_relaxed);
    round_and_left_.store(std::uint64_t{round} << 32 | count, std::memory_order_release);
    round_ = round;
    if (asleep_ > 0) round_.notify_all();
    take_part(0, round);
    // A helper that is still at work may wait for a core that other programs use.
    for (int looks = 0; running_.load(std::memory_order_acquire) > 0; ++looks) {
        if (looks > kLooksBeforeYield) std::this_thread::yield();
    }
}

void Workers::take_part(unsigned thread, std::uint32_t round) {
    std::uint64_t seen = round_and_left_.load(std::memory_order_acquire);
    while (seen >> 32 == round && static_cast<std::uint32_t>(seen) > 0) {
        if (!round_and_left_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) continue;
        try {
            job_.call(job_.work, thread, end_ - static_cast<std::uint32_t>(seen));
        } catch (...) {
            if (!failed_.test_and_set()) error_ = std::current_exception();
        }
        running_.fetch_sub(1, std::memory_order_release);
        seen = round_and_left_.load(std::memory_order_acquire);
    }
}

void Workers::help(unsigned thread) {
    std::uint32_t known = 0;
    while (!ends_) {
        const auto begin = std::chrono::steady_clock::now();
        while (round_.load(std::memory_order_acquire) == known &&
               std::chrono::steady_clock::now() - begin < kSpin) {
            for (int i = 0; i < kLooks && round_.load(std::memory_order_acquire) == known; ++i) {
            }
        }
        if (round_ == known) {
            ++asleep_;
            round_.wait(known);
            --asleep_;
        }
        known = round_;
        take_part(thread, known);
    }
}

}  // namespace placewright
