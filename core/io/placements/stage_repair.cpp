// SPDX-License-Identifier: MIT
// The nearest placement that is a chain of stages.
#include <algorithm>
#include <compare>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/io/placements/split_points.hpp"
#include "core/io/placements/stages.hpp"

namespace placewright {
namespace {

/// What it takes to move ops: the time of those that move, then their number. Times are whole ticks
/// (Problem::tick_s), so that sums and differences are exact.
struct MoveCost {
    double seconds = 0;
    double ops = 0;

    MoveCost operator+(const MoveCost& other) const { return {seconds + other.seconds, ops + other.ops}; }
    MoveCost operator-(const MoveCost& other) const { return {seconds - other.seconds, ops - other.ops}; }
    auto operator<=>(const MoveCost&) const = default;
};

constexpr MoveCost kNever{std::numeric_limits<double>::infinity(), 0};

/// What must fit a device's memory, as far as it is known before a simulation.
enum class HeldByStage : std::uint8_t { nothing, parameters, parameters_and_activations };

class StageRepair {
public:
    explicit StageRepair(const PlacedNetwork& placed)
        : problem_(*placed.problem),
          placement_(placed.placement),
          ops_(staged_ops(*problem_.graph)),
          sides_(*problem_.graph, ops_),
          can_cut_(ops_.size(), true),
          groups_at_(ops_.size()) {
        find_groups();
        for (std::size_t i = 1; i < ops_.size(); ++i) can_cut_[i] = can_cut_[i] && !sides_.at(i).empty();
        order_devices();
    }

    /// Returns the nearest chain of stages in which each stage's share of memory fits; nothing if there is
    /// none.
    std::optional<Placement> nearest(HeldByStage held) {
        if (ops_.empty()) return constants_with_readers(problem_, placement_);
        for (;;) {
            const auto stages = assign(held);
            if (!stages) return {};
            std::vector<std::vector<ModuleSide>> sides;
            for (const Stage& stage : *stages) {
                if (stage.begin > 0) sides.push_back(sides_.at(stage.begin));
            }
            const NamedCuts named = name_cuts(sides);
            if (named.unnamed.empty()) return placement_of(*stages);
            can_cut_[(*stages)[named.unnamed.front() + 1].begin] = false;
        }
    }

private:
    struct Stage {
        std::size_t begin = 0, end = 0;  ///< positions of its ops
        DeviceId device = 0;
    };

    GroupId group_of(OpId op) const { return problem_.grouping.group_of[op]; }

    /// Finds the position at which each group begins. A group is not cut.
    void find_groups() {
        std::vector<std::size_t> first(problem_.groups, ops_.size()), last(problem_.groups, 0);
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            const GroupId group = group_of(ops_[i]);
            first[group] = std::min(first[group], i);
            last[group] = i;
        }
        std::size_t end = 0;  // of the groups that began before
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            const GroupId group = group_of(ops_[i]);
            can_cut_[i] = i > end || i == 0;
            end = std::max(end, last[group]);
            if (first[group] == i) groups_at_[i].push_back(group);
        }
    }

    /// Orders the devices in use by the median position of their ops.
    void order_devices() {
        std::vector<std::vector<std::size_t>> positions(problem_.devices);
        for (std::size_t i = 0; i < ops_.size(); ++i) positions[placement_[group_of(ops_[i])]].push_back(i);
        for (DeviceId device = 0; device < problem_.devices; ++device) {
            if (!positions[device].empty()) devices_.push_back(device);
        }
        std::ranges::stable_sort(
            devices_, {}, [&](DeviceId device) { return positions[device][positions[device].size() / 2]; });
    }

