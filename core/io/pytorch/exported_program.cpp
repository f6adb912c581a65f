// SPDX-License-Identifier: MIT
#include "core/io/pytorch/exported_program.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/base/text.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/pytorch/aten.hpp"
#include "core/io/pytorch/symbolic_size.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

constexpr std::uint64_t kMostProgramBytes = std::uint64_t{512} << 20;
constexpr std::int64_t kLargestExtent = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kOldestSchema = 5, kNewestSchema = 8;
constexpr std::string_view kOlderName = "serialized_exported_program.json";

/// Returns whether a member is "models/NAME.json", in any folder.
bool is_model(std::string_view member) {
    constexpr std::string_view kFolder = "models/";
    if (!member.ends_with(".json")) return false;
    const auto slash = member.rfind('/');
    if (slash == std::string_view::npos) return false;
    const std::string_view folder = member.substr(0, slash + 1);
    return folder == kFolder || folder.ends_with("/models/");
}

/// The models of an archive, the one to read first.
std::vector<const Archive::Member*> models_of(const Archive& archive) {
    if (const auto* const older = archive.find(kOlderName)) return {older};
    std::vector<const Archive::Member*> models;
    for (const Archive::Member& member : archive.members()) {
        if (is_model(member.name)) models.push_back(&member);
    }
    std::stable_partition(models.begin(), models.end(), [](const Archive::Member* member) {
        return member->name.ends_with("models/model.json");
    });
    return models;
}

/// Converts torch's ScalarType as numbered in torch/_export/serde/schema.py; nothing for types that a network
/// cannot contain.
std::optional<DType> dtype_of(std::int64_t scalar_type) {
    switch (scalar_type) {
        case 1:
        case 29:  // float8: as wide as a byte
        case 30:
        case 31:
        case 32:
            return DType::uint8;
        case 2:
            return DType::int8;
        case 3:
        case 28:
            return DType::int16;
        case 4:
        case 9:  // complex numbers: as wide as two of their parts
            return DType::int32;
        case 5:
            return DType::int64;
        case 6:
            return DType::float16;
        case 7:
            return DType::float32;
        case 8:
        case 10:
            return DType::float64;
        case 12:
            return DType::boolean;
        case 13:
            return DType::bfloat16;
        default:
            return {};
    }
}

bool is_part_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Returns whether an expression contains `symbol`, not as a part of a longer symbol.
bool mentions(std::string_view expression, std::string_view symbol) {
    for (auto at = expression.find(symbol); at != std::string_view::npos;
         at = expression.find(symbol, at + 1)) {
        const auto end = at + symbol.size();
        if ((at == 0 || !is_part_of_name(expression[at - 1])) &&
            (end == expression.size() || !is_part_of_name(expression[end])))
            return true;
    }
    return false;
}

class ExportedProgramReader {
public:
    ExportedProgramReader(const JsonFile& file, const Json& json, const ReadOptions& options)
        : file_(file),
          root_(file, json),
          options_(options),
          module_(root_.at("graph_module")),
          graph_(module_.at("graph")) {}

    NetworkFile run(const std::string& name) {
        check_version();
        program_.name = name;
        find_open_extents();
        read_inputs();
        const JsonValue nodes = graph_.at("nodes");
        for (std::size_t i = 0; i < nodes.size(); ++i) read_node(nodes.at(i), i);
        read_outputs();
        NetworkFile network = network_of(printable(file_.path().string(), 4096), std::move(program_));
        network.batch_is_open = !batch_symbol_.empty();
        return network;
    }

private:
    void check_version() const {
        const JsonValue version = root_.at("schema_version");
        const std::int64_t major = version.at("major").whole();
        if (major >= kOldestSchema && major <= kNewestSchema) return;
        version.at("major").fail("is " + std::to_string(major) + ", expected " +
                                 std::to_string(kOldestSchema) + " to " + std::to_string(kNewestSchema) +
                                 " (PyTorch 2.2 and newer); export the model again with such a version");
    }

    /// Returns the inputs of the program that a caller passes.
    std::vector<std::string> user_inputs() const {
        std::vector<std::string> names;
        module_.at("signature").at("input_specs").for_each_item([&](const JsonValue& spec) {
            if (const auto user = spec.find("user_input")) {
                if (const auto tensor = user->at("arg").find("as_tensor"))
                    names.push_back(tensor->at("name").text());
            }
        });
        return names;
    }

    std::optional<JsonValue> sizes_of(const std::string& value) const {
        const auto meta = graph_.at("tensor_values").find(value);
        if (!meta) return {};
        return meta->at("sizes");
    }

