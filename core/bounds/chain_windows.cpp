// SPDX-License-Identifier: MIT
#include "core/bounds/chain_windows.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/bounds/dependency_chain.hpp"
#include "core/bounds/device_classes.hpp"
#include "core/bounds/least_times.hpp"
#include "core/bounds/window_time.hpp"

namespace placewright {
namespace {

/// [op]: seconds on the fastest device that it may be on.
std::vector<double> fastest_s(const Problem& problem, const std::vector<double>& times_s) {
    std::vector<double> fastest;
    for (OpId op = 0; op < problem.ops; ++op) {
        const auto own = times_s.begin() + static_cast<std::ptrdiff_t>(std::size_t{op} * problem.devices);
        fastest.push_back(*std::min_element(own, own + static_cast<std::ptrdiff_t>(problem.devices)));
    }
    return fastest;
}

class ChainWindows {
public:
    ChainWindows(const Problem& problem, const std::vector<double>& times_s, bool is_fifo)
        : classes_(problem, times_s),
          chain_(problem, fastest_s(problem, times_s), is_fifo),
          window_time_(problem, classes_),
          ops_after_(chain_.ops.size()),
          largest_begin_(chain_.ops.size()) {
        for (OpId op = 0; op < problem.ops; ++op) {
            ops_after_[chain_.after[op]].push_back(op);
            if (is_on_chain(op)) continue;
            for (const std::size_t end : {chain_.before[op], chain_.before_on_device[op]})
                largest_begin_[end] = std::max(largest_begin_[end].value_or(0), chain_.after[op]);
        }
    }

    double seconds(std::size_t most_steps, const std::function<bool()>& is_over) {
        if (classes_.count() > WindowTime::kMostClasses) return 0;
        end_s_.assign(chain_.ops.size() * classes_.count(), kInfinity);
        for (std::size_t kind = 0; kind < classes_.count(); ++kind) end_s(chain_.source(), kind) = 0;
        const double share = static_cast<double>(most_steps) / static_cast<double>(chain_.sink());
        for (std::size_t last = 1; last < chain_.ops.size(); ++last)
            add_windows_to(last, static_cast<std::size_t>(share * static_cast<double>(last)), is_over);
        return end_s(chain_.sink(), 0);
    }

private:
    bool is_on_chain(OpId op) const { return chain_.position[op] != DependencyChain::kNowhere; }

    /// Least time of the end of the op at a position if it is on a device of the class.
    double& end_s(std::size_t position, std::size_t kind) {
        return end_s_[position * classes_.count() + kind];
    }

    /// Adds windows that end at a position, the smallest first, until `most_steps` were taken in all.
    void add_windows_to(std::size_t last, std::size_t most_steps, const std::function<bool()>& is_over) {
        std::vector<OpId> ops;
        for (std::size_t first = last; first-- > 0;) {
            bool begins = false;
            for (const OpId op : ops_after_[first]) {
                ++looked_at_;
                if (chain_.before_on_device[op] > last || (is_on_chain(op) && chain_.position[op] >= last))
                    continue;
                ops.push_back(op);
                begins = begins || !is_on_chain(op);
            }
            // A window is more than those within it if some op begins with it, and some op ends with it.
            const bool ends = largest_begin_[last] && *largest_begin_[last] >= first;
            if (first + 1 == last || (begins && ends)) add_window(first, last, ops);
            if (!largest_begin_[last] || looked_at_ + window_time_.steps() > most_steps ||
                (is_over && is_over()))
                return;
        }
    }

    void add_window(std::size_t first, std::size_t last, std::vector<OpId> ops) {
        std::ranges::sort(ops);
        Window window{chain_.ops[first], chain_.ops[last], std::move(ops), {}};
        for (const OpId op : window.ops)
            window.on_device_only.push_back(!is_on_chain(op) && chain_.before[op] > last);
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
    double least_end_s(const Window& window, std::size_t first, std::size_t last_kind, double known_s) {
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

    DeviceClasses classes_;
    DependencyChain chain_;
    WindowTime window_time_;
    std::vector<std::vector<OpId>> ops_after_;  ///< [position]: ops whose DependencyChain::after it is
    /// [position]: the last of the windows that end there which begins with an op of its own, if any does.
    std::vector<std::optional<std::size_t>> largest_begin_;
    std::vector<double> end_s_;  ///< [position * classes + class]
    std::size_t looked_at_ = 0;
};

}  // namespace

double chain_windows_s(const Problem& problem, const SimulationOptions& options, bool is_fifo,
                       std::size_t most_steps, const std::function<bool()>& is_over) {
    const std::vector<double> times_s = least_times_s(problem, options.batches);
    return ChainWindows(problem, times_s, is_fifo).seconds(most_steps, is_over) * rounds_a_batch(options);
}

bool starts_in_order(const Problem& problem, const SimulationOptions& options) {
    return options.order == Order::fifo && options.runtime == Runtime::ideal && !problem.streams_to;
}

}  // namespace placewright
