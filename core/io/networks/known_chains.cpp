// SPDX-License-Identifier: MIT
#include "core/io/networks/known_chains.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/flops.hpp"
#include "core/io/networks/attention_chains.hpp"
#include "core/io/networks/chain_program.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

/// Whether a node squares a value.
bool is_square(ChainProgram& program, NodeIndex square, const std::string& value) {
    return program.is(square, "pow")
               ? program.with_number(square, value)
               : program.is(square, "mul") && program.other_input(square, value) == value;
}

/// Merges a norm of `x`, whose first node takes a mean over the last dimensions, with the weights that follow
/// it.
void merge_norm(ChainProgram& program, const std::string& kind, const std::string& x,
                std::vector<NodeIndex> chain, std::initializer_list<const char*> affine_kinds,
                NodeIndex mean) {
    const auto extents = program.shape(x), mean_extents = program.shape(program.output(mean));
    if (!extents || !mean_extents || extents->size() != mean_extents->size()) return;
    // The last dimensions, without those over which no mean is taken.
    std::size_t kept = extents->size();
    while (kept > 0 && (*mean_extents)[kept - 1] == 1) --kept;
    const Shape normalized(extents->begin() + static_cast<std::ptrdiff_t>(kept), extents->end());
    if (normalized.empty() || elements(*mean_extents) * elements(normalized) != elements(*extents)) return;
    std::vector<std::string> inputs{x};
    for (const char* const affine_kind : affine_kinds) {
        const NodeIndex affine = program.next(chain.back(), affine_kind);
        const auto other =
            affine == kNoNode ? std::nullopt : program.other_input(affine, program.output(chain.back()));
        const Program::Parameter* const held = other && !other->empty() ? program.parameter(*other) : nullptr;
        if (held == nullptr || held->tensor.shape != normalized) break;
        inputs.push_back(*other);
        chain.push_back(affine);
    }
    program.merge(chain, kind, std::move(inputs), {{"normalized_shape", Json(normalized).dump()}});
}

void merge_layer_norm(ChainProgram& program, NodeIndex mean) {
    if (program.node(mean).inputs.empty()) return;
    const std::string x = program.node(mean).inputs.front();
    const NodeIndex sub = program.next(mean, "sub");
    if (sub == kNoNode || program.node(sub).inputs != std::vector<std::string>{x, program.output(mean)})
        return;
    const std::string centred = program.output(sub);
    NodeIndex square = kNoNode, div = kNoNode;
    if (program.readers(centred).size() != 2 || program.is_result(centred)) return;
    for (const NodeIndex reader : program.readers(centred))
        (program.node(reader).kind == "div" ? div : square) = reader;
    if (square == kNoNode || div == kNoNode) return;
    if (!is_square(program, square, centred)) return;
    const NodeIndex variance = program.next(square, "mean");
    const NodeIndex add = program.next(variance, "add");
    if (add == kNoNode || !program.with_number(add, program.output(variance))) return;
    const NodeIndex root = program.next(add, "sqrt");
    if (root == kNoNode || program.only_reader(root) != div ||
        program.node(div).inputs != std::vector<std::string>{centred, program.output(root)})
        return;
    merge_norm(program, "layer_norm", x, {mean, sub, square, variance, add, root, div}, {"mul", "add"}, mean);
}

/// x / sqrt(mean(x^2) + eps), as a quotient or as a product with a reciprocal.
void merge_rms_norm(ChainProgram& program, NodeIndex mean) {
    if (program.node(mean).inputs.empty()) return;
    const NodeIndex square = program.producer(program.node(mean).inputs.front());
    if (square == kNoNode || program.is_gone(square) || program.only_reader(square) != mean ||
        program.node(square).inputs.empty())
        return;
    const std::string x = program.node(square).inputs.front();
    if (!is_square(program, square, x)) return;
    const NodeIndex add = program.next(mean, "add");
    if (add == kNoNode || !program.with_number(add, program.output(mean))) return;
    std::vector<NodeIndex> chain{square, mean, add};
    for (const char* const kind : {"rsqrt", "sqrt"}) {
        if (const NodeIndex root = program.next(add, kind); root != kNoNode) chain.push_back(root);
    }
    if (chain.size() != 4) return;
    bool inverse = program.is(chain.back(), "rsqrt");
    NodeIndex reader = program.only_reader(chain.back());
    // 1 / root
    if (!inverse &&
        (program.is(reader, "reciprocal") ||
         (program.is(reader, "div") && program.node(reader).inputs.back() == program.output(chain.back()) &&
          program.with_number(reader, program.output(chain.back()))))) {
        inverse = true;
        chain.push_back(reader);
        reader = program.only_reader(reader);
    }
    if (!program.is(reader, inverse ? "mul" : "div") ||
        program.other_input(reader, program.output(chain.back())) != x ||
        (!inverse && program.node(reader).inputs.front() != x))
        return;
    chain.push_back(reader);
    merge_norm(program, "rms_norm", x, std::move(chain), {"mul"}, mean);
}

/// Merges a GELU of `x` whose chain ends in 1 + erf(...) or 1 + tanh(...). PyTorch's exporters multiply it
/// with x and then with 1/2; other programs, and models that have it in single ops, may halve x first.
void merge_gelu_tail(ChainProgram& program, const std::string& x, std::vector<NodeIndex> chain,
                     bool half_first) {
    const NodeIndex product = program.next(chain.back(), "mul");
    if (product == kNoNode) return;
    const auto other = program.other_input(product, program.output(chain.back()));
    if (!other || other->empty()) return;
    if (*other == x) {
        const NodeIndex half = program.next(product, "mul");
        if (half == kNoNode || !program.with_number(half, program.output(product))) return;
        chain.insert(chain.end(), {product, half});
    } else {
        const NodeIndex half = program.before(product, *other, "mul");
        if (!half_first || half == kNoNode || !program.with_number(half, x)) return;
        chain.insert(chain.end(), {half, product});
    }
    program.merge(chain, "gelu", {x});
}

