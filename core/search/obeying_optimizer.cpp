// SPDX-License-Identifier: MIT
#include "core/search/obeying_optimizer.hpp"

#include <utility>

namespace placewright {
namespace {

class ObeyingOptimizer final : public Optimizer {
public:
    ObeyingOptimizer(std::shared_ptr<const Problem> problem, std::unique_ptr<Optimizer> inner)
        : problem_(std::move(problem)), inner_(std::move(inner)) {}

    std::span<const Placement> ask(std::size_t limit) override {
        inner_->stop_on(stop());
        const auto proposed = inner_->ask(limit);
        batch_.clear();
        for (const Placement& placement : proposed) batch_.push_back(obeying(*problem_, placement));
        if (const Placement* const base = inner_->base()) {
            base_ = obeying(*problem_, *base);
        } else {
            base_.reset();
        }
        return batch_;
    }

    void used(double share) override { inner_->used(share); }
    const Placement* base() const override { return base_ ? &*base_ : nullptr; }
    void tell(std::span<const Score> scores) override { inner_->tell(scores); }
    void learn(std::span<const Placement> placements, std::span<const Score> scores) override {
        inner_->learn(placements, scores);
    }

    std::shared_ptr<const ArchiveView> archive() const override {
        const std::shared_ptr<const ArchiveView> view = inner_->archive();
        if (view == inner_view_) return view_;
        inner_view_ = view;
        view_ = nullptr;
        if (view == nullptr) return nullptr;
        auto repaired = std::make_shared<ArchiveView>(*view);
        for (ArchiveView::Elite& elite : repaired->elites) {
            if (elite.placement)
                elite.placement = std::make_shared<const Placement>(obeying(*problem_, *elite.placement));
        }
        view_ = std::move(repaired);
        return view_;
    }

    std::shared_ptr<const DistributionView> distribution() const override { return inner_->distribution(); }
    std::shared_ptr<const std::vector<TrainingPoint>> training() const override { return inner_->training(); }
    double lower_bound_s() const override { return inner_->lower_bound_s(); }

private:
    std::shared_ptr<const Problem> problem_;
    std::unique_ptr<Optimizer> inner_;
    std::vector<Placement> batch_;
    std::optional<Placement> base_;
    /// Snapshots of the archive: the elites of the algorithm, and what was scored for them.
    mutable std::shared_ptr<const ArchiveView> inner_view_, view_;
};

}  // namespace

OptimizerFactory obeying_rules(OptimizerFactory make) {
    return [make = std::move(make)](const SearchContext& context,
                                    const OptionValues& values) -> std::unique_ptr<Optimizer> {
        std::unique_ptr<Optimizer> optimizer = make(context, values);
        if (context.problem->apart.empty()) return optimizer;
        return std::make_unique<ObeyingOptimizer>(context.problem, std::move(optimizer));
    };
}

}  // namespace placewright
