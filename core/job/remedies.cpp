// SPDX-License-Identifier: MIT
#include "core/job/remedies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/job/longest_context.hpp"

namespace placewright {
namespace {

/// A change of the options. Changes of one kind exclude each other.
struct Change {
    enum class Kind : std::uint8_t {
        recompute,
        optimizer,
        update,
        in_flight,
        batch,
        context,
        precision,
        weights
    };
    Kind kind;
    std::string arguments;
    std::function<void(JobOptions&)> apply;
};

/// Ops, times devices and batches, that are worth trying: about a second on one core.
constexpr double kWork = 3e6;
constexpr std::size_t kMostTrials = 64;

bool trains(const Job& job, const JobOptions& options) {
    return !options.problem.inference && std::ranges::any_of(job.problem->graph->ops(), [](const Op& op) {
        return op.phase != Phase::forward;
    });
}

void add_training_changes(std::vector<Change>& changes, const Job& job, const JobOptions& options) {
    const ProblemOptions& now = options.problem;
    if (job.problem->cost_model->id == "exprimo") return;
    const auto recompute = [&](Recomputation how) {
        changes.push_back({Change::Kind::recompute, "--recompute " + std::string(to_string(how)),
                           [how](JobOptions& changed) { changed.problem.recomputation = how; }});
    };
    if (now.recomputation == Recomputation::none) recompute(Recomputation::cheap);
    if (now.recomputation != Recomputation::segments) recompute(Recomputation::segments);
    if (now.memory != MemoryModel::training) return;
    if (!now.optimizer_in_backward && !now.accumulate_gradients)
        changes.push_back({Change::Kind::update, "--optimizer-in-backward",
                           [](JobOptions& changed) { changed.problem.optimizer_in_backward = true; }});
    const auto optimizer = [&](double states, const char* name) {
        if (states < now.optimizer_states)
            changes.push_back({Change::Kind::optimizer, std::string("--optimizer ") + name,
                               [states](JobOptions& changed) { changed.problem.optimizer_states = states; }});
    };
    optimizer(1, "momentum");
    optimizer(0, "sgd");
}

/// Half, a quarter, … of the samples at a time; in training as parts of one step where that is possible.
void add_batch_changes(std::vector<Change>& changes, const Job& job, const JobOptions& options) {
    const std::int64_t samples = job.problem->forward->batch();
    const bool parts = trains(job, options) && !options.problem.optimizer_in_backward &&
                       job.problem->cost_model->id != "exprimo" &&
                       (options.simulation.batches == 1 || options.problem.accumulate_gradients);
    for (std::int64_t part = 2; part <= samples; part *= 2) {
        if (samples % part != 0) break;
        const std::int64_t batch = samples / part;
        if (!parts) {
            changes.push_back({Change::Kind::batch, "--batch " + std::to_string(batch),
                               [batch](JobOptions& changed) { changed.reading.batch = batch; }});
            continue;
        }
        const auto batches = static_cast<std::uint32_t>(options.simulation.batches * part);
        changes.push_back(
            {Change::Kind::batch,
             "--batch " + std::to_string(batch) + " --batches " + std::to_string(batches) + " --accumulate",
             [batch, batches](JobOptions& changed) {
                 changed.reading.batch = batch;
                 changed.simulation.batches = batches;
                 changed.problem.accumulate_gradients = true;
             }});
    }
}

void add_context_change(std::vector<Change>& changes, const Job& job, const JobOptions& options,
                        std::span<const DeviceId> placement, const Path& network,
                        const std::stop_token& stop) {
    const auto longest = longest_context(job, options, placement, network, stop);
    if (!longest || longest->tokens == 0 || longest->tokens >= *job.language->sequence) return;
    changes.push_back(
        {Change::Kind::context, "--sequence " + std::to_string(longest->tokens),
         [tokens = longest->tokens](JobOptions& changed) { changed.reading.language.sequence = tokens; }});
}

/// Linear weights of a language model in 8 and in 4 bits.
void add_weight_changes(std::vector<Change>& changes, const Job& job) {
    if (!job.language || job.language->phase == LanguagePhase::training) return;
    for (const WeightType type : {WeightType::int8, WeightType::int4}) {
        if (job.language->weights && bits_of(*job.language->weights) <= bits_of(type)) continue;
        changes.push_back({Change::Kind::weights, "--dtype " + std::string(to_string(type)),
                           [type](JobOptions& changed) { changed.reading.language.weights = type; }});
    }
}

std::vector<Change> changes_of(const Job& job, const JobOptions& options, bool batch_is_open) {
    std::vector<Change> changes;
    if (trains(job, options)) add_training_changes(changes, job, options);
    if (options.simulation.batches_in_flight() > 1)
        changes.push_back({Change::Kind::in_flight, "--in-flight 1",
                           [](JobOptions& changed) { changed.simulation.in_flight = 1; }});
    if (batch_is_open) add_batch_changes(changes, job, options);
    const bool has_floats = std::ranges::any_of(job.problem->network->ops(), [](const Op& op) {
        return std::ranges::any_of(op.outputs,
                                   [](const Tensor& tensor) { return tensor.dtype == DType::float32; });
    });
    if (options.problem.precision == Precision::as_given && has_floats && !job.own_machine &&
        (!job.language || takes_precision(*job.language)) && job.problem->cost_model->id != "exprimo") {
        const Precision half = trains(job, options) ? Precision::amp_fp16 : Precision::fp16;
        changes.push_back({Change::Kind::precision, "--precision " + std::string(to_string(half)),
                           [half](JobOptions& changed) { changed.problem.precision = half; }});
    }
    return changes;
}

/// Whether the options may stand together (see JobArguments::check).
bool suits(const JobOptions& options) {
    return !(options.problem.optimizer_in_backward && options.problem.accumulate_gradients);
}

class Trials {
public:
    /// `before`: the placement that times are relative to.
    Trials(const Job& job, const JobOptions& options, std::span<const DeviceId> placement, Path network,
           std::span<const DeviceId> before, const std::stop_token& stop)
        : job_(job), options_(options), placement_(placement), network_(std::move(network)), stop_(stop) {
        const Outcome outcome = Simulator(job.problem, job.simulation).run(before);
        before_s_ = per_sample_s(job, outcome, assess(job, Placement(before.begin(), before.end()), outcome));
        const double work = static_cast<double>(job.problem->ops) *
                            (job.problem->devices + std::min(job.simulation.batches, 100U));
        most_ = std::clamp(static_cast<std::size_t>(kWork / work), std::size_t{1}, kMostTrials);
    }