    /// The extents that callers choose, and the batch size: if possible the first open extent that comes
    /// first in an input and nowhere else. An input without one may be the same for each batch.
    void find_open_extents() {
        std::optional<std::int64_t> fixed;
        std::vector<std::string> first, later;
        for (const std::string& name : user_inputs()) {
            const auto sizes = sizes_of(name);
            if (!sizes) continue;
            for (std::size_t i = 0; i < sizes->size(); ++i) {
                const auto expression = sizes->at(i).find("as_expr");
                if (!expression) {
                    if (i == 0 && !fixed) fixed = sizes->at(i).at("as_int").whole(0, kLargestExtent);
                    continue;
                }
                const auto symbol = only_symbol(expression->at("expr_str").text());
                if (!symbol) continue;
                (i == 0 ? first : later).push_back(*symbol);
                open_.insert(*symbol);
                if (const auto hint = hint_of(*expression)) values_.emplace(*symbol, *hint);
            }
        }
        for (const auto& [symbol, extent] : options_.dims) {
            if (!open_.contains(symbol))
                file_.fail("", "no input has an open extent called " + in_quotes(symbol) + open_extents());
            if (extent < 1)
                file_.fail("", "the extent " + in_quotes(symbol) + " cannot be " + std::to_string(extent) +
                                   ", expected a positive number");
            values_[symbol] = extent;
            chosen_.insert(symbol);
        }
        auto batch = std::ranges::find_if(first, [&](const std::string& symbol) {
            return std::ranges::find(later, symbol) == later.end();
        });
        if (batch == first.end()) batch = first.begin();
        if (batch != first.end()) {
            batch_symbol_ = *batch;
            if (const auto given = options_.dims.find(batch_symbol_);
                options_.batch && given != options_.dims.end() && given->second != *options_.batch)
                file_.fail("", "its batch size is " + in_quotes(batch_symbol_) + ", which cannot be both " +
                                   std::to_string(given->second) + " and " + std::to_string(*options_.batch));
            if (options_.batch) {
                values_[batch_symbol_] = *options_.batch;
                chosen_.insert(batch_symbol_);
            }
            const auto known = values_.find(batch_symbol_);
            if (known == values_.end())
                file_.fail("", "leaves the batch size open (" + batch_symbol_ + "): give it with --batch");
            program_.batch = known->second;
        } else {
            program_.batch = std::max<std::int64_t>(1, fixed.value_or(1));
            if (options_.batch && *options_.batch != program_.batch) {
                file_.fail("", "the batch size of this file is fixed at " + std::to_string(program_.batch) +
                                   ", not " + std::to_string(*options_.batch) +
                                   "; export it with dynamic_shapes for the first dimension of its inputs");
            }
        }
    }

    std::string open_extents() const {
        std::string text;
        for (const std::string& symbol : open_)
            text += (text.empty() ? "; there are " : ", ") + in_quotes(symbol);
        return text.empty() ? "; there are none" : text;
    }

    std::optional<std::int64_t> hint_of(const JsonValue& expression) const {
        const auto hint = expression.find("hint");
        if (!hint || !hint->json().is_object()) return {};
        const auto number = hint->find("as_int");
        if (!number) return {};
        return number->whole(0, kLargestExtent);
    }

    std::int64_t size(const JsonValue& value) const {
        if (const auto number = value.find("as_int")) return number->whole(0, kLargestExtent);
        const JsonValue expression = value.at("as_expr");
        const std::string text = expression.at("expr_str").text();
        // Hints hold for the extents of the example.
        const bool changes =
            std::ranges::any_of(chosen_, [&](const std::string& symbol) { return mentions(text, symbol); });
        if (!changes) {
            if (const auto hint = hint_of(expression)) return *hint;
        }
        const auto known = evaluate_size(text, [&](const std::string& symbol) -> std::optional<std::int64_t> {
            const auto found = values_.find(symbol);
            return found == values_.end() ? std::nullopt : std::optional(found->second);
        });
        if (known && *known >= 0) return *known;
        if (changes)
            expression.fail(
                "is " + in_quotes(text) +
                ", which cannot be computed for another size: leave out --batch and --dim, or export "
                "for that size");
        expression.fail(
            "is " + in_quotes(text) +
            " without a \"hint\" of its size: give an extent of an input with --dim NAME=N, or export with "
            "example inputs");
    }

