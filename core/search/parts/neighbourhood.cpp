// SPDX-License-Identifier: MIT
#include "core/search/parts/neighbourhood.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "core/search/parts/branches.hpp"
#include "core/search/parts/variation.hpp"

namespace placewright {
namespace {

/// Adds the groups of each scope and of each of its prefixes: "a/b/c" is in "a", "a/b" and "a/b/c".
void add_scopes(const Problem& problem, std::set<std::vector<GroupId>>& pieces) {
    std::map<std::string_view, std::vector<GroupId>> members;
    for (OpId id = 0; id < problem.forward->size(); ++id) {
        const std::string_view scope = problem.forward->op(id).scope;
        for (std::size_t end = 0; end < scope.size(); ++end) {
            end = std::min(scope.find('/', end), scope.size());
            members[scope.substr(0, end)].push_back(problem.grouping.group_of[id]);
        }
    }
    for (auto& [scope, groups] : members) pieces.insert(std::move(groups));
}

/// Adds the parallel branches, including those within branches.
void add_branches(const Problem& problem, std::set<std::vector<GroupId>>& pieces) {
    const Graph& graph = *problem.forward;
    Branch all;
    for (OpId id = 0; id < graph.size(); ++id) {
        if (graph.op(id).phase == Phase::forward) all.push_back(id);
    }
    std::vector<Branch> open{std::move(all)};
    std::size_t edges_left = edges_for_blocks(graph);
    while (!open.empty()) {
        const Branch part = std::move(open.back());
        open.pop_back();
        for (Block& block : parallel_blocks(graph, part, edges_left)) {
            for (Branch& branch : block) {
                std::vector<GroupId> groups;
                for (const OpId op : branch) groups.push_back(problem.grouping.group_of[op]);
                pieces.insert(std::move(groups));
                if (branch.size() < part.size()) open.push_back(std::move(branch));
            }
        }
    }
}

/// Cuts the order into one part per device, with weights in the ratio of `shares`.
Placement split(const DeviceChoices& choices, std::span<const GroupId> order, std::span<const double> weight,
                std::span<const DeviceId> devices, std::span<const double> shares) {
    const double weight_sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    const double share_sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    Placement placement(choices.groups());
    std::size_t part = 0;
    double before = 0, end_of_part = weight_sum * shares[0] / share_sum;
    for (const GroupId group : order) {
        // A group belongs to the part that contains its middle.
        while (part + 1 < devices.size() && before + weight[group] / 2 > end_of_part) {
            end_of_part += weight_sum * shares[++part] / share_sum;
        }
        placement[group] = choices.allows(group, devices[part]) ? devices[part] : choices.fastest(group);
        before += weight[group];
    }
    return placement;
}

/// Maximum draws of a move that changes nothing, before a single move is made instead.
constexpr std::size_t kMostTries = 16;
/// Share of the moves whose kind is drawn uniformly, so that no kind is forgotten.
constexpr double kEvenShare = 0.6;
/// Factor by which a record decays at each further move of its kind.
constexpr double kRecordMemory = 0.98;
/// Number of moves per kind that are assumed to have been as good as the mean.
constexpr double kPriorMoves = 20;

}  // namespace

std::vector<GroupId> depth_first_order(const Problem& problem) {
    const Graph& graph = *problem.forward;
    std::vector<std::size_t> missing(graph.size());
    std::vector<OpId> open;
    for (OpId id = static_cast<OpId>(graph.size()); id-- > 0;) {
        missing[id] = graph.producers(id).size();
        if (missing[id] == 0) open.push_back(id);
    }
    std::vector<GroupId> order;
    std::vector<bool> met(problem.groups, false);
    const auto meet = [&](GroupId group) {
        if (!met[group]) order.push_back(group);
        met[group] = true;
    };
    while (!open.empty()) {
        const OpId id = open.back();
        open.pop_back();
        meet(problem.grouping.group_of[id]);
        const auto consumers = graph.consumers(id);
        for (std::size_t i = consumers.size(); i-- > 0;) {
            if (--missing[consumers[i]] == 0) open.push_back(consumers[i]);
        }
    }
    for (GroupId group = 0; group < problem.groups; ++group) meet(group);
    return order;
}

std::vector<Placement> contiguous_splits(const DeviceChoices& choices) {
    const Problem& problem = choices.problem();
    const std::vector<GroupId> order = depth_first_order(problem);
    const std::vector<DeviceId> devices = choices.fastest_first();
    std::vector<double> time_s(problem.groups), bytes(problem.groups, 0), speed, memory_bytes;
    for (GroupId group = 0; group < problem.groups; ++group)
        time_s[group] = problem.group_time_s(group, choices.fastest(group));
    for (OpId op = 0; op < problem.ops; ++op) {
        double& sum = bytes[problem.grouping.group_of[op]];
        sum += problem.resident_bytes[op];
        for (TensorId t = problem.output_begin[op]; t < problem.output_begin[op + 1]; ++t)
            sum += problem.output_bytes[t];
    }
    for (const DeviceId device : devices) {
        const Placement alone = choices.on_one_device(device);
        double sum_s = 0;
        for (GroupId group = 0; group < problem.groups; ++group)
            sum_s += problem.group_time_s(group, alone[group]);
        speed.push_back(sum_s > 0 ? 1 / sum_s : 1);
        memory_bytes.push_back(problem.memory_limit_bytes[device]);
    }
    std::vector<Placement> splits;
    const auto add = [&](std::span<const double> weight, std::span<const double> shares, std::size_t parts) {
        Placement placement =
            split(choices, order, weight, std::span(devices).first(parts), shares.first(parts));
        if (std::find(splits.begin(), splits.end(), placement) == splits.end())
            splits.push_back(std::move(placement));
    };
    for (std::size_t parts = 1; parts <= devices.size(); ++parts) add(time_s, speed, parts);
    const auto bounded = [](double limit) { return limit > 0 && std::isfinite(limit); };
    if (!std::all_of(memory_bytes.begin(), memory_bytes.end(), bounded)) return splits;
    for (std::size_t parts = 2; parts <= devices.size(); ++parts) add(bytes, memory_bytes, parts);
    return splits;
}

std::vector<Placement> first_placements(const DeviceChoices& choices, std::vector<Placement> seeds,
                                        const std::string& start, Random& random) {
    if (start == "random") return {choices.random_placement(random)};
    if (start == "single-device") return {choices.on_one_device(choices.fastest_first().front())};
    for (Placement& split : contiguous_splits(choices)) {
        if (std::find(seeds.begin(), seeds.end(), split) == seeds.end()) seeds.push_back(std::move(split));
    }
    return seeds;
}

std::vector<double> device_numbers(const DeviceChoices& choices, std::span<const DeviceId> placement) {
    std::vector<double> numbers;
    for (const GroupId group : choices.movable()) {
        const auto devices = choices.of(group);
        const auto here = std::find(devices.begin(), devices.end(), placement[group]);
        numbers.push_back(here == devices.end() ? 0 : static_cast<double>(here - devices.begin()));
    }
    return numbers;
}

Neighbourhood::Neighbourhood(const DeviceChoices& choices, double block_moves,
                             std::shared_ptr<SearchGuide> guide)
    : choices_(choices), block_moves_(block_moves), guide_(std::move(guide)) {
    if (block_moves == 0) return;
    const Problem& problem = choices.problem();
    const auto fixed = [&](GroupId group) { return choices.of(group).size() < 2; };
    order_ = depth_first_order(problem);
    std::erase_if(order_, fixed);
    std::set<std::vector<GroupId>> pieces;
    add_scopes(problem, pieces);
    add_branches(problem, pieces);
    std::set<std::vector<GroupId>> movable;
    for (std::vector<GroupId> piece : pieces) {
        std::erase_if(piece, fixed);
        std::ranges::sort(piece);
        piece.erase(std::unique(piece.begin(), piece.end()), piece.end());
        if (piece.size() > 1) movable.insert(std::move(piece));
    }
    pieces_.assign(movable.begin(), movable.end());
}

void Neighbourhood::move(std::span<DeviceId> placement, Random& random) const {
    if (order_.size() > 1 && random.chance(block_moves_)) {
        const std::size_t blocks = kMoveKinds - (pieces_.empty() ? 2 : 1);
        if (move(static_cast<MoveKind>(1 + random.index(blocks)), placement, random)) return;
    }
    move(MoveKind::single, placement, random);
}

MoveKind Neighbourhood::move(std::span<DeviceId> placement, const MoveChances& chances,
                             Random& random) const {
    for (std::size_t i = 0; i < kMostTries; ++i) {
        const MoveKind kind = chances.draw(random);
        if (move(kind, placement, random)) return kind;
    }
    move(MoveKind::single, placement, random);
    return MoveKind::single;
}

bool Neighbourhood::move(MoveKind kind, std::span<DeviceId> placement, Random& random) const {
    const auto run_to_device = [&](Run run) {
        return put(groups(run), device_for(run, placement, random), placement);
    };
    switch (kind) {
        case MoveKind::run:
            return run_to_device(random_run(random));
        case MoveKind::stage:
            return run_to_device(random_stage(placement, random));
        case MoveKind::boundary:
            return shift_boundary(placement, random);
        case MoveKind::swap:
            return swap_devices(placement, random);
        case MoveKind::piece: {
            if (pieces_.empty()) return false;
            const std::vector<GroupId>& piece = pieces_[random.index(pieces_.size())];
            return put(piece, choices_.random_device(random.pick(std::span(piece)), random), placement);
        }
        case MoveKind::guided:
            return guide_ != nullptr && guide_->move(placement, random);
        case MoveKind::single:
            break;
    }
    const Move move = random_move(placement, choices_, random);
    placement[move.group] = move.device;
    return true;
}

bool Neighbourhood::shift_boundary(std::span<DeviceId> placement, Random& random) const {
    const std::size_t end = random_stage(placement, random).end;
    if (end == order_.size()) return false;
    const std::size_t length = any_scale(order_.size(), random);
    if (random.chance(0.5))
        return put(groups({end, std::min(end + length, order_.size())}), placement[order_[end - 1]],
                   placement);
    return put(groups({end - std::min(end, length), end}), placement[order_[end]], placement);
}

bool Neighbourhood::swap_devices(std::span<DeviceId> placement, Random& random) const {
    const Run run = random_run(random);
    const DeviceId a = placement[order_[run.begin + random.index(run.end - run.begin)]];
    const DeviceId b = random.pick(choices_.devices());
    bool changed = false;
    for (const GroupId group : groups(run)) {
        const DeviceId here = placement[group];
        const DeviceId to = here == a ? b : a;
        if ((here != a && here != b) || to == here || !choices_.allows(group, to)) continue;
        placement[group] = to;
        changed = true;
    }
    return changed;
}

Neighbourhood::Run Neighbourhood::random_run(Random& random) const {
    const std::size_t begin = random.index(order_.size());
    return {begin, std::min(begin + any_scale(order_.size(), random), order_.size())};
}

Neighbourhood::Run Neighbourhood::random_stage(std::span<const DeviceId> placement, Random& random) const {
    const std::size_t middle = random.index(order_.size());
    const DeviceId device = placement[order_[middle]];
    Run run{middle, middle + 1};
    while (run.begin > 0 && placement[order_[run.begin - 1]] == device) --run.begin;
    while (run.end < order_.size() && placement[order_[run.end]] == device) ++run.end;
    return run;
}

DeviceId Neighbourhood::device_for(Run run, std::span<const DeviceId> placement, Random& random) const {
    if (random.chance(0.5)) {
        const bool before = random.chance(0.5);
        if (before && run.begin > 0) return placement[order_[run.begin - 1]];
        if (!before && run.end < order_.size()) return placement[order_[run.end]];
    }
    return choices_.random_device(order_[run.begin], random);
}

bool Neighbourhood::put(std::span<const GroupId> groups, DeviceId device,
                        std::span<DeviceId> placement) const {
    bool changed = false;
    for (const GroupId group : groups) {
        if (placement[group] == device || !choices_.allows(group, device)) continue;
        placement[group] = device;
        changed = true;
    }
    return changed;
}

MoveKind MoveChances::draw(Random& random) const {
    double draw = random.uniform();
    std::size_t kind = 0;
    while (kind + 1 < kinds_ && (draw -= chances_[kind]) >= 0) ++kind;
    return static_cast<MoveKind>(kind);
}

void MoveChances::learn(MoveKind kind, bool improved) {
    Record& record = records_[static_cast<std::size_t>(kind)];
    record.moves = kRecordMemory * record.moves + 1;
    record.improved = kRecordMemory * record.improved + (improved ? 1 : 0);
    Record all;
    for (const Record& each : records_) {
        all.moves += each.moves;
        all.improved += each.improved;
    }
    if (all.improved == 0) return;
    const double mean = all.improved / all.moves;
    std::array<double, kMoveKinds + 1> rates{};
    for (std::size_t i = 0; i < kinds_; ++i) {
        rates[i] = (records_[i].improved + kPriorMoves * mean) / (records_[i].moves + kPriorMoves);
    }
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    for (std::size_t i = 0; i < kinds_; ++i)
        chances_[i] = kEvenShare / static_cast<double>(kinds_) + (1 - kEvenShare) * rates[i] / sum;
}

}  // namespace placewright
