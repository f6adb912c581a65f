// SPDX-License-Identifier: MIT
#include "core/io/networks/attention_chains.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/kinds.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// The order of a permute; empty if it is not known.
std::vector<std::int64_t> order_of(const Program::Node& permute) {
    const auto found = permute.attributes.find("dims");
    const Json dims = found == permute.attributes.end() ? Json() : json_value(found->second);
    if (!dims.is_array() || permute.kind != "permute") return {};
    std::vector<std::int64_t> order;
    for (const Json& dim : dims) {
        if (!dim.is_number_integer()) return {};
        order.push_back(dim.get<std::int64_t>());
    }
    return order;
}

/// Returns the key that is transposed as one stack of matrices, seen as such before and as before afterwards.
std::optional<std::string> key_through_views(ChainProgram& program, NodeIndex last,
                                             std::vector<NodeIndex>& chain) {
    const auto front = [&](NodeIndex i) -> std::string {
        return i == kNoNode || program.node(i).inputs.empty() ? "" : program.node(i).inputs.front();
    };
    const NodeIndex turn = program.before(last, front(last), "permute");
    const NodeIndex first = turn == kNoNode ? kNoNode : program.before(turn, front(turn), "reshape");
    if (first == kNoNode || order_of(program.node(turn)) != std::vector<std::int64_t>{0, 2, 1}) return {};
    auto extents = program.shape(front(first));
    if (!extents || extents->size() < 2) return {};
    std::iter_swap(extents->end() - 1, extents->end() - 2);
    if (program.shape(program.output(last)) != extents) return {};
    chain.insert(chain.end(), {first, turn, last});
    return front(first);
}

/// Returns the key of which a value is the transpose, and adds the nodes that transpose it to the chain. A
/// permute that does more than that stays, with an output that is not transposed.
std::optional<std::string> key_of(ChainProgram& program, NodeIndex reader, const std::string& transposed,
                                  std::vector<NodeIndex>& chain) {
    if (const NodeIndex view = program.before(reader, transposed, "reshape"); view != kNoNode)
        return key_through_views(program, view, chain);
    const NodeIndex turn = program.before(reader, transposed, "permute");
    if (turn == kNoNode) return {};
    auto order = order_of(program.node(turn));
    auto& result = program.node(turn).outputs.front().tensor;
    if (order.size() < 2 || !result || !result->shape || result->shape->size() != order.size()) return {};
    std::iter_swap(order.end() - 1, order.end() - 2);
    if (std::ranges::is_sorted(order)) {
        chain.push_back(turn);
        return program.node(turn).inputs.front();
    }
    std::iter_swap(result->shape->end() - 1, result->shape->end() - 2);
    program.node(turn).attributes["dims"] = Json(order).dump();
    return transposed;
}

/// The factor of a value that one number multiplies: a value of one element, whether the file calls it a
/// constant or a parameter.
std::optional<std::string> scaled(ChainProgram& program, NodeIndex product) {
    const auto& inputs = program.node(product).inputs;
    if (inputs.size() != 2) return {};
    for (const std::size_t place : {0U, 1U}) {
        const Program::Parameter* const scale = program.parameter(inputs[1 - place]);
        if (scale != nullptr && element_count(scale->tensor) == 1) return inputs[place];
    }
    return {};
}

constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

void merge_module(ChainProgram& program, std::size_t in_projection) {
    auto& parameters = program.program().parameters;
    const std::string module = module_of(parameters[in_projection].path);
    const std::string scope = scope_of_module(module);
    const auto out_projection = std::ranges::find(
        parameters, (module.empty() ? "" : module + '.') + "out_proj.weight", &Program::Parameter::path);
    if (out_projection == parameters.end()) return;
    const auto inside = [&](NodeIndex i) {
        return program.node(i).scope == scope || program.node(i).scope.starts_with(scope + '/');
    };
    const auto holds = [&](NodeIndex i, const Program::Parameter& wanted) {
        return std::ranges::any_of(program.node(i).inputs, [&](const std::string& input) {
            return program.parameter(input) == &wanted;
        });
    };
    // All that depends on the projections of the inputs, up to that of the output.
    std::set<NodeIndex> chain;
    NodeIndex last = kNoNode, products = 0, softmaxes = 0, fused = 0, dropouts = 0;
    for (NodeIndex i = 0; i < program.size() && last == kNoNode; ++i) {
        if (program.is_gone(i) || !inside(i)) continue;
        const bool starts = holds(i, parameters[in_projection]);
        const bool follows = std::ranges::any_of(program.node(i).inputs, [&](const std::string& input) {
            return chain.contains(program.producer(input));
        });
        if (!starts && !follows) continue;
        // A view of the weight is folded into it.
        if (starts && program.node(i).inputs.size() == 1 && !kind_info(program.node(i).kind).range) continue;
        chain.insert(i);
        if (follows && holds(i, *out_projection)) last = i;
        fused += program.node(i).kind == "scaled_dot_product_attention";
        products += program.node(i).kind == "bmm" || program.node(i).kind == "matmul" ||
                    program.node(i).kind == "baddbmm";
        dropouts += program.node(i).kind == "dropout";
        softmaxes += program.node(i).kind == "softmax";
    }
    if (last == kNoNode ||
        (fused == 1 ? products + softmaxes > 0 : fused > 0 || products != 2 || softmaxes != 1))
        return;
    // The projection may be of a matrix, which is seen as a sequence afterwards.
    if (const NodeIndex view = program.only_reader(last);
        view != kNoNode && inside(view) &&
        (program.node(view).kind == "view" || program.node(view).kind == "reshape"))
        last = *chain.insert(view).first;
    for (const NodeIndex i : chain) {
        for (const Program::Value& value : program.node(i).outputs) {
            if (i == last) continue;
            if (program.is_result(value.name) ||
                !std::ranges::all_of(program.readers(value.name),
                                     [&](NodeIndex reader) { return chain.contains(reader); }))
                return;
        }
    }
    std::vector<std::string> projected, inputs, held;
    double work = 0;
    std::int64_t head = 0;
    for (const NodeIndex i : chain) {
        work += program.flops(i);
        if (head == 0 &&
            (program.node(i).kind == "bmm" || program.node(i).kind == "matmul" ||
             program.node(i).kind == "baddbmm" || program.node(i).kind == "scaled_dot_product_attention")) {
            if (const auto extents = program.shape(program.node(i).inputs.front());
                extents && !extents->empty())
                head = extents->back();
        }
        const std::string& kind = program.node(i).kind;
        const std::size_t factor = kind == "addmm" ? 1 : kind == "linear" || kind == "matmul" ? 0 : kNoInput;
        for (std::size_t k = 0; k < program.node(i).inputs.size(); ++k) {
            const std::string& input = program.node(i).inputs[k];
            if (chain.contains(program.producer(input))) continue;
            auto& list = program.parameter(input) != nullptr ? held : k == factor ? projected : inputs;
            if (std::ranges::find(list, input) == list.end()) list.push_back(input);
        }
    }
    const auto result = program.shape(program.output(last));
    std::map<std::string, std::string> attributes;
    if (head > 0 && result && !result->empty() && result->back() % head == 0)
        attributes["heads"] = std::to_string(result->back() / head);
    if (dropouts > 0) attributes["dropout"] = "1";
    if (fused > 0) attributes["fused"] = "1";
    // Query, key and value are one tensor in self-attention, and two where a decoder reads an encoder. Masks,
    // and weights that are computed, come after them.
    while (!projected.empty() && projected.size() < 3) projected.push_back(projected.back());
    for (const std::string& input : inputs) {
        if (std::ranges::find(projected, input) == projected.end()) projected.push_back(input);
    }
    inputs = std::move(projected);
    inputs.insert(inputs.end(), held.begin(), held.end());
    program.merge({chain.begin(), chain.end()}, "multi_head_attention_forward", std::move(inputs),
                  std::move(attributes), work);
}

}  // namespace

