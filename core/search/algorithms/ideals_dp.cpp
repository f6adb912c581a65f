// SPDX-License-Identifier: MIT
// Finds the optimal contiguous split for max load by dynamic programming over ideals: Tarnawski, Phanishayee,
// Devanur, Mahajan, Nina Paravecino: Efficient Algorithms for Device Placement of DNN Graph Operators
// (NeurIPS 2020), section 4. The variant for block latency, where times of blocks add up, is our own.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stop_token>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"
#include "core/search/parts/contraction.hpp"
#include "core/search/parts/proposals.hpp"
#include "core/search/parts/schedule.hpp"
#include "core/sim/block_latency.hpp"
#include "core/sim/host_memory.hpp"

namespace placewright {
namespace {

struct IdealsOptions {
    std::size_t max_ideals = 200'000;
    std::size_t max_states = 50'000'000;
    bool allow_cpu = true;
};

const OptionSchema<IdealsOptions>& ideals_schema() {
    using Options = IdealsOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("max_ideals", &Options::max_ideals, 1, 10'000'000,
                 "Maximum number of ideals (sets of ops closed under predecessors); a graph with more is "
                 "limited to the ideals of one topological order.")
            .add("max_states", &Options::max_states, 1, 1'000'000'000,
                 "Maximum number of states of 24 bytes each: ideals times the possible numbers of devices in "
                 "use per kind (n + 1 for n identical devices, 2^n for n different ones); fewer ideals are "
                 "tried to stay below it.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Devices that are identical in everything that matters here.
struct DeviceClass {
    std::vector<DeviceId> devices;
    std::vector<double> part_s;   ///< [part]; infinite where the part may not be
    std::vector<double> read_s;   ///< [tensor bundle]
    std::vector<double> write_s;  ///< [tensor bundle]
    double limit_bytes = 0;
    bool never_short = false;    ///< in unlimited supply: CPUs for block latency
    double most_absorbed_s = 0;  ///< reference time that a device can take over within the threshold
};

/// Tensors of one part that are read by the same other parts.
struct Bundle {
    std::vector<TensorId> tensors;
    std::uint32_t readers = 0;
};

/// Exact for the contracted graph. A state is an ideal and the number of devices of each class that its ops
/// use; from a state all larger ideals are tried, in ascending order of parts, so that each is met once. Only
/// loads up to a threshold count, and only states from which the remaining devices can do the remaining parts
/// within it. The threshold starts just above the average load, and its distance from the average doubles
/// until there is a solution, which then is optimal. For block latency, the value of a state is the time when
/// its ops end if blocks run one after the other, and so do parts on CPUs, of which there are enough; the
/// remaining parts take at least their longest path. This is exact if nothing gains from running at the same
/// time.
class IdealsProgram {
public:
    /// Throws OptionError if even the ideals of one order have more than max_states states.
    IdealsProgram(DeviceChoices choices, const IdealsOptions& options, bool for_latency)
        : choices_(std::move(choices)),
          problem_(choices_.problem()),
          for_latency_(for_latency),
          parts_(contract(choices_)) {
        find_bundles();
        find_classes();
        find_states(options.max_states);
        max_ideals_ = std::min(options.max_ideals, options.max_states / states_);
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            double least_s = kInfinity;
            for (const DeviceClass& device : classes_) least_s = std::min(least_s, device.part_s[part]);
            reference_s_.push_back(std::isfinite(least_s) ? least_s : 0);
            double bytes = 0;
            for (const GroupId group : parts_.groups[part]) {
                for (const OpId op : problem_.grouping.members[group]) {
                    bytes += problem_.resident_bytes[op];
                    for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1];
                         ++tensor)
                        bytes += problem_.output_bytes[tensor];
                }
            }
            bytes_.push_back(bytes);
        }
        total_s_ = std::accumulate(reference_s_.begin(), reference_s_.end(), 0.0);
        inside_.assign(bundles_.size(), 0);
        has_producer_.assign(bundles_.size(), false);
    }