    /// Returns the name of a value of the graph that is being read among those of all graphs, whose tensor is
    /// known from then on.
    std::string named(const std::string& name) {
        if (name.empty()) return {};
        std::string full = inner_.empty() ? name : inner_.back().prefix + name;
        if (const auto other = same_as_.find(full); other != same_as_.end()) return other->second;
        if (!tensors_.contains(full)) tensors_.emplace(full, read_tensor(name));
        return full;
    }

    const Tensor* tensor(const std::string& name) const {
        const auto found = tensors_.find(name);
        return found != tensors_.end() && found->second ? &*found->second : nullptr;
    }

    std::optional<Tensor> read_tensor(const std::string& name) const {
        const auto meta = graph().at("tensor_values").find(name);
        if (!meta) return {};
        const JsonValue value = meta->placed_at("tensor " + in_quotes(name));
        const auto dtype = dtype_of(value.at("dtype").whole());
        if (!dtype)
            value.at("dtype").fail("is " + std::to_string(value.at("dtype").whole()) +
                                   ", which is not a supported tensor type");
        std::vector<std::int64_t> sizes;
        value.at("sizes").for_each_item([&](const JsonValue& item) { sizes.push_back(size(item)); });
        try {
            return make_tensor(std::move(sizes), *dtype);
        } catch (const std::invalid_argument& error) {
            value.fail(printable(error.what(), 400));
        }
    }

    const JsonValue& graph() const { return inner_.empty() ? graph_ : inner_.back().graph; }

    std::optional<Tensor> copy_of(const std::string& name) {
        const Tensor* const found = tensor(named(name));
        return found != nullptr ? std::optional(*found) : std::nullopt;
    }

    void add_parameter(const JsonValue& spec, const char* path_key, bool trained) {
        const std::string name = spec.at("arg").at("name").text();
        const auto found = copy_of(name);
        if (!found) spec.fail("has no size: " + in_quotes(name) + " is not in tensor_values");
        program_.parameters.push_back({name, spec.at(path_key).text(), *found, trained});
    }

    void read_inputs() {
        module_.at("signature").at("input_specs").for_each_item([&](const JsonValue& spec) {
            if (const auto user = spec.find("user_input")) {
                if (const auto value = user->at("arg").find("as_tensor")) {
                    const std::string name = value->at("name").text();
                    program_.inputs.push_back({name, copy_of(name)});
                }
            } else if (const auto parameter = spec.find("parameter")) {
                add_parameter(*parameter, "parameter_name", true);
            } else if (const auto buffer = spec.find("buffer")) {
                add_parameter(*buffer, "buffer_name", false);
            } else if (const auto constant = spec.find("tensor_constant")) {
                add_parameter(*constant, "tensor_constant_name", false);
                // A constant of the program, no part of the model's state.
                program_.parameters.back().path.clear();
            }
        });
    }

    /// Returns the path of a node's innermost module: its modules are listed outermost first, as
    /// "key,path,type;...".
    static std::string scope_of(const JsonValue& node) {
        const auto metadata = node.find("metadata");
        const auto stack = metadata ? metadata->find("nn_module_stack") : std::nullopt;
        if (!stack || !stack->json().is_string()) return {};
        const std::string text = stack->text();
        const auto last = text.rfind(';');
        const std::string entry = last == std::string::npos ? text : text.substr(last + 1);
        const auto first_comma = entry.find(','), last_comma = entry.rfind(',');
        if (first_comma == last_comma) return {};
        std::string path = entry.substr(first_comma + 1, last_comma - first_comma - 1);
        // PyTorch 2.1 and 2.2 write the path from the model, not in it.
        for (const std::string_view root : {"L['self'].", "L['self']", "L__self__"}) {
            if (path.starts_with(root)) path.erase(0, root.size());
        }
        return scope_of_module(std::move(path));
    }

    /// "torch.ops.aten.conv2d.default" -> "conv2d"; other namespaces stay: "torchvision::nms".
    static std::string operator_name(std::string target) {
        constexpr std::string_view kOperators = "torch.ops.";
        if (!target.starts_with(kOperators)) return target;
        target.erase(0, kOperators.size());
        const auto first = target.find('.');
        if (first == std::string::npos) return target;
        const std::string space = target.substr(0, first);
        const std::string name = target.substr(first + 1, target.find('.', first + 1) - first - 1);
        return space == "aten" ? name : space + "::" + name;
    }

    void add_values(const JsonValue& list, std::vector<std::string>& values) {
        list.for_each_item([&](const JsonValue& item) {
            if (const auto tensor = item.find("as_tensor")) {
                values.push_back(named(tensor->at("name").text()));
            } else if (const auto name = item.find("name")) {
                values.push_back(named(name->text()));
            }
        });
    }

