// SPDX-License-Identifier: MIT
#include "core/bounds/chain_windows.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/bounds/dependency_chain.hpp"
#include "core/bounds/device_classes.hpp"
#include "core/bounds/least_times.hpp"
#include "core/bounds/window_list.hpp"
#include "core/bounds/window_time.hpp"

namespace placewright {
namespace {

class ChainWindows {
public:
    ChainWindows(const Problem& problem, const DeviceClasses& classes, const std::vector<double>& times_s,
                 bool is_fifo)
        : classes_(classes),
          chain_(problem, fastest_of(problem, times_s), is_fifo),
          list_(problem, chain_),
          window_time_(problem, classes_) {}

    ChainBound bound(std::size_t most_steps, const std::function<bool()>& is_over) {
        end_s_.assign(chain_.ops.size() * classes_.count(), kInfinity);
        for (std::size_t kind = 0; kind < classes_.count(); ++kind) end_s(chain_.source(), kind) = 0;
        const double share = static_cast<double>(most_steps) / static_cast<double>(chain_.sink());
        std::size_t looked_at = 0;
        bool has_all = true;
        for (std::size_t last = 1; last < chain_.ops.size(); ++last) {
            const auto allowed_steps = static_cast<std::size_t>(share * static_cast<double>(last));
            std::size_t ops_of_last = 0;
            const auto goes_on = [&](std::size_t ops) {
                ops_of_last = ops;
                const bool has_time =
                    looked_at + ops + window_time_.steps() <= allowed_steps && !(is_over && is_over());
                has_all = has_all && has_time;
                return has_time;
            };
            list_.for_each_to(last, goes_on, [&](std::size_t first, const OpWindow& window) {
                if (first + 1 == last && !goes_on(0)) {
                    step_to(last, window.last);
                } else {
                    add_window(first, last, window);
                }
            });
            looked_at += ops_of_last;
        }
        return {end_s(chain_.sink(), 0), has_all};
    }

private:
    /// Least time of the end of the op at a position if it is on a device of the class.
    double& end_s(std::size_t position, std::size_t kind) {
        return end_s_[position * classes_.count() + kind];
    }

    /// What is known of a position at once: its op comes after the one before.
    void step_to(std::size_t last, std::optional<OpId> op) {
        double begin_s = kInfinity;
        for (std::size_t kind = 0; kind < classes_.count(); ++kind)
            begin_s = std::min(begin_s, end_s(last - 1, kind));
        for (std::size_t kind = 0; kind < (op ? classes_.count() : 1); ++kind)
            end_s(last, kind) = begin_s + (op ? classes_.time_s(*op, kind) : 0);
    }

    void add_window(std::size_t first, std::size_t last, const OpWindow& window) {
        window_time_.set(window);
        const std::size_t last_kinds = window.last ? classes_.count() : 1;
        for (std::size_t kind = 0; kind < last_kinds; ++kind) {
            double& known_s = end_s(last, kind);
            const double least_s = least_end_s(window, first, kind, known_s);
            known_s = first + 1 == last ? least_s : std::max(known_s, least_s);
        }
        window_time_.clear();
    }

    /// Least end of a window whose last op is on a device of the class; `known_s` if that is more.
    double least_end_s(const OpWindow& window, std::size_t first, std::size_t last_kind, double known_s) {
        double least_s = kInfinity;
        const std::size_t kinds = window.first ? classes_.count() : 1;
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            const double begin_s = end_s(first, kind);
            if (begin_s == kInfinity) continue;
            const double floor_s = known_s == kInfinity ? 0 : known_s - begin_s;
            const auto try_ends = [&](bool same_device) {
                least_s = std::min(least_s,
                                   begin_s + window_time_.least_s({kind, last_kind, same_device}, floor_s));
            };
            try_ends(false);
            if (window.first && window.last && kind == last_kind) try_ends(true);
        }
        return least_s;
    }

    const DeviceClasses& classes_;
    DependencyChain chain_;
    WindowList list_;
    WindowTime window_time_;
    std::vector<double> end_s_;  ///< [position * classes + class]
};

}  // namespace

ChainBound chain_windows(const Problem& problem, const SimulationOptions& options, bool is_fifo,
                         std::size_t most_steps, const std::function<bool()>& is_over) {
    const std::vector<double> times_s = least_times_s(problem, options.batches);
    const DeviceClasses classes(problem, times_s);
    if (!classes.is_usable(problem)) return {0, true};
    ChainBound bound = ChainWindows(problem, classes, times_s, is_fifo).bound(most_steps, is_over);
    bound.seconds *= rounds_a_batch(options);
    return bound;
}

bool starts_in_order(const Problem& problem, const SimulationOptions& options) {
    return options.order == Order::fifo && options.runtime == Runtime::ideal && !problem.streams_to;
}

}  // namespace placewright
