// SPDX-License-Identifier: MIT
#include "core/learn/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/search/threads.hpp"

namespace placewright {
namespace {

/// A separate stream of random numbers for each draw, so that results do not depend on who draws, and when.
Random stream(std::uint64_t seed, std::uint64_t update, std::uint64_t worker) {
    return Random(seed + update * 0x9fb21c651e98df25ULL + (worker + 1) * 0xd6e8feb86659fd93ULL);
}

/// Serialised bytes that peers exchange.
class Writer {
public:
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
    }
    template <class T>
    void put(const std::vector<T>& values) {
        put(values.size());
        const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
        bytes_.insert(bytes_.end(), bytes, bytes + values.size() * sizeof(T));
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

class BytesReader {
public:
    explicit BytesReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool done() const { return bytes_.empty(); }
    template <class T>
    T get() {
        T value;
        copy(&value, sizeof(T));
        return value;
    }
    template <class T>
    std::vector<T> get_all() {
        const auto count = get<std::size_t>();
        if (count > bytes_.size() / sizeof(T))
            throw std::runtime_error("a process of the training sent less than it announced");
        std::vector<T> values(count);
        copy(values.data(), values.size() * sizeof(T));
        return values;
    }

private:
    void copy(void* to, std::size_t size) {
        if (size > bytes_.size())
            throw std::runtime_error("a process of the training sent less than it announced");
        if (size > 0) std::memcpy(to, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
    }

    std::span<const std::byte> bytes_;
};

}  // namespace

double policy_cost(const Score& score, double reference_s) {
    constexpr double kLinear = 10;
    const double cost = score.penalised_s / reference_s;
    return cost <= kLinear ? cost : kLinear + std::log(cost / kLinear);
}

Trainer::Trainer(std::shared_ptr<const Policy> policy, TrainingOptions options,
                 std::vector<TrainingGraph> graphs, std::uint64_t seed,
                 std::optional<std::uint64_t> planned_updates, unsigned threads, TrainingPeers* peers)
    : policy_(std::move(policy)),
      options_(std::move(options)),
      graphs_(std::move(graphs)),
      seed_(seed),
      planned_(std::max<std::uint64_t>(planned_updates.value_or(options_.updates), 1)),
      threads_(usable_threads(threads)),
      peers_(peers) {
    state_.weights = policy_->initial_weights(seed);
    state_.first_moments.resize(state_.weights.size());
    state_.second_moments.resize(state_.weights.size());
    state_.returns.resize(graphs_.size());
    state_.averages.resize(graphs_.size());
    state_.best.resize(graphs_.size());
}

void Trainer::restore(TrainingState state) {
    if (state.weights.size() != policy_->size() || state.first_moments.size() != policy_->size() ||
        state.second_moments.size() != policy_->size())
        throw std::invalid_argument("the state has " + std::to_string(state.weights.size()) +
                                    " weights, the policy " + std::to_string(policy_->size()));
    if (state.returns.size() != graphs_.size() || state.averages.size() != graphs_.size() ||
        state.best.size() != graphs_.size())
        throw std::invalid_argument("the state is of " + std::to_string(state.best.size()) +
                                    " graphs, this training has " + std::to_string(graphs_.size()));
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
        for (const auto& episode : state.returns[i]) {
            if (episode.size() != return_count(i))
                throw std::invalid_argument("the state has " + std::to_string(episode.size()) +
                                            " returns of an episode of " + graphs_[i].name +
                                            ", where there are " + std::to_string(return_count(i)));
        }
        if (!state.best[i].placement.empty())
            check_placement(graphs_[i].graph->choices.problem(), state.best[i].placement);
    }
    state_ = std::move(state);
    drawn_ = false;
}

double Trainer::schedule(double first, double last) const {
    const double done =
        share_.value_or(std::min(1.0, static_cast<double>(state_.updates) / static_cast<double>(planned_)));
    return first + (last - first) * done;
}

bool Trainer::only_imitates() const {
    return !policy_->improves() && options_.final_imitation >= 1 &&
           schedule(options_.imitation, options_.final_imitation) >= 1;
}

Placement Trainer::start(std::size_t graph, Random& random) const {
    const DeviceChoices& choices = graphs_[graph].graph->choices;
    if (options_.start == "random") return choices.random_placement(random);
    if (options_.start == "fixed") {
        Random fixed = stream(seed_, ~std::uint64_t{0}, graph);
        return choices.random_placement(fixed);
    }
    if (options_.start == "best" && !state_.best[graph].placement.empty())
        return state_.best[graph].placement;
    return choices.on_one_device(choices.fastest_first().front());
}

void Trainer::show(std::vector<KnownPlacement> known) {
    if (peers_ != nullptr) {
        Writer writer;
        for (const KnownPlacement& each : known) {
            writer.put(each.graph);
            writer.put(each.best.placement);
            writer.put(each.best.score);
        }
        known.clear();
        for (const auto& bytes : peers_->exchange(writer.take())) {
            BytesReader reader(bytes);
            while (!reader.done()) {
                KnownPlacement& each = known.emplace_back();
                each.graph = reader.get<std::size_t>();
                each.best.placement = reader.get_all<DeviceId>();
                each.best.score = reader.get<Score>();
            }
        }
    }
    for (KnownPlacement& each : known) {
        BestPlacement& best = state_.best.at(each.graph);
        if (best.placement.empty() || each.best.score.penalised_s < best.score.penalised_s)
            best = std::move(each.best);
    }
}

Episode Trainer::draw(std::uint32_t worker) const {
    // Goes through all graphs in turn, in a new order each time.
    const std::uint64_t number = (state_.updates * options_.workers + worker) / options_.graph_episodes;
    std::vector<std::size_t> turns(graphs_.size());
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    Random turn = stream(seed_, number / graphs_.size(), ~std::uint64_t{0} - 1);
    turn.shuffle(std::span(turns));

    Episode episode{
        .worker = worker, .graph = turns[number % graphs_.size()], .rollout = {}, .placements = {}};
    const PolicyGraph& graph = *graphs_[episode.graph].graph;
    // The same for all workers with this graph, whose episodes are compared.
    Random common = stream(seed_, number, ~std::uint64_t{0} - 2);
    Random random = stream(seed_, state_.updates, worker);
    if (!policy_->improves() && random.chance(schedule(options_.imitation, options_.final_imitation))) {
        const std::size_t shown = random.index(graphs_.size());
        if (const Placement& best = state_.best[shown].placement; !best.empty()) {
            const PolicyGraph& its = *graphs_[shown].graph;
            std::vector<GroupId> order = decision_order(its, 1);
            if (policy_->completes() && !order.empty() && random.chance(0.5))
                order = random_part(its, order, order.size(), random);
            episode.graph = shown;
            episode.rollout = policy_->leading_to(its, best, order);
            return episode;
        }
    }
    Placement first = start(episode.graph, random);
    std::vector<GroupId> order =
        decision_order(graph, options_.passes, options_.order == "shuffled" ? &random : nullptr);
    if (policy_->completes() && !order.empty() && common.chance(options_.part_episodes)) {
        const Placement& best = state_.best[episode.graph].placement;
        first =
            best.empty() || common.chance(0.5)
                ? last_placement(graph, policy_->roll_out(graph, state_.weights, first, order, common, false))
                : best;
        order = random_part(graph, order, order.size(), common);
    }
    episode.rollout = policy_->roll_out(graph, state_.weights, first, order, random, false);
    if (policy_->improves() && options_.reward != "terminal") {
        const std::vector<Placement> along = placements_along(graph, episode.rollout);
        for (std::size_t i = 0; i < along.size(); ++i) {
            if (i % options_.reward_interval == 0 || i + 1 == along.size())
                episode.placements.push_back(along[i]);
        }
    } else {
        episode.placements = {last_placement(graph, episode.rollout)};
    }
    return episode;
}

std::span<const Episode> Trainer::begin(const std::stop_token& stop) {
    if (drawn_) return episodes_;
    const std::uint32_t ranks = peers_ != nullptr ? peers_->size() : 1,
                        rank = peers_ != nullptr ? peers_->rank() : 0;
    std::vector<std::uint32_t> workers;
    for (std::uint32_t worker = 0; worker < options_.workers; ++worker) {
        if (worker / policy_->batch_size() % ranks == rank) workers.push_back(worker);
    }
    episodes_.assign(workers.size(), {});
    tbb::task_arena(static_cast<int>(threads_)).execute([&] {
        tbb::parallel_for(std::size_t{0}, workers.size(), [&](std::size_t i) {
            if (!stop.stop_requested()) episodes_[i] = draw(workers[i]);
        });
    });
    if (stop.stop_requested()) return {};
    drawn_ = true;
    return episodes_;
}

std::size_t Trainer::return_count(std::size_t graph) const {
    if (!policy_->improves() || options_.reward == "terminal") return 1;
    return std::max<std::size_t>(1, graphs_[graph].graph->choices.movable().size() * options_.passes);
}

std::uint64_t Trainer::evaluations_per_update() const {
    if (!policy_->improves() || options_.reward == "terminal") return options_.workers;
    double mean = 0;
    for (const TrainingGraph& item : graphs_) {
        const auto decisions = static_cast<double>(item.graph->choices.movable().size() * options_.passes);
        mean += std::ceil(decisions / options_.reward_interval) / static_cast<double>(graphs_.size());
    }
    return options_.workers * (1 + static_cast<std::uint64_t>(mean));
}

/// Returns by decision. If only the last placement was scored, for terminal rewards, there is one return.
/// Otherwise the placements before the first decision, after every reward_interval decisions and after the
/// last were scored: all decisions between two of them have the same reward, which comes with the last of
/// them.
std::vector<double> Trainer::returns(std::span<const double> costs, std::size_t decisions) const {
    if (costs.empty()) return {};
    if (costs.size() == 1) return {-costs.front()};
    std::vector<double> values(decisions);
    double later = 0, least = costs.back();
    for (std::size_t i = costs.size() - 1; i-- > 0;) {
        const std::size_t begin = i * options_.reward_interval,
                          end = std::min(decisions, begin + options_.reward_interval);
        least = std::min(least, costs[i + 1]);
        later =
            costs[i] - costs[i + 1] + std::pow(options_.discount, static_cast<double>(end - begin)) * later;
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(begin),
                  values.begin() + static_cast<std::ptrdiff_t>(end),
                  options_.reward == "best" ? costs[i] - least : later);
    }
    return values;
}

/// Gives every rank the costs of all workers, ordered by worker.
std::vector<Trainer::Outcome> Trainer::gather(std::vector<Outcome> own) {
    if (peers_ == nullptr) return own;
    Writer writer;
    for (const Outcome& outcome : own) {
        writer.put(outcome.worker);
        writer.put(outcome.graph);
        writer.put(outcome.costs);
        writer.put(outcome.last_cost);
        writer.put(outcome.best.placement);
        writer.put(outcome.best.score);
    }
    std::vector<Outcome> all;
    for (const auto& bytes : peers_->exchange(writer.take())) {
        BytesReader reader(bytes);
        while (!reader.done()) {
            Outcome outcome;
            outcome.worker = reader.get<std::uint32_t>();
            outcome.graph = reader.get<std::size_t>();
            outcome.costs = reader.get_all<double>();
            outcome.last_cost = reader.get<double>();
            outcome.best.placement = reader.get_all<DeviceId>();
            outcome.best.score = reader.get<Score>();
            all.push_back(std::move(outcome));
        }
    }
    std::ranges::sort(all, {}, &Outcome::worker);
    return all;
}

std::vector<std::vector<double>> Trainer::advantages(std::span<const Outcome> outcomes) {
    std::vector<std::vector<double>> values;
    for (const Outcome& outcome : outcomes)
        values.push_back(returns(outcome.costs, return_count(outcome.graph)));

    // The newest episodes count towards the baseline.
    if (options_.baseline == "steps") {
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (values[i].empty()) continue;
            auto& kept = state_.returns[outcomes[i].graph];
            kept.push_back(values[i]);
        }
        for (auto& kept : state_.returns) {
            const std::size_t most = std::max(options_.baseline_episodes, std::uint32_t{1});
            if (kept.size() > most) kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(most));
        }
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const auto& kept = state_.returns[outcomes[i].graph];
            for (std::size_t step = 0; step < values[i].size(); ++step) {
                double sum = 0;
                for (const auto& episode : kept) sum += episode[step];
                values[i][step] -= sum / static_cast<double>(kept.size());
            }
        }
    } else if (options_.baseline == "moving-average") {
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (values[i].empty()) continue;
            TrainingState::Average& average = state_.averages[outcomes[i].graph];
            const double mean = std::accumulate(values[i].begin(), values[i].end(), 0.0) /
                                static_cast<double>(values[i].size());
            average.value = average.episodes == 0 ? mean
                                                  : options_.baseline_decay * average.value +
                                                        (1 - options_.baseline_decay) * mean;
            ++average.episodes;
        }
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            for (double& value : values[i]) value -= state_.averages[outcomes[i].graph].value;
        }
    } else {
        // "batch": over all graphs; "graph": over the episodes of the same one.
        const bool together = options_.baseline == "batch";
        std::vector<double> sums(graphs_.size()), counts(graphs_.size());
        const auto at = [&](std::size_t i) { return together ? 0 : outcomes[i].graph; };
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            for (const double value : values[i]) sums[at(i)] += value, ++counts[at(i)];
        }
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            for (double& value : values[i]) value -= sums[at(i)] / counts[at(i)];
        }
    }

    if (options_.standardize) {
        // Standardises per graph: placements that do not fit the memory deviate far more than others and
        // would drown them. Graphs with few decisions, such as a single decision on a whole placement, have
        // too few values for their own deviation, which would leave nothing but signs.
        const double enough = options_.baseline == "graph" ? 4 : 16;
        std::vector<double> squares(graphs_.size()), counts(graphs_.size());
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            for (const double value : values[i]) squares[outcomes[i].graph] += value * value;
            counts[outcomes[i].graph] += static_cast<double>(values[i].size());
        }
        double small_squares = 0, small_count = 0;
        for (std::size_t graph = 0; graph < graphs_.size(); ++graph) {
            if (counts[graph] >= enough) continue;
            small_squares += squares[graph];
            small_count += counts[graph];
        }
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const std::size_t graph = outcomes[i].graph;
            const double square =
                counts[graph] >= enough ? squares[graph] / counts[graph] : small_squares / small_count;
            const double deviation = std::sqrt(square);
            for (double& value : values[i]) value = deviation > 1e-12 ? value / deviation : 0;
        }
    }
    for (auto& episode : values) {
        if (episode.empty()) episode = {1};  // shows a placement
    }
    return values;
}

