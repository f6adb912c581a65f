// SPDX-License-Identifier: MIT
#include "app/cli/train_command.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/outcome_report.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/distributed/launch.hpp"
#include "core/distributed/training_ranks.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/state/score_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/option_json.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/learning_curve.hpp"
#include "core/job/lessons.hpp"
#include "core/learn/training_run.hpp"
#include "core/search/search.hpp"

namespace placewright {

/// Training problems: each network on each machine.
class Lessons {
public:
    explicit Lessons(const TrainArguments& arguments) : arguments_(arguments) {
        const bool family = !arguments.family.empty();
        if (family == !arguments.networks.empty())
            throw UsageError("train: give either --family or networks");
        const FamilyInfo* info = find_family(arguments.family);
        for (const CLI::Option* option : {arguments.count_, arguments.family_seed_}) {
            if (info == nullptr && option->count() > 0)
                throw UsageError(option->get_name() +
                                 ": only for a known family; networks that are given are all trained on");
        }
        if (!family) {
            for (const std::string& network : arguments.networks) {
                std::error_code error;
                if (find_family(network) != nullptr && !std::filesystem::exists(network, error))
                    throw UsageError("train: " + network + " is a family; use --family " + network);
                add_file(network);
            }
        } else if (info != nullptr) {
            add_members(*info);
        } else if (std::error_code error; std::filesystem::is_directory(arguments.family, error)) {
            add_folder(arguments.family);
        } else {
            std::vector<std::string> known;
            for (const FamilyInfo& item : known_families()) known.emplace_back(item.name);
            throw UsageError(usage::unknown(arguments.family, "family or folder", known, "--family"));
        }
    }

    /// Arguments of each lesson, in the order of take().
    std::vector<JobArguments> take_arguments() { return std::move(each_); }
    std::vector<Lesson> take() { return std::move(lessons_); }

private:
    /// Calls `load` with the arguments of the network on each of its machines.
    void add(const std::string& network, const auto& load) {
        const std::vector<std::string> machines = machines_in(arguments_.job.machine);
        if (arguments_.machines_each > machines.size())
            throw UsageError("--machines-each " + std::to_string(arguments_.machines_each) +
                             ": expected at most " + std::to_string(machines.size()) +
                             ", the number of machines of --machine");
        const std::size_t each = arguments_.machines_each > 0 ? arguments_.machines_each : machines.size();
        for (std::size_t i = 0; i < each; ++i) {
            const std::string& machine = machines[next_machine_++ % machines.size()];
            JobArguments one = arguments_.job;
            one.network = network;
            one.machine = machine;
            Job job = load(one);
            lessons_.push_back({std::move(job), {}});
            each_.push_back(std::move(one));
        }
    }

    void add_file(const std::string& network) {
        add(network, [](const JobArguments& one) { return one.load(); });
    }

    void add_members(const FamilyInfo& family) {
        JobArguments job = arguments_.job;
        if (job.machine.empty()) throw CLI::RequiredError("--machine");
        if (job.batch > 0) throw UsageError("--batch: the networks of a family have their own");
        if (!job.parameters.empty())
            throw UsageError("--parameters: the networks of a family have their own");
        if (!job.constraints.empty())
            throw UsageError("--constraints: the networks of a family have no ops of the same names");
        job.reading.refuse_language(arguments_.family);
        GroupingArguments& grouping = job.grouping;
        if (arguments_.group_->count() == 0 && family.groups > 0) {
            grouping.group = "merge";
            if (grouping.groups == 0 && grouping.merge_below_bytes == 0) grouping.groups = family.groups;
        }
        const JobOptions options = job.options();
        const std::vector<bool> trained = training_half(arguments_.count, arguments_.family_seed);
        for (std::uint32_t number = 0; number < arguments_.count; ++number) {
            if (!trained[number]) continue;
            const Graph graph =
                arguments_.job.shards.split(family_member(family, arguments_.family_seed, number));
            add(graph.name(), [&](const JobArguments& one) {
                return load_job(one.network, NetworkFile{graph, {}, {}}, one.machine, options);
            });
        }
    }

    void add_folder(Path folder) {
        std::error_code error;
        if (std::filesystem::is_directory(folder / "train", error)) folder /= "train";
        for (const Path& file : network_files(folder)) add_file(file.string());
    }

