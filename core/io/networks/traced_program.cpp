// SPDX-License-Identifier: MIT
#include "core/io/networks/traced_program.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/text.hpp"
#include "core/graph/flops.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/known_chains.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// Every op that reads a constant of up to this size holds a copy of it.
constexpr std::int64_t kSmallConstantBytes = 64 << 10;

/// Source of a value.
struct Source {
    enum class From : std::uint8_t { input, parameter, node };
    From from = From::node;
    std::size_t index = 0;
    std::uint32_t output = 0;
    const Program::Value* view = nullptr;  ///< set if the value is a view of a parameter
};

class Importer {
public:
    Importer(const std::string& file, Program program)
        : file_(file),
          program_(std::move(program)),
          needed_(program_.nodes.size(), false),
          readers_(program_.parameters.size(), 0),
          parameter_op_(program_.parameters.size()),
          node_output_(program_.nodes.size()) {}

    NetworkFile run() {
        name_nodes();
        name_values();
        find_needed();
        make_names_unique();
        count_readers();
        place_unread();
        GraphBuilder builder(program_.name, program_.batch, Training::implicit);
        add_inputs(builder);
        for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
            if (is_op(i)) add_parameter(builder, i);
        }
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (needed_[i] && !folded(i)) add_node(builder, i);
        }
        try {
            network_.graph = builder.build();
        } catch (const GraphError& error) {
            throw InputError(file_, in_quotes(error.op()), printable(error.what(), 400));
        }
        return std::move(network_);
    }

