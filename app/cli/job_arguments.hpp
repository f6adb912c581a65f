// SPDX-License-Identifier: MIT
// Options that describe a problem: network, machine, costs, simulation and objective.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/cli/usage.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/job/job.hpp"
#include "core/sim/objectives.hpp"

namespace placewright {

struct ShardArguments {
    std::vector<std::string> texts;

    void add_to(CLI::App& command);

    /// Splits the named ops. Throws UsageError.
    Graph split(Graph graph) const;
};

struct PrecisionArguments {
    std::string text;

    void add_to(CLI::App& command);
    Precision precision() const;
    /// Throws UsageError if a precision is given for a language model that takes none (takes_precision()).
    void check(const NetworkFile& network) const;
};

/// Sizes that a network file leaves open, except the batch size, and what a step of a language model is.
struct ReadingArguments {
    std::vector<std::string> dims, inputs;
    bool run = false;
    std::string phase;          ///< empty: decode
    std::int64_t sequence = 0;  ///< 0: the model's
    std::string dtype, kv_dtype;
    std::string mla_cache;  ///< empty: compressed
    bool full_cache = false, split_layers = false;

    void add_to(CLI::App& command);

    /// `batch` 0: no batch size is given. Throws UsageError.
    ReadOptions options(std::int64_t batch) const;
    /// Throws UsageError if options of language models are given. `name`: what is read, which is none.
    void refuse_language(const std::string& name) const;
};

/// Options of the grouping of ops.
struct GroupingArguments {
    std::string group = "none";
    std::uint32_t groups = 0;
    std::uint64_t merge_below_bytes = 0;

    void add_to(CLI::App& command, const std::string& help = "Which ops move together, see below");
    /// Throws UsageError.
    GroupingOptions options() const;
};

/// Reports on standard error the ops whose FLOPs are estimated.
void report_estimated(const std::string& file, const NetworkFile& network);

/// Options that simulate, optimize, bound and other commands share.
struct JobArguments {
    std::string network;
    std::string machine;
    std::int64_t batch = 0;
    std::uint32_t batches = 1, in_flight = 1;
    bool inference = false;
    PrecisionArguments precision;
    std::string cost{cost_models().front().id};
    bool cost_given = false;
    std::string memory = "training";
    std::string objective{objectives().front().id};
    std::string memory_rule = "exprimo";
    std::string order;  ///< empty: fifo, but 1f1b for language models
    std::string offload{to_string(Offload::compute)};
    std::string runtime = "ideal";
    double host_time_s = kPyTorchHostTimeS;
    std::string optimizer = "momentum";
    std::string recompute = "none";
    std::string crossing;
    bool accumulate = false, in_place = false, optimizer_in_backward = false;
    std::uint64_t workspace_bytes = 0;
    std::string framework = "pytorch";
    std::uint64_t context_bytes = 0;
    bool context_given = false;
    std::string allocator;  ///< empty: the framework's
    double usable_memory = 1;
    double compute_efficiency = 0, channel_efficiency = 0;
    ReadingArguments reading;
    std::string parameters;          ///< file with the sizes of the parameters
    std::vector<std::string> times;  ///< TRACE or TRACE=MODEL
    std::string profile;             ///< archive of measured times
    std::string constraints;         ///< file with rules for placements
    ShardArguments shards;
    GroupingArguments grouping;
    bool json = false;

    /// `objectives`: the objectives() that the command supports.
    void add_to(CLI::App& command, std::span<const Objective> objectives);

    /// Throws UsageError for options that have no effect together.
    void check() const;

    /// Files of --parameters and --times.
    Supplements supplements() const;
    /// Options of load_job(). Throws UsageError.
    JobOptions options() const;
    /// Reads the network and applies --parameters, --times and --shard. Reports parameters without a size and
    /// the times found in traces on standard error. Throws UsageError and InputError.
    NetworkFile read() const;
    /// All values that may name an input file, including the items of comma-separated lists.
    std::vector<std::string> inputs() const;
    /// Reads all files and returns the job. `placement_file`, if given, may split ops over several devices.
    /// Throws UsageError and InputError.
    Job load(const std::string& placement_file = "") const;
};

}  // namespace placewright
