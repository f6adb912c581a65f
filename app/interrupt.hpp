// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace placewright {

/// From its construction on, the first Ctrl+C (or SIGTERM) requests a stop; the second one ends the program at once.
class InterruptGuard {
public:
    InterruptGuard() {
        std::signal(SIGINT, interrupted);
        std::signal(SIGTERM, interrupted);
        // A handler may do no more than set a flag, so someone has to look at it.
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
    /// For what else may end the work.
    std::stop_source source() const { return stop_; }

private:
    static void interrupted(int) {
        interrupted_ = true;
        std::signal(SIGINT, SIG_DFL);
        std::signal(SIGTERM, SIG_DFL);
    }

    static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use no other");
    inline static std::atomic<bool> interrupted_ = false;
    std::stop_source stop_;
    std::jthread watcher_;  ///< last: it is joined before the rest goes
};

}  // namespace placewright