private:
    [[noreturn]] void fail(const Program::Node& node, const std::string& problem) const {
        throw InputError(file_, "node " + in_quotes(node.name) + " (" + printable(node.kind, 80) + ')',
                         problem);
    }

    /// Returns an unused name: `name`, then name#2 and so on.
    std::string unique(std::string name) {
        if (taken_.emplace(name, 1).second) return name;
        const std::string wanted = name;
        do {
            name = wanted + '#' + std::to_string(++taken_[wanted]);
        } while (!taken_.emplace(name, 1).second);
        return name;
    }

    void name_nodes() {
        taken_.reserve(program_.inputs.size() + program_.nodes.size());
        for (const Program::Value& input : program_.inputs) taken_.emplace(input.name, 1);
        for (Program::Node& node : program_.nodes) {
            if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs[0].name;
            if (node.name.empty()) node.name = node.kind;
        }
    }

    /// Of nodes that are left out no name is taken.
    void make_names_unique() {
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (needed_[i]) program_.nodes[i].name = unique(std::move(program_.nodes[i].name));
        }
    }

    /// `place` gives the place in the file for a message.
    void define(std::string_view name, Source source, const auto& place) {
        if (!sources_.emplace(name, source).second)
            throw InputError(file_, place(), "value " + in_quotes(name) + " is defined twice, expected once");
    }

    void name_values() {
        const auto place = [](const char* list, std::size_t index) {
            return [list, index] { return std::string(list) + '[' + std::to_string(index) + ']'; };
        };
        sources_.reserve(program_.parameters.size() + program_.inputs.size() + program_.nodes.size());
        // A parameter is no input, even if it is listed among the inputs (ONNX up to IR version 3).
        for (std::size_t i = 0; i < program_.parameters.size(); ++i)
            define(program_.parameters[i].name, {Source::From::parameter, i, 0}, place("parameters", i));
        std::erase_if(program_.inputs,
                      [&](const Program::Value& input) { return sources_.contains(input.name); });
        for (std::size_t i = 0; i < program_.inputs.size(); ++i)
            define(program_.inputs[i].name, {Source::From::input, i, 0}, place("inputs", i));
        foldable_.resize(program_.nodes.size());
        read_.reserve(program_.nodes.size());
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            Program::Node& node = program_.nodes[i];
            std::vector<Source>& read = read_.emplace_back();
            read.reserve(node.inputs.size());
            for (const std::string& input : node.inputs) {
                const auto found = sources_.find(input);
                if (found == sources_.end())
                    fail(node,
                         "reads " + in_quotes(input) + ", which no input, parameter or earlier node defines");
                read.push_back(found->second);
            }
            // A view of a parameter counts as the parameter, which its readers hold.
            const auto alias = view_of_parameter(i);
            foldable_[i] = alias.has_value() || is_constant(i);
            for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
                if (node.outputs[output].name.empty()) continue;
                Source source{Source::From::node, i, output};
                if (alias) {
                    source = *alias;
                    source.view = &node.outputs[output];
                }
                define(node.outputs[output].name, source, [&] { return "node " + in_quotes(node.name); });
            }
        }
    }

    std::optional<Source> view_of_parameter(std::size_t index) const {
        const Program::Node& node = program_.nodes[index];
        const KindInfo& kind = kind_info(node.kind);
        if (!kind.view || kind.range || node.outputs.size() != 1 || node.inputs.empty()) return {};
        const Source first = read_[index][0];
        if (first.from != Source::From::parameter) return {};
        return first;
    }

    /// Returns whether a node computes only from constants.
    bool is_constant(std::size_t node) const {
        return std::ranges::all_of(read_[node], [&](const Source& source) {
            if (source.from == Source::From::node) return bool(foldable_[source.index]);
            return source.from == Source::From::parameter && program_.parameters[source.index].path.empty();
        });
    }

    bool folded(std::size_t node) const { return foldable_[node]; }

    void need(const Source& source, std::vector<std::size_t>& found) {
        if (source.from != Source::From::node || needed_[source.index]) return;
        needed_[source.index] = true;
        found.push_back(source.index);
    }

    void find_needed() {
        if (program_.outputs.empty()) {
            needed_.assign(needed_.size(), true);
            return;
        }
        std::vector<std::size_t> found;
        for (const std::string& output : program_.outputs) {
            const auto source = sources_.find(output);
            if (source == sources_.end())
                throw InputError(file_, "outputs", in_quotes(output) + " is not the output of any node");
            need(source->second, found);
        }
        while (!found.empty()) {
            const std::size_t node = found.back();
            found.pop_back();
            for (const Source& source : read_[node]) need(source, found);
        }
    }

    void count_readers() {
        std::vector<std::size_t> last(program_.parameters.size(), program_.nodes.size());
        value_read_.resize(program_.nodes.size());
        for (std::size_t i = 0; i < program_.nodes.size(); ++i)
            value_read_[i].resize(program_.nodes[i].outputs.size());
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (!needed_[i] || folded(i)) continue;
            for (const Source& source : read_[i]) {
                if (source.from == Source::From::node) value_read_[source.index][source.output] = true;
                if (source.from == Source::From::parameter && std::exchange(last[source.index], i) != i)
                    ++readers_[source.index];
            }
        }
    }

    /// Assigns parameters that no node reads to nodes: they take memory, and a device map must contain them.
    void place_unread() {
        std::unordered_map<std::string_view, std::size_t>
            first_in;  // by module path: the first node in the module or in a module within it
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (!needed_[i] || folded(i)) continue;
            const std::string_view scope = program_.nodes[i].scope;
            for (std::size_t end = scope.size();; end = scope.rfind('/', end - 1)) {
                if (end == std::string_view::npos || end == 0) break;
                if (!first_in.try_emplace(scope.substr(0, end), i).second)
                    break;  // the enclosing modules have one, too
            }
            first_in.try_emplace(std::string_view{}, i);
        }
        if (first_in.empty()) return;
        unread_.resize(program_.nodes.size());
        for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
            if (readers_[i] > 0 || program_.parameters[i].path.empty()) continue;
            std::string module = scope_of_module(module_of(program_.parameters[i].path));
            while (!first_in.contains(module))
                module = module.substr(0, std::max<std::size_t>(module.rfind('/') + 1, 1) - 1);
            unread_[first_in.at(module)].push_back(i);
        }
    }

    bool is_op(std::size_t parameter) const {
        const Program::Parameter& item = program_.parameters[parameter];
        return readers_[parameter] > 1 && (item.trained || item.tensor.bytes > kSmallConstantBytes);
    }

    void add_inputs(GraphBuilder& builder) {
        std::vector<bool> read(program_.inputs.size());
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (!needed_[i] || folded(i)) continue;
            for (const Source& source : read_[i]) {
                if (source.from == Source::From::input) read[source.index] = true;
            }
        }
        input_op_.resize(program_.inputs.size());
        for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
            const Program::Value& input = program_.inputs[i];
            if (!read[i]) continue;
            if (!input.tensor)
                throw InputError(file_, "input " + in_quotes(input.name),
                                 "its shape is unknown, expected one");
            Op op;
            op.name = input.name;
            op.kind = "input";
            op.outputs = {*input.tensor};
            input_op_[i] = add(builder, std::move(op));
        }
    }

    /// Named parameters and buffers of an op.
    struct Held {
        Json paths = Json::array(), bytes = Json::array(), buffers = Json::array(), shapes = Json::array();
        bool shaped = true;  ///< the shape of each is known
    };

    std::int64_t sum_of(std::int64_t a, std::int64_t b, const std::string& op) const {
        if (__builtin_add_overflow(a, b, &a))
            throw InputError(file_, in_quotes(op), "its parameters are too large: their bytes exceed 2^63");
        return a;
    }

    void hold(Op& op, std::size_t index, Held& held) const {
        const Program::Parameter& parameter = program_.parameters[index];
        const bool trained = parameter.trained && readers_[index] > 0;
        std::int64_t& sum = trained ? op.parameter_bytes : op.resident_bytes;
        sum = sum_of(sum, parameter.tensor.bytes, op.name);
        if (parameter.path.empty()) return;
        const auto name = [&](const std::string& path, std::int64_t bytes) {
            held.paths.push_back(clean(path));
            held.bytes.push_back(bytes);
            held.shaped = held.shaped && parameter.tensor.shape;
            if (held.shaped) held.shapes.push_back(*parameter.tensor.shape);
            if (!trained) held.buffers.push_back(clean(path));
        };
        name(parameter.path, parameter.tensor.bytes);
        for (const std::string& path : parameter.other_paths) name(path, 0);
    }

    static void describe(Op& op, const Held& held) {
        if (held.paths.empty()) return;
        op.attributes["parameters"] = held.paths.dump();
        op.attributes["parameter_bytes"] = held.bytes.dump();
        if (held.shaped) op.attributes["parameter_shapes"] = held.shapes.dump();
        if (!held.buffers.empty()) op.attributes["buffers"] = held.buffers.dump();
    }

    void add_parameter(GraphBuilder& builder, std::size_t index) {
        const Program::Parameter& parameter = program_.parameters[index];
        Op op;
        op.name = unique(scope_of_module(parameter.path.empty() ? parameter.name : parameter.path));
        op.kind = parameter.trained ? "parameter" : "constant";
        op.scope = scope_of_module(module_of(parameter.path));
        op.outputs = {parameter.tensor};
        Held held;
        hold(op, index, held);
        describe(op, held);
        parameter_op_[index] = add(builder, std::move(op));
    }

    /// Names in a file may contain any bytes; those of a network are text.
    static std::string clean(const std::string& text) { return printable(text, std::string::npos); }

    OpId add(GraphBuilder& builder, Op op) const {
        for (std::string* text : {&op.name, &op.kind, &op.scope}) *text = clean(*text);
        try {
            builder.add(std::move(op));
        } catch (const GraphError& error) {
            throw InputError(file_, in_quotes(error.op()), printable(error.what(), 400));
        }
        return static_cast<OpId>(builder.size() - 1);
    }

    void add_node(GraphBuilder& builder, std::size_t index) {
        Program::Node& node = program_.nodes[index];
        Op op;
        op.name = node.name;
        op.kind = node.kind;
        op.scope = node.scope;
        op.in_place = node.in_place;
        op.attributes = std::move(node.attributes);
        if (!node.equation.empty()) op.attributes["equation"] = Json(clean(node.equation)).dump();
        std::vector<Shape> operands;
        Held held;
        std::vector<std::size_t> indices;
        std::int64_t constant_bytes = 0;  // that the op reads and does not train
        for (const Source& source : read_[index]) {
            const Tensor* tensor = nullptr;
            switch (source.from) {
                case Source::From::parameter:
                    tensor = source.view != nullptr && source.view->tensor
                                 ? &*source.view->tensor
                                 : &program_.parameters[source.index].tensor;
                    if (is_op(source.index)) {
                        op.inputs.push_back({parameter_op_[source.index], 0});
                    } else if (std::ranges::find(indices, source.index) == indices.end()) {
                        indices.push_back(source.index);
                        hold(op, source.index, held);
                        if (!program_.parameters[source.index].trained)
                            constant_bytes = sum_of(
                                constant_bytes,
                                std::min(tensor->bytes, program_.parameters[source.index].tensor.bytes),
                                op.name);
                    }
                    break;
                case Source::From::input:
                    tensor = &*program_.inputs[source.index].tensor;
                    op.inputs.push_back({input_op_[source.index], 0});
                    break;
                case Source::From::node:
                    const auto& output = program_.nodes[source.index].outputs[source.output];
                    if (output.tensor) tensor = &*output.tensor;
                    if (!folded(source.index)) op.inputs.push_back(node_output_[source.index][source.output]);
                    break;
            }
            if (tensor != nullptr && tensor->shape) operands.push_back(*tensor->shape);
        }
        // Small constants stay in the caches of a device; of a table, only rows are read, and a view reads
        // nothing.
        if (constant_bytes > kSmallConstantBytes && kind_info(op.kind).computes && !looks_up(op.kind) &&
            op.kind != "embedding_bag")
            op.read_bytes = sum_of(op.parameter_bytes, constant_bytes, op.name);
        for (const std::size_t parameter : unread_[index]) hold(op, parameter, held);
        describe(op, held);
        std::vector<Shape> shapes;
        node_output_[index].resize(node.outputs.size());
        const auto id = static_cast<OpId>(builder.size());
        for (std::size_t i = 0; i < node.outputs.size(); ++i) {
            if (!node.outputs[i].tensor) {
                const auto& [name, tensor, why] = node.outputs[i];
                if (value_read_[index][i])
                    fail(node, "the shape of its output " + in_quotes(name) + " is unknown" +
                                   (why.empty() ? "" : ": " + why));
                continue;
            }
            node_output_[index][i] = {id, static_cast<std::uint32_t>(op.outputs.size())};
            op.outputs.push_back(*node.outputs[i].tensor);
            if (node.outputs[i].tensor->shape) shapes.push_back(*node.outputs[i].tensor->shape);
        }
        const auto flops =
            node.flops ? node.flops : forward_flops({op.kind, operands, shapes, node.window, node.equation});
        op.flops = flops.value_or(0);
        const bool unsized = op.outputs.empty() && !node.outputs.empty();
        if (!flops || unsized) network_.estimated.push_back({clean(op.name), clean(op.kind)});
        add(builder, std::move(op));
    }

    const std::string& file_;
    Program program_;
    std::unordered_map<std::string, std::size_t> taken_;    ///< number of ops that asked for each name
    std::unordered_map<std::string_view, Source> sources_;  ///< by the names in the program
    std::vector<std::vector<Source>> read_;                 ///< by node: the sources of its inputs
    std::vector<bool> foldable_;  ///< by node: whether its result is a parameter or a constant
    std::vector<bool> needed_;
    std::vector<std::vector<bool>> value_read_;
    std::vector<std::size_t> readers_;  ///< number of readers of each parameter
    std::vector<std::vector<std::size_t>>
        unread_;  ///< by node: parameters that it holds although no node reads them
    std::vector<OpId> input_op_, parameter_op_;        ///< ops of inputs and parameters that have one
    std::vector<std::vector<TensorRef>> node_output_;  ///< by node: its outputs in the graph
    NetworkFile network_;
};

}  // namespace

NetworkFile network_of(const std::string& file, Program program) {
    merge_known_chains(program);
    return Importer(file, std::move(program)).run();
}

}  // namespace placewright