    /// Tries these changes together. Returns nothing if they do not suit the job, or there is no time left.
    std::optional<Remedy> attempt(std::span<const Change* const> changes) {
        Remedy remedy{.arguments = {}, .options = options_};
        for (const Change* change : changes) {
            remedy.arguments += (remedy.arguments.empty() ? "" : " ") + change->arguments;
            change->apply(remedy.options);
        }
        if (!suits(remedy.options)) return {};
        if (tried_ >= most_ || stop_.stop_requested()) {
            ++untried_;
            return {};
        }
        ++tried_;
        try {
            simulate(remedy);
            return remedy;
        } catch (const std::runtime_error&) {
            return {};  // such as a file that cannot be read with this batch size
        }
    }

    std::size_t tried() const { return tried_; }
    std::size_t untried() const { return untried_; }

private:
    /// Time a sample, so that steps of other batch sizes compare; of other objectives the value.
    static double per_sample_s(const Job& job, const Outcome& outcome, const Assessment& assessment) {
        return job.objective->is_step_time()
                   ? outcome.step_time_s / static_cast<double>(job.problem->forward->batch())
                   : assessment.score.value_s;
    }

    std::shared_ptr<const Graph> graph_of(const JobOptions& options) const {
        if (options.reading == options_.reading) return job_.problem->network;
        NetworkFile read = read_network(network_, options.reading);
        Supplements supplements = options.supplements;
        if (supplements != Supplements()) supplement(read, supplements, *job_.machine);
        if (read.graph.size() != job_.problem->network->size())
            throw std::runtime_error("the network has other ops with this batch size");
        return std::make_shared<const Graph>(std::move(read.graph));
    }

