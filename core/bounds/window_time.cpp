// SPDX-License-Identifier: MIT
#include "core/bounds/window_time.hpp"

#include <algorithm>
#include <limits>

#include "core/base/infinity.hpp"

namespace placewright {
namespace {

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

}  // namespace

WindowTime::WindowTime(const Problem& problem, const DeviceClasses& classes)
    : problem_(problem),
      classes_(classes),
      kinds_of_(problem.groups, kAllKinds),
      index_of_(problem.ops, kNowhere),
      group_index_of_(problem.groups, kNowhere) {}

void WindowTime::set(const OpWindow& window) {
    window_ = &window;
    for (std::size_t i = 0; i < window.ops.size(); ++i) {
        index_of_[window.ops[i]] = i;
        const GroupId group = problem_.grouping.group_of[window.ops[i]];
        if (group_index_of_[group] == kNowhere) {
            group_index_of_[group] = groups_.size();
            groups_.push_back(group);
        }
        group_of_.push_back(group_index_of_[group]);
    }
}

void WindowTime::clear() {
    for (const OpId op : window_->ops) index_of_[op] = kNowhere;
    for (const GroupId group : groups_) group_index_of_[group] = kNowhere;
    groups_.clear();
    group_of_.clear();
    window_ = nullptr;
}

double WindowTime::least_s(const WindowEnds& ends, double floor_s) {
    steps_ += classes_.count() + groups_.size();
    if (!choose_places(ends)) return kInfinity;
    const double last_s = window_->last ? op_s(*window_->last, last_place_) : 0;
    double direct_s = 0;
    if (window_->first && window_->last) {
        for (auto i = problem_.input_begin[*window_->last]; i < problem_.input_begin[*window_->last + 1];
             ++i) {
            const TensorId tensor = problem_.input[i];
            if (problem_.producer[tensor] == *window_->first)
                direct_s = std::max(direct_s, transfer_s(tensor, first_place_, last_place_));
        }
    }
    // No less than `shown_s` is possible.
    double shown_s = std::max(direct_s, floor_s - last_s);
    if (window_->ops.empty()) return shown_s + last_s;
    weigh_places();
    // Doubles the step until a time is not refuted, then halves it. A refuted time rules out all up to the
    // next at which anything changes.
    double next_s = 0;
    double step_s = shown_s * 0.05;
    double possible_s = shown_s;
    while (!may_take(possible_s, next_s)) {
        if (next_s == kInfinity) return kInfinity;
        shown_s = next_s;
        possible_s = std::max(shown_s, possible_s + step_s);
        step_s = std::max(2 * step_s, possible_s * 0.05);
    }
    constexpr double kClose = 1e-4;
    while (possible_s - shown_s > kClose * possible_s) {
        const double middle_s = (shown_s + possible_s) / 2;
        if (may_take(middle_s, next_s)) {
            possible_s = middle_s;
        } else {
            shown_s = next_s;
        }
    }
    return shown_s + last_s;
}

bool WindowTime::choose_places(const WindowEnds& ends) {
    std::vector<std::size_t> left(classes_.count());
    for (std::size_t kind = 0; kind < left.size(); ++kind) left[kind] = classes_.size(kind);
    places_.clear();
    first_place_ = last_place_ = kNowhere;
    const auto add_device = [&](OpId op, std::size_t kind) {
        if (left[kind] == 0 || classes_.time_s(op, kind) == kInfinity) return false;
        --left[kind];
        places_.push_back({kind, 1, 1});
        return true;
    };
    if (window_->first) {
        first_place_ = 0;
        if (!add_device(*window_->first, ends.first)) return false;
    }
    if (window_->last && window_->first && ends.same_device) {
        if (classes_.time_s(*window_->last, ends.first) == kInfinity) return false;
        last_place_ = first_place_;
    } else if (window_->last) {
        last_place_ = places_.size();
        if (!add_device(*window_->last, ends.last)) return false;
    }
    for (std::size_t kind = 0; kind < left.size(); ++kind) {
        if (left[kind] > 0) places_.push_back({kind, static_cast<double>(left[kind]), 1});
    }

    allowed_.assign(groups_.size(), 0);
    for (std::size_t group = 0; group < groups_.size(); ++group) {
        const OpId op = problem_.grouping.members[groups_[group]].front();
        for (std::size_t place = 0; place < places_.size(); ++place) {
            if (op_s(op, place) < kInfinity && (kinds_of_[groups_[group]] >> places_[place].kind & 1U) != 0)
                allowed_[group] |= Places{1} << place;
        }
    }
    const auto is_at = [&](std::optional<OpId> end, std::size_t place) {
        if (!end) return;
        const std::size_t group = group_index_of_[problem_.grouping.group_of[*end]];
        if (group != kNowhere) allowed_[group] &= Places{1} << place;
    };
    is_at(window_->first, first_place_);
    is_at(window_->last, last_place_);
    ends_before_last_.assign(window_->ops.size(), false);
    for (std::size_t i = 0; window_->last && i < window_->ops.size(); ++i)
        ends_before_last_[i] =
            !classes_.may_overlap(window_->ops[i], *window_->last, places_[last_place_].kind);
    return std::ranges::none_of(allowed_, [](Places places) { return places == 0; });
}

void WindowTime::weigh_places() {
    double most = 0;
    for (Place& place : places_) {
        double sum_s = 0;
        for (const OpId op : window_->ops) {
            const double seconds = classes_.time_s(op, place.kind);
            if (seconds < kInfinity) sum_s += seconds * classes_.share(op, place.kind);
        }
        place.weight = sum_s > 0 ? 1 / sum_s : 0;
        most = std::max(most, place.weight);
    }
    for (Place& place : places_) place.weight = most > 0 ? place.weight / most : 1;
}

bool WindowTime::may_take(double seconds, double& next_s) {
    next_s = kInfinity;
    if (!propagate(seconds, next_s)) return false;
    double load_s = least_load_s(Load::share);
    if (classes_.has_streams()) load_s = std::max(load_s, least_load_s(Load::half));
    constexpr double kRounding = 1e-12;
    if (load_s <= seconds * (1 + kRounding)) return true;
    next_s = std::min(next_s, load_s);
    return false;
}

bool WindowTime::propagate(double seconds, double& next_s) {
    // More rounds hardly find more.
    constexpr int kRounds = 6;
    const std::size_t count = window_->ops.size();
    places_of_ = allowed_;
    times_.assign(count * places_.size(), {});
    for (int round = 0; round < kRounds; ++round) {
        steps_ += count * places_.size() * places_.size();
        bool changed = false;
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t place = 0; place < places_.size(); ++place) {
                if (may_be(group_of_[i], place)) time(i, place).start_s = start_s(i, place);
            }
        }
        for (std::size_t i = count; i-- > 0;) {
            Places& places = places_of_[group_of_[i]];
            for (std::size_t place = 0; place < places_.size(); ++place) {
                if (!may_be(group_of_[i], place)) continue;
                Time& own = time(i, place);
                own.tail_s = tail_s(i, place);
                const double through_s = own.start_s + op_s(window_->ops[i], place) + own.tail_s;
                if (through_s <= seconds || !matters(i, place)) continue;
                places &= ~(Places{1} << place);
                next_s = std::min(next_s, through_s);
                changed = true;
            }
            if (places == 0) return false;
        }
        if (!changed) break;
    }
    return true;
}

