// SPDX-License-Identifier: MIT
#include "core/bounds/max_load_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <queue>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "core/base/sorted.hpp"
#include "core/bounds/min_cut.hpp"

namespace placewright {
namespace {

double least_s(const LoadModel& model, GroupId group) {
    double least = kNoLimit;
    for (const LoadClass& one : model.classes) least = std::min(least, one.group_s[group]);
    return least;
}

/// A unit of the order of the max load.
double unit_of(const LoadModel& model) {
    double sum_s = 0;
    for (GroupId group = 0; group < model.groups(); ++group) {
        const double one_s = least_s(model, group);
        if (std::isfinite(one_s)) sum_s += one_s;
    }
    std::size_t devices = 0;
    for (const LoadClass& one : model.classes) devices += one.devices.size();
    return sum_s > 0 ? sum_s / static_cast<double>(devices) : 1;
}

double total_bytes(const LoadModel& model) {
    return std::accumulate(model.group_bytes.begin(), model.group_bytes.end(), 0.0);
}

/// Fractional sharing in which no device may have a group whose least load there exceeds `threshold_s`: the
/// least T; infinity if there is none.
std::optional<double> shared_load_s(const LoadModel& model, const LeastLoads& least, double threshold_s,
                                    std::stop_token stop) {
    const double unit_s = unit_of(model);
    const double bytes = std::max(total_bytes(model), 1.0);
    IntegerProgram lp;
    const IntegerProgram::Column most = lp.add_column(0, kNoLimit, 1);
    std::vector<std::vector<std::pair<GroupId, IntegerProgram::Column>>> shares(model.classes.size());
    for (GroupId group = 0; group < model.groups(); ++group) {
        bool anywhere = false;
        for (std::size_t c = 0; c < model.classes.size(); ++c) {
            if (least[c][group] > threshold_s || !std::isfinite(least[c][group])) continue;
            shares[c].emplace_back(group, lp.add_column(0, 1));
            anywhere = true;
        }
        if (!anywhere) return kNoLimit;
        lp.begin_row(1, 1);
        for (const auto& share : shares) {
            if (!share.empty() && share.back().first == group) lp.add(share.back().second, 1);
        }
    }
    for (std::size_t c = 0; c < model.classes.size(); ++c) {
        const LoadClass& one = model.classes[c];
        lp.begin_row(0, kNoLimit);
        lp.add(most, one.count());
        for (const auto& [group, column] : shares[c]) lp.add(column, -one.group_s[group] / unit_s);
        if (bytes <= one.count() * one.limit_bytes) continue;
        lp.begin_row(-kNoLimit, one.count() * one.limit_bytes / bytes);
        for (const auto& [group, column] : shares[c]) lp.add(column, model.group_bytes[group] / bytes);
    }
    const auto solution = solve_relaxation(lp, kNoLimit, stop);
    if (!solution) return {};
    return std::isfinite(solution->value) ? within_tolerance(solution->value) * unit_s : kNoLimit;
}

/// The groups of a problem as a network for one device of a class. The cost of a cut is the load of the
/// device if it has the groups on the source's side.
class LoadNetwork {
public:
    LoadNetwork(const LoadModel& model, const LoadClass& one)
        : groups_(model.groups()), tick_s_(model.tick_s) {
        double all_s = 0;
        for (const double group_s : one.group_s) all_s += std::isfinite(group_s) ? group_s : 0;
        for (std::size_t b = 0; b < model.bundles.size(); ++b) all_s += one.read_s[b] + one.write_s[b];
        // Where transfers take a million times as long as ops, the sum in Problem::tick_s exceeds Ticks.
        // Times are rounded down to longer ticks then, so that a cut stays a lower bound.
        constexpr double kMostInAll = 0x1p60;
        while (tick_s_ > 0 && all_s > kMostInAll * tick_s_) tick_s_ *= 2;
        const auto ticks = [&](double seconds) {
            return tick_s_ > 0 ? static_cast<Ticks>(seconds / tick_s_) : 0;
        };
        never_ = 1;
        for (const double group_s : one.group_s) never_ += std::isfinite(group_s) ? ticks(group_s) : 0;
        for (std::size_t b = 0; b < model.bundles.size(); ++b)
            never_ += ticks(one.read_s[b]) + ticks(one.write_s[b]);

        for (GroupId group = 0; group < groups_; ++group)
            network_.add_vertex();  // vertices have the numbers of the groups
        sink_ = network_.add_vertex();
        for (GroupId group = 0; group < groups_; ++group)
            network_.connect(group, sink_,
                             std::isfinite(one.group_s[group]) ? ticks(one.group_s[group]) : never_);
        for (std::size_t b = 0; b < model.bundles.size(); ++b) {
            const auto& [producer, readers, tensors] = model.bundles[b];
            const Ticks read = ticks(one.read_s[b]), write = ticks(one.write_s[b]);
            if (readers.size() == 1) {
                network_.connect(producer, readers[0], write, read);
                continue;
            }
            // One vertex is on the device's side if all readers are, the other one if any of them is.
            const auto all_read = network_.add_vertex(), any_reads = network_.add_vertex();
            network_.connect(producer, all_read, write);
            network_.connect(any_reads, producer, read);
            for (const GroupId reader : readers) {
                network_.connect(all_read, reader, never_);
                network_.connect(reader, any_reads, never_);
            }
        }
    }

