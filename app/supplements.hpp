// SPDX-License-Identifier: MIT
// What files beside the network say of it: the sizes of its parameters, and how long its ops took.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/io/files.hpp"
#include "core/io/input_error.hpp"

namespace placewright {

struct Supplements {
    struct Times {
        Path trace;
        std::string model;  ///< of the devices that they were measured on; empty: what the trace says

        bool operator==(const Times&) const = default;
    };

    Path parameters;           ///< a file with their sizes; empty: those in the network file
    std::vector<Times> times;  ///< the last to time an op on a model counts

    bool operator==(const Supplements&) const = default;
};

/// A trace does not say what its times were measured on, and the machine has devices of several models.
class ModelNeeded : public InputError {
public:
    explicit ModelNeeded(const Path& trace) : InputError(trace.string(), "", "the trace does not say the model of its devices") {}
};

/// A graph with what a file gave, and what a person should know of that, a sentence each.
struct Supplied {
    Graph graph;
    std::vector<std::string> report;
    std::string warning{};    ///< why the times may not be those of the devices that they count for; empty if they are
    std::string cpu_model{};  ///< with a warning: of a CPU that the times could be given to; empty if the machine has none
};

/// The graph with the sizes of parameters in `file`, see read_parameter_sizes(). Throws InputError.
Supplied sized(const Graph& graph, const Path& file);

/// The graph with the times of a trace. What the trace and `times` leave open is the model of the machine's GPUs (of its CPUs where it has
/// no others, or PyTorch's profiler saw no GPU), and noted in `times`; without a machine, or where it has several, ModelNeeded is thrown.
/// Throws InputError, also if the trace has no op of the graph or `stop` was requested.
Supplied timed(const Graph& graph, Supplements::Times& times, const Machine* machine, std::stop_token stop = {});

/// "no device of NAME is called "X"; there are A, B", as times of such a model have no effect; empty if there is one.
std::string unknown_model_text(const Machine& machine, const std::string& name, const std::string& model);

/// Gives the network, which is for `machine`, all that the supplements say of it, and returns a line about each file that begins with the
/// file's name. Models that are left open are noted in `supplements`. Throws what sized() and timed() throw.
std::vector<std::string> supplement(NetworkFile& network, Supplements& supplements, const Machine& machine, std::stop_token stop = {});

}  // namespace placewright
