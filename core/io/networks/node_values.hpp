// SPDX-License-Identifier: MIT
// Values of ops from a file, to colour a graph by: CSV, {"name": value} and the node data of Model Explorer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/graph.hpp"

namespace placewright {

/// Numbers that belong to the names of ops.
struct NodeValues {
    struct Node {
        std::string name;
        double value = 0;     ///< finite
        std::string color{};  ///< as CSS names it; empty: by the value
    };
    /// A colour for all values up to this one that no earlier threshold covers.
    struct Threshold {
        double value = 0;
        std::string color;
    };
    /// A colour at a place between the least value (0) and the largest (1).
    struct Stop {
        double share = 0;
        std::string color;
    };
    std::string title;                  ///< what the values are; the name of the file if it says nothing else
    std::vector<Node> nodes;            ///< in the order of the file, each name once
    std::vector<Threshold> thresholds;  ///< ascending; empty: the file has none
    std::vector<Stop> gradient;         ///< ascending, at least two, or empty
};

/// Reads a file of at most 512 MiB. Throws InputError with the line (CSV) or the place (JSON) and what is
/// expected there.
///
/// CSV: a name and a number on each line, separated by ',', ';' or a tab; a first line whose second field is
/// no number is a header, and lines that begin with '#' are comments. JSON: {"name": number}, or node data of
/// Model Explorer, {"graph": {"results": {"name": {"value": number, "bgColor": colour}}, "thresholds": […] or
/// "gradient": […]}}; of several graphs the one called `network`, else the first.
NodeValues read_node_values(const Path& file, const std::string& network = {});

/// Whether the file is one that read_node_values() reads and nothing else that Placewright opens: a CSV file
/// by its name, or JSON with node data or a fraction among its numbers. An object of integers alone is a
/// placement. False for a file that cannot be read. Reads at most 1 MiB.
bool is_node_values(const Path& file);

/// Values by op of a graph.
struct MatchedValues {
    std::vector<double> values;       ///< [op]: NaN for an op without a value
    std::vector<std::string> colors;  ///< [op]: empty: by the value
    std::size_t matched = 0;
    std::size_t unknown = 0;  ///< names that no op has
    std::string examples;     ///< the first of them, in quotes
};
/// Finds the ops by their names.
MatchedValues match(const NodeValues& of, const Graph& graph);

}  // namespace placewright