/// Writes the mean over all workers to `gradient`, always summed in their order.
GradientSummary Trainer::gather_gradient(std::span<const std::vector<double>> advantages,
                                         std::span<const float> before, double entropy_weight,
                                         std::vector<float>& gradient) {
    struct Part {
        std::uint32_t worker = 0;  ///< first worker
        std::uint32_t episodes = 0;
        GradientSummary summary;
        std::vector<float> gradient;
    };
    // Batches depend on neither threads nor peers, so their sums do not either.
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < episodes_.size(); ++i) {
        const auto batch = [&](std::size_t j) {
            return std::pair(episodes_[j].worker / policy_->batch_size(), episodes_[j].graph);
        };
        if (i == 0 || batch(i) != batch(i - 1)) begins.push_back(i);
    }
    std::vector<Part> parts(begins.size());
    tbb::task_arena(static_cast<int>(threads_)).execute([&] {
        tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
            const std::size_t begin = begins[i],
                              end = i + 1 < begins.size() ? begins[i + 1] : episodes_.size();
            Part& part = parts[i];
            part.worker = episodes_[begin].worker;
            part.episodes = static_cast<std::uint32_t>(end - begin);
            part.gradient.resize(state_.weights.size());
            // All episodes weigh the same, however many decisions they have.
            std::vector<Rollout> rollouts;
            std::vector<std::vector<double>> own;
            std::size_t longest = 1;
            for (std::size_t j = begin; j < end; ++j) {
                const std::size_t length = episodes_[j].rollout.nodes.size();
                longest = std::max(longest, length);
                rollouts.push_back(episodes_[j].rollout);
                own.push_back(advantages[episodes_[j].worker]);
                own.back().resize(length, own.back().empty() ? 0 : own.back().back());
                for (double& advantage : own.back())
                    advantage /= static_cast<double>(std::max<std::size_t>(length, 1));
            }
            const auto decisions = static_cast<double>(longest);
            const GradientTask task{*graphs_[episodes_[begin].graph].graph,
                                    state_.weights,
                                    before,
                                    rollouts,
                                    own,
                                    entropy_weight / decisions,
                                    state_.divergence_weight / decisions};
            part.summary = policy_->add_gradient(task, part.gradient);
        });
    });
    if (peers_ != nullptr) {
        Writer writer;
        for (const Part& part : parts) {
            writer.put(part.worker);
            writer.put(part.episodes);
            writer.put(part.summary);
            writer.put(part.gradient);
        }
        parts.clear();
        for (const auto& bytes : peers_->exchange(writer.take())) {
            BytesReader reader(bytes);
            while (!reader.done()) {
                Part part;
                part.worker = reader.get<std::uint32_t>();
                part.episodes = reader.get<std::uint32_t>();
                part.summary = reader.get<GradientSummary>();
                part.gradient = reader.get_all<float>();
                parts.push_back(std::move(part));
            }
        }
        std::ranges::sort(parts, {}, &Part::worker);
    }
    GradientSummary mean;
    gradient.assign(state_.weights.size(), 0);
    const auto count = static_cast<double>(options_.workers);
    for (const Part& part : parts) {
        mean.entropy += part.summary.entropy * part.episodes / count;
        mean.divergence += part.summary.divergence * part.episodes / count;
        for (std::size_t i = 0; i < gradient.size(); ++i)
            gradient[i] += part.gradient[i] / static_cast<float>(count);
    }
    return mean;
}

