// SPDX-License-Identifier: MIT
// The problem that the arguments of a command describe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/job.hpp"
#include "app/usage.hpp"
#include "core/io/input_error.hpp"
#include "core/sim/goals.hpp"

namespace placewright {

struct ShardArguments {
    std::vector<std::string> texts;

    void add_to(CLI::App& command);

    /// Throws UsageError.
    Graph split(Graph graph) const;
};

/// What a network file leaves open beside the batch size.
struct ReadingArguments {
    std::vector<std::string> dims, inputs;
    bool run = false;

    void add_to(CLI::App& command);

    /// `batch` 0 is none. Throws UsageError.
    ReadOptions options(std::int64_t batch) const;
};

/// Which ops move together.
struct GroupingArguments {
    std::string group = "none";
    std::uint32_t groups = 0;
    std::uint64_t merge_below_bytes = 0;

    void add_to(CLI::App& command, const std::string& help = "Which ops move together, see below");
    /// Throws UsageError.
    GroupingOptions options() const;
};

/// Says on standard error which ops of the network are estimated.
void report_estimated(const std::string& file, const NetworkFile& network);

/// What simulate, optimize and bound have in common.
struct JobArguments {
    std::string network;
    std::string machine;
    std::int64_t batch = 0;
    std::uint32_t batches = 1, in_flight = 1;
    bool inference = false;
    std::string cost{cost_models().front().id};
    bool cost_given = false;
    std::string memory = "training";
    std::string objective{goals().front().id};
    std::string memory_rule = "exprimo";
    std::string order = "fifo";
    std::string optimizer = "momentum";
    std::string recompute = "none";
    std::string crossing;
    bool accumulate = false, in_place = false;
    std::uint64_t workspace_bytes = 0;
    double usable_memory = 1;
    double compute_efficiency = 0, channel_efficiency = 0;
    ReadingArguments reading;
    std::string parameters;          ///< a file with their sizes
    std::vector<std::string> times;  ///< TRACE or TRACE=MODEL
    ShardArguments shards;
    GroupingArguments grouping;
    bool json = false;

    /// `objectives`: those that the command knows, of goals().
    void add_to(CLI::App& command, std::span<const Goal> objectives);

    /// Throws UsageError for options that would do nothing together.
    void check() const;

    /// What --parameters and --times say.
    Supplements supplements() const;
    /// Throws UsageError.
    JobOptions options() const;
    /// The network as --parameters, --times and --shard make it; what the first leaves out and what traces gave is told on standard error.
    /// Throws UsageError and InputError.
    NetworkFile read() const;
    /// What may name a file that is read: values of options, and items of those that may be lists.
    std::vector<std::string> inputs() const;
    /// Throws UsageError and InputError.
    Job load(const std::string& placement_file = "") const;
};

}  // namespace placewright
