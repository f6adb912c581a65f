// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {
namespace {

struct LinearSearchOptions {
    std::size_t batch_size = 256;
    bool allow_cpu = true;  // the optimum may need one
};

const OptionSchema<LinearSearchOptions>& linear_search_schema() {
    using Options = LinearSearchOptions;
    static const auto schema = OptionSchema<Options>{}
                                   .add("batch_size", &Options::batch_size, 1, 1024,
                                        "Placements scored at a time; the result does not depend on it.")
                                   .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Counts through the devices of the movable groups like an odometer, the last group fastest.
class LinearSearch final : public Optimizer {
public:
    LinearSearch(const SearchContext& context, const LinearSearchOptions& options)
        : choices_(context.problem, options.allow_cpu),
          batch_size_(options.batch_size),
          next_(choices_.groups()) {
        for (GroupId group = 0; group < next_.size(); ++group) next_[group] = choices_.of(group).front();
        choice_.assign(choices_.movable().size(), 0);
    }

    std::span<const Placement> ask(std::size_t limit) override {
        batch_.clear();
        while (!ended_ && batch_.size() < std::min(limit, batch_size_)) {
            batch_.push_back(next_);
            step();
        }
        return batch_;
    }

    /// The placements that follow it differ in the last groups only.
    const Placement* base(std::size_t /*i*/) const override {
        return batch_.empty() ? nullptr : &batch_.front();
    }

    void tell(std::span<const Score>) override {}

private:
    void step() {
        for (std::size_t i = choice_.size(); i-- > 0;) {
            const GroupId group = choices_.movable()[i];
            const auto devices = choices_.of(group);
            choice_[i] = (choice_[i] + 1) % devices.size();
            next_[group] = devices[choice_[i]];
            if (choice_[i] != 0) return;
        }
        ended_ = true;
    }

    DeviceChoices choices_;
    std::size_t batch_size_;
    Placement next_;
    std::vector<std::size_t> choice_;  ///< of each movable group in next_
    bool ended_ = false;
    std::vector<Placement> batch_;
};

}  // namespace

AlgorithmInfo linear_search_algorithm() {
    return describe<LinearSearch>("linear-search", "Linear search",
                                  "Scores every placement in turn; finds the optimum if the budget covers "
                                  "them all, which is practical up to a dozen "
                                  "ops.",
                                  linear_search_schema());
}

}  // namespace placewright
