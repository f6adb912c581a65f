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

/// The three dimensions of Exprimo, section 3.2.3, and two more, each cut off at size - 1:
///   most used device   the device (position m of n in DeviceChoices::devices()) that holds the most groups,
///                      the first of equals; index round(m / n * size)
///   devices used       index round((used - 1) / n * size)
///   jumps              edges between groups whose ends are on different devices, as a share of all such
///                      edges (of the forward ops); index round(share * (size - 1))
///   crossing bytes     sum over all tensors of a batch and all devices that a tensor is sent to. Placements
///                      worth keeping differ by factors, so cells double: index 0 for none, the last one up
///                      to the most that can cross, each cell before it up to half as much
///   balance            how much work the other devices do beside the one that works longest: (sum of the
///                      seconds of all devices / seconds of that device - 1) / (n - 1), between 0 (one
///                      device does all) and 1 (all work equally long); index round(share * (size - 1))
class Niches {
public:
    using Indices = std::array<std::uint32_t, 5>;

    /// Sizes in the order above. 0 stands for the number of devices that `choices` uses (at most 256) in the
    /// first two, and leaves a dimension out in the last two. Throws OptionError for more than
    /// ArchiveView::kMostCells cells.
    Niches(const DeviceChoices& choices, Indices sizes);

    /// O(groups + edges); 0 in dimensions that are left out.
    Indices indices(std::span<const DeviceId> placement) const;

    /// Row-major, the last dimension fastest.
    std::uint32_t cell(std::span<const DeviceId> placement) const;

    std::uint32_t cells() const;

    std::vector<ArchiveView::Dimension> dimensions() const;

    /// What the last two dimensions divide into cells; 0 without the dimension.
    double crossing_bytes(std::span<const DeviceId> placement) const;
    double balance(std::span<const DeviceId> placement) const;

private:
    /// A tensor, or several with the same readers.
    struct Message {
        GroupId producer = 0;
        std::vector<GroupId> readers;  ///< others than the producer, ascending
        double bytes = 0;
    };
    Indices sizes_;  ///< 1 for a dimension that is left out
    bool has_crossing_, has_balance_;
    std::vector<std::string> names_;       ///< of the devices, by position
    bool alike_ = true;                    ///< the devices have the same description but for their names
    std::vector<std::uint32_t> position_;  ///< [device]; devices that the choices leave out come last
    std::vector<std::pair<GroupId, GroupId>> edges_;
    std::vector<Message> messages_;
    double most_crossing_bytes_ = 0;
    std::vector<double> group_time_s_;  ///< [group * devices + device]
};

}  // namespace placewright
