// SPDX-License-Identifier: MIT
// placewright-cli does the work of the window without Qt. Standard output carries the result (with --json
// exactly one JSON object); standard error carries messages and, on a terminal, progress.
#include "app/cli/cli.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "app/cli/benchmark_command.hpp"
#include "app/cli/bound_command.hpp"
#include "app/cli/calibrate_command.hpp"
#include "app/cli/codesign_command.hpp"
#include "app/cli/compare_command.hpp"
#include "app/cli/complaint.hpp"
#include "app/cli/convert_command.hpp"
#include "app/cli/experiment_command.hpp"
#include "app/cli/export_command.hpp"
#include "app/cli/family_command.hpp"
#include "app/cli/list_commands.hpp"
#include "app/cli/machines_command.hpp"
#include "app/cli/optimize_command.hpp"
#include "app/cli/predict_command.hpp"
#include "app/cli/profile_command.hpp"
#include "app/cli/report_command.hpp"
#include "app/cli/simulate_command.hpp"
#include "app/cli/sweep_command.hpp"
#include "app/cli/train_command.hpp"
#include "app/cli/usage.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/text.hpp"
#include "core/base/torch_library.hpp"
#include "core/distributed/launch.hpp"
#include "core/io/text/input_error.hpp"
#include "core/learn/trainer.hpp"

namespace placewright {
namespace {

/// The commands with arguments. The parser keeps references to the arguments.
class Commands {
public:
    /// The command that is parsed runs and sets `status`.
    Commands(CLI::App& app, int& status) : app_(app), status_(status) {
        add("simulate", "Simulate a placement", simulate_, simulate_placement);
        CLI::App& optimize = add("optimize", "Search for a good placement", optimize_, {});
        optimize.callback([this, &optimize] {
            optimize_.note_given(optimize);
            status_ = optimize_placement(optimize_);
        });
        add("compare", "Compare algorithms with equal evaluations", compare_, compare_algorithms);
        add("sweep", "Run a table of searches from one file; goes on where it ended", sweep_, run_sweep);
        add("codesign", "Find machines on the Pareto front of price and step time", codesign_,
            codesign_machine);
        add("experiment", "Repeat an experiment of a paper; writes tables and CSV", experiment_,
            run_experiment);
        add("bound", "Prove lower bounds of the objective", bound_, print_bounds);
        add("benchmark", "Run a placement for real, and compare with the simulation", benchmark_,
            benchmark_placement);
        add("profile", "Measure the ops of a network, and transfers, for --profile", profile_, profile_ops);
        add("calibrate", "Fit the cost model of a device to measured times of ops", calibrate_,
            calibrate_devices);
        add("export", "Write a placement in the format of a training program", export_, export_placement);
        add("report", "Write a report on a placement as one HTML file", report_, report_placement);
        add("convert", "Convert IN OUT between formats; or generate: --network NAME OUT", convert_,
            convert_file);
        add("family", "Generate similar networks to train and test a policy on", family_, make_family);
        train_.threads = optimize_.threads;
        add("train", "Train a placement policy on networks or a family of them", train_, train_policy);
        add("predict", "Place a network with a trained policy", predict_, predict);
    }

    /// The last of the commands that list, in the order of the help.
    void add_machines() {
        add("machines", "List the shipped machines or known devices; detect this computer", machines_,
            run_machines);
    }

private:
    template <class Arguments>
    CLI::App& add(const char* name, const char* help, Arguments& arguments,
                  const std::type_identity_t<std::function<int(const Arguments&)>>& run) {
        CLI::App& command = *app_.add_subcommand(name, help);
        arguments.add_to(command);
        if (run) command.callback([this, &arguments, run] { status_ = run(arguments); });
        return command;
    }