    struct Cut {
        double load_s = 0;
        std::vector<GroupId> groups;
    };

    Cut around(GroupId group) {
        const Ticks load = network_.solve(group, sink_);
        Cut cut{load >= never_ ? kNoLimit : static_cast<double>(load) * tick_s_, {}};
        for (GroupId other = 0; other < groups_; ++other) {
            if (other == group || network_.on_source_side(other)) cut.groups.push_back(other);
        }
        return cut;
    }

private:
    std::size_t groups_;
    double tick_s_;
    Ticks never_ = 0;
    CutNetwork network_;
    CutNetwork::Vertex sink_ = 0;
};

/// [group]: load of a device with this group alone.
std::vector<double> lone_loads(const LoadModel& model, const LoadClass& one) {
    std::vector<double> load_s = one.group_s;
    for (std::size_t b = 0; b < model.bundles.size(); ++b) {
        load_s[model.bundles[b].producer] += one.write_s[b];
        for (const GroupId reader : model.bundles[b].readers) load_s[reader] += one.read_s[b];
    }
    return load_s;
}

/// Adds columns and rows for the transfers of a device. `x` [group]: column that is 1 if the device has the
/// group, or -1 if it never has. `add_paid` makes a column that costs the given seconds if it is 1.
void add_borders(IntegerProgram& program, const LoadModel& model, const LoadClass& one,
                 const std::vector<IntegerProgram::Column>& x,
                 const std::function<IntegerProgram::Column(double seconds)>& add_paid) {
    if (one.is_cpu) return;
    // paid >= inside - outside
    const auto exceed = [&](IntegerProgram::Column paid, IntegerProgram::Column inside,
                            IntegerProgram::Column outside) {
        program.begin_row(0, kNoLimit);
        program.add(paid, 1);
        program.add(inside, -1);
        if (outside >= 0) program.add(outside, 1);
    };
    for (std::size_t b = 0; b < model.bundles.size(); ++b) {
        const TensorBundle& bundle = model.bundles[b];
        const IntegerProgram::Column producer = x[bundle.producer];
        IntegerProgram::Column written = -1, read = -1;
        if (one.write_s[b] > 0 && producer >= 0) written = add_paid(one.write_s[b]);
        // A device writes a tensor or reads it, never both: one column suffices if both take equally long.
        if (one.read_s[b] == one.write_s[b]) read = written;
        if (one.read_s[b] > 0 && read < 0 &&
            std::ranges::any_of(bundle.readers, [&](GroupId reader) { return x[reader] >= 0; }))
            read = add_paid(one.read_s[b]);
        for (const GroupId reader : bundle.readers) {
            if (written >= 0) exceed(written, producer, x[reader]);
            if (read >= 0 && x[reader] >= 0) exceed(read, x[reader], producer);
        }
    }
}

void add_memory(IntegerProgram& program, const LoadModel& model, const LoadClass& one,
                const std::vector<IntegerProgram::Column>& x) {
    const double bytes = total_bytes(model);
    if (bytes <= one.limit_bytes) return;
    program.begin_row(-kNoLimit, one.limit_bytes / bytes);
    for (GroupId group = 0; group < model.groups(); ++group) {
        const double share = IntegerProgram::without_dust(model.group_bytes[group] / bytes);
        if (x[group] >= 0 && share > 0) program.add(x[group], share);
    }
}

/// The longest groups of a class, of which at least `on_one` share one of its devices, whichever groups other
/// classes take over.
struct Crowd {
    std::vector<GroupId> groups;
    std::size_t on_one = 0;
    double work_s = 0;  ///< least work of any `on_one` of them
};

/// The crowd with the most work. A device may have the groups with `least` below `cutoff_s`; no device works
/// for longer than `cutoff_s`.
Crowd busiest_crowd(const LoadModel& model, std::size_t device_class, const LeastLoads& least,
                    double cutoff_s) {
    const LoadClass& one = model.classes[device_class];
    std::vector<GroupId> order;
    for (GroupId group = 0; group < model.groups(); ++group) {
        if (least[device_class][group] < cutoff_s) order.push_back(group);
    }
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](GroupId group) { return one.group_s[group]; });
    double room_s = 0;
    for (std::size_t c = 0; c < model.classes.size(); ++c) {
        if (c != device_class) room_s += model.classes[c].count() * cutoff_s * (1 + 1e-9);
    }
    std::priority_queue<double> elsewhere;  // the groups that are shortest there, as many as fit
    std::vector<double> work_s{0};
    double taken_s = 0, best_s = 0;
    std::size_t best = 0, on_one = 0;
    for (std::size_t n = 1; n <= order.size(); ++n) {
        const GroupId group = order[n - 1];
        double there_s = kNoLimit;
        for (std::size_t c = 0; c < model.classes.size(); ++c) {
            if (c != device_class && least[c][group] < cutoff_s)
                there_s = std::min(there_s, model.classes[c].group_s[group]);
        }
        if (std::isfinite(there_s)) {
            elsewhere.push(there_s);
            taken_s += there_s;
        }
        while (taken_s > room_s) {
            taken_s -= elsewhere.top();
            elsewhere.pop();
        }
        work_s.push_back(work_s.back() + one.group_s[group]);
        const std::size_t most = (n - elsewhere.size() + one.devices.size() - 1) / one.devices.size();
        const double least_s = work_s[n] - work_s[n - most];
        if (least_s > best_s) {
            best_s = least_s;
            best = n;
            on_one = most;
        }
    }
    order.resize(best);
    return {std::move(order), on_one, best_s};
}

}  // namespace

