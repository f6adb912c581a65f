// SPDX-License-Identifier: MIT
// Side files of a network: sizes of its parameters and measured times of its ops.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {

struct Supplements {
    struct Times {
        Path trace;
        std::string model;  ///< device model that they were measured on; empty: the one in the trace

        bool operator==(const Times&) const = default;
    };

    Path parameters;           ///< file with parameter sizes; empty: the sizes in the network file
    std::vector<Times> times;  ///< if several time an op on a model, the last one counts

    bool operator==(const Supplements&) const = default;
};

/// Thrown if a trace does not name the device model of its times and the machine has devices of several
/// models.
class ModelNeeded : public InputError {
public:
    explicit ModelNeeded(const Path& trace)
        : InputError(trace.string(), "", "the trace does not say the model of its devices") {}
};

/// A graph with the values of a file, and remarks on them for the user, one sentence each.
struct Supplied {
    Graph graph;
    std::vector<std::string> report;
    std::string
        warning{};  ///< why the times may not be those of the devices that they are used for; otherwise empty
    std::string cpu_model{};  ///< with a warning: model of a CPU that the times could be assigned to; empty
                              ///< if the machine has none
};

/// Returns the graph with the parameter sizes in `file`, see read_parameter_sizes(). Throws InputError.
Supplied sized(const Graph& graph, const Path& file);

/// Returns the graph with the times of a trace. If neither the trace nor `times` names the device model, it
/// is the model of the machine's GPUs (of its CPUs if it has no others, or if PyTorch's profiler saw no GPU),
/// which is stored in `times`; without a machine, or if it has several models, ModelNeeded is thrown. Throws
/// InputError, also if the trace has no op of the graph or `stop` was requested.
Supplied timed(const Graph& graph, Supplements::Times& times, const Machine* machine,
               std::stop_token stop = {});

/// Returns "no device of NAME has the model "X"; its models are A, B", because times of such a model have no
/// effect; empty if a device has it.
std::string unknown_model_text(const Machine& machine, const std::string& name, const std::string& model);

/// Applies all supplements to the network, which is for `machine`. Returns one line per file, beginning with
/// the file's name. Device models that were left open are stored in `supplements`. Throws what sized() and
/// timed() throw.
std::vector<std::string> supplement(NetworkFile& network, Supplements& supplements, const Machine& machine,
                                    std::stop_token stop = {});

}  // namespace placewright