    void simulate(Remedy& remedy) {
        Job trial = job_;
        ProblemOptions problem = problem_options(remedy.options, job_.language);
        problem.cost.model = job_.problem->cost_model;  // a workload has its own
        problem.grouping = job_.grouping;               // a refined placement has single ops
        trial.problem = make_problem(graph_of(remedy.options), job_.machine, problem);
        trial.simulation = remedy.options.simulation;
        const Placement placement = carried(*trial.problem);
        check_placement(*trial.problem, placement);
        const Outcome outcome = Simulator(trial.problem, trial.simulation).run(placement);
        const Assessment assessment = assess(trial, placement, outcome);
        if (!assessment.is_defined()) throw PlacementError(assessment.undefined);
        remedy.fits = assessment.score.fits;
        remedy.value_s = assessment.score.value_s;
        const double now_s = per_sample_s(trial, outcome, assessment);
        remedy.times_as_long = before_s_ > 0 ? now_s / before_s_ : 1;
        double fullest = -1;
        for (DeviceId device = 0; device < trial.problem->devices; ++device) {
            const double bytes = assessment.device_bytes[device];
            const double limit = trial.problem->memory_limit_bytes[device];
            remedy.lacking_bytes += std::max(0.0, bytes - limit);
            if (bytes / limit <= fullest) continue;
            fullest = bytes / limit;
            remedy.device = device;
            remedy.device_bytes = bytes;
            remedy.limit_bytes = limit;
        }
    }

    /// Each group on the device of its first op. Derived ops, which may be others than before, count as the
    /// op of the network that they come from.
    Placement carried(const Problem& problem) const {
        Placement placement;
        // Casts of another precision move the ids of the ops behind them.
        const bool same_ids = problem.forward->size() == job_.problem->forward->size();
        for (const std::vector<OpId>& members : problem.grouping.members) {
            OpId first = *std::ranges::min_element(
                members, {}, [&](OpId op) { return std::pair(problem.graph->op(op).autocast, op); });
            while (first >= problem.forward->size() && first != kInvalidOp)
                first = problem.graph->op(first).forward_op;
            if (first != kInvalidOp && !same_ids)
                first = job_.problem->forward->find(problem.forward->op(first).name).value_or(kInvalidOp);
            if (first == kInvalidOp) throw std::runtime_error("an op has no device");
            placement.push_back(placement_[job_.problem->grouping.group_of[first]]);
        }
        return placement;
    }