    /// Returns an empty placement if it was stopped.
    Placement placement(const std::stop_token& stop) {
        stop_ = stop;
        find_ideals();
        const double least_s = for_latency_ ? path_s_.front() : least_average();
        double most_s = least_s;
        for (const DeviceClass& device : classes_) {
            for (std::size_t i = 0; i < bundles_.size(); ++i)
                most_s += bundles_[i].readers * device.read_s[i] + device.write_s[i];
            for (const double part_s : device.part_s) most_s += std::isfinite(part_s) ? part_s : 0;
        }
        for (double share = 0.02; least_s * (1 + share) < most_s; share *= 2) {
            if (solve(least_s * (1 + share))) return read_off();
            if (stop_.stop_requested()) return {};
        }
        if (solve(most_s)) return read_off();
        if (stop_.stop_requested()) return {};
        // No split fits the memory, so the limits are lifted.
        for (DeviceClass& device : classes_) device.limit_bytes = kInfinity;
        if (solve(most_s)) return read_off();
        if (stop_.stop_requested()) return {};
        return choices_.on_one_device(choices_.fastest_first().front());
    }

private:
    struct Entry {
        double value_s = kInfinity;  ///< largest load so far, or latency
        std::uint32_t from = 0;
        std::uint32_t state = 0;
        std::uint32_t device_class = 0;
    };

    void find_ideals() {
        lattice_ = ideals(parts_, max_ideals_, stop_);
        left_s_.assign(lattice_.size(), total_s_);
        for (std::uint32_t ideal = 0; ideal < lattice_.size(); ++ideal) {
            for (const auto& [part, next] : lattice_.above(ideal))
                left_s_[next] = left_s_[ideal] - reference_s_[part];
        }
        find_paths();
    }

    void find_bundles() {
        std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::size_t> index;
        touched_.resize(parts_.size());
        for (TensorId tensor = 0; tensor < problem_.tensors; ++tensor) {
            const std::uint32_t producer =
                parts_.part_of[problem_.grouping.group_of[problem_.producer[tensor]]];
            std::set<std::uint32_t> readers;
            for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i)
                readers.insert(parts_.part_of[problem_.grouping.group_of[problem_.consumer[i]]]);
            readers.erase(producer);
            if (readers.empty()) continue;
            const auto [found, is_new] =
                index.try_emplace({producer, {readers.begin(), readers.end()}}, bundles_.size());
            if (is_new) {
                bundles_.push_back({{}, static_cast<std::uint32_t>(readers.size())});
                touched_[producer].push_back({found->second, true});
                for (const std::uint32_t reader : readers) touched_[reader].push_back({found->second, false});
            }
            bundles_[found->second].tensors.push_back(tensor);
        }
    }

    void find_classes() {
        const auto devices = problem_.machine->devices();
        const bool has_host = std::ranges::find(devices, DeviceKind::cpu, &Device::kind) != devices.end();
        const std::vector<double> mean_s =
            has_host ? std::vector<double>() : mean_transfers_s(problem_, choices_.devices());
        for (const DeviceId id : choices_.devices()) {
            DeviceClass device;
            device.devices = {id};
            device.limit_bytes = problem_.memory_limit_bytes[id];
            device.never_short = for_latency_ && problem_.machine->device(id).kind == DeviceKind::cpu;
            for (const std::vector<GroupId>& groups : parts_.groups) {
                double part_s = 0;
                for (const GroupId group : groups)
                    part_s += choices_.allows(group, id) ? problem_.group_time_s(group, id) : kInfinity;
                device.part_s.push_back(part_s);
            }
            for (const Bundle& bundle : bundles_) {
                double read_s = 0;
                double write_s = 0;
                for (const TensorId tensor : bundle.tensors) {
                    read_s += has_host ? HostMemory(problem_).read_s(tensor, id) : mean_s[tensor];
                    write_s += has_host ? HostMemory(problem_).write_s(tensor, id) : mean_s[tensor];
                }
                device.read_s.push_back(read_s);
                device.write_s.push_back(write_s);
            }
            const auto alike = std::ranges::find_if(classes_, [&](const DeviceClass& other) {
                return other.part_s == device.part_s && other.read_s == device.read_s &&
                       other.write_s == device.write_s && other.limit_bytes == device.limit_bytes &&
                       other.never_short == device.never_short;
            });
            if (alike == classes_.end()) {
                classes_.push_back(std::move(device));
            } else {
                alike->devices.push_back(id);
            }
        }
    }

