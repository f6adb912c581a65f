// SPDX-License-Identifier: MIT
#include "core/io/networks/dot_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <graphviz/cgraph.h>

#include "core/base/graphviz_lock.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/dot_tokens.hpp"
#include "core/io/networks/op_json.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;
constexpr double kMaxEdges = 2e6;
constexpr double kMaxAttributeSlots = 50e6;  // Graphviz allocates every attribute for each node and edge
/// Attributes of a node that are members of an op in placewright.graph, and what they hold; nullptr: text.
struct OpKey {
    const char* key;
    const char* expected = "a number";
};
constexpr std::array kOpKeys{OpKey{"scope", nullptr},
                             OpKey{"phase", nullptr},
                             OpKey{"flops"},
                             OpKey{"backward_flops"},
                             OpKey{"parameter_bytes"},
                             OpKey{"parameter_dtype", nullptr},
                             OpKey{"resident_bytes"},
                             OpKey{"read_bytes"},
                             OpKey{"workspace_bytes"},
                             OpKey{"in_place", "true or false"},
                             OpKey{"autocast", "true or false"},
                             OpKey{"colocate", nullptr},
                             OpKey{"devices", "a list in JSON"},
                             OpKey{"time_s", "an object in JSON"},
                             OpKey{"attributes", "an object in JSON"},
                             OpKey{"outputs", "a list in JSON"}};

std::string read_text(const Path& file) {
    const std::string name = printable(file.string(), 4096);
    const std::uintmax_t bytes = regular_file_size(file);
    if (bytes > kMaxBytes)
        throw InputError(name, "",
                         "has " + format_bytes(static_cast<double>(bytes)) + ", expected at most " +
                             format_bytes(static_cast<double>(kMaxBytes)));
    std::string text(bytes, '\0');
    std::ifstream stream = open_regular_file(file);
    stream.read(text.data(), static_cast<std::streamsize>(bytes));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.find('\0') != std::string::npos) throw InputError(name, "", "holds a zero byte, expected text");
    if (!is_utf8(text)) throw InputError(name, "", "is not UTF-8 text: save it in that encoding");
    return text;
}

/// Throws InputError if Graphviz could make too many edges or attributes of the text: an edge between sets of
/// nodes ("{a b} -> {c d}") stands for all pairs.
void check_size(const std::string& file, std::string_view text) {
    struct Level {
        double names = 0;    ///< upper bound of the names in the set
        double operand = 0;  ///< size of the operand before "->" or just read
        double left = 0;     ///< size of the operand before the last "->"
        bool edge = false;   ///< an operand must follow
    };
    std::vector<Level> levels(1);
    std::unordered_set<std::string_view> keys;
    double names = 0, edges = 0;
    bool in_list = false, reference = false;
    std::string_view last;
    DotTokens tokens(text);
    const auto operand = [&](double count) {
        Level& level = levels.back();
        level.names += count;
        if (std::exchange(level.edge, false)) edges += level.left * count;
        level.operand = count;
    };
    while (const char token = tokens.next()) {
        if (token == '[') in_list = true;
        if (token == ']') in_list = false;
        if (token == '=') keys.insert(last);
        if (token == 'a') {
            last = tokens.name();
            if (in_list) continue;
            ++names;
            // "subgraph A" may refer to all nodes that A contains so far.
            if (is_dot_word(last, "subgraph")) {
                reference = true;
                continue;
            }
            operand(reference ? names : 1);
        }
        if (token == '{') {
            levels.emplace_back();
        } else if (token == '}' && levels.size() > 1) {
            const double inside = levels.back().names;
            levels.pop_back();
            operand(inside);
        } else if (token == '>') {
            levels.back().left = std::max(levels.back().operand, 1.0);
            levels.back().edge = true;
        }
        reference = false;
        if (edges > kMaxEdges)
            throw InputError(file, "",
                             "stands for more than " + format_count(kMaxEdges) + " edges, the maximum");
    }
    if (static_cast<double>(keys.size()) * (names + edges) > kMaxAttributeSlots) {
        throw InputError(file, "",
                         "has " + std::to_string(keys.size()) + " different attributes on " +
                             format_count(names + edges) +
                             " nodes and edges, too many to read; remove attributes for drawing");
    }
}

struct CloseGraph {
    void operator()(Agraph_t* graph) const { agclose(graph); }
};
using GraphPointer = std::unique_ptr<Agraph_t, CloseGraph>;

/// Returns the error messages of Graphviz; only for use while the lock is held.
std::string& complaint() {
    static std::string text;
    return text;
}
int note_complaint(char* text) {
    if (complaint().size() < 1000) complaint() += text;
    return 0;
}

