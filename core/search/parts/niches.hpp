// SPDX-License-Identifier: MIT
// Behaviour space of MAP-Elites: kinds of placements, independent of their score.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/search/optimizer.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {

/// The niches of Exprimo, section 3.2.3, three dimensions:
///   most used device   the device (position m of n in DeviceChoices::devices()) that holds the most groups,
///   the first of equals;
///                      index round(m / n * size)
///   devices used       index round((used - 1) / n * size)
///   jumps              edges between groups whose ends are on different devices, as a share of all such
///   edges (of the forward ops);
///                      index round(share * (size - 1))
/// each cut off at size - 1.
class Niches {
public:
    using Indices = std::array<std::uint32_t, 3>;

    /// Sizes in the order above; 0 stands for the number of devices that `choices` uses.
    Niches(const DeviceChoices& choices, Indices sizes);

    /// O(groups + edges).
    Indices indices(std::span<const DeviceId> placement) const;

    /// Row-major, the last dimension fastest.
    std::uint32_t cell(std::span<const DeviceId> placement) const;

    std::uint32_t cells() const { return sizes_[0] * sizes_[1] * sizes_[2]; }

    std::vector<ArchiveView::Dimension> dimensions() const;

private:
    Indices sizes_;
    std::vector<std::string> names_;       ///< of the devices, by position
    bool alike_ = true;                    ///< the devices have the same description but for their names
    std::vector<std::uint32_t> position_;  ///< [device]; devices that the choices leave out come last
    std::vector<std::pair<GroupId, GroupId>> edges_;
};

}  // namespace placewright