    void find_states(std::size_t most) {
        const std::size_t least_ideals = parts_.size() + 1;
        for (const DeviceClass& device : classes_) {
            stride_.push_back(device.never_short ? 0 : states_);
            if (device.never_short) continue;
            const std::size_t counts = device.devices.size() + 1;
            if (states_ > most / least_ideals / counts)
                throw OptionError("max_states = " + std::to_string(most) + " is too small for " +
                                  std::to_string(classes_.size()) + " kinds of devices and a chain of " +
                                  std::to_string(parts_.size()) +
                                  " parts: raise it, leave out devices or use another algorithm");
            states_ *= counts;
        }
    }

    void find_paths() {
        std::vector<double> after_s(parts_.size(), 0);
        for (std::size_t part = parts_.size(); part-- > 0;) {
            for (const std::uint32_t before : parts_.before[part])
                after_s[before] = std::max(after_s[before], after_s[part] + reference_s_[part]);
        }
        path_s_.assign(lattice_.size(), 0);
        for (std::uint32_t ideal = 0; ideal < lattice_.size(); ++ideal) {
            for (const auto& [part, next] : lattice_.above(ideal))
                path_s_[ideal] = std::max(path_s_[ideal], after_s[part] + reference_s_[part]);
        }
    }

    /// Lower bound of what the parts outside of an ideal add to its value.
    double least_left_s(std::uint32_t ideal) const { return for_latency_ ? path_s_[ideal] : 0; }

    std::size_t used(std::size_t state, std::size_t device_class) const {
        return stride_[device_class] == 0
                   ? 0
                   : state / stride_[device_class] % (classes_[device_class].devices.size() + 1);
    }

