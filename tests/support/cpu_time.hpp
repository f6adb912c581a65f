// SPDX-License-Identifier: MIT
// Limits on processor time, which hold on a busy machine too.
#pragma once

#include <sys/resource.h>

namespace placewright::test {

/// Factor for limits of time: programs take several times as long under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kSlowdown = 6;
#else
inline constexpr double kSlowdown = 1;
#endif

/// Measures the processor time of this process, or of the child processes that have ended, since it was made.
class CpuTimer {
public:
    enum class Of { self = RUSAGE_SELF, children = RUSAGE_CHILDREN };
    explicit CpuTimer(Of of = Of::self) : of_(of), begin_s_(now_s()) {}
    double elapsed_s() const { return now_s() - begin_s_; }

private:
    double now_s() const {
        rusage usage{};
        getrusage(static_cast<__rusage_who_t>(of_), &usage);
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
        };
        return seconds(usage.ru_utime) + seconds(usage.ru_stime);
    }

    Of of_;
    double begin_s_;
};

}  // namespace placewright::test
