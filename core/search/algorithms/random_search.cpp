// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/choices.hpp"

namespace placewright {
namespace {

struct RandomOptions {
    bool allow_cpu = false;
    std::size_t batch_size = 256;
};

const OptionSchema<RandomOptions>& random_schema() {
    static const auto schema = OptionSchema<RandomOptions>{}
                                   .add("allow_cpu", &RandomOptions::allow_cpu, kAllowCpuHelp)
                                   .add("batch_size", &RandomOptions::batch_size, 1, 1024,
                                        "Placements scored at a time; the result does not depend on it.");
    return schema;
}

class RandomSearch final : public Optimizer {
public:
    RandomSearch(const SearchContext& context, const RandomOptions& options)
        : choices_(context.problem, options.allow_cpu), options_(options), random_(context.seed) {}

    std::span<const Placement> ask(std::size_t limit) override {
        batch_.resize(std::min(limit, options_.batch_size));
        seeds_.resize(batch_.size());
        for (std::uint64_t& seed : seeds_) seed = random_.bits();
        for_each(batch_.size(), [&](std::size_t i) {
            Random own(seeds_[i]);
            batch_[i] = choices_.random_placement(own);
        });
        return batch_;
    }

    void tell(std::span<const Score>) override {}

private:
    DeviceChoices choices_;
    RandomOptions options_;
    Random random_;
    std::vector<Placement> batch_;
    std::vector<std::uint64_t> seeds_;  ///< [placement of the batch]
};

}  // namespace

AlgorithmInfo random_algorithm() {
    return describe<RandomSearch>("random", "Random", "Places every op on a random device, again and again.",
                                  random_schema());
}

}  // namespace placewright