GraphPointer parse(const std::string& file, const std::string& text) {
    complaint().clear();
    agseterr(AGWARN);
    const auto before = agseterrf(note_complaint);
    GraphPointer graph(agmemread(text.c_str()));
    agseterrf(before);
    if (!graph) {
        // "Error: <memory>: syntax error in line 3 near 'x'\n"
        std::string said = complaint();
        if (const std::size_t at = said.find("syntax error"); at != std::string::npos) said = said.substr(at);
        while (said.ends_with('\n')) said.pop_back();
        throw InputError(file, "",
                         "is no graph that Graphviz reads: " +
                             (said.empty() ? "it ends too early" : printable(said, 300)));
    }
    return graph;
}

/// Returns an attribute of a node, edge or graph; empty if there is none.
std::string attribute(void* object, const char* key) {
    const char* const value = agget(object, const_cast<char*>(key));
    return value == nullptr ? std::string() : std::string(value);
}

/// Decodes text of plain_text.
std::string decoded(std::string text) {
    if (!text.starts_with('"')) return text;
    Json json = Json::parse(text, nullptr, false);
    return json.is_string() ? json.get<std::string>() : text;
}

/// Reads a shape "[1, 64]" or "1x64"; nothing for the name of a shape to draw.
std::optional<Json> tensor_shape(const std::string& text) {
    Json shape = Json::array();
    std::string digits;
    for (const char c : text + ',') {
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
            digits += c;
        } else if (c == 'x' || c == ',' || std::strchr("[]() ", c) != nullptr) {
            if (!digits.empty()) shape.push_back(Json::parse(digits, nullptr, false));
            digits.clear();
        } else {
            return {};
        }
    }
    if (shape.empty() && text != "[]") return {};
    return shape;
}

class DotReader {
public:
    DotReader(const Path& path, Agraph_t* graph)
        : path_(path), file_(printable(path.string(), 4096)), graph_(graph) {}

    NetworkFile read(std::optional<std::int64_t> asked_batch) {
        const Json batch = number(graph_, "batch", "", 1);
        if (!batch.is_number_integer() || batch.get<std::int64_t>() < 1)
            throw InputError(file_, "batch",
                             "is " + printable(batch.dump(), 80) + ", expected a whole number of at least 1");
        if (asked_batch && *asked_batch != batch.get<std::int64_t>())
            throw InputError(file_, "",
                             "the batch size of this file is fixed at " + batch.dump() + ", not " +
                                 std::to_string(*asked_batch));
        const std::string training_text = attribute(graph_, "training");
        const auto training = training_from(training_text.empty() ? "implicit" : training_text);
        if (!training)
            throw InputError(file_, "training",
                             "is " + in_quotes(training_text) + ", expected implicit, explicit or none");
        std::string name = decoded(agnameof(graph_));
        if (name.starts_with('%')) name = path_.stem().string();

        for (Agnode_t* node = agfstnode(graph_); node != nullptr; node = agnxtnode(graph_, node))
            nodes_.push_back(node);
        if (nodes_.empty()) throw InputError(file_, "", "has no nodes, expected at least one op");
        for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
            if (!names_.emplace(decoded(agnameof(nodes_[i])), i).second)
                throw InputError(file_, place(nodes_[i]),
                                 "stands for an op that another node stands for already");
        }
        GraphBuilder builder(name, batch.get<std::int64_t>(), *training);
        NetworkFile network;
        try {
            for (Agnode_t* node : nodes_) {
                Op op = read_node(node);
                if (attribute(node, "flops").empty() && kind_info(op.kind).computes)
                    network.estimated.push_back({op.name, op.kind});
                builder.add(std::move(op), inputs(node));
            }
            network.graph = builder.build();
        } catch (const GraphError& error) {
            throw InputError(
                file_, error.op().empty() ? "" : "node " + in_quotes(error.op()),
                printable(without_prefix(error.what(), "op " + in_quotes(error.op()) + ": "), 400));
        }
        return network;
    }