double WindowTime::start_s(std::size_t i, std::size_t place) const {
    const OpId op = window_->ops[i];
    double start_s = 0;
    for (auto k = problem_.input_begin[op]; k < problem_.input_begin[op + 1]; ++k) {
        const TensorId tensor = problem_.input[k];
        const OpId producer = problem_.producer[tensor];
        if (const std::size_t from = index_of_[producer]; from != kNowhere) {
            double least_s = kInfinity;
            for (std::size_t other = 0; other < places_.size(); ++other) {
                if (!may_be(group_of_[from], other) || (group_of_[from] == group_of_[i] && other != place))
                    continue;
                least_s = std::min(least_s, time(from, other).start_s + op_s(producer, other) +
                                                transfer_s(tensor, other, place));
            }
            start_s = std::max(start_s, least_s);
        } else if (producer == window_->first) {
            start_s = std::max(start_s, transfer_s(tensor, first_place_, place));
        }
    }
    return start_s;
}

double WindowTime::tail_s(std::size_t i, std::size_t place) const {
    const OpId op = window_->ops[i];
    double tail_s = 0;
    for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1]; ++tensor) {
        for (auto k = problem_.consumer_begin[tensor]; k < problem_.consumer_begin[tensor + 1]; ++k) {
            const OpId reader = problem_.consumer[k];
            if (const std::size_t to = index_of_[reader]; to != kNowhere) {
                double least_s = kInfinity;
                for (std::size_t other = 0; other < places_.size(); ++other) {
                    if (!may_be(group_of_[to], other) || (group_of_[to] == group_of_[i] && other != place))
                        continue;
                    least_s = std::min(least_s, matters(to, other)
                                                    ? transfer_s(tensor, place, other) + op_s(reader, other) +
                                                          time(to, other).tail_s
                                                    : 0);
                }
                tail_s = std::max(tail_s, least_s);
            } else if (reader == window_->last) {
                tail_s = std::max(tail_s, transfer_s(tensor, place, last_place_));
            }
        }
    }
    return tail_s;
}

