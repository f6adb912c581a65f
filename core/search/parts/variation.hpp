// SPDX-License-Identifier: MIT
// Moves, mutation, crossover and selection, shared by the searches. A gene is the device of a group.
// Placements that DeviceChoices allows stay allowed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {

/// Moves one group to another device.
struct Move {
    GroupId group = 0;
    DeviceId device = 0;

    bool operator==(const Move&) const = default;
};

/// Returns a random group that has a choice, and a device that it may use and is not on. choices.movable()
/// must not be empty.
Move random_move(std::span<const DeviceId> placement, const DeviceChoices& choices, Random& random);

/// Returns a number from 1 to `most`, on any scale with the same probability: log-uniform.
std::size_t any_scale(std::size_t most, Random& random);

/// Mutates each gene in turn: with probability `copy_rate` it takes the device that its left neighbour had
/// before the mutation, otherwise with probability `rate` a random device (maybe the same). The first gene
/// has no left neighbour and is mutated with `rate` only.
void mutate_genes(std::span<DeviceId> placement, double rate, double copy_rate, const DeviceChoices& choices,
                  Random& random);

/// Zone mutation (Exprimo, section 3.2.2): a run of genes goes to one device, a choice of the first of them.
/// The start is uniform, the length geometric with mean 5, cut off at the end. Genes that may not be on the
/// device stay.
void mutate_zone(std::span<DeviceId> placement, const DeviceChoices& choices, Random& random);

/// Moves everything on one random device in use to another device in use; nothing changes if only one is in
/// use.
void mutate_replace(std::span<DeviceId> placement, const DeviceChoices& choices, Random& random);

enum class CrossoverType : std::uint8_t { one_point, n_point, uniform };

inline const std::vector<std::string> kCrossoverNames{"one-point", "n-point", "uniform"};
CrossoverType crossover_from(std::string_view name);

/// Exchanges genes of two placements of equal length. n-point: `points` different cut points, every second
/// piece between them is exchanged; one-point: the part behind one cut; uniform: each gene with probability
/// 1/2.
void cross(CrossoverType type, std::size_t points, std::span<DeviceId> a, std::span<DeviceId> b,
           Random& random);

/// Selection probability of each rank, worst first: (2 - s) / n + 2 i (s - 1) / (n (n - 1)), with selection
/// pressure s in [1, 2]. Baker (1985), as in Eiben and Smith, Introduction to Evolutionary Computing, section
/// 5.2.2.
std::vector<double> linear_ranking(std::size_t count, double pressure);

/// Selection probability of each rank, worst first: proportional to base^(n - 1 - i), with base in (0, 1]; 1
/// is uniform. Blickle and Thiele, A comparison of selection schemes used in evolutionary algorithms (1996).
std::vector<double> exponential_ranking(std::size_t count, double base);

/// `count` indices drawn with the given probabilities (which sum to 1) by one spin of `count` evenly spaced
/// arms: each index is drawn its expected number of times, rounded up or down. Ascending. Baker (1987).
std::vector<std::size_t> universal_sampling(std::span<const double> chances, std::size_t count,
                                            Random& random);

/// Returns the best of `size` random indices below `count`, drawn with replacement; the first drawn of
/// equals.
template <class Better>
std::size_t tournament(std::size_t count, std::size_t size, Better&& better, Random& random) {
    std::size_t winner = random.index(count);
    for (std::size_t i = 1; i < size; ++i) {
        const std::size_t rival = random.index(count);
        if (better(rival, winner)) winner = rival;
    }
    return winner;
}

}  // namespace placewright