    const Job& job_;
    const JobOptions& options_;
    const std::span<const DeviceId> placement_;
    const Path network_;
    const std::stop_token& stop_;
    double before_s_ = 0;
    std::size_t most_ = 1, tried_ = 0, untried_ = 0;
};

/// `before`: the placement that times are relative to.
Remedies remedies_of(const Job& job, const JobOptions& options, std::span<const DeviceId> placement,
                     const Path& network, std::span<const DeviceId> before, const std::stop_token& stop) {
    std::vector<Change> changes = changes_of(job, options, !network.empty() && job.batch_is_open);
    if (!network.empty()) {
        add_context_change(changes, job, options, placement, network, stop);
        add_weight_changes(changes, job);
    }
    Trials trials(job, options, placement, network, before, stop);
    Remedies result;
    // The best of each kind of those that do not fit alone.
    constexpr std::size_t kKinds = static_cast<std::size_t>(Change::Kind::weights) + 1;
    std::array<const Change*, kKinds> strongest{};
    std::array<double, kKinds> lacking{};
    const auto attempt = [&](std::span<const Change* const> together) {
        std::optional<Remedy> remedy = trials.attempt(together);
        if (!remedy) return;
        if (together.size() == 1) {
            const auto kind = static_cast<std::size_t>(together.front()->kind);
            if (strongest[kind] == nullptr || remedy->lacking_bytes < lacking[kind]) {
                strongest[kind] = together.front();
                lacking[kind] = remedy->lacking_bytes;
            }
        }
        if (remedy->fits) {
            result.fitting.push_back(*std::move(remedy));
        } else if (!result.closest || remedy->lacking_bytes < result.closest->lacking_bytes) {
            result.closest = std::move(remedy);
        }
    };
    bool batch_fits = false;
    for (const Change& change : changes) {
        // Smaller batches than the largest that fits are slower.
        if (change.kind == Change::Kind::batch && batch_fits) continue;
        const std::array<const Change*, 1> alone{&change};
        const std::size_t fitting = result.fitting.size();
        attempt(alone);
        batch_fits = batch_fits || (change.kind == Change::Kind::batch && result.fitting.size() > fitting);
    }
    if (result.fitting.empty()) {
        for (std::size_t a = 0; a < changes.size(); ++a) {
            for (std::size_t b = a + 1; b < changes.size(); ++b) {
                if (changes[a].kind == changes[b].kind) continue;
                const std::array<const Change*, 2> pair{&changes[a], &changes[b]};
                attempt(pair);
            }
        }
    }
    if (result.fitting.empty()) {
        std::vector<const Change*> all;
        for (const Change* change : strongest) {
            const bool excluded = change != nullptr && change->kind == Change::Kind::batch &&
                                  strongest[static_cast<std::size_t>(Change::Kind::update)] != nullptr;
            if (change != nullptr && !excluded) all.push_back(change);
        }
        if (all.size() > 2) attempt(all);
    }
    if (!result.fitting.empty()) result.closest.reset();
    std::ranges::stable_sort(result.fitting, {}, &Remedy::times_as_long);
    result.tried = trials.tried();
    result.untried = trials.untried();
    return result;
}

}  // namespace

Remedies find_remedies(const Job& job, const JobOptions& options, std::span<const DeviceId> placement,
                       const Path& network, const std::stop_token& stop) {
    return remedies_of(job, options, placement, network, placement, stop);
}

std::optional<Remedies> find_accelerator_remedies(const Job& job, const JobOptions& options,
                                                  std::span<const DeviceId> placement, const Path& network,
                                                  const std::stop_token& stop) {
    const Problem& problem = *job.problem;
    std::optional<Remedies::Whole> least;
    Placement best;
    Simulator simulator(job.problem, job.simulation);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (problem.machine->device(device).kind == DeviceKind::cpu) continue;
        Placement whole = single_device_placement(problem, device);
        const Assessment assessment = assess(job, whole, simulator.run(whole));
        if (!assessment.is_defined()) continue;
        if (assessment.score.fits) return {};
        const double lacking = assessment.device_bytes[device] - problem.memory_limit_bytes[device];
        if (lacking <= 0 || (least && lacking >= least->lacking_bytes)) continue;
        least = {device, lacking};
        best = std::move(whole);
    }
    if (!least) return {};
    Remedies remedies = remedies_of(job, options, best, network, placement, stop);
    remedies.whole = least;
    return remedies;
}

std::string duration_text(const Remedy& remedy) {
    const std::string times = ratio_text(remedy.times_as_long);
    return times == "1.00" ? "as long as now" : times + " times as long";
}

std::string fullest_text(const Remedy& remedy, const Problem& problem) {
    return printable(problem.machine->device(remedy.device).name, 80) + ' ' +
           format_bytes(remedy.device_bytes) + " of " + format_bytes(remedy.limit_bytes);
}

std::string shortage_text(const Remedies& remedies, const Problem& problem, const std::string& closest,
                          const std::string& what) {
    if (!remedies.fitting.empty()) return {};
    if (!remedies.closest)
        return "no option would make " + what +
               " fit; spread it over more devices, or choose a machine with more memory";
    return "none of " + std::to_string(remedies.tried) + " options tried makes " + what +
           " fit; the closest, " + closest + ", still lacks " +
           format_bytes(remedies.closest->lacking_bytes) + " (" + fullest_text(*remedies.closest, problem) +
           "); spread it over more devices, or choose a machine with more memory";
}

}  // namespace placewright