/// Adam (Kingma and Ba, 2015, algorithm 1), for ascent. Implemented here because its moments are stored with
/// the weights in checkpoints and must be the same on every rank.
void Trainer::step(std::vector<float> gradient, double rate) {
    if (options_.gradient_clip > 0) {
        double squares = 0;
        for (const float value : gradient) squares += static_cast<double>(value) * static_cast<double>(value);
        const double length = std::sqrt(squares);
        if (length > options_.gradient_clip) {
            for (float& value : gradient) value *= static_cast<float>(options_.gradient_clip / length);
        }
    }
    constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;
    ++state_.steps;
    const double first_left = 1 - std::pow(kFirst, static_cast<double>(state_.steps));
    const double second_left = 1 - std::pow(kSecond, static_cast<double>(state_.steps));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        const double slope = gradient[i];
        const double first = kFirst * static_cast<double>(state_.first_moments[i]) + (1 - kFirst) * slope;
        const double second =
            kSecond * static_cast<double>(state_.second_moments[i]) + (1 - kSecond) * slope * slope;
        state_.first_moments[i] = static_cast<float>(first);
        state_.second_moments[i] = static_cast<float>(second);
        state_.weights[i] +=
            static_cast<float>(rate * (first / first_left) / (std::sqrt(second / second_left) + kEpsilon));
        // Moments that are not finite would freeze their weight for good.
        if (!std::isfinite(state_.weights[i]) || !std::isfinite(state_.first_moments[i]) ||
            !std::isfinite(state_.second_moments[i]))
            throw TrainingDiverged("update " + std::to_string(state_.updates + 1) +
                                   " leads to weights that are not finite numbers: choose a lower "
                                   "learning_rate, or a gradient_clip");
    }
}

