// SPDX-License-Identifier: MIT
#include "core/search/obeying_optimizer.hpp"

#include <map>
#include <utility>

namespace placewright {
namespace {

class ObeyingOptimizer final : public Optimizer {
public:
    ObeyingOptimizer(std::shared_ptr<const Problem> problem, std::unique_ptr<Optimizer> inner)
        : problem_(std::move(problem)), inner_(std::move(inner)) {}

    std::span<const Placement> ask(std::size_t limit) override {
        inner_->stop_on(stop());
        inner_->work_with(workers());
        const auto proposed = inner_->ask(limit);
        batch_.clear();
        for (const Placement& placement : proposed) batch_.push_back(obeying(*problem_, placement));
        bases_.clear();
        base_of_.clear();
        for (std::size_t i = 0; i < proposed.size(); ++i) {
            const Placement* const base = inner_->base(i);
            base_of_.push_back(base);
            if (base != nullptr && !bases_.contains(base)) bases_.emplace(base, obeying(*problem_, *base));
        }
        return batch_;
    }

    void used(double share) override { inner_->used(share); }
    const Placement* base(std::size_t i) const override {
        return base_of_[i] == nullptr ? nullptr : &bases_.at(base_of_[i]);
    }
    void tell(std::span<const Score> scores) override { inner_->tell(scores); }

    bool proposes_ahead() const override { return inner_->proposes_ahead(); }
    std::span<const Scored> counted() const override {
        counted_ = obeying_all(inner_->counted());
        return counted_;
    }
    std::vector<Scored> uncounted() const override { return obeying_all(inner_->uncounted()); }

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
    /// The scores are those of the mended placements, which are the same for the same proposals.
    std::vector<Scored> obeying_all(std::span<const Scored> scored) const {
        std::vector<Scored> result;
        mended_.clear();
        for (const Scored& each : scored) mended_.push_back(obeying(*problem_, *each.placement));
        for (std::size_t i = 0; i < scored.size(); ++i) result.push_back({&mended_[i], scored[i].score});
        return result;
    }

    std::shared_ptr<const Problem> problem_;
    std::unique_ptr<Optimizer> inner_;
    std::vector<Placement> batch_;
    std::map<const Placement*, Placement> bases_;  ///< of the algorithm: mended
    std::vector<const Placement*> base_of_;        ///< [placement of the batch]
    mutable std::vector<Placement> mended_;        ///< that counted_ points to
    mutable std::vector<Scored> counted_;
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