    CLI::App& app_;
    int& status_;
    SimulateArguments simulate_;
    OptimizeArguments optimize_;
    CompareArguments compare_;
    SweepArguments sweep_;
    CodesignArguments codesign_;
    ExperimentArguments experiment_;
    BenchmarkArguments benchmark_;
    BoundArguments bound_;
    CalibrateArguments calibrate_;
    ExportArguments export_;
    ReportArguments report_;
    ConvertArguments convert_;
    FamilyArguments family_;
    TrainArguments train_;
    PredictArguments predict_;
    ProfileArguments profile_;
    MachinesArguments machines_;
};

/// The parser with all commands.
class Parser {
public:
    Parser() {
        app_.formatter(std::make_shared<usage::HelpText>());
        app_.set_version_flag("--version", PLACEWRIGHT_VERSION, "Print the version and exit");
        app_.set_help_flag("-h,--help", "Print this help and exit");
        app_.require_subcommand(1);
        app_.footer(
            "Exit status: 0 done, 1 internal error, 2 wrong usage, 3 bad input file or unwritable output,\n"
            "4 no placement found that fits the memory, 130 cancelled (results so far are still written).");
        // Commands repeat the footer.
        commands_.emplace(app_, status_);
        add_list("algorithms", "List all algorithms with their options", list_algorithms);
        add_list("networks", "List the shipped networks", list_networks);
        commands_->add_machines();
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    CLI::App& app() { return app_; }
    /// Exit status of the command that was parsed.
    int status() const { return status_; }

private:
    void add_list(const char* name, const char* help, int (*list)(bool)) {
        CLI::App& command = *app_.add_subcommand(name, help);
        command.add_flag("--json", json_, "Print one JSON array");
        command.callback([this, list] { status_ = list(json_); });
    }

    CLI::App app_{"Decides on which device each operation of a neural network runs.", "placewright-cli"};
    int status_ = kDone;
    bool json_ = false;
    std::optional<Commands> commands_;
};

int run(int argc, char** argv) {
    Parser parser;
    CLI::App& app = parser.app();
    if (launch()) {
        const auto alone = [](const CLI::App* item) {
            const std::string& name = item->get_name();
            return name != "optimize" && name != "train" && name != "sweep";
        };
        for (CLI::App* command : app.get_subcommands(alone)) {
            command->preparse_callback([command](std::size_t) {
                throw UsageError(command->get_name() +
                                 ": under mpirun only optimize, train and sweep are supported; " +
                                 launch()->rank_variable + " and " + launch()->size_variable +
                                 " say that mpirun started this program");
            });
        }
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) throw UsageError(complaint(app, error));
        app.exit(error);
    }
    if (!std::cout.flush()) throw InputError("standard output", "", "cannot be written");
    return parser.status();
}

/// A standard stream that is closed would be the number of the next file that is opened: what is printed
/// would go into it. Here what is printed to a closed standard output cannot be written.
void keep_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
}

/// The Python package runs this program in a session of its own and names itself in PLACEWRIGHT_PARENT. When
/// its process, or the thread that waits, is killed, nobody reads the result any more.
void end_with_parent() {
#ifdef __linux__
    const char* const parent = std::getenv("PLACEWRIGHT_PARENT");
    if (parent == nullptr || std::to_string(::getppid()) != parent) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    // It may have ended just before.
    if (std::to_string(::getppid()) != parent) std::exit(kCancelled);
#endif
}

}  // namespace

int run_cli(int argc, char** argv) {
    keep_standard_streams();
    end_with_parent();
    // A file that grows too large (ulimit -f) is then an error of writing like any other.
    std::signal(SIGXFSZ, SIG_IGN);
    // An error that occurs on all ranks is reported by rank 0, whose exit status counts.
    const bool silent = launch() && launch()->rank > 0;
    const auto complain = [silent](const std::string& text, ExitStatus status) {
        if (silent) return kDone;
        // Names from files and arguments may contain any characters; the message stays one line.
        std::cerr << printable(text, 8192) << '\n';
        return status;
    };
    try {
        return run(argc, argv);
    } catch (const LaunchError& error) {
        // There is no other rank that would say it.
        std::cerr << "placewright-cli: " << error.what() << '\n';
        return kWrongUsage;
    } catch (const UsageError& error) {
        return complain(std::string("placewright-cli: ") + error.what(), kWrongUsage);
    } catch (const InputError& error) {
        return complain(error.what(), kBadInput);
    } catch (const MissingPart& error) {
        return complain(std::string("placewright-cli: ") + error.what(), kInternalError);
    } catch (const TrainingDiverged& error) {
        return complain(std::string("placewright-cli: ") + error.what(), kInternalError);
    } catch (const std::bad_alloc&) {
        return complain("placewright-cli: out of memory", kInternalError);
    } catch (const std::exception& error) {
        return complain(std::string("placewright-cli: internal error: ") + error.what(), kInternalError);
    }
}

void with_parser(const std::function<void(const CLI::App&)>& use) {
    Parser parser;
    use(parser.app());
}

}  // namespace placewright