void Trainer::finish(std::span<const std::vector<Score>> scores) {
    if (!drawn_ || scores.size() != episodes_.size())
        throw std::invalid_argument("finish: as many lists of scores as episodes are needed");
    std::vector<Outcome> own;
    for (std::size_t i = 0; i < episodes_.size(); ++i) {
        const Episode& episode = episodes_[i];
        if (scores[i].size() != episode.placements.size())
            throw std::invalid_argument("finish: as many scores as placements are needed");
        Outcome outcome{
            .worker = episode.worker, .graph = episode.graph, .costs = {}, .last_cost = 0, .best = {}};
        std::size_t best = 0;
        for (std::size_t j = 0; j < scores[i].size(); ++j) {
            const double cost = policy_cost(scores[i][j], graphs_[episode.graph].reference_s);
            outcome.costs.push_back(options_.measure == "square-root" ? std::sqrt(cost)
                                    : options_.measure == "logarithm" ? std::log1p(cost)
                                                                      : cost);
            if (scores[i][j].penalised_s < scores[i][best].penalised_s) best = j;
        }
        if (!scores[i].empty()) {
            outcome.last_cost = policy_cost(scores[i].back(), graphs_[episode.graph].reference_s);
            outcome.best = {episode.placements[best], scores[i][best]};
        }
        own.push_back(std::move(outcome));
    }
    const std::vector<Outcome> outcomes = gather(std::move(own));
    // If an exception is thrown, the state stays unchanged. The curve only grows at the end.
    auto curve = std::move(state_.curve);
    TrainingState before = state_;
    state_.curve = std::move(curve);
    try {
        learn(outcomes);
    } catch (...) {
        before.curve = std::move(state_.curve);
        state_ = std::move(before);
        throw;
    }
    drawn_ = false;
}