/// The sum of a node's output and a number; kNoNode if something else reads it.
NodeIndex plus_number(ChainProgram& program, NodeIndex node) {
    const NodeIndex add = program.next(node, "add");
    return add != kNoNode && program.with_number(add, program.output(node)) ? add : kNoNode;
}

void merge_gelu(ChainProgram& program, NodeIndex erf, bool half_first) {
    if (program.node(erf).inputs.size() != 1) return;
    const std::string& argument = program.node(erf).inputs.front();
    NodeIndex scaled = program.before(erf, argument, "div");
    if (scaled == kNoNode) scaled = program.before(erf, argument, "mul");
    const auto x = scaled == kNoNode ? std::nullopt : program.beside_number(scaled);
    const NodeIndex add = plus_number(program, erf);
    if (x && add != kNoNode) merge_gelu_tail(program, *x, {scaled, erf, add}, half_first);
}

/// tanh(b (x + k x^3)), where the cube is a power, or x times its square.
void merge_tanh_gelu(ChainProgram& program, NodeIndex tanh, bool half_first) {
    if (program.node(tanh).inputs.size() != 1) return;
    const NodeIndex scaled = program.before(tanh, program.node(tanh).inputs.front(), "mul");
    const auto inner = scaled == kNoNode ? std::nullopt : program.beside_number(scaled);
    const NodeIndex sum = inner ? program.before(scaled, *inner, "add") : kNoNode;
    if (sum == kNoNode || program.node(sum).inputs.size() != 2) return;
    for (const std::size_t place : {0U, 1U}) {
        const std::string x = program.node(sum).inputs[place];
        const NodeIndex weighted = program.before(sum, program.node(sum).inputs[1 - place], "mul");
        const auto power = weighted == kNoNode ? std::nullopt : program.beside_number(weighted);
        if (!power) continue;
        std::vector<NodeIndex> chain;
        if (const NodeIndex cube = program.before(weighted, *power, "pow"); cube != kNoNode) {
            if (!program.with_number(cube, x)) continue;
            chain = {cube};
        } else if (const NodeIndex product = program.before(weighted, *power, "mul"); product != kNoNode) {
            const auto square = program.other_input(product, x);
            const NodeIndex first = square ? program.before(product, *square, "mul") : kNoNode;
            if (first == kNoNode || !is_square(program, first, x)) continue;
            chain = {first, product};
        } else {
            continue;
        }
        const NodeIndex add = plus_number(program, tanh);
        if (add == kNoNode) return;
        chain.insert(chain.end(), {weighted, sum, scaled, tanh, add});
        return merge_gelu_tail(program, x, std::move(chain), half_first);
    }
}

void merge_linear(ChainProgram& program, NodeIndex product) {
    if (program.node(product).inputs.size() != 2 || program.node(product).outputs.size() != 1) return;
    const std::string x = program.node(product).inputs[0], weight = program.node(product).inputs[1];
    bool is_view = false;
    const Program::Parameter* const held = program.parameter(weight, &is_view);
    if (held == nullptr || !held->trained || !held->tensor.shape || held->tensor.shape->size() != 2 ||
        program.parameter(x) != nullptr)
        return;
    const double work = program.flops(product);
    // A linear map holds its weight as (out, in); one that is read as it is has it the other way.
    if (!is_view) {
        if (program.readers(weight).size() != 1) return;
        program.transpose(*held);
    }
    std::vector<NodeIndex> chain{product};
    std::vector<std::string> inputs{x, weight};
    const NodeIndex add = program.next(product, "add");
    const auto other = add == kNoNode ? std::nullopt : program.other_input(add, program.output(product));
    const Program::Parameter* const bias = other && !other->empty() ? program.parameter(*other) : nullptr;
    const auto extents = program.shape(program.output(product));
    if (bias != nullptr && bias->trained && extents && !extents->empty() &&
        bias->tensor.shape == Shape{extents->back()}) {
        inputs.push_back(*other);
        chain.push_back(add);
    }
    if (chain.size() > 1) return program.merge(chain, "linear", std::move(inputs), {}, work);
    program.node(product).kind = "linear";
    program.node(product).flops = work;
}

}  // namespace

void merge_known_chains(Program& whole) {
    // To know who reads and makes each value takes long in a large program.
    const auto begins_chain = [](const Program::Node& node) {
        constexpr std::array<std::string_view, 5> kKinds{"mean", "erf", "tanh", "softmax", "matmul"};
        return std::ranges::find(kKinds, node.kind) != kKinds.end();
    };
    if (std::ranges::none_of(whole.nodes, begins_chain) &&
        std::ranges::none_of(whole.parameters, is_of_attention_module))
        return;
    ChainProgram program(whole);
    using Functions = Program::Functions;
    const bool any = whole.functions == Functions::unknown;
    for (NodeIndex i = 0; i < program.size(); ++i) {
        if (whole.functions != Functions::whole) {
            if (program.is(i, "mean")) merge_layer_norm(program, i);
            if (program.is(i, "mean") && (any || program.node(i).part_of == "rms_norm"))
                merge_rms_norm(program, i);
            if (program.is(i, "erf")) merge_gelu(program, i, any);
            if (program.is(i, "tanh")) merge_tanh_gelu(program, i, any);
            if (program.is(i, "softmax")) merge_scaled_attention(program, i);
        }
        if (program.is(i, "matmul")) merge_linear(program, i);
    }
    merge_attention(program);
}

}  // namespace placewright