void merge_scaled_attention(ChainProgram& program, NodeIndex softmax) {
    if (program.node(softmax).inputs.size() != 1 || program.node(softmax).outputs.empty()) return;
    std::vector<NodeIndex> chain{softmax};
    std::string scores = program.node(softmax).inputs.front(), mask;
    NodeIndex reader = softmax;
    if (const NodeIndex add = program.before(softmax, scores, "add"); add != kNoNode) {
        if (program.node(add).inputs.size() != 2) return;
        const bool second = program.before(add, program.node(add).inputs[0], "matmul") == kNoNode;
        scores = program.node(add).inputs[second ? 1 : 0];
        mask = program.node(add).inputs[second ? 0 : 1];
        // Numbers that stand for a mask of booleans.
        if (const NodeIndex numbers = program.before(add, mask, "where");
            numbers != kNoNode && program.node(numbers).inputs.size() == 3 &&
            program.is_constant(program.node(numbers).inputs[1]) &&
            program.is_constant(program.node(numbers).inputs[2]) && !program.is_constant(mask)) {
            mask = program.node(numbers).inputs.front();
            chain.push_back(numbers);
        }
        chain.push_back(add);
        reader = add;
    }
    const NodeIndex product = program.before(reader, scores, "matmul");
    if (product == kNoNode || program.node(product).inputs.size() != 2) return;
    const NodeIndex left = program.before(product, program.node(product).inputs[0], "mul"),
                    right = program.before(product, program.node(product).inputs[1], "mul");
    if (left == kNoNode || right == kNoNode || left == right) return;
    const auto query = scaled(program, left), turned = scaled(program, right);
    if (!query || !turned) return;
    chain.insert(chain.end(), {product, left, right});

    std::string weights = program.output(softmax);
    NodeIndex last = softmax;
    // Rows of which every key is hidden are set to zero.
    if (program.readers(weights).size() == 2 && !program.is_result(weights)) {
        NodeIndex test = kNoNode, choice = kNoNode;
        for (const NodeIndex each : program.readers(weights))
            (program.is(each, "isnan") ? test : choice) = each;
        if (test == kNoNode || !program.is(choice, "where") || program.only_reader(test) != choice) return;
        chain.insert(chain.end(), {test, choice});
        last = choice;
    }
    for (const char* const kind : {"dropout", "identity"}) {
        if (const NodeIndex drop = program.next(last, kind); drop != kNoNode) chain.push_back(last = drop);
    }
    const NodeIndex mix = program.next(last, "matmul");
    if (mix == kNoNode || program.node(mix).inputs.size() != 2 ||
        program.node(mix).inputs[0] != program.output(last) ||
        program.node(mix).inputs[1] == program.output(last))
        return;
    chain.push_back(mix);
    const auto key = key_of(program, right, *turned, chain);
    if (!key) return;
    std::vector<std::string> inputs{*query, *key, program.node(mix).inputs[1]};
    if (!mask.empty() && !program.is_constant(mask)) inputs.push_back(mask);
    program.merge(chain, "scaled_dot_product_attention", std::move(inputs));
}

bool is_of_attention_module(const Program::Parameter& parameter) {
    return parameter.path.ends_with("in_proj_weight");
}

void merge_attention(ChainProgram& program) {
    for (std::size_t i = 0; i < program.program().parameters.size(); ++i) {
        if (is_of_attention_module(program.program().parameters[i])) merge_module(program, i);
    }
}

}  // namespace placewright