double within_tolerance(double bound) {
    return std::isfinite(bound) ? bound - 1e-6 * std::abs(bound) : bound;
}

LeastLoads own_loads(const LoadModel& model) {
    LeastLoads least;
    for (const LoadClass& one : model.classes) least.push_back(one.group_s);
    return least;
}

std::optional<double> balanced_load_s(const LoadModel& model, const LeastLoads& least, std::stop_token stop) {
    // Between two thresholds the groups that a device may have are the same. T is consistent if the load does
    // not exceed the next threshold.
    std::vector<double> thresholds{0};
    for (const std::vector<double>& loads : least) {
        for (const double load_s : loads) {
            if (std::isfinite(load_s)) thresholds.push_back(load_s);
        }
    }
    std::ranges::sort(thresholds);
    erase_repeats(thresholds);
    std::size_t low = 0, high = thresholds.size() - 1;
    std::optional<double> at_high = shared_load_s(model, least, thresholds[high], stop);
    if (!at_high) return {};
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const auto load_s = shared_load_s(model, least, thresholds[middle], stop);
        if (!load_s) return {};
        if (*load_s < thresholds[middle + 1]) {
            high = middle;
            at_high = load_s;
        } else {
            low = middle + 1;
        }
    }
    return std::max(*at_high, thresholds[high]);
}

