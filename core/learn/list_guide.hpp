// SPDX-License-Identifier: MIT
// The list policy as a guide of searches: it proposes placements to start from, and decides anew on parts of
// placements (a large neighbourhood search: Shaw, 1998, with the policy as the heuristic that completes).
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/learn/list_policy.hpp"
#include "core/search/guide.hpp"

namespace placewright {

class ListGuide final : public SearchGuide {
public:
    ListGuide(std::shared_ptr<const PolicyGraph> graph, const ListNetwork& network,
              std::span<const float> weights);

    std::vector<Placement> starts(std::size_t count, Random& random, const std::stop_token& stop) override;
    /// Decides anew on a run of groups in the policy's order, or on the groups that are nearest to one.
    bool move(std::span<DeviceId> placement, Random& random) override;

private:
    using Decoder = std::unique_ptr<ListDecoder>;

    /// Takes a decoder that no other thread uses, a new one if all are in use.
    Decoder borrow();
    void give_back(Decoder decoder);

    std::shared_ptr<const PolicyGraph> graph_;
    ListNetwork network_;
    std::vector<float> weights_;
    std::mutex mutex_;
    std::vector<Decoder> decoders_;  ///< not in use; guarded by mutex_
    std::vector<GroupId> movable_;   ///< in the policy's order
};

}  // namespace placewright