private:
    std::string place(Agnode_t* node) const { return "node " + in_quotes(decoded(agnameof(node))); }

    /// Returns the JSON value of an attribute, or `other` if it is missing. Throws InputError for a value
    /// that is not JSON.
    Json number(void* object, const char* key, const std::string& where, Json other) const {
        const std::string text = attribute(object, key);
        if (text.empty()) return other;
        Json json = json_value(text);
        if (json.is_discarded())
            throw InputError(file_, where,
                             std::string(key) + " is " + in_quotes(text) + ", expected a number");
        return json;
    }

    Json output(Agnode_t* node) const {
        Json output = Json::object();
        const auto shape = tensor_shape(attribute(node, "shape"));
        if (shape) output["shape"] = *shape;
        const std::string dtype = attribute(node, "dtype");
        if (!dtype.empty() || shape) output["dtype"] = dtype.empty() ? "float32" : dtype;
        if (const Json bytes = number(node, "bytes", place(node), nullptr); !bytes.is_null())
            output["bytes"] = bytes;
        if (shape || output.contains("bytes")) return output;
        for (Agedge_t* edge = agfstout(graph_, node); edge != nullptr; edge = agnxtout(graph_, edge)) {
            const Json bytes = number(edge, "bytes", place(node), nullptr);
            if (bytes.is_number() && (!output.contains("bytes") || bytes > output["bytes"]))
                output["bytes"] = bytes;
        }
        if (output.contains("bytes")) return output;
        // Shapes to draw have names: "box3d".
        if (const std::string given = attribute(node, "shape");
            !given.empty() && given.find_first_of("-0123456789[(") == 0)
            throw InputError(file_, place(node),
                             "shape is " + in_quotes(given) + ", expected such as \"32x64x56x56\"");
        throw InputError(file_, place(node),
                         "is read but has no size, expected \"shape\" (32x64x56x56) or \"bytes\"");
    }

    Op read_node(Agnode_t* node) const {
        const std::string kind = decoded(attribute(node, "kind"));
        Json op{{"name", decoded(agnameof(node))},
                {"kind", kind.empty() ? "unknown" : kind},
                {"flops", 0},
                {"parameter_bytes", 0}};
        for (const auto& [key, expected] : kOpKeys) {
            const std::string text = attribute(node, key);
            if (text.empty()) continue;
            Json value = expected == nullptr ? Json(decoded(text)) : json_value(text);
            if (value.is_discarded())
                throw InputError(file_, place(node),
                                 std::string(key) + " is " + in_quotes(text) + ", expected " + expected);
            op[key] = std::move(value);
        }
        if (!op.contains("outputs")) {
            op["outputs"] = Json::array();
            const bool has_size = tensor_shape(attribute(node, "shape")) || !attribute(node, "bytes").empty();
            if (has_size || agfstout(graph_, node) != nullptr) op["outputs"].push_back(output(node));
        }
        const JsonFile part(path_, op.dump(-1, ' ', false, Json::error_handler_t::replace));
        const Json json = part.parse();
        return read_op(JsonValue(part, json).placed_at(place(node)));
    }

    std::vector<std::string> inputs(Agnode_t* node) const {
        struct Input {
            std::int64_t position;
            std::uint64_t order;
            std::string name;
        };
        std::vector<Input> found;
        for (Agedge_t* edge = agfstin(graph_, node); edge != nullptr; edge = agnxtin(graph_, edge)) {
            const auto index = [&](const char* key) {
                const Json value = number(edge, key, "edge to " + place(node), 0);
                if (!value.is_number_integer() || value < 0 || value >= (1 << 20))
                    throw InputError(
                        file_, "edge to " + place(node),
                        std::string(key) + " is " + printable(value.dump(), 80) + ", expected 0, 1, ...");
                return value.get<std::int64_t>();
            };
            const auto is_op = [&](const std::string& name) { return names_.contains(name); };
            found.push_back({index("input"), AGSEQ(edge),
                             input_name(decoded(agnameof(agtail(edge))),
                                        static_cast<std::uint32_t>(index("output")), is_op)});
        }
        std::ranges::sort(found, {},
                          [](const Input& input) { return std::pair(input.position, input.order); });
        std::vector<std::string> names;
        for (Input& input : found) names.push_back(std::move(input.name));
        return names;
    }

    const Path& path_;
    std::string file_;
    Agraph_t* graph_;
    std::vector<Agnode_t*> nodes_;
    std::unordered_map<std::string, std::uint32_t> names_;
};

}  // namespace

NetworkFile read_dot(const Path& path, std::optional<std::int64_t> batch) {
    const std::string file = printable(path.string(), 4096);
    const std::string text = read_text(path);
    check_size(file, text);
    const std::scoped_lock lock(graphviz_lock());
    const GraphPointer graph = parse(file, text);
    if (agisdirected(graph.get()) == 0)
        throw InputError(file, "", "is an undirected graph, expected \"digraph\"");
    return DotReader(path, graph.get()).read(batch);
}

}  // namespace placewright