LeastLoads cut_loads(const LoadModel& model, double floor_s, std::size_t flows, std::stop_token stop) {
    constexpr std::size_t kRound = 16;  // cuts between two evaluations of their results
    LeastLoads least = own_loads(model);
    for (std::size_t c = 0; c < model.classes.size(); ++c) {
        const LoadClass& one = model.classes[c];
        if (one.is_cpu) continue;
        // Upper limit of each group's bound; a group that a cut has shown to stay below the floor needs no
        // flow.
        std::vector<double> most_s = lone_loads(model, one);
        std::vector<GroupId> order(model.groups());
        std::iota(order.begin(), order.end(), GroupId{0});
        std::erase_if(order, [&](GroupId group) { return !std::isfinite(most_s[group]); });
        std::ranges::stable_sort(order, std::ranges::greater{}, [&](GroupId group) { return most_s[group]; });
        tbb::enumerable_thread_specific<LoadNetwork> network([&] { return LoadNetwork(model, one); });
        for (auto next = order.begin(); next != order.end() && flows > 0;) {
            std::vector<GroupId> round;
            for (; next != order.end() && round.size() < std::min(kRound, flows); ++next) {
                if (most_s[*next] > floor_s) round.push_back(*next);
            }
            flows -= round.size();
            std::vector<std::optional<LoadNetwork::Cut>> cuts(round.size());
            tbb::parallel_for(std::size_t{0}, round.size(), [&](std::size_t i) {
                if (!stop.stop_requested()) cuts[i] = network.local().around(round[i]);
            });
            for (std::size_t i = 0; i < round.size(); ++i) {
                if (!cuts[i]) return least;
                least[c][round[i]] = std::max(least[c][round[i]], cuts[i]->load_s);
                for (const GroupId group : cuts[i]->groups)
                    most_s[group] = std::min(most_s[group], cuts[i]->load_s);
            }
        }
    }
    return least;
}

double pigeonhole_load_s(const LoadModel& model, std::size_t device_class, const LeastLoads& least,
                         IntegerLimits limits) {
    const LoadClass& one = model.classes[device_class];
    const double unit_s = unit_of(model), cutoff_s = limits.cutoff;
    const auto may_have = [&](std::size_t c, GroupId group) {
        return std::isfinite(least[c][group]) && least[c][group] < cutoff_s;
    };
    const double bytes = std::max(total_bytes(model), 1.0);

    // The most work of this class that other classes can take over, in fractions of groups.
    IntegerProgram others;
    std::vector<std::vector<std::pair<GroupId, IntegerProgram::Column>>> elsewhere(model.classes.size());
    double all_s = 0;
    for (GroupId group = 0; group < model.groups(); ++group) {
        const bool here = may_have(device_class, group);
        const double own_s = here ? one.group_s[group] : 0;
        all_s += own_s;
        std::vector<IntegerProgram::Column> columns;
        for (std::size_t c = 0; c < model.classes.size(); ++c) {
            if (c == device_class || !may_have(c, group)) continue;
            columns.push_back(others.add_column(0, 1, -own_s / unit_s));
            elsewhere[c].emplace_back(group, columns.back());
        }
        if (!here && columns.empty()) return cutoff_s;
        if (columns.empty()) continue;
        others.begin_row(here ? 0 : 1, 1);
        for (const IntegerProgram::Column column : columns) others.add(column, 1);
    }
    for (std::size_t c = 0; c < model.classes.size(); ++c) {
        const LoadClass& other = model.classes[c];
        if (elsewhere[c].empty()) continue;
        others.begin_row(-kNoLimit, other.count() * cutoff_s / unit_s);
        for (const auto& [group, column] : elsewhere[c]) others.add(column, other.group_s[group] / unit_s);
        if (bytes <= other.count() * other.limit_bytes) continue;
        others.begin_row(-kNoLimit, other.count() * other.limit_bytes / bytes);
        for (const auto& [group, column] : elsewhere[c]) others.add(column, model.group_bytes[group] / bytes);
    }
    double taken_s = 0;
    if (others.columns() > 0) {
        const auto relaxation = solve_relaxation(others, limits.seconds, limits.stop);
        if (!relaxation) return 0;
        if (!std::isfinite(relaxation->value)) return cutoff_s;
        taken_s = -relaxation->value * unit_s * (1 + 1e-6);
    }

    IntegerProgram program;
    std::vector<IntegerProgram::Column> x(model.groups(), -1);
    for (GroupId group = 0; group < model.groups(); ++group) {
        if (may_have(device_class, group)) x[group] = program.add_binary(one.group_s[group] / unit_s);
    }
    if (program.columns() == 0) return 0;  // other classes have all groups
    add_borders(program, model, one, x,
                [&](double seconds) { return program.add_column(0, 1, seconds / unit_s); });
    const double average_s = (all_s - taken_s) / one.count();
    const Crowd crowd = busiest_crowd(model, device_class, least, cutoff_s);
    if (crowd.work_s > average_s) {
        program.begin_row(static_cast<double>(crowd.on_one), kNoLimit);
        for (const GroupId group : crowd.groups) program.add(x[group], 1);
    } else {
        program.begin_row(average_s / unit_s * (1 - 1e-9), kNoLimit);
        for (GroupId group = 0; group < model.groups(); ++group) {
            if (x[group] >= 0 && one.group_s[group] > 0) program.add(x[group], one.group_s[group] / unit_s);
        }
    }
    add_memory(program, model, one, x);
    limits.cutoff = cutoff_s / unit_s;
    const IntegerResult result = solve_integer(program, limits);
    // Optimal within the tolerance of the solver.
    if (result.finished && result.x.empty()) return cutoff_s;
    // What the programme shows holds for loads below the cutoff alone.
    return std::clamp(within_tolerance(result.bound) * unit_s, 0.0, cutoff_s);
}

