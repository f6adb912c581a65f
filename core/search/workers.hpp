// SPDX-License-Identifier: MIT
// The threads of a search. Batches are short, often a few simulations of some microseconds, so that handing
// them out must take about one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

namespace placewright {

/// The calling thread and others that help it. Helpers that have nothing to do spin for a moment, then sleep.
class Workers {
public:
    /// `threads`: in all, with the calling one; at most one per core (0: one per core).
    explicit Workers(unsigned threads = 1);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    unsigned threads() const { return static_cast<unsigned>(helpers_.size()) + 1; }

    /// Calls work(thread, i) once for each i below `count`, on any of the threads (thread 0 is the calling
    /// one), and returns when all have returned. Throws one of the exceptions that `work` has thrown. One
    /// call at a time.
    template <class Work>
    void for_each(std::size_t count, const Work& work) {
        static_assert(std::is_invocable_v<const Work&, unsigned, std::size_t>);
        const auto begin = std::chrono::steady_clock::now();
        if (helpers_.empty() || count < 2) {
            for (std::size_t i = 0; i < count; ++i) work(0U, i);
        } else {
            share(count, {&work, [](const void* of, unsigned thread, std::size_t i) {
                              (*static_cast<const Work*>(of))(thread, i);
                          }});
        }
        shared_ += std::chrono::steady_clock::now() - begin;
    }

    /// Seconds that have passed in for_each(). What a search takes besides is serial: more threads do not
    /// shorten it.
    double shared_s() const { return std::chrono::duration<double>(shared_).count(); }
    /// Counts a part of the current for_each() as serial: the other threads would wait for it.
    void count_serial(std::chrono::steady_clock::duration part) { shared_ -= part; }

private:
    struct Job {
        const void* work = nullptr;
        void (*call)(const void* work, unsigned thread, std::size_t i) = nullptr;
    };

    void share(std::size_t count, const Job& job);
    void share_part(std::size_t first, std::size_t count);
    void help(unsigned thread);
    /// Calls the job for numbers of this round until none is left.
    void take_part(unsigned thread, std::uint32_t round);

    // A round is a part of a for_each. A helper that wakes up too late for it must not take numbers of the
    // next one as if they were its own, so the round is part of the word from which numbers are taken.
    std::atomic<std::uint64_t> round_and_left_ = 0;  ///< round << 32 | numbers that nobody has taken
    std::atomic<std::size_t> running_ = 0;           ///< numbers of the round that have not returned
    std::size_t end_ = 0;                            ///< numbers of this round end here
    Job job_;
    std::exception_ptr error_;  ///< the first one that was thrown
    std::atomic_flag failed_;
    std::atomic<std::uint32_t> round_ = 0;
    std::atomic<std::uint32_t> asleep_ = 0;
    std::atomic<bool> ends_ = false;
    std::chrono::steady_clock::duration shared_{};
    std::vector<std::jthread> helpers_;  ///< last: they are joined before the other members are destroyed
};

}  // namespace placewright
