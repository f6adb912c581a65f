// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "core/base/infinity.hpp"
#include "core/search/algorithms/algorithm_infos.hpp"
#include "core/search/parts/neighbourhood.hpp"

namespace placewright {
namespace {

// The weights are those of Clerc and Kennedy (2002), for which a swarm converges; Exprimo names none that do.
struct ParticleSwarmOptions {
    std::size_t swarm_size = 50;
    double inertia = 0.7298;
    double personal_weight = 1.49618;
    double swarm_weight = 1.49618;
    double largest_step = 0.5;
    std::size_t patience = 100;
    bool include_trivial_solutions = true;
    bool allow_cpu = false;
};

const OptionSchema<ParticleSwarmOptions>& particle_swarm_schema() {
    using Options = ParticleSwarmOptions;
    static const auto schema =
        OptionSchema<Options>{}
            .add("swarm_size", &Options::swarm_size, 1, 100'000,
                 "Number of particles, at least one for each start placement.")
            .add("inertia", &Options::inertia, 0, 1, "Share of its velocity that a particle keeps (w).")
            .add("personal_weight", &Options::personal_weight, 0, 10,
                 "Pull towards the best position of the particle (l1).")
            .add("swarm_weight", &Options::swarm_weight, 0, 10,
                 "Pull towards the best position of the swarm (l2).")
            .add("largest_step", &Options::largest_step, 0.01, 1,
                 "Longest step of an op per iteration, as a share of the range of its devices.")
            .add("patience", &Options::patience, 0, 1e9,
                 "Iterations without a better placement after which the swarm restarts at random and keeps "
                 "only its best position; 0: never.")
            .add("include_trivial_solutions", &Options::include_trivial_solutions,
                 "Start the first particles at the placements with everything on one device.")
            .add("allow_cpu", &Options::allow_cpu, kAllowCpuHelp);
    return schema;
}

/// Kennedy and Eberhart (1995), as in Exprimo, but minimising, with one best position per particle and one
/// velocity per op. A device is a number in [0, n - 1] that is rounded, with n devices of the group.
class ParticleSwarm final : public Optimizer {
public:
    ParticleSwarm(const SearchContext& context, const ParticleSwarmOptions& options)
        : choices_(context.problem, options.allow_cpu), options_(options), random_(context.seed) {
        std::vector<Placement> starts = checked_seeds(context);
        if (options.include_trivial_solutions) {
            for (Placement& placement : choices_.on_each_device()) starts.push_back(std::move(placement));
        }
        particles_.resize(std::max(options.swarm_size, starts.size()));
        placements_.resize(particles_.size());
        for (std::size_t i = 0; i < particles_.size(); ++i) {
            if (i < starts.size()) {
                settle(particles_[i], starts[i]);
                placements_[i] = starts[i];
            } else {
                throw_anew(i);
            }
        }
    }

    std::span<const Placement> ask(std::size_t limit) override {
        if (scored_ == particles_.size()) {
            if (choices_.movable().empty()) return {};
            iterate();
        }
        return std::span(placements_).subspan(scored_, std::min(limit, placements_.size() - scored_));
    }

    void tell(std::span<const Score> scores) override {
        for (const Score& score : scores) {
            Particle& particle = particles_[scored_++];
            if (score.penalised_s < particle.best_s) {
                particle.best_s = score.penalised_s;
                particle.best = particle.position;
            }
            if (score.penalised_s < best_s_) {
                best_s_ = score.penalised_s;
                best_ = particle.position;
                without_gain_ = 0;
            }
        }
    }

private:
    struct Particle {
        std::vector<double> position, velocity, best;  ///< [movable group]
        double best_s = kInfinity;
    };

    double range(std::size_t gene) const {
        return static_cast<double>(choices_.of(choices_.movable()[gene]).size() - 1);
    }

    Placement placement_at(const std::vector<double>& position) const {
        Placement placement(choices_.groups());
        for (GroupId group = 0; group < placement.size(); ++group)
            placement[group] = choices_.of(group).front();
        for (std::size_t gene = 0; gene < position.size(); ++gene) {
            const GroupId group = choices_.movable()[gene];
            placement[group] = choices_.of(group)[static_cast<std::size_t>(std::lround(position[gene]))];
        }
        return placement;
    }

    /// Puts a particle at rest at a placement.
    void settle(Particle& particle, const Placement& placement) const {
        particle.position = device_numbers(choices_, placement);
        particle.velocity.assign(particle.position.size(), 0);
    }

    void throw_anew(std::size_t index) {
        Particle particle;
        for (std::size_t gene = 0; gene < choices_.movable().size(); ++gene) {
            particle.position.push_back(random_.uniform(0, range(gene)));
            particle.velocity.push_back(random_.uniform(-1, 1) * options_.largest_step * range(gene));
        }
        placements_[index] = placement_at(particle.position);
        particles_[index] = std::move(particle);
    }

    void iterate() {
        scored_ = 0;
        if (options_.patience > 0 && ++without_gain_ > options_.patience) {
            without_gain_ = 0;
            for (std::size_t i = 0; i < particles_.size(); ++i) throw_anew(i);
            return;
        }
        for (std::size_t i = 0; i < particles_.size(); ++i) {
            fly(particles_[i]);
            placements_[i] = placement_at(particles_[i].position);
        }
    }

    void fly(Particle& particle) {
        for (std::size_t gene = 0; gene < particle.position.size(); ++gene) {
            double& position = particle.position[gene];
            double& velocity = particle.velocity[gene];
            const double most = options_.largest_step * range(gene);
            velocity = options_.inertia * velocity +
                       options_.personal_weight * random_.uniform() * (particle.best[gene] - position) +
                       options_.swarm_weight * random_.uniform() * (best_[gene] - position);
            velocity = std::clamp(velocity, -most, most);
            position = std::clamp(position + velocity, 0.0, range(gene));
        }
    }

    DeviceChoices choices_;
    ParticleSwarmOptions options_;
    Random random_;
    std::vector<Particle> particles_;
    std::vector<Placement> placements_;  ///< [particle]
    std::size_t scored_ = 0;             ///< number of particles scored in this iteration
    std::vector<double> best_;
    double best_s_ = kInfinity;
    std::size_t without_gain_ = 0;  ///< in iterations
};

}  // namespace

AlgorithmInfo particle_swarm_algorithm() {
    return describe<ParticleSwarm>(
        "particle-swarm", "Particle swarm",
        "Particle swarm optimization: placements move towards their own best position and that of the "
        "swarm (Kennedy and Eberhart, 1995; Exprimo).",
        particle_swarm_schema());
}

}  // namespace placewright