LoadProgramme::LoadProgramme(const LoadModel& model, const LeastLoads& least, double cutoff_s)
    : unit_s_(unit_of(model)), choices_(model.groups()) {
    const IntegerProgram::Column most = program_.add_column(0, cutoff_s / unit_s_, 1);
    std::vector<std::vector<std::vector<IntegerProgram::Column>>> x(
        model.classes.size());  // [class][device of the class][group]
    for (std::size_t c = 0; c < model.classes.size(); ++c) {
        const LoadClass& one = model.classes[c];
        x[c].assign(one.devices.size(), std::vector<IntegerProgram::Column>(model.groups(), -1));
        std::vector<GroupId> order;
        for (GroupId group = 0; group < model.groups(); ++group) {
            if (std::isfinite(least[c][group]) && least[c][group] < cutoff_s) order.push_back(group);
        }
        std::ranges::stable_sort(order, std::ranges::greater{},
                                 [&](GroupId group) { return one.group_s[group]; });
        // The devices of a class are equal: breaks the symmetry by ordering them by the longest group of
        // each.
        for (std::size_t rank = 0; rank < order.size(); ++rank) {
            for (std::size_t i = 0; i < std::min(one.devices.size(), rank + 1); ++i) {
                x[c][i][order[rank]] = program_.add_binary();
                choices_[order[rank]].emplace_back(one.devices[i], x[c][i][order[rank]]);
            }
        }
    }
    for (GroupId group = 0; group < model.groups(); ++group) {
        program_.begin_row(1, 1);
        for (const auto& choice : choices_[group]) program_.add(choice.second, 1);
    }
    for (std::size_t c = 0; c < model.classes.size(); ++c) {
        const LoadClass& one = model.classes[c];
        for (std::size_t i = 0; i < one.devices.size(); ++i) {
            const std::vector<IntegerProgram::Column>& here = x[c][i];
            std::vector<std::pair<IntegerProgram::Column, double>> load;
            for (GroupId group = 0; group < model.groups(); ++group) {
                const double seconds = IntegerProgram::without_dust(one.group_s[group] / unit_s_);
                if (here[group] >= 0 && seconds > 0) load.emplace_back(here[group], seconds);
            }
            add_borders(program_, model, one, here, [&](double seconds) {
                load.emplace_back(program_.add_column(0, 1), IntegerProgram::without_dust(seconds / unit_s_));
                return load.back().first;
            });
            program_.begin_row(0, kNoLimit);
            program_.add(most, 1);
            for (const auto& [column, seconds] : load) program_.add(column, -seconds);
            if (std::isfinite(cutoff_s)) {
                // Redundant, but only a row of integer columns yields cover cuts.
                program_.begin_row(-kNoLimit, cutoff_s / unit_s_);
                for (GroupId group = 0; group < model.groups(); ++group) {
                    const double seconds = IntegerProgram::without_dust(one.group_s[group] / unit_s_);
                    if (here[group] >= 0 && seconds > 0) program_.add(here[group], seconds);
                }
            }
            add_memory(program_, model, one, here);
        }
    }
}

Placement LoadProgramme::placement(std::span<const double> x) const {
    Placement placement;
    for (const auto& choices : choices_) {
        placement.push_back(std::ranges::max(choices, {}, [&](const auto& choice) {
                                return x[static_cast<std::size_t>(choice.second)];
                            }).first);
    }
    return placement;
}

}  // namespace placewright