    const TrainArguments& arguments_;
    std::vector<Lesson> lessons_;
    std::size_t next_machine_ = 0;
    std::vector<JobArguments> each_;  ///< arguments of each lesson, with its network and machine
};

namespace {

const PolicyInfo& chosen_policy(const std::string& id) {
    if (const PolicyInfo* found = find_policy(id)) {
        available_algorithm(id);
        return *found;
    }
    std::vector<std::string> known;
    for (const PolicyInfo& info : policies()) known.push_back(info.id);
    throw UsageError(usage::unknown(id, "policy", known, "--policy"));
}

/// State of a training in each MPI process.
struct TrainingTask {
    const PolicyInfo& info;
    std::vector<JobArguments> arguments;  ///< of each lesson
    Curriculum curriculum;
    std::optional<Trainer> trainer;
    std::vector<std::unique_ptr<Evaluator>> evaluators;
    TrainingBudget budget;

    /// Scores placements by the objective of the lesson.
    std::vector<Score> scores(std::size_t lesson, std::span<const Placement> placements) const {
        std::vector<Score> scores(placements.size());
        evaluators[lesson]->evaluate(placements, scores, {});
        return scores;
    }
};

void resume(Trainer& trainer, const TrainingRecord& record, const Path& file) {
    PolicyFile found = read_policy(file);
    // Learning-rate schedules follow the new number of updates; everything else resumes.
    found.record.planned_updates = record.planned_updates;
    if (const std::string other = difference(found.record, record); !other.empty())
        throw InputError(file.string(), "",
                         "belongs to another training: " + other +
                             "; give the same arguments (--set OPTION=VALUE for an option) or another --out");
    try {
        trainer.restore(std::move(found.state));
    } catch (const std::invalid_argument& error) {
        throw InputError(file.string(), "", error.what());
    } catch (const PlacementError& error) {
        throw InputError(file.string(), "", error.what());
    }
}

TrainingTask prepare(const TrainArguments& arguments, TrainingPeers* peers) {
    const PolicyInfo& info = chosen_policy(arguments.policy);
    const OptionValues values = parse_settings(*find_algorithm(info.id), arguments.settings);
    Lessons lessons(arguments);
    TrainingTask training{info, lessons.take_arguments(), {lessons.take(), {}, {}, {}}, {}, {}, {}};
    Curriculum& curriculum = training.curriculum;
    const bool allow_cpu = allows_cpu(info, values);
    for (Lesson& lesson : curriculum.training)
        lesson.graph = std::make_shared<const PolicyGraph>(lesson.job.problem, allow_cpu);
    try {
        complete(curriculum, info, values, arguments.seed);
    } catch (const OptionError& error) {
        throw UsageError(std::string("--set: ") + error.what());
    } catch (const std::invalid_argument& error) {
        throw UsageError(std::string("train: ") + error.what());
    }
    TrainingRecord& record = curriculum.record;
    if (arguments.teacher > 0 && curriculum.design.training.imitation == 0)
        throw UsageError(
            "--teacher: " + info.id +
            " does not imitate; give --set imitation=0.5, or a policy that has this option, such as "
            "list-policy");
    if (arguments.teacher > 0) record.conditions.emplace_back("teacher", std::to_string(arguments.teacher));
    record.planned_updates = arguments.updates > 0 ? arguments.updates : curriculum.design.training.updates;
    for (std::size_t i = 0; i < curriculum.training.size(); ++i)
        training.evaluators.push_back(evaluator_of(curriculum.training[i].job, arguments.threads));
    if (arguments.updates > 0 || arguments.seconds == 0) training.budget.updates = record.planned_updates;
    if (arguments.seconds > 0) training.budget.seconds = arguments.seconds;

    training.trainer.emplace(curriculum.design.policy, curriculum.design.training, curriculum.graphs(),
                             arguments.seed, record.planned_updates, arguments.threads, peers);
    std::error_code error;
    const auto out = std::filesystem::status(arguments.out, error);
    if (arguments.resume && std::filesystem::exists(out) && !std::filesystem::is_regular_file(out))
        throw InputError(arguments.out, "", "is not a regular file");
    if (!arguments.out.empty() && std::filesystem::is_regular_file(out)) {
        if (!arguments.resume)
            throw InputError(arguments.out, "",
                             "exists already; resume it with --resume, or give another file");
        resume(*training.trainer, record, arguments.out);
    }
    return training;
}

std::string curve_csv(const std::vector<TrainingPoint>& curve) {
    std::string text = curve_header() + '\n';
    for (const TrainingPoint& point : curve) text += curve_line(point) + '\n';
    return text;
}

Json curve_json(const std::vector<TrainingPoint>& curve) {
    Json list = Json::array();
    for (const TrainingPoint& point : curve) {
        Json json{{"updates", point.updates}, {"evaluations", point.evaluations}};
        for (const CurveColumn& column : curve_columns()) json[column.name] = point.*column.value;
        list.push_back(std::move(json));
    }
    return list;
}

std::string progress_text(const TrainingState& state, const TrainingBudget& budget, double eta_s) {
    const TrainingPoint& now = state.curve.back();
    std::string text = std::to_string(state.updates);
    if (budget.updates < std::numeric_limits<std::uint64_t>::max())
        text += " of " + std::to_string(budget.updates);
    return text + " updates, " + decimals("%.3f", now.cost) + " of one device (best " +
           decimals("%.3f", now.best_cost) + "), entropy " + decimals("%.3f", now.entropy) +
           ", learning rate " + decimals("%.2g", now.learning_rate) + ", " + format_clock(eta_s) + " left";
}

/// Scores of a trained graph.
struct Learned {
    Score one_device, best, predicted;
};

std::vector<Learned> learned(const TrainingTask& training) {
    std::vector<Learned> all;
    for (std::size_t i = 0; i < training.curriculum.training.size(); ++i) {
        const Lesson& lesson = training.curriculum.training[i];
        const std::vector<Placement> placements{
            lesson.job.single_device,
            last_placement(*lesson.graph, training.trainer->predict(*lesson.graph))};
        const std::vector<Score> scores = training.scores(i, placements);
        all.push_back({scores[0], training.trainer->state().best[i].score, scores[1]});
    }
    return all;
}

struct Ending {
    bool cancelled = false;
    double wall_s = 0;
};

Json training_json(const TrainingTask& training, const Ending& ending) {
    const TrainingState& state = training.trainer->state();
    Json graphs = Json::array();
    const auto outcome_json = [](const Score& score) {
        return Json(
            {{"objective_s", objective_json(score)}, {"score_s", score_json(score)}, {"fits", score.fits}});
    };
    const std::vector<Learned> all = learned(training);
    for (std::size_t i = 0; i < all.size(); ++i) {
        graphs.push_back(
            {{"network", training.curriculum.record.graphs[i].network},
             {"machine", training.curriculum.record.graphs[i].machine},
             {"groups", training.curriculum.training[i].graph->nodes},
             {"one_device", outcome_json(all[i].one_device)},
             {"best", state.best[i].placement.empty() ? Json(nullptr) : outcome_json(all[i].best)},
             {"predicted", outcome_json(all[i].predicted)}});
    }
    return {{"policy", training.info.id},
            {"options", options_json(training.curriculum.record.options)},
            {"objective", training.arguments.front().objective},
            {"seed", training.curriculum.record.seed},
            {"updates", state.updates},
            {"evaluations", state.evaluations},
            {"wall_s", ending.wall_s},
            {"cancelled", ending.cancelled},
            {"graphs", std::move(graphs)},
            {"curve", curve_json(state.curve)}};
}

void print_training(const TrainingTask& training, const Ending& ending) {
    const TrainingState& state = training.trainer->state();
    std::cout << training.info.title << ", seed " << training.curriculum.record.seed << ": " << state.updates
              << (state.updates == 1 ? " update, " : " updates, ") << state.evaluations
              << " placements scored; " << format_seconds(ending.wall_s)
              << (ending.cancelled ? " (cancelled)" : "") << "\n\n";
    const auto text = [](const Score& score) {
        if (score == kUndefinedScore) return std::string("not defined");
        return format_seconds(score.value_s) + (score.fits ? "" : " (does not fit)");
    };
    std::vector<Row> rows{{"network", "machine", "groups", "one device", "best found", "predicted"}};
    const std::vector<Learned> all = learned(training);
    for (std::size_t i = 0; i < all.size(); ++i) {
        rows.push_back({training.curriculum.record.graphs[i].network,
                        training.curriculum.record.graphs[i].machine,
                        std::to_string(training.curriculum.training[i].graph->nodes), text(all[i].one_device),
                        state.best[i].placement.empty() ? "-" : text(all[i].best), text(all[i].predicted)});
    }
    std::cout << table("llrrrr", rows);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
}

void save(const TrainingTask& training, const TrainArguments& arguments) {
    write_policy(training.curriculum.record, training.trainer->state(), training.trainer->policy(),
                 arguments.out);
}

/// Saves if the last time, `saved`, is long enough ago.
void checkpoint(const TrainingTask& training, const TrainArguments& arguments, Clock::time_point& saved) {
    if (arguments.out.empty() || seconds_since(saved) < arguments.checkpoint_every_s) return;
    try {
        save(training, arguments);
    } catch (const InputError& error) {
        // The next checkpoint may succeed, for example on a disk that was full.
        std::cerr << printable(std::string("placewright-cli: ") + error.what(), 8192) << '\n';
    }
    saved = Clock::now();
}

/// Searches for the placements that imitation shows, of each lesson without one, with the seed of the
/// training; each rank searches for a part of them. One process alone saves what it has found as often as
/// checkpoints, and after a stop. Returns false if it was stopped.
bool teach(TrainingTask& training, const TrainArguments& arguments, const std::stop_token& stop = {}) {
    Trainer& trainer = *training.trainer;
    if (arguments.teacher == 0 || trainer.state().updates > 0) return true;
    const std::size_t ranks = trainer.peers() != nullptr ? trainer.peers()->size() : 1,
                      rank = trainer.peers() != nullptr ? trainer.peers()->rank() : 0;
    const ProgressLine line("");
    const std::vector<Lesson>& lessons = training.curriculum.training;
    std::vector<Trainer::KnownPlacement> known;
    auto saved = Clock::now();
    for (std::size_t i = rank; i < lessons.size(); i += ranks) {
        if (!trainer.state().best[i].placement.empty()) continue;
        if (rank == 0)
            line.show("searching for placements to imitate: network " + std::to_string(i + 1) + " of " +
                      std::to_string(lessons.size()));
        const Job& job = lessons[i].job;
        // Not guided by the shipped policy: what is learned should not depend on it.
        const std::unique_ptr<Optimizer> teacher = find_algorithm("auto")->make(
            {job.problem, arguments.seed, {}, arguments.teacher, job.objective, job.simulation},
            {{"policy", false}});
        const SearchResult result =
            run_search(*teacher, *training.evaluators[i], {.evaluations = arguments.teacher}, stop);
        const bool alone = trainer.peers() == nullptr;
        if (result.end == SearchEnd::cancelled) {
            if (alone && !arguments.out.empty()) save(training, arguments);
            return false;
        }
        known.push_back({i, {*result.progress.best_placement, result.progress.best}});
        if (!alone) continue;
        trainer.show(std::exchange(known, {}));
        checkpoint(training, arguments, saved);
    }
    trainer.show(std::move(known));
    return true;
}

/// Work of the MPI ranks other than rank 0, which reports all errors and ends the training.
int train_along(const TrainArguments& arguments) {
    const ServingGuard guard;
    TrainingRanks ranks({});
    try {
        TrainingTask training = prepare(arguments, &ranks);
        ranks.require_same(to_text(training.curriculum.record) +
                           std::to_string(training.trainer->state().updates));
        teach(training, arguments);
        run_training(*training.trainer, training.evaluators, training.budget);
    } catch (const TrainingEnded&) {
        // Rank 0 ended the training.
    } catch (const std::exception& error) {
        ranks.fail(error.what());
    }
    return kDone;
}

/// How a training ended. At most one of `lost` and `diverged` is set.
struct Ended {
    Ending ending;
    std::optional<RankError> lost;
    std::string diverged;  ///< why
};

constexpr double kProgressInterval_s = 0.1;

/// Trains with a progress line and checkpoints. `ranks` may be null.
Ended train(TrainingTask& training, const TrainArguments& arguments, TrainingRanks* ranks,
            const std::stop_token& stop) {
    Trainer& trainer = *training.trainer;
    Ended ended;
    const ProgressLine line("");
    auto saved = Clock::now();
    std::optional<Clock::time_point> shown;
    const auto report = [&](const TrainingState& state, double eta_s) {
        // Small networks take thousands of updates a second.
        if (!shown || seconds_since(*shown) >= kProgressInterval_s) {
            line.show(progress_text(state, training.budget, eta_s));
            shown = Clock::now();
        }
        checkpoint(training, arguments, saved);
    };
    try {
        if (ranks != nullptr)
            ranks->require_same(to_text(training.curriculum.record) +
                                std::to_string(trainer.state().updates));
        if (arguments.out.empty())
            std::cerr << "placewright-cli: the policy will not be saved; use --out FILE to save it\n";
        ended.ending.cancelled = !teach(training, arguments, stop) ||
                                 !run_training(trainer, training.evaluators, training.budget, stop, report);
    } catch (const TrainingEnded&) {
        ended.ending.cancelled = true;
    } catch (const RankError& error) {
        ended.lost = error;
    } catch (const TrainingDiverged& error) {
        // The trainer keeps the state before the failed update.
        ended.diverged = error.what();
    }
    return ended;
}

/// What was written at the end of a training.
struct Written {
    bool saved = false;  ///< whether the policy has new updates for --out
    std::vector<std::string> files;
    std::exception_ptr failure;  ///< null if all could be written
};

/// `behind`: updates of the policy before this training.
Written write_results(const TrainingTask& training, const TrainArguments& arguments, std::uint64_t behind) {
    Written written;
    written.saved = training.trainer->state().updates > behind && !arguments.out.empty();
    try {
        if (written.saved) {
            save(training, arguments);
            written.files.push_back(arguments.out);
        }
        if (!arguments.curve.empty()) {
            write_file(arguments.curve, curve_csv(training.trainer->state().curve));
            written.files.push_back(arguments.curve);
        }
    } catch (const InputError&) {
        written.failure = std::current_exception();
    }
    return written;
}

/// Prints the result. Throws the failure of writing, if there was one.
void report(const TrainingTask& training, const TrainArguments& arguments, const Ended& ended,
            const Written& written, std::uint64_t behind) {
    if (arguments.job.json) {
        print(training_json(training, ended.ending));
    } else {
        print_training(training, ended.ending);
    }
    if (!ended.diverged.empty()) {
        std::cerr << "placewright-cli: " << ended.diverged << "; "
                  << (written.files.empty() ? "nothing is written"
                                            : "the state before it is written to " +
                                                  printable(usage::joined(written.files, " and "), 8192))
                  << '\n';
    }
    if (written.failure) std::rethrow_exception(written.failure);
    if (arguments.out.empty() || arguments.job.json) return;
    std::cout << '\n';
    if (written.saved) {
        std::cout << "written to " << printable(arguments.out, 4096)
                  << (ended.ending.cancelled ? "; resume with --resume" : "") << std::endl;
    } else {
        std::cout << printable(arguments.out, 4096) << " is unchanged: " << behind
                  << (behind == 1 ? " update was" : " updates were")
                  << " done before, and --updates counts these too" << std::endl;
    }
}

/// Returns the exit status of a training that has made updates; says why if it is not 0.
int status_of(const TrainingTask& training, const Ended& ended, const std::string& memory_rule) {
    if (!ended.diverged.empty()) return kInternalError;
    if (ended.lost) {
        std::cerr << printable("placewright-cli: " + ended.lost->rank() + ": " + ended.lost->what(), 8192)
                  << "; training stopped\n";
        return kInternalError;
    }
    if (ended.ending.cancelled) return kCancelled;
    if (std::ranges::none_of(training.trainer->state().best,
                             [](const BestPlacement& best) { return best.score.fits; })) {
        print_nothing_fits(memory_rule);
        return kNothingFits;
    }
    return kDone;
}

}  // namespace

TrainArguments::TrainArguments() {
    job.memory_rule = "placeto";  // a penalty that grows with the overflow is easier to learn from
}

void TrainArguments::add_to(CLI::App& command) {
    job.add_to(command, objectives());
    command.remove_option(command.get_option("GRAPH"));
    command.add_option("GRAPHS", networks, "Network files, or names of shipped networks (see networks)")
        ->check(usage::path());
    command.get_option("--machine")
        ->description("Machines separated by commas, or by semicolons if made of parts");
    group_ = command.get_option("--group");
    command.get_option("--group")->description("Grouping of ops, see below; for families: merge");
    std::vector<std::string> families, known;
    for (const FamilyInfo& info : known_families()) families.emplace_back(info.name);
    for (const PolicyInfo& info : policies()) known.push_back(info.id);
    command.add_option("--family", family, usage::joined(families, ", ") + ", or a folder of networks")
        ->check(usage::path())
        ->type_name("F");
    count_ = command.add_option("--count", count, "Networks of a known family; half for training")
                 ->check(usage::whole_number(1, 10'000))
                 ->type_name("N")
                 ->capture_default_str();
    family_seed_ =
        command.add_option("--family-seed", family_seed, "Seed of the family (--seed of the command family)")
            ->check(usage::whole_number(0))
            ->type_name("K")
            ->capture_default_str();
    command.add_option("--policy", policy, usage::joined(known, "|"))->type_name("P")->capture_default_str();
    usage::add_repeated(command, "--set", settings, "Option of the policy (see algorithms)", "OPTION=VALUE");
    command.add_option("--updates", updates, "Updates in all [until --seconds, else the policy's option]")
        ->check(usage::whole_number(1, 1'000'000'000))
        ->type_name("N");
    command.add_option("--seconds", seconds, "Time limit (s); results then depend on the computer")
        ->check(usage::positive_number(1e9, "a number above 0"))
        ->type_name("S");
    command.add_option("--seed", seed, "Seed of the random numbers")
        ->check(usage::whole_number(0))
        ->type_name("K")
        ->capture_default_str();
    usage::add_threads(command, threads, "Threads, 0 for all cores; same result");
    command.add_option("--out", out, "Write the policy, as checkpoints and at the end")
        ->check(usage::path())
        ->type_name("FILE");
    command.add_option("--checkpoint-every", checkpoint_every_s, "Seconds between checkpoints")
        ->check(usage::positive_number(1e9, "a number above 0"))
        ->type_name("S")
        ->capture_default_str();
    command
        .add_option("--machines-each", machines_each,
                    "Machines of each network, taken in turn from --machine; 0: all")
        ->check(usage::whole_number(0, 10'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--teacher", teacher, "Search each network with N evaluations first, to imitate that")
        ->check(usage::whole_number(0, 1'000'000'000))
        ->type_name("N")
        ->capture_default_str();
    command.add_flag("--resume", resume, "Resume or extend the training in --out, if the file exists");
    command.add_option("--curve", curve, "Write the learning curve as CSV")
        ->check(usage::path())
        ->type_name("OUT");
}

int train_policy(const TrainArguments& arguments) {
    const std::optional<Launch> launched = launch();
    if (launched && launched->rank > 0) return train_along(arguments);
    const InterruptGuard interrupt;
    std::optional<TrainingRanks> ranks;
    if (launched) ranks.emplace(interrupt.token());
    if (arguments.resume && arguments.out.empty())
        throw UsageError("--resume: needs --out, the policy file to resume from");
    for (const std::string& file : {arguments.out, arguments.curve}) {
        if (!file.empty()) expect_writable(file);
    }
    const auto begin = Clock::now();
    TrainingTask training = prepare(arguments, ranks ? &*ranks : nullptr);
    std::vector<std::string> inputs;
    for (const JobArguments& each : training.arguments) {
        for (std::string& file : each.inputs()) inputs.push_back(std::move(file));
    }
    keep_apart(std::array{OutputFile{"--out", arguments.out}, OutputFile{"--curve", arguments.curve}},
               inputs);
    const std::uint64_t behind = training.trainer->state().updates;

    Ended ended = train(training, arguments, ranks ? &*ranks : nullptr, interrupt.token());
    ended.ending.wall_s = seconds_since(begin);
    if (training.trainer->state().updates == 0) {
        if (ended.lost) throw InputError(ended.lost->rank(), "", ended.lost->what());
        if (!ended.diverged.empty()) throw TrainingDiverged(ended.diverged + "; nothing is written");
        std::cerr << "placewright-cli: cancelled before the first update";
        if (arguments.teacher > 0 && !arguments.out.empty() && !ranks)
            std::cerr << "; the placements to imitate that were found are in "
                      << printable(arguments.out, 4096) << ": go on with --resume";
        std::cerr << '\n';
        return kCancelled;
    }
    // Files are written first: they are the costly result, and mpirun soon kills a process that it signalled.
    const Written written = write_results(training, arguments, behind);
    report(training, arguments, ended, written, behind);
    return status_of(training, ended, arguments.job.memory_rule);
}

}  // namespace placewright
