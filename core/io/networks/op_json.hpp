// SPDX-License-Identifier: MIT
// Ops in the JSON of placewright.graph.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/graph/graph.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Reads an op of placewright.graph without its inputs. `value` is an object with at least name, kind, flops,
/// parameter_bytes, outputs.
Op read_op(const JsonValue& value);
/// Returns an op as JSON of placewright.graph; without inputs unless they are given.
Json op_json(const Op& op, Json inputs = nullptr);
/// Returns an input as files write it: the name of an op, or "op:k" for its output k. The result is
/// unambiguous even if names of ops end in ":1".
std::string input_name(const std::string& op, std::uint32_t output,
                       const std::function<bool(const std::string&)>& is_op);

/// Returns the result of `build`; a GraphError becomes an InputError at `place(name of the op)`.
Graph build_graph(const JsonFile& file, const std::function<Graph()>& build,
                  const std::function<std::string(const std::string&)>& place);

}  // namespace placewright
