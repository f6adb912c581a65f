// SPDX-License-Identifier: MIT
#include "core/io/networks/known_chains.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/flops.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

using ChainNode = Program::Node;

class ChainMerger {
public:
    explicit ChainMerger(Program& program) : program_(program), gone_(program.nodes.size()) {
        for (std::size_t i = 0; i < program.parameters.size(); ++i)
            parameter_of_.emplace(program.parameters[i].name, i);
        for (std::size_t i = 0; i < program.nodes.size(); ++i) index(i);
        outputs_.insert(program.outputs.begin(), program.outputs.end());
    }

    void run() {
        drop_unneeded();
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (gone_[i]) continue;
            const std::string& kind = program_.nodes[i].kind;
            if (kind == "mean") merge_layer_norm(i);
            if (kind == "erf") merge_gelu(i);
            if (kind == "matmul") merge_linear(i);
        }
        for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
            if (program_.parameters[i].path.ends_with("in_proj_weight")) merge_attention(i);
        }
        std::vector<ChainNode> nodes;
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (!gone_[i]) nodes.push_back(std::move(program_.nodes[i]));
        }
        program_.nodes = std::move(nodes);
    }

private:
    using Index = std::size_t;
    static constexpr Index kNone = static_cast<Index>(-1);

    ChainNode& node(Index i) { return program_.nodes[i]; }

    void index(Index i) {
        for (const Program::Value& output : node(i).outputs) {
            if (!output.name.empty()) producer_.emplace(output.name, i);
        }
        for (const std::string& input : node(i).inputs) readers_[input].insert(i);
    }

    void remove(Index i) {
        gone_[i] = true;
        for (const std::string& input : node(i).inputs) readers_[input].erase(i);
    }

    /// Readers that no output depends on would keep chains from being merged.
    void drop_unneeded() {
        if (program_.outputs.empty()) return;
        for (Index i = program_.nodes.size(); i-- > 0;) {
            const bool read = std::ranges::any_of(node(i).outputs, [&](const Program::Value& output) {
                return outputs_.contains(output.name) || !readers_[output.name].empty();
            });
            if (!read) remove(i);
        }
    }

    /// The only reader of a node's only output; kNone if there are several or the output is a result.
    Index only_reader(Index i) {
        if (i == kNone || node(i).outputs.empty()) return kNone;
        const auto unread = [&](const Program::Value& output) {
            return readers_[output.name].empty() && !outputs_.contains(output.name);
        };
        if (!std::ranges::all_of(node(i).outputs.begin() + 1, node(i).outputs.end(), unread)) return kNone;
        const std::string& name = node(i).outputs.front().name;
        const auto& readers = readers_[name];
        return readers.size() == 1 && !outputs_.contains(name) ? *readers.begin() : kNone;
    }

    /// The only reader, if it is of a kind.
    Index next(Index i, std::string_view kind) {
        const Index reader = only_reader(i);
        return reader != kNone && node(reader).kind == kind ? reader : kNone;
    }

    Index producer(const std::string& value) const {
        const auto found = producer_.find(value);
        return found == producer_.end() ? kNone : found->second;
    }

    /// The parameter that a value is, or that it is a view of.
    const Program::Parameter* parameter(const std::string& value, bool* is_view = nullptr) {
        if (const auto found = parameter_of_.find(value); found != parameter_of_.end())
            return &program_.parameters[found->second];
        const Index from = producer(value);
        if (from == kNone || node(from).inputs.empty()) return nullptr;
        const KindInfo& kind = kind_info(node(from).kind);
        if (!kind.view || kind.range) return nullptr;
        const auto found = parameter_of_.find(node(from).inputs.front());
        if (found == parameter_of_.end()) return nullptr;
        if (is_view != nullptr) *is_view = true;
        return &program_.parameters[found->second];
    }

    /// Whether a value is a number of the program.
    bool is_number(const std::string& value) {
        const Program::Parameter* const found = parameter(value);
        return found != nullptr && found->path.empty() && element_count(found->tensor) == 1;
    }

    std::optional<Shape> shape(const std::string& value) {
        if (const auto found = parameter_of_.find(value); found != parameter_of_.end())
            return program_.parameters[found->second].tensor.shape;
        const Index from = producer(value);
        const auto& values = from == kNone ? program_.inputs : node(from).outputs;
        const auto found = std::ranges::find(values, value, &Program::Value::name);
        if (found == values.end() || !found->tensor) return {};
        return found->tensor->shape;
    }

    /// The other input of a node of two values, if one of them is `value`; of a node that reads it twice,
    /// `value`; for a node whose number was left out, empty.
    std::optional<std::string> other_input(Index i, const std::string& value) {
        const auto& inputs = node(i).inputs;
        if (inputs.empty() || inputs.size() > 2) return {};
        if (inputs.size() == 1) return inputs[0] == value ? std::optional<std::string>("") : std::nullopt;
        if (inputs[0] == value) return inputs[1];
        if (inputs[1] == value) return inputs[0];
        return {};
    }

    /// Whether a node combines a value with a number.
    bool with_number(Index i, const std::string& value) {
        const auto other = other_input(i, value);
        return other && (other->empty() || is_number(*other));
    }

    const std::string& output(Index i) { return node(i).outputs.front().name; }

    double flops(Index i) {
        if (node(i).flops) return *node(i).flops;
        std::vector<Shape> inputs, outputs;
        for (const std::string& input : node(i).inputs) {
            if (auto known = shape(input)) inputs.push_back(*std::move(known));
        }
        for (const Program::Value& value : node(i).outputs) {
            if (value.tensor && value.tensor->shape) outputs.push_back(*value.tensor->shape);
        }
        return forward_flops({node(i).kind, inputs, outputs, node(i).window, node(i).equation}).value_or(0);
    }

    /// Replaces a chain by one node in the place of its last.
    void merge(const std::vector<Index>& chain, const std::string& kind, std::vector<std::string> inputs,
               std::map<std::string, std::string> attributes = {},
               std::optional<double> of_all = std::nullopt) {
        Json merged = Json::array();
        for (const Index i : chain) merged.push_back(node(i).name.empty() ? output(i) : node(i).name);
        const Index last = *std::ranges::max_element(chain);
        ChainNode result;
        result.kind = kind;
        result.scope = node(last).scope;
        const std::string prefix = result.scope + '/';
        result.name =
            !result.scope.empty() && node(last).name.starts_with(prefix) ? prefix + kind : node(last).name;
        result.inputs = std::move(inputs);
        result.outputs = {node(last).outputs.front()};
        result.flops = of_all;
        result.attributes = std::move(attributes);
        result.attributes["merged"] = merged.dump(-1, ' ', false, Json::error_handler_t::replace);
        for (const Index i : chain) remove(i);
        gone_[last] = false;
        node(last) = std::move(result);
        for (const std::string& input : node(last).inputs) readers_[input].insert(last);
    }

    void merge_layer_norm(Index mean) {
        if (node(mean).inputs.empty()) return;
        const std::string x = node(mean).inputs.front();
        const Index sub = next(mean, "sub");
        if (sub == kNone || node(sub).inputs != std::vector<std::string>{x, output(mean)}) return;
        const std::string centred = output(sub);
        Index square = kNone, div = kNone;
        if (readers_[centred].size() != 2 || outputs_.contains(centred)) return;
        for (const Index reader : readers_[centred]) (node(reader).kind == "div" ? div : square) = reader;
        if (square == kNone || div == kNone) return;
        if (node(square).kind == "pow"
                ? !with_number(square, centred)
                : node(square).kind != "mul" || other_input(square, centred) != centred)
            return;
        const Index variance = next(square, "mean");
        const Index add = next(variance, "add");
        if (add == kNone || !with_number(add, output(variance))) return;
        const Index root = next(add, "sqrt");
        if (root == kNone || only_reader(root) != div ||
            node(div).inputs != std::vector<std::string>{centred, output(root)})
            return;
        const auto extents = shape(x), mean_extents = shape(output(mean));
        if (!extents || !mean_extents || extents->size() != mean_extents->size()) return;
        // The last dimensions, without those over which no mean is taken.
        std::size_t kept = extents->size();
        while (kept > 0 && (*mean_extents)[kept - 1] == 1) --kept;
        const Shape normalized(extents->begin() + static_cast<std::ptrdiff_t>(kept), extents->end());
        if (normalized.empty() || elements(*mean_extents) * elements(normalized) != elements(*extents))
            return;
        std::vector<Index> chain{mean, sub, square, variance, add, root, div};
        std::vector<std::string> inputs{x};
        for (const char* const kind : {"mul", "add"}) {
            const Index affine = next(chain.back(), kind);
            const auto other = affine == kNone ? std::nullopt : other_input(affine, output(chain.back()));
            const Program::Parameter* const held = other && !other->empty() ? parameter(*other) : nullptr;
            if (held == nullptr || held->tensor.shape != normalized) break;
            inputs.push_back(*other);
            chain.push_back(affine);
        }
        merge(chain, "layer_norm", std::move(inputs), {{"normalized_shape", Json(normalized).dump()}});
    }

    void merge_gelu(Index erf) {
        if (node(erf).inputs.size() != 1) return;
        const Index scaled = producer(node(erf).inputs.front());
        if (scaled == kNone || gone_[scaled] || only_reader(scaled) != erf || node(scaled).inputs.empty() ||
            (node(scaled).kind != "div" && node(scaled).kind != "mul"))
            return;
        const std::string x = is_number(node(scaled).inputs.front()) && node(scaled).inputs.size() > 1
                                  ? node(scaled).inputs[1]
                                  : node(scaled).inputs.front();
        if (!with_number(scaled, x)) return;
        const Index add = next(erf, "add");
        if (add == kNone || !with_number(add, output(erf))) return;
        const Index product = next(add, "mul");
        if (product == kNone) return;
        const auto other = other_input(product, output(add));
        if (!other || other->empty()) return;
        if (*other == x) {
            const Index half = next(product, "mul");
            if (half == kNone || !with_number(half, output(product))) return;
            return merge({scaled, erf, add, product, half}, "gelu", {x});
        }
        const Index half = producer(*other);
        if (half == kNone || gone_[half] || node(half).kind != "mul" || only_reader(half) != product ||
            !with_number(half, x))
            return;
        merge({scaled, erf, add, half, product}, "gelu", {x});
    }

    void merge_linear(Index product) {
        if (node(product).inputs.size() != 2 || node(product).outputs.size() != 1) return;
        const std::string x = node(product).inputs[0], weight = node(product).inputs[1];
        bool is_view = false;
        const Program::Parameter* const held = parameter(weight, &is_view);
        if (held == nullptr || !held->trained || !held->tensor.shape || held->tensor.shape->size() != 2 ||
            parameter(x) != nullptr)
            return;
        const double work = flops(product);
        // A linear map holds its weight as (out, in); one that is read as it is has it the other way.
        if (!is_view) {
            if (readers_[weight].size() != 1) return;
            Shape& extents = *program_.parameters[parameter_of_.at(weight)].tensor.shape;
            std::swap(extents[0], extents[1]);
        }
        std::vector<Index> chain{product};
        std::vector<std::string> inputs{x, weight};
        const Index add = next(product, "add");
        const auto other = add == kNone ? std::nullopt : other_input(add, output(product));
        const Program::Parameter* const bias = other && !other->empty() ? parameter(*other) : nullptr;
        const auto extents = shape(output(product));
        if (bias != nullptr && bias->trained && extents && !extents->empty() &&
            bias->tensor.shape == Shape{extents->back()}) {
            inputs.push_back(*other);
            chain.push_back(add);
        }
        if (chain.size() > 1) return merge(chain, "linear", std::move(inputs), {}, work);
        node(product).kind = "linear";
        node(product).flops = work;
    }

    void merge_attention(Index in_projection) {
        const std::string module = module_of(program_.parameters[in_projection].path);
        const std::string scope = scope_of_module(module);
        const auto out_projection =
            std::ranges::find(program_.parameters, (module.empty() ? "" : module + '.') + "out_proj.weight",
                              &Program::Parameter::path);
        if (out_projection == program_.parameters.end()) return;
        const auto inside = [&](Index i) {
            return node(i).scope == scope || node(i).scope.starts_with(scope + '/');
        };
        const auto holds = [&](Index i, const Program::Parameter& wanted) {
            return std::ranges::any_of(node(i).inputs,
                                       [&](const std::string& input) { return parameter(input) == &wanted; });
        };
        // All that depends on the projections of the inputs, up to that of the output.
        std::set<Index> chain;
        Index last = kNone, products = 0, softmaxes = 0;
        for (Index i = 0; i < program_.nodes.size() && last == kNone; ++i) {
            if (gone_[i] || !inside(i)) continue;
            const bool starts = holds(i, program_.parameters[in_projection]);
            const bool follows = std::ranges::any_of(
                node(i).inputs, [&](const std::string& input) { return chain.contains(producer(input)); });
            if (!starts && !follows) continue;
            // A view of the weight is folded into it.
            if (starts && node(i).inputs.size() == 1 && !kind_info(node(i).kind).range) continue;
            chain.insert(i);
            if (follows && holds(i, *out_projection)) last = i;
            products += node(i).kind == "bmm" || node(i).kind == "matmul" || node(i).kind == "baddbmm";
            softmaxes += node(i).kind == "softmax";
        }
        if (last == kNone || products != 2 || softmaxes != 1) return;
        // The projection may be of a matrix, which is seen as a sequence afterwards.
        if (const Index view = only_reader(last);
            view != kNone && inside(view) && (node(view).kind == "view" || node(view).kind == "reshape"))
            last = *chain.insert(view).first;
        for (const Index i : chain) {
            for (const Program::Value& value : node(i).outputs) {
                if (i == last) continue;
                if (outputs_.contains(value.name) ||
                    !std::ranges::all_of(readers_[value.name],
                                         [&](Index reader) { return chain.contains(reader); }))
                    return;
            }
        }
        std::vector<std::string> inputs, held;
        double work = 0;
        std::int64_t head = 0;
        for (const Index i : chain) {
            work += flops(i);
            if (head == 0 && (node(i).kind == "bmm" || node(i).kind == "matmul")) {
                if (const auto extents = shape(node(i).inputs.front()); extents && !extents->empty())
                    head = extents->back();
            }
            for (const std::string& input : node(i).inputs) {
                if (chain.contains(producer(input))) continue;
                auto& list = parameter(input) != nullptr ? held : inputs;
                if (std::ranges::find(list, input) == list.end()) list.push_back(input);
            }
        }
        const auto result = shape(output(last));
        std::map<std::string, std::string> attributes;
        if (head > 0 && result && !result->empty() && result->back() % head == 0)
            attributes["heads"] = std::to_string(result->back() / head);
        // Query, key and value are one tensor in self-attention.
        if (inputs.size() == 1) inputs.assign(3, inputs.front());
        inputs.insert(inputs.end(), held.begin(), held.end());
        merge({chain.begin(), chain.end()}, "multi_head_attention_forward", std::move(inputs),
              std::move(attributes), work);
    }

    Program& program_;
    std::vector<bool> gone_;
    std::unordered_map<std::string, Index> producer_, parameter_of_;
    std::unordered_map<std::string, std::set<Index>> readers_;
    std::set<std::string> outputs_;
};

}  // namespace

void merge_known_chains(Program& program) {
    ChainMerger(program).run();
}

}  // namespace placewright