    void add_symbolic(const JsonValue& item, std::vector<std::int64_t>& integers) const {
        if (const auto number = item.find("as_int")) {
            integers.push_back(number->whole());
            return;
        }
        const auto known = graph().find("sym_int_values");
        const auto value = known ? known->find(item.at("as_name").text()) : std::nullopt;
        if (value) integers.push_back(size(*value));
    }

    AtenCall::Argument argument(const JsonValue& input) {
        AtenCall::Argument argument{input.at("name").text()};
        const JsonValue arg = input.at("arg");
        if (const auto tensor = arg.find("as_tensor")) {
            argument.values.push_back(named(tensor->at("name").text()));
        } else if (const auto values = arg.find("as_tensors")) {
            add_values(*values, argument.values);
        } else if (const auto optional = arg.find("as_optional_tensors")) {
            add_values(*optional, argument.values);
        } else if (const auto one = arg.find("as_optional_tensor")) {
            if (const auto value = one->find("as_tensor"))
                argument.values.push_back(named(value->at("name").text()));
        } else if (const auto integer = arg.find("as_int")) {
            argument.integers.push_back(integer->whole());
        } else if (const auto integers = arg.find("as_ints")) {
            integers->for_each_item(
                [&](const JsonValue& item) { argument.integers.push_back(item.whole()); });
        } else if (const auto number = arg.find("as_float"); number && number->json() == 0) {
            argument.integers.push_back(0);
        } else if (const auto truth = arg.find("as_bool")) {
            argument.integers.push_back(truth->truth() ? 1 : 0);
        } else if (const auto text = arg.find("as_string")) {
            argument.text = text->text();
        } else if (const auto symbol = arg.find("as_sym_int")) {
            add_symbolic(*symbol, argument.integers);
        } else if (const auto symbols = arg.find("as_sym_ints")) {
            symbols->for_each_item([&](const JsonValue& item) { add_symbolic(item, argument.integers); });
        }
        // An omitted tensor.
        std::erase(argument.values, "");
        return argument;
    }

    std::vector<std::string> names_of_outputs(const JsonValue& output) {
        std::vector<std::string> names;
        if (const auto only = output.find("as_tensor")) {
            names.push_back(named(only->at("name").text()));
        } else if (const auto values = output.find("as_tensors")) {
            add_values(*values, names);
        } else if (const auto optional = output.find("as_optional_tensors")) {
            add_values(*optional, names);
        } else if (const auto one = output.find("as_optional_tensor")) {
            if (const auto tensor = one->find("as_tensor")) names.push_back(named(tensor->at("name").text()));
        }
        return names;
    }

    void add_outputs(const JsonValue& output, std::vector<AtenCall::Output>& outputs) {
        for (std::string& name : names_of_outputs(output)) {
            const Tensor* const found = tensor(name);
            outputs.push_back({std::move(name), found != nullptr ? std::optional(*found) : std::nullopt});
        }
    }

