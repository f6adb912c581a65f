// SPDX-License-Identifier: MIT
#include "core/search/parts/variation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placewright {
namespace {

constexpr double kMeanZoneLength = 5;

}  // namespace

std::size_t any_scale(std::size_t most, Random& random) {
    const double drawn = std::exp(random.uniform() * std::log(static_cast<double>(most) + 1));
    return std::clamp(static_cast<std::size_t>(drawn), std::size_t{1}, most);
}

Move random_move(std::span<const DeviceId> placement, const DeviceChoices& choices, Random& random) {
    const GroupId group = random.pick(choices.movable());
    const std::span<const DeviceId> devices = choices.of(group);
    const auto here = std::find(devices.begin(), devices.end(), placement[group]);
    if (here == devices.end()) return {group, random.pick(devices)};
    const std::size_t other = random.index(devices.size() - 1);
    return {group, devices[other + (other >= static_cast<std::size_t>(here - devices.begin()) ? 1 : 0)]};
}

void mutate_genes(std::span<DeviceId> placement, double rate, double copy_rate, const DeviceChoices& choices,
                  Random& random) {
    // One draw decides between copy, random and neither: `rate` is the probability of a random device if
    // there is no copy.
    const double random_below = copy_rate + (1 - copy_rate) * rate;
    // Goes from right to left, so that the left neighbour is still unchanged.
    for (std::size_t i = placement.size(); i-- > 1;) {
        const double draw = random.uniform();
        const auto group = static_cast<GroupId>(i);
        const bool copies = draw < copy_rate;
        if (!copies && draw < random_below) {
            placement[i] = choices.random_device(group, random);
        } else {
            // Chosen without a branch, which with the thesis's rates would be mispredicted at every second
            // op.
            const bool moves = copies & choices.allows(group, placement[i - 1]);
            placement[i] = placement[i - static_cast<std::size_t>(moves)];
        }
    }
    if (random.chance(rate)) placement[0] = choices.random_device(0, random);
}

void mutate_zone(std::span<DeviceId> placement, const DeviceChoices& choices, Random& random) {
    const std::size_t start = random.index(placement.size());
    const std::size_t end = std::min(placement.size(), start + random.geometric(1 / kMeanZoneLength));
    const DeviceId device = choices.random_device(static_cast<GroupId>(start), random);
    for (std::size_t i = start; i < end; ++i) {
        if (choices.allows(static_cast<GroupId>(i), device)) placement[i] = device;
    }
}

void mutate_replace(std::span<DeviceId> placement, const DeviceChoices& choices, Random& random) {
    std::vector<bool> used(choices.problem().devices, false);
    for (const DeviceId device : placement) used[device] = true;
    std::vector<DeviceId> present;
    for (std::size_t device = 0; device < used.size(); ++device) {
        if (used[device]) present.push_back(static_cast<DeviceId>(device));
    }
    if (present.size() < 2) return;
    random.shuffle(std::span(present));
    const DeviceId from = present[0], to = present[1];
    for (std::size_t i = 0; i < placement.size(); ++i) {
        if (placement[i] == from && choices.allows(static_cast<GroupId>(i), to)) placement[i] = to;
    }
}

CrossoverType crossover_from(std::string_view name) {
    const auto found = std::find(kCrossoverNames.begin(), kCrossoverNames.end(), name);
    return static_cast<CrossoverType>(found - kCrossoverNames.begin());
}

void cross(CrossoverType type, std::size_t points, std::span<DeviceId> a, std::span<DeviceId> b,
           Random& random) {
    const auto exchange = [&](std::size_t begin, std::size_t end) {
        std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(begin),
                         a.begin() + static_cast<std::ptrdiff_t>(end),
                         b.begin() + static_cast<std::ptrdiff_t>(begin));
    };
    const std::size_t genes = a.size();
    if (type == CrossoverType::uniform) {
        for (std::size_t i = 0; i < genes; ++i) {
            if (random.chance(0.5)) exchange(i, i + 1);
        }
        return;
    }
    if (genes < 2) return;
    if (type == CrossoverType::one_point || points == 1) {
        exchange(1 + random.index(genes - 1), genes);
        return;
    }
    std::vector<std::size_t> cuts(genes - 1);
    std::iota(cuts.begin(), cuts.end(), std::size_t{1});
    random.shuffle(std::span(cuts));
    cuts.resize(std::min(points, cuts.size()));
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i < cuts.size(); i += 2)
        exchange(cuts[i], i + 1 < cuts.size() ? cuts[i + 1] : genes);
}

std::vector<double> linear_ranking(std::size_t count, double pressure) {
    if (count < 2) return std::vector<double>(count, 1.0);
    const auto n = static_cast<double>(count);
    std::vector<double> chances(count);
    for (std::size_t i = 0; i < count; ++i) {
        chances[i] = (2 - pressure) / n + 2 * static_cast<double>(i) * (pressure - 1) / (n * (n - 1));
    }
    return chances;
}

std::vector<double> exponential_ranking(std::size_t count, double base) {
    std::vector<double> chances(count);
    for (std::size_t i = 0; i < count; ++i) chances[i] = std::pow(base, static_cast<double>(count - 1 - i));
    const double sum = std::accumulate(chances.begin(), chances.end(), 0.0);
    for (double& chance : chances) chance /= sum;
    return chances;
}

std::vector<std::size_t> universal_sampling(std::span<const double> chances, std::size_t count,
                                            Random& random) {
    std::vector<std::size_t> drawn;
    drawn.reserve(count);
    const double spin = random.uniform();
    double reached = 0;
    for (std::size_t i = 0; i < chances.size(); ++i) {
        reached += chances[i] * static_cast<double>(count);
        // The last index takes what rounding leaves.
        while (drawn.size() < count &&
               (spin + static_cast<double>(drawn.size()) < reached || i + 1 == chances.size()))
            drawn.push_back(i);
    }
    return drawn;
}

}  // namespace placewright