void Trainer::learn(std::span<const Outcome> outcomes) {
    TrainingPoint point;
    const auto drawn = static_cast<double>(
        std::ranges::count_if(outcomes, [](const Outcome& outcome) { return !outcome.costs.empty(); }));
    for (const Outcome& outcome : outcomes) {
        if (outcome.costs.empty()) continue;
        state_.evaluations += outcome.costs.size();
        point.cost += outcome.last_cost / drawn;
        BestPlacement& best = state_.best[outcome.graph];
        if (best.placement.empty() || outcome.best.score.penalised_s < best.score.penalised_s)
            best = outcome.best;
    }
    for (const Outcome& outcome : outcomes) {
        if (outcome.costs.empty()) continue;
        const double beside = outcome.last_cost - point.cost;
        point.cost_spread += beside * beside / drawn;
    }
    point.cost_spread = std::sqrt(point.cost_spread);
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
        const double cost =
            state_.best[i].placement.empty() ? 1 : policy_cost(state_.best[i].score, graphs_[i].reference_s);
        point.best_cost += cost / static_cast<double>(graphs_.size());
    }

    if (drawn == 0) point.cost = state_.curve.empty() ? point.best_cost : state_.curve.back().cost;

    const std::vector<std::vector<double>> worth = advantages(outcomes);
    point.learning_rate = schedule(options_.learning_rate, options_.final_learning_rate);
    point.entropy_weight = schedule(options_.entropy_weight, options_.final_entropy_weight);
    std::vector<float> gradient;
    if (options_.proximal_steps == 0) {
        point.entropy = gather_gradient(worth, {}, point.entropy_weight, gradient).entropy;
        step(std::move(gradient), point.learning_rate);
    } else {
        const std::vector<float> before = state_.weights;
        for (std::uint32_t i = 0; i < options_.proximal_steps; ++i) {
            const GradientSummary summary = gather_gradient(worth, before, point.entropy_weight, gradient);
            point.entropy = summary.entropy;
            point.divergence = summary.divergence;
            step(std::move(gradient), point.learning_rate);
        }
        // Schulman, Wolski, Dhariwal, Radford, Klimov: Proximal Policy Optimization Algorithms (2017),
        // section 4. The divergence is measured before each step, so the effect of the last step is not
        // measured, and with a single step nothing is.
        constexpr double kLeast = 1e-4, kMost = 1e4;
        const bool measured = options_.proximal_steps > 1;
        if (measured && point.divergence < options_.divergence_target / 1.5)
            state_.divergence_weight = std::max(state_.divergence_weight / 2, kLeast);
        if (point.divergence > options_.divergence_target * 1.5)
            state_.divergence_weight = std::min(state_.divergence_weight * 2, kMost);
    }
    ++state_.updates;
    point.updates = state_.updates;
    point.evaluations = state_.evaluations;
    state_.curve.push_back(point);
}

Rollout Trainer::predict(const PolicyGraph& graph) const {
    return predict_placement(*policy_, state_.weights, graph, options_.passes);
}

std::vector<GroupId> decision_order(const PolicyGraph& graph, std::uint32_t passes, Random* random) {
    std::vector<GroupId> pass;
    for (const GroupId node : graph.order) {
        if (graph.choices.of(node).size() > 1) pass.push_back(node);
    }
    std::vector<GroupId> order;
    for (std::uint32_t i = 0; i < passes; ++i) {
        if (random != nullptr) random->shuffle(std::span(pass));
        order.insert(order.end(), pass.begin(), pass.end());
    }
    return order;
}

Rollout predict_placement(const Policy& policy, std::span<const float> weights, const PolicyGraph& graph,
                          std::uint32_t passes, Random* random) {
    const std::vector<GroupId> order = decision_order(graph, passes);
    Random unused(0);
    return policy.roll_out(graph, weights, graph.choices.on_one_device(graph.choices.fastest_first().front()),
                           order, random != nullptr ? *random : unused, random == nullptr);
}

}  // namespace placewright