    double bytes(GroupId group, HeldByStage held) const {
        double sum = 0;
        for (const OpId op : problem_.grouping.members[group]) {
            if (held != HeldByStage::nothing) sum += problem_.end_bytes(op);
            if (held != HeldByStage::parameters_and_activations || problem_.inference ||
                problem_.graph->op(op).phase != Phase::forward)
                continue;
            for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1];
                 ++tensor)
                sum += problem_.output_bytes[tensor];
        }
        return sum;
    }

    /// What it takes to have the ops up to each cut on one device.
    struct Tenure {
        std::vector<MoveCost> before;    ///< [cut]: of moving all ops before it there
        std::vector<std::size_t> first;  ///< [cut]: a stage that ends there may begin at this cut or later
    };

    Tenure tenure(DeviceId device, const std::vector<std::size_t>& cuts, HeldByStage held) const {
        Tenure result{std::vector<MoveCost>(cuts.size()), std::vector<std::size_t>(cuts.size())};
        std::vector<double> bytes_before(cuts.size());
        for (std::size_t cut = 1; cut < cuts.size(); ++cut) {
            MoveCost& cost = result.before[cut] = result.before[cut - 1];
            std::size_t& first = result.first[cut] = result.first[cut - 1];
            bytes_before[cut] = bytes_before[cut - 1];
            for (std::size_t i = cuts[cut - 1]; i < cuts[cut]; ++i) {
                for (const GroupId group : groups_at_[i]) {
                    bytes_before[cut] += bytes(group, held);
                    if (!std::ranges::binary_search(problem_.allowed_devices(group), device)) first = cut;
                    if (placement_[group] != device)
                        cost = cost + MoveCost{problem_.group_time_s(group, placement_[group]), 1};
                }
            }
            while (held != HeldByStage::nothing && first < cut &&
                   bytes_before[cut] - bytes_before[first] > problem_.memory_limit_bytes[device])
                ++first;
        }
        return result;
    }

    /// The last stage of the best stages up to a cut, and the stages before it.
    struct Step {
        std::size_t state = 0;  ///< of the stages before
        std::size_t begin = 0;  ///< cut at which the stage begins
        DeviceId device = 0;
    };
    /// The best stages up to each cut on some of the devices.
    struct State {
        std::vector<MoveCost> cost;  ///< [cut]
        std::vector<Step> last;      ///< [cut]
    };

    /// Improves a state by stages that end with one on a device, after the stages of an earlier state. The
    /// best begin of a stage is the minimum of a sliding window. O(cuts).
    static void extend(State& state, const std::vector<State>& states, std::size_t from, DeviceId device,
                       const Tenure& tenure) {
        const State& earlier = states[from];
        const auto key = [&](std::size_t cut) { return earlier.cost[cut] - tenure.before[cut]; };
        std::deque<std::size_t> window;  // cuts at which the stage may begin, the best first
        for (std::size_t cut = 0; cut < state.cost.size(); ++cut) {
            while (!window.empty() && window.front() < tenure.first[cut]) window.pop_front();
            if (!window.empty()) {
                const MoveCost cost = key(window.front()) + tenure.before[cut];
                if (cost < state.cost[cut])
                    state.cost[cut] = cost, state.last[cut] = {from, window.front(), device};
            }
            // The stages of the earlier state alone.
            if (earlier.cost[cut] < state.cost[cut])
                state.cost[cut] = earlier.cost[cut], state.last[cut] = earlier.last[cut];
            if (earlier.cost[cut] == kNever) continue;
            while (!window.empty() && key(cut) < key(window.back())) window.pop_back();
            window.push_back(cut);
        }
    }

    /// Cuts the ops into at most one stage for each device so that the moves cost least. Dynamic programming
    /// over sets of devices, or, if there are many, over the devices in the order of devices_.
    /// O(2^devices * devices * ops), and O(devices * ops).
    std::optional<std::vector<Stage>> assign(HeldByStage held) const {
        constexpr std::size_t kFew = 7;
        const std::size_t count = devices_.size();
        std::vector<std::size_t> cuts;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            if (can_cut_[i]) cuts.push_back(i);
        }
        cuts.push_back(ops_.size());
        std::vector<Tenure> tenures;
        for (const DeviceId device : devices_) tenures.push_back(tenure(device, cuts, held));

        const State none{std::vector<MoveCost>(cuts.size(), kNever), std::vector<Step>(cuts.size())};
        std::vector<State> states{none};
        states.front().cost.front() = {};
        while (states.size() < (count <= kFew ? std::size_t{1} << count : count + 1)) {
            State state = none;
            const std::size_t set = states.size();
            for (std::size_t d = 0; d < count; ++d) {
                const bool last = count <= kFew ? (set >> d & 1) != 0 : d + 1 == set;
                const std::size_t from = count <= kFew ? set & ~(std::size_t{1} << d) : d;
                if (last) extend(state, states, from, devices_[d], tenures[d]);
            }
            states.push_back(std::move(state));
        }
        if (states.back().cost.back() == kNever) return {};
        std::vector<Stage> stages;
        std::size_t end = cuts.size() - 1;
        for (const State* state = &states.back(); end > 0;) {
            const Step& step = state->last[end];
            stages.push_back({cuts[step.begin], cuts[end], step.device});
            end = step.begin;
            state = &states[step.state];
        }
        std::ranges::reverse(stages);
        return stages;
    }

    /// Inputs and parameters that were with a reader and no longer are follow the first one.
    Placement placement_of(const std::vector<Stage>& stages) const {
        Placement placement = placement_;
        std::vector<bool> staged(problem_.groups);
        for (const Stage& stage : stages) {
            for (std::size_t i = stage.begin; i < stage.end; ++i) {
                placement[group_of(ops_[i])] = stage.device;
                staged[group_of(ops_[i])] = true;
            }
        }
        const Graph& graph = *problem_.graph;
        for (OpId op = 0; op < graph.size(); ++op) {
            const GroupId group = group_of(op);
            if (staged[group] || graph.op(op).phase != Phase::forward) continue;
            const auto is_with = [&](const Placement& where) {
                return std::ranges::any_of(graph.consumers(op), [&](OpId reader) {
                    return staged[group_of(reader)] && where[group_of(reader)] == placement_[group];
                });
            };
            if (!is_with(placement_) || is_with(placement)) continue;
            const auto reader =
                std::ranges::find_if(graph.consumers(op), [&](OpId id) { return staged[group_of(id)]; });
            const DeviceId device = placement[group_of(*reader)];
            if (std::ranges::binary_search(problem_.allowed_devices(group), device))
                placement[group] = device;
        }
        return constants_with_readers(problem_, std::move(placement));
    }

    const Problem& problem_;
    const Placement& placement_;
    const std::vector<OpId> ops_;
    const ModuleSides sides_;
    std::vector<bool> can_cut_;                    ///< [position]: before its op
    std::vector<std::vector<GroupId>> groups_at_;  ///< [position]: the groups whose first op is there
    std::vector<DeviceId> devices_;
};

}  // namespace

Placement in_stages(const PlacedNetwork& placed) {
    StageRepair repair(placed);
    std::optional<Placement> nearest;
    for (const HeldByStage held :
         {HeldByStage::nothing, HeldByStage::parameters, HeldByStage::parameters_and_activations}) {
        auto placement = repair.nearest(held);
        if (!placement) continue;
        if (!nearest) nearest = placement;
        if (Simulator(placed.problem, placed.simulation).run(*placement).fits) {
            nearest = std::move(placement);
            break;
        }
    }
    if (!nearest)
        throw PlacementError("no chain of stages keeps to the devices that are allowed for its ops");
    check_placement(*placed.problem, *nearest);
    return *std::move(nearest);
}

}  // namespace placewright
