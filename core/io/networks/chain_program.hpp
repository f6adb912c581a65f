// SPDX-License-Identifier: MIT
// A program whose nodes are merged: who reads and who makes each value.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>

#include "core/graph/flops.hpp"
#include "core/io/networks/traced_program.hpp"

namespace placewright {

using NodeIndex = std::size_t;  ///< place of a node in Program::nodes
inline constexpr NodeIndex kNoNode = static_cast<NodeIndex>(-1);

class ChainProgram {
public:
    /// Nodes that no output depends on are removed: as readers they would keep chains from being merged.
    explicit ChainProgram(Program& program);
    /// Takes the removed nodes out of the program.
    ~ChainProgram();
    ChainProgram(const ChainProgram&) = delete;
    ChainProgram& operator=(const ChainProgram&) = delete;

    Program& program() { return program_; }
    NodeIndex size() const { return program_.nodes.size(); }
    Program::Node& node(NodeIndex i) { return program_.nodes[i]; }
    const std::string& output(NodeIndex i) { return node(i).outputs.front().name; }
    /// Whether a node exists, has not been removed, and is of a kind.
    bool is(NodeIndex i, std::string_view kind) { return i != kNoNode && !gone_[i] && node(i).kind == kind; }
    bool is_gone(NodeIndex i) const { return gone_[i]; }

    /// Nodes that read a value, ascending.
    using Readers =
        boost::container::flat_set<NodeIndex, std::less<>, boost::container::small_vector<NodeIndex, 2>>;

    const Readers& readers(const std::string& value) { return values_[value].readers; }
    bool is_result(const std::string& value) const { return outputs_.contains(value); }
    /// The only reader of a node's only output; kNoNode if there are several or the output is a result.
    NodeIndex only_reader(NodeIndex i);
    /// The only reader, if it is of a kind.
    NodeIndex next(NodeIndex i, std::string_view kind);
    NodeIndex producer(const std::string& value) const;
    /// The producer of a value, if it is of a kind and `reader` alone reads it.
    NodeIndex before(NodeIndex reader, const std::string& value, std::string_view kind);

    /// The parameter that a value is, or that it is a view of.
    const Program::Parameter* parameter(const std::string& value, bool* is_view = nullptr);
    /// Whether a value is a number of the program.
    bool is_number(const std::string& value);
    /// Whether a value is computed from numbers of the program alone.
    bool is_constant(const std::string& value) const;
    /// Exchanges the two extents of a parameter that is a matrix of known shape.
    void transpose(const Program::Parameter& parameter);
    std::optional<Shape> shape(const std::string& value);
    double flops(NodeIndex i);

    /// The other input of a node of two values, if one of them is `value`; of a node that reads it twice,
    /// `value`; for a node whose number was left out, empty.
    std::optional<std::string> other_input(NodeIndex i, const std::string& value);
    /// Whether a node combines a value with a number.
    bool with_number(NodeIndex i, const std::string& value);
    /// The value that a node combines with a number.
    std::optional<std::string> beside_number(NodeIndex i);

    /// Replaces a chain by one node in the place of its last.
    void merge(const std::vector<NodeIndex>& chain, const std::string& kind, std::vector<std::string> inputs,
               std::map<std::string, std::string> attributes = {}, std::optional<double> of_all = {});

private:
    void remove(NodeIndex i);

    Program& program_;
    std::vector<bool> gone_, constant_;
    /// A value of the program: a parameter, or the output of a node, and the nodes that read it.
    struct Known {
        NodeIndex producer = kNoNode;
        std::optional<std::size_t> parameter;  ///< index in Program::parameters
        Readers readers;
    };
    const Program::Parameter* parameter_named(const std::string& value) const;

    std::unordered_map<std::string, Known> values_;
    std::set<std::string> outputs_;
};

}  // namespace placewright
