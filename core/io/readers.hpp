// SPDX-License-Identifier: MIT
// What the readers of the different formats share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/io/files.hpp"
#include "core/io/json.hpp"

namespace placewright {

/// Networks and device graphs of Exprimo (Lagostra, 2020), whose networks follow Paleo (Qi, Sparks, Talwalkar, 2017). A file is taken
/// for one if it has "layers" or "comm_channels", and no "format".
NetworkFile read_exprimo_network(const JsonFile& file, std::optional<std::int64_t> batch);
Machine read_exprimo_machine(const JsonFile& file);

/// Calls `build`; a GraphError becomes an InputError at `place(name of the op)`.
Graph build_graph(const JsonFile& file, const std::function<Graph()>& build, const std::function<std::string(const std::string&)>& place);

/// The machine; a MachineError becomes an InputError.
Machine build_machine(const JsonFile& file, std::string name, std::vector<Device> devices, std::vector<Channel> channels,
                      std::vector<Route> routes);

}  // namespace placewright