double WindowTime::load_s(OpId op, std::size_t place, Load load) const {
    const double share = classes_.share(op, places_[place].kind);
    return op_s(op, place) * (load == Load::share ? share : share > 0.5 ? 1 : 0);
}

double WindowTime::least_load_s(Load load) {
    // Ops at a place run between the least start and the least tail of any of them.
    outside_s_.assign(places_.size(), 0);
    for (std::size_t place = 0; place < places_.size(); ++place) {
        double least_start_s = kInfinity, least_tail_s = kInfinity;
        for (std::size_t i = 0; i < window_->ops.size(); ++i) {
            if (!may_be(group_of_[i], place) || !matters(i, place)) continue;
            least_start_s = std::min(least_start_s, time(i, place).start_s);
            least_tail_s = std::min(least_tail_s, time(i, place).tail_s);
        }
        if (least_start_s < kInfinity) outside_s_[place] = least_start_s + least_tail_s;
    }
    group_s_.assign(groups_.size() * places_.size(), 0);
    for (std::size_t i = 0; i < window_->ops.size(); ++i) {
        for (std::size_t place = 0; place < places_.size(); ++place) {
            if (may_be(group_of_[i], place) && matters(i, place))
                group_s_[group_of_[i] * places_.size() + place] += load_s(window_->ops[i], place, load);
        }
    }
    work_.clear();
    Places all = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
        double least_s = kInfinity;
        for (std::size_t place = 0; place < places_.size(); ++place) {
            if (may_be(group, place))
                least_s = std::min(least_s, group_s_[group * places_.size() + place] * places_[place].weight);
        }
        const auto known = std::ranges::find(work_, places_of_[group], &Work::places);
        if (known == work_.end()) {
            work_.push_back({places_of_[group], least_s});
        } else {
            known->seconds += least_s;
        }
        all |= places_of_[group];
    }
    // All sets that matter would be the unions of any of these.
    constexpr std::size_t kMostForPairs = 16;
    double most_s = needed_s(all);
    for (std::size_t i = 0; i < work_.size(); ++i) {
        most_s = std::max(most_s, needed_s(work_[i].places));
        for (std::size_t k = 0; k < i && work_.size() <= kMostForPairs; ++k)
            most_s = std::max(most_s, needed_s(work_[i].places | work_[k].places));
    }
    return most_s;
}

double WindowTime::needed_s(Places set) const {
    double work_s = 0, room = 0;
    for (const Work& work : work_) {
        if ((work.places & ~set) == 0) work_s += work.seconds;
    }
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if ((set >> place & 1U) == 0) continue;
        const double devices = places_[place].devices * places_[place].weight;
        work_s += devices * outside_s_[place];
        room += devices;
    }
    return room > 0 ? work_s / room : 0;
}

}  // namespace placewright