    /// Largest reference time that a device of the class can take over within `threshold_s`, without regard
    /// to transfers and memory: a fractional knapsack of parts.
    double absorbed_s(const DeviceClass& device, double threshold_s) const {
        std::vector<std::size_t> order(parts_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        // Parts without reference time would compare equal to all others, which would break the order below.
        std::erase_if(order, [&](std::size_t part) {
            return !std::isfinite(device.part_s[part]) || reference_s_[part] == 0;
        });
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            return reference_s_[a] * device.part_s[b] > reference_s_[b] * device.part_s[a];
        });
        double sum_s = 0;
        for (const std::size_t part : order) {
            if (device.part_s[part] > threshold_s)
                return sum_s + reference_s_[part] * (threshold_s / device.part_s[part]);
            sum_s += reference_s_[part];
            threshold_s -= device.part_s[part];
        }
        return sum_s;
    }

    /// Smallest threshold at which all devices together can take over all parts by absorbed_s.
    double least_average() const {
        double low_s = 0;
        double high_s = 0;
        for (const DeviceClass& device : classes_) {
            for (const double part_s : device.part_s) high_s += std::isfinite(part_s) ? part_s : 0;
        }
        for (int step = 0; step < 60; ++step) {
            const double middle_s = (low_s + high_s) / 2;
            double sum_s = 0;
            for (const DeviceClass& device : classes_)
                sum_s += static_cast<double>(device.devices.size()) * absorbed_s(device, middle_s);
            (sum_s < total_s_ * (1 - 1e-12) ? low_s : high_s) = middle_s;
        }
        return high_s;
    }

    /// Returns false if there is no solution or it was stopped.
    bool solve(double threshold_s) {
        threshold_s_ = threshold_s;
        for (DeviceClass& device : classes_) device.most_absorbed_s = absorbed_s(device, threshold_s);
        table_.assign(lattice_.size() * states_, {});
        table_[0].value_s = 0;
        for (std::uint32_t ideal = 0; ideal + 1 < lattice_.size(); ++ideal) {
            find_alive(ideal);
            if (alive_.empty()) continue;
            source_ = ideal;
            for (const std::size_t c : open_classes_) {
                if (!classes_[c].never_short) continue;
                for (const auto& [part, next] : lattice_.above(ideal)) put(next, c, classes_[c].part_s[part]);
            }
            std::erase_if(open_classes_, [&](std::size_t c) { return classes_[c].never_short; });
            loads_.resize((parts_.size() + 1) * open_classes_.size());
            std::fill_n(loads_.begin(), open_classes_.size(), Load{});
            extend(ideal, -1, loads_.data());
            if (stop_.stop_requested()) return false;
        }
        const auto ends = std::span(table_).last(states_);
        return std::ranges::min(ends, {}, &Entry::value_s).value_s < kInfinity;
    }

    /// Finds the states of the ideal from which the remaining parts can be done, and the classes that have
    /// devices left in any of them.
    void find_alive(std::uint32_t ideal) {
        alive_.clear();
        least_value_s_ = kInfinity;
        open_classes_.clear();
        for (std::size_t state = 0; state < states_; ++state) {
            if (table_[ideal * states_ + state].value_s > threshold_s_ - least_left_s(ideal)) continue;
            double capacity_s = for_latency_ ? kInfinity : 0;
            for (std::size_t c = 0; c < classes_.size(); ++c)
                capacity_s += static_cast<double>(classes_[c].devices.size() - used(state, c)) *
                              classes_[c].most_absorbed_s;
            if (capacity_s < left_s_[ideal] - 1e-9 * total_s_) continue;
            alive_.push_back(state);
            least_value_s_ =
                std::min(least_value_s_, for_latency_ ? table_[ideal * states_ + state].value_s : 0);
        }
        for (std::size_t c = 0; c < classes_.size(); ++c) {
            const auto has_left = [&](std::size_t state) {
                return used(state, c) < classes_[c].devices.size();
            };
            if (std::ranges::any_of(alive_, has_left)) open_classes_.push_back(c);
        }
    }

    /// Load of a set of parts on a device.
    struct Load {
        double ops_s = 0, transfers_s = 0, bytes = 0;
    };

    double crossing_s(const DeviceClass& device, std::size_t bundle) const {
        if (has_producer_[bundle])
            return inside_[bundle] < bundles_[bundle].readers ? device.write_s[bundle] : 0;
        return inside_[bundle] > 0 ? device.read_s[bundle] : 0;
    }

    void count(std::uint32_t part, int by) {
        for (const auto& [bundle, produces] : touched_[part]) {
            if (produces) {
                has_producer_[bundle] = by > 0;
            } else {
                inside_[bundle] += static_cast<std::uint32_t>(by);
            }
        }
    }

    /// Tries all ideals above `ideal` that add only parts after `last`. `loads`: [open class], loads of the
    /// parts added so far; the loads of the next part follow in memory.
    void extend(std::uint32_t ideal, std::int64_t last, Load* loads) {
        const std::size_t classes = open_classes_.size();
        for (const auto& [part, next] : lattice_.above(ideal)) {
            if (stop_.stop_requested()) return;
            if (static_cast<std::int64_t>(part) <= last) continue;
            Load* const more = loads + classes;
            for (std::size_t i = 0; i < classes; ++i) {
                more[i] = loads[i];
                const DeviceClass& device = classes_[open_classes_[i]];
                more[i].ops_s += device.part_s[part];
                more[i].bytes += bytes_[part];
                for (const auto& touched : touched_[part])
                    more[i].transfers_s -= crossing_s(device, touched.first);
            }
            count(part, 1);
            bool goes_on = false;
            for (std::size_t i = 0; i < classes; ++i) {
                const std::size_t c = open_classes_[i];
                for (const auto& touched : touched_[part])
                    more[i].transfers_s += crossing_s(classes_[c], touched.first);
                if (least_value_s_ + more[i].ops_s > threshold_s_ - least_left_s(next) ||
                    more[i].bytes > classes_[c].limit_bytes)
                    continue;
                goes_on = true;
                if (least_value_s_ + more[i].ops_s + more[i].transfers_s <= threshold_s_ - least_left_s(next))
                    put(next, c, more[i].ops_s + more[i].transfers_s);
            }
            if (goes_on) extend(next, part, more);
            count(part, -1);
        }
    }

    void put(std::uint32_t ideal, std::size_t c, double load_s) {
        for (const std::size_t state : alive_) {
            if (used(state, c) == classes_[c].devices.size()) continue;
            const double before_s = table_[source_ * states_ + state].value_s;
            const double value_s = for_latency_ ? before_s + load_s : std::max(before_s, load_s);
            Entry& entry = table_[ideal * states_ + state + stride_[c]];
            if (value_s >= entry.value_s || value_s > threshold_s_ - least_left_s(ideal)) continue;
            entry = {value_s, source_, static_cast<std::uint32_t>(state), static_cast<std::uint32_t>(c)};
            if (ideal + 1 == lattice_.size()) threshold_s_ = std::min(threshold_s_, value_s);
        }
    }

    Placement read_off() const {
        Placement placement(problem_.groups);
        std::vector<std::size_t> next_device(classes_.size(), 0);
        auto ideal = static_cast<std::uint32_t>(lattice_.size() - 1);
        const auto ends = std::span(table_).last(states_);
        auto state =
            static_cast<std::size_t>(std::ranges::min_element(ends, {}, &Entry::value_s) - ends.begin());
        while (ideal != 0) {
            const Entry& entry = table_[ideal * states_ + state];
            // Devices are assigned from the end: the last device of the class comes last.
            const std::vector<DeviceId>& devices = classes_[entry.device_class].devices;
            const DeviceId device = devices[std::max<std::size_t>(used(state, entry.device_class), 1) - 1];
            for (std::uint32_t part = 0; part < parts_.size(); ++part) {
                if (!lattice_.contains(ideal, part) || lattice_.contains(entry.from, part)) continue;
                for (const GroupId group : parts_.groups[part]) placement[group] = device;
            }
            ideal = entry.from;
            state = entry.state;
        }
        return placement;
    }

    DeviceChoices choices_;
    const Problem& problem_;
    bool for_latency_;
    Contraction parts_;
    std::size_t max_ideals_ = 0;
    IdealLattice lattice_;
    std::vector<DeviceClass> classes_;
    std::vector<std::size_t> stride_;  ///< [class]: what one more device of it adds to a state's index
    std::size_t states_ = 1;           ///< per ideal
    std::vector<Bundle> bundles_;
    std::vector<std::vector<std::pair<std::size_t, bool>>>
        touched_;                      ///< [part]: bundles, and whether it produces them
    std::vector<double> reference_s_;  ///< [part]: the least time on any device
    std::vector<double> bytes_;        ///< [part]
    std::vector<double> left_s_;       ///< [ideal]: reference time of the parts outside of it
    double total_s_ = 0;
    std::vector<double> path_s_;  ///< [ideal]: reference time of the longest path outside of it

    std::stop_token stop_;
    double threshold_s_ = 0;
    std::vector<Entry> table_;  ///< [ideal * states + state]
    std::uint32_t source_ = 0;
    std::vector<std::size_t> alive_, open_classes_;
    double least_value_s_ = 0;           ///< for latency: smallest value of the states alive
    std::vector<Load> loads_;            ///< [depth * open classes + open class]
    std::vector<std::uint32_t> inside_;  ///< [bundle]: readers in the current set
    std::vector<bool> has_producer_;     ///< [bundle]
};

}  // namespace

AlgorithmInfo ideals_dp_algorithm() {
    return describe(
        "ideals-dp", "Ideals DP",
        "Finds the contiguous split with the least max load or block latency by dynamic programming over "
        "ideals of the graph (Tarnawski et al., 2020).",
        ideals_schema(), [](const SearchContext& context, const IdealsOptions& options) {
            const bool for_latency =
                context.objective != nullptr && context.objective->evaluate == block_latency;
            const auto program = std::make_shared<IdealsProgram>(
                DeviceChoices(context.problem, options.allow_cpu), options, for_latency);
            return propose_until_fits(
                [program](double, const std::stop_token& stop) { return program->placement(stop); }, 1);
        });
}

}  // namespace placewright
