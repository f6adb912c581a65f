// SPDX-License-Identifier: MIT
// What Ctrl+C and the signals that end a program do to a command.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stop_token>
#include <thread>

#include "core/base/exit_status.hpp"

namespace placewright {

/// Whether SIGHUP was ignored when the program was started.
bool ignored_hangup();

/// Calls `handler` when the terminal or connection of the program is closed, unless nohup makes the program
/// ignore that.
inline void on_hangup(void (*handler)(int)) {
    if (std::signal(SIGHUP, handler) == SIG_IGN || ignored_hangup()) std::signal(SIGHUP, SIG_IGN);
}

/// After construction, the first Ctrl+C (or SIGTERM, or SIGHUP) requests a stop; a second Ctrl+C or SIGTERM,
/// at least kSamePress later, ends the program at once. Who presses Ctrl+C twice in a row does not lose the
/// result.
class InterruptGuard {
public:
    InterruptGuard() {
        std::signal(SIGINT, interrupted);
        std::signal(SIGTERM, interrupted);
        on_hangup(hung_up);
        // A signal handler may only set a flag, so a thread polls it.
        watcher_ = std::jthread([this](std::stop_token done) {
            while (!done.stop_requested()) {
                if (interrupted_) {
                    stop_.request_stop();
                    return;
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
    }
    std::stop_token token() const { return stop_.get_token(); }
    /// For other causes of a stop.
    std::stop_source source() const { return stop_; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kSamePress{1};

    static void interrupted(int signal) {
        const Clock::rep now = Clock::now().time_since_epoch().count();
        Clock::rep first = 0;
        if (first_press_.compare_exchange_strong(first, now)) {
            interrupted_ = true;
        } else if (Clock::duration(now - first) >= kSamePress) {
            std::signal(signal, SIG_DFL);
            std::raise(signal);
        }
    }

    /// Further signals may follow: the kernel and the shell both send SIGHUP, and then perhaps SIGTERM.
    static void hung_up(int) {
        interrupted_ = true;
        // Nobody may be left to read what is printed, and files are still to be written.
        std::signal(SIGPIPE, SIG_IGN);
    }

    static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Clock::rep>::is_always_lock_free,
                  "signal handlers need lock-free atomics");
    inline static std::atomic<bool> interrupted_ = false;
    inline static std::atomic<Clock::rep> first_press_ = 0;  ///< since the epoch of the clock; 0: none yet
    std::stop_source stop_;
    std::jthread watcher_;  ///< last member, so that it is joined before the others are destroyed
};

/// For a rank that serves rank 0. mpirun sends a signal to all ranks, and rank 0 decides how the work ends.
/// So the first signal only starts a clock: a rank that rank 0 has not ended when it runs out says so and
/// ends the program.
class ServingGuard {
public:
    ServingGuard() {
        std::signal(SIGINT, interrupted);
        std::signal(SIGTERM, interrupted);
        on_hangup(interrupted);
        watcher_ = std::jthread([](std::stop_token done) {
            using Clock = std::chrono::steady_clock;
            for (Clock::time_point end = Clock::time_point::max(); !done.stop_requested();
                 std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
                if (interrupted_ && end == Clock::time_point::max()) end = Clock::now() + kPatience;
                if (Clock::now() < end) continue;
                std::fputs("placewright-cli: interrupted, and rank 0 does not end this rank\n", stderr);
                std::_Exit(kCancelled);
            }
        });
    }

private:
    /// Rank 0 may have to finish an update of a training before it looks at its signals.
    static constexpr std::chrono::seconds kPatience{8};

    static void interrupted(int) { interrupted_ = true; }

    inline static std::atomic<bool> interrupted_ = false;
    std::jthread watcher_;
};

}  // namespace placewright
