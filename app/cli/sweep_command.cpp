// SPDX-License-Identifier: MIT
#include "app/cli/sweep_command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "app/cli/complaint.hpp"
#include "app/cli/console.hpp"
#include "app/cli/interrupt.hpp"
#include "app/cli/job_arguments.hpp"
#include "app/cli/progress_line.hpp"
#include "app/cli/search_arguments.hpp"
#include "app/cli/sweep_file.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/fingerprint.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/cost/problem_fingerprint.hpp"
#include "core/distributed/launch.hpp"
#include "core/io/placements/placement_file.hpp"
#include "core/io/text/folder_lock.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/job/job.hpp"

namespace placewright {
namespace {

/// One of several processes that share the searches of a sweep.
struct Part {
    std::size_t index = 0, count = 1;

    bool is_all() const { return count == 1; }
};

Part part_of(const SweepArguments& arguments) {
    const auto processes = launch();
    if (arguments.part.empty()) {
        if (!processes) return {};
        return {static_cast<std::size_t>(processes->rank), static_cast<std::size_t>(processes->size)};
    }
    if (processes && processes->size > 1)
        throw UsageError("--part: mpirun has started several processes, each of which is a part already");
    const std::string& text = arguments.part;
    std::size_t number = 0, count = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, number);
    const bool has_count = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
    const auto second = std::from_chars(has_count ? first.ptr + 1 : end, end, count);
    if (!has_count || second.ec != std::errc() || second.ptr != end || number < 1 || number > count)
        throw UsageError("--part " + text + ": expected K/N, such as 3/8 for the third of eight parts");
    return {number - 1, count};
}

/// "results.csv" is "results.part-3-of-8.csv" for the third part.
Path part_file(const Path& out, const Part& part) {
    Path name = out.stem();
    name += ".part-" + std::to_string(part.index + 1) + "-of-" + std::to_string(part.count);
    name += out.extension();
    return out.parent_path() / name;
}

/// The tables of all parts that are there, of whatever number of parts.
std::vector<Path> part_files(const Path& out) {
    std::vector<Path> files;
    const std::string begin = out.stem().string() + ".part-", end = out.extension().string();
    const auto is_number = [](const std::string& text) {
        return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    std::error_code error;
    const Path folder = out.has_parent_path() ? out.parent_path() : Path(".");
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size())
            continue;
        const std::string part = name.substr(begin.size(), name.size() - begin.size() - end.size());
        const auto of = part.find("-of-");
        if (of != std::string::npos && is_number(part.substr(0, of)) && is_number(part.substr(of + 4)))
            files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

/// A network on a machine with a set of options.
struct SweepCase {
    const SweepInput* network;
    const SweepInput* machine;
    const SweepOptions* options;
    std::vector<Contestant> contestants;

    SearchKey key(const AlgorithmInfo& algorithm, std::uint64_t seed) const {
        return {network->name, machine->name, options->label, std::string(algorithm.id), seed};
    }
    std::string title() const { return key(*contestants.front().algorithm, 0).case_title(); }
};

/// The job of a case: its options are parsed as on the command line.
struct SweepJob {
    CLI::App app{"", "placewright-cli"};
    JobArguments arguments;

    /// Throws UsageError.
    void parse(const SweepCase& one) {
        CLI::App& command = *app.add_subcommand("compare");
        arguments.add_to(command, objectives());
        std::vector<std::string> texts{"compare", one.network->file, "--machine", one.machine->file};
        texts.insert(texts.end(), one.options->arguments.begin(), one.options->arguments.end());
        std::ranges::reverse(texts);
        try {
            app.parse(std::move(texts));
        } catch (const CLI::ParseError& error) {
            if (error.get_exit_code() == 0) throw UsageError("--help is no option of a sweep");
            throw UsageError(complaint(app, error));
        }
        arguments.json = true;
    }
};

class SweepRun {
public:
    SweepRun(const SweepArguments& arguments, std::stop_token stop)
        : arguments_(arguments),
          stop_(std::move(stop)),
          file_(arguments.file),
          sweep_(read_sweep(file_)),
          part_(part_of(arguments)),
          out_(arguments.out) {
        for (const SweepInput& network : sweep_.networks) {
            for (const SweepInput& machine : sweep_.machines) {
                for (const SweepOptions& options : sweep_.options) {
                    SweepCase& one = cases_.emplace_back(SweepCase{&network, &machine, &options, {}});
                    for (const AlgorithmInfo* algorithm : sweep_.algorithms)
                        one.contestants.push_back({algorithm, {}});
                    check_options(one);
                }
            }
        }
        std::vector<std::string> inputs{arguments.file};
        for (const SweepCase& one : cases_) {
            for (const SweepInput* input : {one.network, one.machine}) inputs.push_back(input->file);
        }
        keep_apart(std::array{OutputFile{"--out", arguments.out}}, inputs);
        expect_writable(out_);
        if (!arguments.placements.empty()) make_folder(arguments.placements);
        read_known();
    }

    void run() {
        std::size_t number = 0;
        for (const SweepCase& one : cases_) {
            ++number;
            if (stop_.stop_requested()) break;
            const std::set<SearchKey> missing = missing_of(one);
            if (missing.empty()) continue;
            try {
                run_case(one, missing,
                         "case " + std::to_string(number) + " of " + std::to_string(cases_.size()) + ": ");
            } catch (const std::exception& error) {
                // Other cases may go on.
                failures_.push_back(one.title() + ": " + error.what());
            }
            save();
        }
        collect();
    }

    int report() const {
        const std::size_t finished = count_finished();
        const bool cancelled = stop_.stop_requested();
        if (arguments_.json) {
            print({{"searches", sweep_.searches()},
                   {"finished", finished},
                   {"ran", ran_},
                   {"cancelled", cancelled},
                   {"failures", failures_},
                   {"table", out_.string()}});
        } else {
            if (part_.is_all()) print_cases();
            if (!part_.is_all()) std::cout << "part " << part_.index + 1 << " of " << part_.count << ": ";
            std::cout << ran_ << (ran_ == 1 ? " search" : " searches") << " run; " << finished << " of "
                      << sweep_.searches() << " are in " << printable(out_.string()) << '\n';
        }
        if (const std::size_t without = arguments_.placements.empty() ? 0 : count_without_placement();
            without > 0)
            std::cerr << "placewright-cli: warning: " << printable(arguments_.placements)
                      << " lacks the placements of " << without << (without == 1 ? " search" : " searches")
                      << " that the table had already; give another --out to run them again\n";
        for (const std::string& failure : failures_) std::cerr << printable(failure, 8192) << '\n';
        if (cancelled) {
            std::cerr
                << "placewright-cli: cancelled before all searches finished; run the same command again to "
                   "go on\n";
            return kCancelled;
        }
        return failures_.empty() ? kDone : kBadInput;
    }

private:
    /// Applies the settings of the case to its contestants.
    void check_options(SweepCase& one) {
        try {
            apply_settings(one.contestants, one.options->settings);
            SweepJob job;
            job.parse(one);
            const Objective* objective = find_objective(job.arguments.objective);
            if (objective_ == nullptr) objective_ = objective;
            if (objective_ != objective)
                throw UsageError("objective=" + job.arguments.objective +
                                 " differs from that of the first options; a table has one objective");
        } catch (const UsageError& error) {
            throw InputError(arguments_.file, "options", one.options->label + ": " + error.what());
        }
    }

    bool is_mine(std::size_t index) const { return index % part_.count == part_.index; }

    /// Calls `use(key, index)` for the searches of a case; the index is that among all searches.
    template <class Use>
    void for_each_search(const SweepCase& one, const Use& use) const {
        const auto number = static_cast<std::size_t>(&one - cases_.data());
        std::size_t index = number * sweep_.algorithms.size() * sweep_.seeds.size();
        for (const AlgorithmInfo* algorithm : sweep_.algorithms) {
            for (const std::uint64_t seed : sweep_.seeds) use(one.key(*algorithm, seed), index++);
        }
    }
    /// For all searches in their order.
    template <class Use>
    void for_each_search(const Use& use) const {
        for (const SweepCase& one : cases_) for_each_search(one, use);
    }

    static SearchTable read_own_table(const Path& file) {
        try {
            return read_search_table(file);
        } catch (const InputError& error) {
            throw InputError(file.string(), "",
                             without_prefix(error.what(), file.string() + ": ") +
                                 "; a sweep goes on with the table that it has written: give another --out");
        }
    }

    /// Takes the searches of a table; those that are known already stay with `keep_known`.
    void add_known(const Path& file, bool keep_known = false) {
        SearchTable table = read_own_table(file);
        if (table.objective != objective_)
            throw InputError(file.string(), "",
                             "has another objective (" + std::string(table.objective->id) +
                                 ") than the sweep; give another --out");
        for (TabledSearch& search : table.searches) {
            if (search.budget == 0)
                throw InputError(file.string(), "",
                                 "has searches of a comparison, not of a sweep; give another --out");
            if (search.budget != sweep_.evaluations && is_wanted(search.key))
                throw InputError(file.string(), "",
                                 "has searches of " + std::to_string(search.budget) + " evaluations, but " +
                                     arguments_.file + " asks for " + std::to_string(sweep_.evaluations) +
                                     "; give another --out");
            const SearchKey key = search.key;
            if (keep_known)
                known_.try_emplace(key, std::move(search));
            else
                known_.insert_or_assign(key, std::move(search));
        }
    }

    bool is_wanted(const SearchKey& key) const { return wanted_.contains(key); }

    void read_known() {
        for_each_search([&](const SearchKey& key, std::size_t) { wanted_.insert(key); });
        const FolderLock lock(out_);
        std::vector<Path> files = part_files(out_);
        if (std::error_code error; std::filesystem::exists(out_, error)) files.insert(files.begin(), out_);
        for (const Path& file : files) add_known(file);
        if (part_.is_all()) return;
        const Path own = part_file(out_, part_);
        if (std::error_code error; std::filesystem::exists(own, error)) {
            for (const TabledSearch& search : read_own_table(own).searches) own_.insert(search.key);
        }
    }

    std::set<SearchKey> missing_of(const SweepCase& one) const {
        std::set<SearchKey> missing;
        for_each_search(one, [&](const SearchKey& key, std::size_t index) {
            if (is_mine(index) && !known_.contains(key)) missing.insert(key);
        });
        return missing;
    }

    void run_case(const SweepCase& one, const std::set<SearchKey>& missing, const std::string& place) {
        SweepJob parsed;
        parsed.parse(one);
        const Job job = parsed.arguments.load();
        const std::string problem = problem_fingerprint(*job.problem);
        expect_same(one, problem);
        const Bound bound = tightest_bound(job);
        ComparisonTask task{job.problem,     job.simulation, job.penalty,        starting_placements(job),
                            one.contestants, sweep_.seeds,   sweep_.evaluations, arguments_.threads};
        task.objective = job.objective;
        task.is_wanted = [&](std::size_t contestant, std::uint64_t seed) {
            return missing.contains(one.key(*one.contestants[contestant].algorithm, seed));
        };
        const ProgressLine line(place);
        const ComparisonCallback show = line.callback();
        const auto keep = [&](const ComparisonProgress& progress) {
            if (show) show(progress);
            if (progress.just_ended == nullptr) return;
            add(one, job, problem, bound, *progress.just_ended);
            if (Clock::now() >= next_save_) save();
        };
        try {
            compare(task, stop_, keep);
        } catch (const OptionError& error) {
            throw UsageError(std::string("set: ") + error.what());
        }
    }

    /// Throws InputError if searches of the case that are known were of another problem.
    void expect_same(const SweepCase& one, const std::string& problem) const {
        for (const AlgorithmInfo* algorithm : sweep_.algorithms) {
            for (const std::uint64_t seed : sweep_.seeds) {
                const auto search = known_.find(one.key(*algorithm, seed));
                if (search == known_.end() || search->second.problem.empty() ||
                    search->second.problem == problem)
                    continue;
                throw InputError(
                    arguments_.out, one.title(),
                    "the table has searches of another version of this network, machine or cost model; "
                    "give another --out");
            }
        }
    }

    void add(const SweepCase& one, const Job& job, const std::string& problem, const Bound& bound,
             const ComparedRun& run) {
        const SearchProgress& end = run.progress;
        TabledSearch search;
        search.key = one.key(*one.contestants[run.contestant].algorithm, run.seed);
        search.budget = sweep_.evaluations;
        search.problem = problem;
        search.score = end.best;
        search.evaluations = end.evaluations;
        search.simulations = end.simulations;
        search.wall_s = end.elapsed_s;
        if (job.single_device_fits) search.one_device_s = job.single_device_s;
        if (std::isfinite(bound.value_s)) search.lower_bound_s = bound.value_s;
        if (end.curve) search.curve = *end.curve;
        own_.insert(search.key);
        ran_now_.insert(search.key);
        ++ran_;
        known_.insert_or_assign(search.key, std::move(search));
        if (arguments_.placements.empty()) return;
        try {
            write_best(one, job, bound, run);
        } catch (const InputError& error) {
            failures_.emplace_back(error.what());
        }
    }

    void write_best(const SweepCase& one, const Job& job, const Bound& bound, const ComparedRun& run) const {
        const Contestant& who = one.contestants[run.contestant];
        PlacementFile about;
        const Placement& placement = *run.progress.best_placement;
        about.predicted = prediction(job, placement, Simulator(job.problem, job.simulation).run(placement),
                                     job.objective->is_step_time() ? bound.value_s : 0);
        about.produced_by = {std::string(who.algorithm->id), run.seed, run.progress.evaluations, who.options};
        write_placement(placement, *job.problem, about, placement_file(one, *who.algorithm, run.seed));
    }

    /// The file in --placements of the best placement of a search.
    Path placement_file(const SweepCase& one, const AlgorithmInfo& algorithm, std::uint64_t seed) const {
        const std::string title =
            one.title() + ", " + std::string(algorithm.id) + ", seed " + std::to_string(seed);
        std::string name;
        for (const char c : title) {
            if (c == '/') {
                name += "%2F";
            } else if (c == '%') {
                name += "%25";
            } else {
                name += c;
            }
        }
        // File systems allow 255 bytes.
        constexpr std::size_t kLongest = 200;
        if (name.size() > kLongest) {
            Fingerprint whole;
            whole.add(name);
            name = name.substr(0, kLongest) + ' ' + whole.digits();
        }
        return Path(arguments_.placements) / (name + ".json");
    }

    /// Searches of this process that the table had already, and whose placements are not in --placements.
    std::size_t count_without_placement() const {
        std::size_t count = 0;
        for (const SweepCase& one : cases_) {
            for_each_search(one, [&](const SearchKey& key, std::size_t index) {
                if (!is_mine(index) || !known_.contains(key) || ran_now_.contains(key)) return;
                const AlgorithmInfo& algorithm = *find_algorithm(key.algorithm);
                std::error_code error;
                if (!std::filesystem::exists(placement_file(one, algorithm, key.seed), error)) ++count;
            });
        }
        return count;
    }

    /// Adds the searches of the table that are not known yet: another sweep may have written it meanwhile. If
    /// it has written what does not go with this sweep, this one goes on in a table beside it. To be called
    /// with the table locked.
    void add_written() {
        std::error_code error;
        if (!std::filesystem::exists(out_, error)) return;
        try {
            add_known(out_, true);
        } catch (const InputError& problem) {
            const Path taken = out_;
            for (int number = 2; std::filesystem::exists(out_, error); ++number) {
                Path name = taken.stem();
                name += '-' + std::to_string(number);
                name += taken.extension();
                out_ = taken.parent_path() / name;
            }
            failures_.push_back(std::string(problem.what()) +
                                "; it was written while this sweep ran, which went on in " + out_.string());
        }
    }

    /// Writes what this process has found, and knows of the whole sweep if it is alone.
    void save() {
        const auto begin = Clock::now();
        std::optional<FolderLock> lock;
        if (part_.is_all()) {
            lock.emplace(out_);
            add_written();
        }
        SearchTable table = known_table();
        if (!part_.is_all())
            std::erase_if(table.searches,
                          [&](const TabledSearch& search) { return !own_.contains(search.key); });
        if (!table.searches.empty())
            write_file(part_.is_all() ? out_ : part_file(out_, part_), search_csv(table));
        // A long table takes its time: at most a twentieth of it all goes on writing.
        constexpr auto kBetween = std::chrono::seconds(2);
        next_save_ = Clock::now() + std::max<Clock::duration>(kBetween, 20 * (Clock::now() - begin));
    }

    /// Writes the whole table of all parts. The last process to end has all of it.
    void collect() {
        const FolderLock lock(out_);
        std::vector<Path> parts = part_files(out_);
        for (const Path& file : parts) add_known(file);
        add_written();
        write_file(out_, search_csv(known_table()));
        if (count_finished() < sweep_.searches()) return;
        for (const Path& file : parts) std::filesystem::remove(file);
    }

    /// All that is known: first the searches of the sweep in their order, then others.
    SearchTable known_table() const {
        SearchTable table{objective_, {}};
        for_each_search([&](const SearchKey& key, std::size_t) {
            if (const auto search = known_.find(key); search != known_.end())
                table.searches.push_back(search->second);
        });
        for (const auto& [key, search] : known_) {
            if (!is_wanted(key)) table.searches.push_back(search);
        }
        return table;
    }

    std::size_t count_finished() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(wanted_, [&](const SearchKey& key) { return known_.contains(key); }));
    }

