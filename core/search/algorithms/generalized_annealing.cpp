// SPDX-License-Identifier: MIT
#include "core/search/algorithms/generalized_annealing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/infinity.hpp"
#include "core/search/parts/neighbourhood.hpp"

namespace placewright {
namespace {

constexpr double kLongestJump =
    1e8;  ///< longer jumps have no significant digits left when they are taken modulo the range

}  // namespace

VisitingDistribution::VisitingDistribution(double q) : q_(q) {
    // A normal number over a power of another, times (a / b)^((q-1)/(3-q)) T^(1/(3-q)) with
    // a = sqrt(pi) (q-1)^(4-q) / (2^((2-q)/(q-1)) (3-q)), b = Gamma(1/(q-1) - 1/2).
    const double a =
        std::sqrt(std::numbers::pi) * std::pow(q - 1, 4 - q) / (std::pow(2, (2 - q) / (q - 1)) * (3 - q));
    const double b = std::tgamma(1 / (q - 1) - 0.5);
    scale_ = std::pow(a / b, (q - 1) / (3 - q));
}

double VisitingDistribution::draw(double temperature, Random& random) const {
    const double x = random.normal(0, 1);
    const double y = std::abs(random.normal(0, 1));
    return scale_ * std::pow(temperature, 1 / (3 - q_)) * x / std::pow(y, (q_ - 1) / (3 - q_));
}

double visiting_temperature(double first, double q, std::uint64_t step) {
    return first * (std::pow(2, q - 1) - 1) / (std::pow(1 + static_cast<double>(step), q - 1) - 1);
}

double generalized_acceptance(double q, double rise, double temperature) {
    const double bracket = 1 - (1 - q) * rise / temperature;
    return bracket <= 0 ? 0 : std::pow(bracket, 1 / (1 - q));
}

namespace {

/// Visits 2 n placements at each temperature, with n genes: all genes jump in the first n visits, then one
/// gene per visit.
class GeneralizedAnnealing final : public Optimizer {
public:
    GeneralizedAnnealing(const SearchContext& context, const GeneralizedAnnealingOptions& options)
        : choices_(context.problem, options.allow_cpu),
          options_(options),
          random_(context.seed),
          visiting_(options.visiting_q) {
        starts_ = first_placements(choices_, checked_seeds(context), options.start, random_);
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (!starts_.empty()) return std::span(starts_).first(std::min(limit, starts_.size()));
        if (choices_.movable().empty()) return {};
        visit();
        return {&visited_, 1};
    }

    const Placement* base(std::size_t /*i*/) const override {
        return starts_.empty() && visit_ >= choices_.movable().size() ? &current_ : nullptr;
    }

    void tell(std::span<const Score> scores) override {
        if (!starts_.empty()) {
            tell_starts(scores);
            return;
        }
        if (accepts(1000 * (scores[0].penalised_s - current_s_))) {
            current_ = visited_;
            current_position_ = visited_position_;
            current_s_ = scores[0].penalised_s;
        }
        if (++visit_ == 2 * choices_.movable().size()) cool();
    }

private:
    void tell_starts(std::span<const Score> scores) {
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (!(scores[i].penalised_s < current_s_)) continue;
            current_ = starts_[i];
            current_s_ = scores[i].penalised_s;
        }
        starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(scores.size()));
        if (starts_.empty()) current_position_ = device_numbers(choices_, current_);
    }

    double temperature() const {
        return visiting_temperature(options_.start_temperature, options_.visiting_q, step_);
    }

    void visit() {
        const std::size_t genes = choices_.movable().size();
        visited_ = current_;
        visited_position_ = current_position_;
        if (visit_ >= genes) {
            jump(visit_ - genes);
        } else {
            for (std::size_t gene = 0; gene < genes; ++gene) jump(gene);
        }
    }

    /// Devices are numbers in [0, n - 1]; a jump beyond an end wraps around.
    void jump(std::size_t gene) {
        const GroupId group = choices_.movable()[gene];
        const auto devices = choices_.of(group);
        const auto range = static_cast<double>(devices.size() - 1);
        double by = visiting_.draw(temperature(), random_);
        if (!(std::abs(by) <= kLongestJump)) by = std::copysign(kLongestJump * random_.uniform(), by);
        const double position = std::fmod(std::fmod(visited_position_[gene] + by, range) + range, range);
        visited_position_[gene] = position;
        visited_[group] = devices[static_cast<std::size_t>(std::lround(position))];
    }

    bool accepts(double rise_ms) {
        if (rise_ms < 0) return true;
        return random_.uniform() <= generalized_acceptance(options_.acceptance_q, rise_ms,
                                                           temperature() / static_cast<double>(step_));
    }

    void cool() {
        visit_ = 0;
        ++step_;
        if (temperature() >= options_.start_temperature * options_.restart_temperature_ratio) return;
        step_ = 1;
        starts_ = {choices_.random_placement(random_)};
        current_s_ = kInfinity;
    }

    DeviceChoices choices_;
    GeneralizedAnnealingOptions options_;
    Random random_;
    VisitingDistribution visiting_;
    std::vector<Placement> starts_;  ///< not yet scored
    Placement current_, visited_;
    std::vector<double> current_position_, visited_position_;  ///< [movable group]
    double current_s_ = kInfinity;
    std::uint64_t step_ = 1;
    std::size_t visit_ = 0;  ///< in this temperature step
};

}  // namespace

std::unique_ptr<Optimizer> generalized_annealing(const SearchContext& context,
                                                 const GeneralizedAnnealingOptions& options) {
    return std::make_unique<GeneralizedAnnealing>(context, options);
}

}  // namespace placewright
