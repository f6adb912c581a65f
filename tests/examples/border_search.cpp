// SPDX-License-Identifier: MIT
#include "tests/examples/border_search.hpp"

#include <algorithm>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright::examples {
namespace {

// 1. The options, and their schema: names, ranges and help. The command line and the window read it.
struct BorderOptions {
    bool allow_cpu = false;
    std::size_t batch_size = 16;
    std::size_t longest_shift = 8;
};

const OptionSchema<BorderOptions>& border_schema() {
    using Options = BorderOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp)
            .add("batch_size", &Options::batch_size, 1, 1024, "Placements proposed at a time.")
            .add("longest_shift", &Options::longest_shift, 1, 1000, "Most groups that a border moves by.");
    return schema;
}

// 2. The optimizer. ask() proposes, tell() learns; it never simulates. All randomness comes from the seed.
class BorderSearch final : public Optimizer {
public:
    BorderSearch(const SearchContext& context, const BorderOptions& options)
        : choices_(context.problem, options.allow_cpu), options_(options), random_(context.seed) {
        // Groups in the order in which the network first computes them.
        std::vector<bool> seen(choices_.groups());
        for (const GroupId group : context.problem->grouping.group_of) {
            if (!seen[group]) order_.push_back(group);
            seen[group] = true;
        }
        const std::size_t pieces = choices_.devices().size();
        for (std::size_t i = 1; i < pieces; ++i) best_.push_back(order_.size() * i / pieces);
    }

    std::span<const Placement> ask(std::size_t limit) override {
        cuts_.clear();
        batch_.clear();
        const bool begins = best_score_s_ == kInfinity;
        if (!begins && best_.empty())
            return {};  // one device: there is no border, and nothing more to propose
        const std::size_t count = begins ? 1 : std::min(limit, options_.batch_size);
        for (std::size_t i = 0; i < count; ++i) {
            cuts_.push_back(begins ? best_ : with_a_border_moved());
            batch_.push_back(placement_of(cuts_.back()));
        }
        return batch_;
    }

    void tell(std::span<const Score> scores) override {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            // As good is good enough: where no single step helps, it walks on.
            if (scores[i].penalised_s > best_score_s_) continue;
            best_score_s_ = scores[i].penalised_s;
            best_ = cuts_[i];
        }
    }

private:
    using Cuts = std::vector<std::size_t>;  ///< ascending positions in order_, one between two devices

    Cuts with_a_border_moved() {
        Cuts cuts = best_;
        std::size_t& border = cuts[random_.index(cuts.size())];
        const std::size_t shift = 1 + random_.index(options_.longest_shift);
        border = random_.chance(0.5) ? border + shift : border - std::min(border, shift);
        border = std::min(border, order_.size());
        std::ranges::sort(cuts);
        return cuts;
    }

    Placement placement_of(const Cuts& cuts) const {
        Placement placement(choices_.groups());
        std::size_t piece = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            while (piece < cuts.size() && i >= cuts[piece]) ++piece;
            const GroupId group = order_[i];
            const DeviceId device = choices_.devices()[piece];
            placement[group] = choices_.allows(group, device) ? device : choices_.fastest(group);
        }
        return placement;
    }

    DeviceChoices choices_;
    BorderOptions options_;
    Random random_;
    std::vector<GroupId> order_;
    Cuts best_;
    double best_score_s_ = kInfinity;
    std::vector<Cuts> cuts_;        ///< [placement of the batch]
    std::vector<Placement> batch_;  ///< valid until tell()
};

}  // namespace

// 3. Its description, which the list of algorithms takes.
AlgorithmInfo border_search_algorithm() {
    return describe<BorderSearch>(
        "border-search", "Border search",
        "Cuts the network into one piece for each device and moves one border at a time.", border_schema());
}

}  // namespace placewright::examples