    void print_cases() const {
        std::vector<Row> rows{
            {"network", "machine", "best algorithm", "mean", "best", "above bound", "options", "searches"}};
        const std::size_t planned = sweep_.algorithms.size() * sweep_.seeds.size();
        bool is_whole = true, any_equal = false;
        for (const ComparedCase& one : compared_cases(known_table())) {
            const std::vector<Standing> all = one.all_standings();
            if (all.empty()) continue;
            const auto finished =
                static_cast<std::size_t>(std::ranges::count_if(one.runs, [&](const ComparedRun& run) {
                    return is_wanted({one.labels[0], one.labels[1], one.labels[2],
                                      std::string(one.contestants[run.contestant].algorithm->id), run.seed});
                }));
            is_whole = is_whole && (finished == 0 || finished == planned);
            const Standing& best = *std::ranges::min_element(
                all, {}, [](const Standing& standing) { return standing.score_s.mean; });
            const bool fits = best.fitting == best.runs.size();
            const bool is_equal =
                fits && std::ranges::any_of(all, [&](const Standing& standing) {
                    return &standing != &best && standing.score_s.mean <= best.score_s.mean * (1 + 1e-9);
                });
            any_equal = any_equal || is_equal;
            const auto above = gap(one, best);
            rows.push_back(
                {one.labels[0], one.labels[1],
                 (is_equal ? "= " : "") + contestant_name(one.contestants, best.contestant),
                 fits ? format_seconds(best.score_s.mean) : "does not fit",
                 fits ? format_seconds(best.best_s) : "-",
                 above ? decimals("%.0f %%", whole_percent(*above)) : "-", one.labels[2],
                 // The table may have cases of other sweeps.
                 finished == 0 ? "-" : std::to_string(finished) + " of " + std::to_string(planned)});
        }
        const bool has_options = sweep_.options.size() > 1 || !sweep_.options.front().label.empty();
        for (Row& row : rows) {
            if (is_whole) row.pop_back();
            if (!has_options) row.erase(row.begin() + 6);
        }
        const std::string alignment =
            std::string("lllrrr") + (has_options ? "l" : "") + (is_whole ? "" : "r");
        std::cout << table(alignment, std::move(rows))
                  << (any_equal ? "= other algorithms have the same mean, too\n\n" : "\n");
    }