    /// Reads the ops of a graph that a node calls once, such as that of "with torch.no_grad()", in the place
    /// of the node. Returns false for a node that calls none, or may call one of several, or one many times.
    bool read_called(const JsonValue& node, const std::string& target) {
        static const std::unordered_set<std::string_view> kOnce{
            "wrap_with_set_grad_enabled", "wrap_with_autocast", "invoke_subgraph", "wrap",
            "tag_activation_checkpoint",  "strict_mode",        "hints_wrapper"};
        constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
        if (!target.starts_with(kHigherOrder) ||
            !kOnce.contains(std::string_view(target).substr(kHigherOrder.size())))
            return false;
        const JsonValue arguments = node.at("inputs");
        std::optional<JsonValue> called;
        // Names of the tensors that are passed; empty: of something else. Keywords are settings of the call.
        std::vector<std::string> given;
        arguments.for_each_item([&](const JsonValue& input) {
            const JsonValue arg = input.at("arg");
            if (const auto graph = arg.find("as_graph")) {
                called = graph->at("graph");
            } else if (called && input.text_or("name", "").empty()) {
                if (const auto tensors = arg.find("as_tensors")) {
                    add_values(*tensors, given);
                } else {
                    const auto one = arg.find("as_tensor");
                    given.push_back(one ? named(one->at("name").text()) : std::string());
                }
            }
        });
        if (!called || !called->find("nodes")) return false;
        std::vector<std::string> outer;
        node.at("outputs").for_each_item([&](const JsonValue& output) {
            for (std::string& name : names_of_outputs(output)) outer.push_back(std::move(name));
        });
        const JsonValue inputs = called->at("inputs"), outputs = called->at("outputs");
        if (outer.empty() || outer.size() != outputs.size() || inputs.size() > given.size()) return false;
        // The last arguments are those of the graph.
        const std::vector<std::string> passed(given.end() - static_cast<std::ptrdiff_t>(inputs.size()),
                                              given.end());
        inner_.push_back({*called, outer.front() + '.'});
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto tensor = inputs.at(i).find("as_tensor");
            if (tensor && !passed[i].empty())
                same_as_[inner_.back().prefix + tensor->at("name").text()] = passed[i];
        }
        const JsonValue nodes = called->at("nodes");
        for (std::size_t i = 0; i < nodes.size(); ++i) read_node(nodes.at(i), i);
        std::vector<std::string> made;
        outputs.for_each_item([&](const JsonValue& output) {
            for (std::string& name : names_of_outputs(output)) made.push_back(std::move(name));
        });
        inner_.pop_back();
        if (made.size() != outer.size()) node.fail("calls a graph whose outputs are not all tensors");
        for (std::size_t i = 0; i < outer.size(); ++i) same_as_[outer[i]] = made[i];
        return true;
    }

    void read_node(const JsonValue& item, std::size_t index) {
        const std::string name = item.text_or("name", "");
        const std::string target = item.at("target").text();
        const JsonValue node =
            item.placed_at("nodes[" + std::to_string(index) + "] " + in_quotes(name.empty() ? target : name));
        if (read_called(node, target)) return;
        AtenCall call;
        node.at("outputs").for_each_item([&](const JsonValue& output) { add_outputs(output, call.outputs); });
        // Sizes and checks of sizes.
        if (call.outputs.empty()) return;
        call.op = operator_name(target);
        call.scope = scope_of(node);
        node.at("inputs").for_each_item(
            [&](const JsonValue& input) { call.arguments.push_back(argument(input)); });
        program_.nodes.push_back(aten_node(call, [&](const std::string& value) { return tensor(value); }));
    }

    void read_outputs() {
        std::unordered_set<std::string> known;
        for (const auto& input : program_.inputs) known.insert(input.name);
        for (const auto& parameter : program_.parameters) known.insert(parameter.name);
        for (const auto& node : program_.nodes) {
            for (const auto& output : node.outputs) known.insert(output.name);
        }
        module_.at("signature").at("output_specs").for_each_item([&](const JsonValue& spec) {
            std::optional<JsonValue> tensor;
            if (const auto user = spec.find("user_output")) tensor = user->at("arg").find("as_tensor");
            if (const auto loss = spec.find("loss_output")) tensor = loss->at("arg");
            if (!tensor) return;
            const std::string name = named(tensor->at("name").text());
            if (!known.contains(name)) spec.fail("names " + in_quotes(name) + ", which no node gives");
            program_.outputs.push_back(name);
        });
    }

    const JsonFile& file_;
    const JsonValue root_;
    const ReadOptions& options_;
    const JsonValue module_, graph_;
    std::string batch_symbol_;                              ///< empty: the batch size is fixed
    std::set<std::string> open_;                            ///< symbols of extents of inputs
    std::set<std::string> chosen_;                          ///< those whose value is not that of the example
    std::unordered_map<std::string, std::int64_t> values_;  ///< values of symbols
    std::unordered_map<std::string, std::optional<Tensor>> tensors_;  ///< by names of named()
    /// Names of values that are others: what a graph that is called gets and gives.
    std::unordered_map<std::string, std::string> same_as_;
    /// A graph that a node calls, and what the names of its values begin with.
    struct Inner {
        JsonValue graph;
        std::string prefix;
    };
    std::vector<Inner> inner_;
    Program program_;
};

}  // namespace

bool is_exported_program(const Archive& archive) {
    return !models_of(archive).empty();
}

NetworkFile read_exported_program(const Archive& archive, const ReadOptions& options) {
    const std::vector<const Archive::Member*> models = models_of(archive);
    if (models.empty())
        throw InputError(printable(archive.path().string(), 4096), "",
                         "has no models/NAME.json, expected an archive of torch.export");
    const JsonFile file(archive.path(), archive.text(*models.front(), kMostProgramBytes));
    const Json json = file.parse();
    NetworkFile network = ExportedProgramReader(file, json, options).run(archive.path().stem().string());
    if (models.size() > 1)
        network.notes.push_back("has " + std::to_string(models.size()) + " models, of which " +
                                in_quotes(models.front()->name) + " is read; save the others on their own");
    return network;
}

}  // namespace placewright