    using Clock = std::chrono::steady_clock;

    const SweepArguments& arguments_;
    const std::stop_token stop_;
    const Path file_;
    const Sweep sweep_;
    const Part part_;
    Path out_;
    std::vector<SweepCase> cases_;
    const Objective* objective_ = nullptr;
    std::set<SearchKey> wanted_;
    std::map<SearchKey, TabledSearch> known_;  ///< of this process, earlier runs and other parts
    std::set<SearchKey> own_;                  ///< what this process writes to the table of its part
    std::set<SearchKey> ran_now_;
    std::size_t ran_ = 0;
    Clock::time_point next_save_{};
    std::vector<std::string> failures_;
};

}  // namespace

void SweepArguments::add_to(CLI::App& command) {
    command.add_option("SWEEP", file, "File of the sweep (JSON), see below")
        ->required()
        ->check(usage::path());
    command.add_option("--out", out, "Table (CSV) of all searches; what it has is not run again")
        ->required()
        ->check(usage::path())
        ->type_name("TABLE");
    command.add_option("--part", part, "Run the K-th of N parts; the last to end collects the table")
        ->type_name("K/N");
    command.add_option("--placements", placements, "Folder for the best placement of each search")
        ->check(usage::path())
        ->type_name("FOLDER");
    usage::add_threads(command, threads, "Parallel searches, 0 for all cores; same results");
    command.add_flag("--json", json, "Print one JSON object");
    command.footer(
        "The file of a sweep, of which \"options\", \"seeds\" and \"evaluations\" may be left out:\n"
        "  {\"format\": \"placewright.sweep\", \"version\": 1,\n"
        "   \"networks\": [\"inception_v3\", \"my-network.onnx\"], \"machines\": [\"4x-v100-pcie\"],\n"
        "   \"options\": [{}, {\"batch\": 64, \"precision\": \"amp-fp16\"}, {\"set\": "
        "\"genetic.population_size=20\"}],\n"
        "   \"algorithms\": [\"auto\", \"genetic\"], \"seeds\": 5, \"evaluations\": 20000}\n"
        "Options are those of compare. Under mpirun each process runs a part.");
}

int run_sweep(const SweepArguments& arguments) {
    const InterruptGuard interrupt;
    SweepRun run(arguments, interrupt.token());
    run.run();
    return run.report();
}

}  // namespace placewright
