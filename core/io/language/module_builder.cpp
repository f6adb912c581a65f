// SPDX-License-Identifier: MIT
#include "core/io/language/module_builder.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "core/graph/flops.hpp"
#include "core/io/language/language_graph.hpp"
#include "core/io/networks/module_names.hpp"

namespace placewright {
namespace {

constexpr double kMostBytes = 1e18;

/// Names in files may be no text: such bytes are replaced.
std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

ModuleBuilder::ModuleBuilder(const LanguageStep& step)
    : model_(step.model),
      family_(step.model.family),
      options_(step.options),
      book_(step.book),
      graph_(step.model.name, step.batch,
             step.options.phase == LanguagePhase::training ? Training::implicit : Training::none),
      batch_(step.batch),
      sequence_(sequence_of(step.model, step.options)),
      phase_(step.options.phase) {
    const double values = static_cast<double>(batch_) * static_cast<double>(sequence_) *
                          static_cast<double>(std::max({model_.hidden, model_.vocabulary, model_.width,
                                                        model_.heads * model_.head_dim}));
    if (values * 16 > kMostBytes)
        throw std::length_error(
            "the batch times the sequence has tensors that do not fit into 63 bits: choose smaller ones");
    if (!model_.has_decode() && phase_ == LanguagePhase::decode) phase_ = LanguagePhase::prefill;
    if (family_.shape == FamilyShape::image_encoder) sequence_ = model_.positions;
    tokens_ = phase_ == LanguagePhase::decode ? 1 : sequence_;
    type_ = model_.activations_with(options_);
    cache_bits_ = options_.cache ? bits_of(*options_.cache) : 8 * bytes_per_element(type_);
}

std::int64_t ModuleBuilder::divided_up(std::int64_t number, std::int64_t by) {
    return (number + by - 1) / by;
}

std::string ModuleBuilder::joined(const std::string& block, std::string_view name) {
    if (block.empty()) return std::string(name);
    return name.empty() ? block : block + '.' + std::string(name);
}

std::string ModuleBuilder::prefixed(std::string_view name) const {
    return std::string(family_.prefix) + std::string(name);
}

std::string ModuleBuilder::label_of(const std::string& module) const {
    return scope_of_module(book_.path_of(module));
}

std::int64_t ModuleBuilder::bits(Role role, const std::string& module, const Shape& shape) const {
    const std::int64_t stored = bits_of(model_.stored);
    const bool linear = role == Role::linear || role == Role::expert;
    if (options_.weights) {
        const std::int64_t wanted = bits_of(*options_.weights);
        if (wanted >= 16) return wanted;
        return linear && (shape.size() == 2 || model_.converts_stacks) ? wanted : stored;
    }
    return is_quantized(role, module) ? 8 : stored;
}

bool ModuleBuilder::is_quantized(Role role, const std::string& module) const {
    if (options_.weights || (role != Role::linear && role != Role::expert)) return false;
    if (model_.quantization != Quantization::fp8 && model_.quantization != Quantization::bitsandbytes)
        return false;
    // A name that is listed may be any run of the parts of a module's path.
    for (std::size_t begin = 0;; ++begin) {
        for (std::size_t end = module.find('.', begin);; end = module.find('.', end + 1)) {
            if (model_.not_converted.contains(module.substr(begin, end - begin))) return false;
            if (end == std::string::npos) break;
        }
        begin = module.find('.', begin);
        if (begin == std::string::npos) return true;
    }
}

std::int64_t ModuleBuilder::bytes_of(const Shape& shape, std::int64_t bits) {
    const double count = elements(shape) * static_cast<double>(bits) / 8;
    if (count > kMostBytes) throw std::invalid_argument("a tensor of the model does not fit into 63 bits");
    std::int64_t product = bits;
    for (const std::int64_t extent : shape) product *= extent;
    return divided_up(product, 8);
}

WantedTensor ModuleBuilder::wanted(const std::string& leaf, Shape shape, Role role,
                                   const std::string& module) const {
    const std::int64_t width = bits(role, module, shape);
    const std::int64_t bytes = bytes_of(shape, width);
    return {leaf, std::move(shape), bytes};
}

std::vector<WantedTensor> ModuleBuilder::linear_tensors(const std::string& module, std::int64_t in,
                                                        std::int64_t out, bool bias, Role role) const {
    Shape shape = family_.transposed ? Shape{in, out} : Shape{out, in};
    std::vector<WantedTensor> tensors{wanted("weight", std::move(shape), role, module)};
    if (is_quantized(role, module)) {
        if (model_.quantization == Quantization::bitsandbytes) {
            tensors.push_back({"SCB", {out}, 4 * out});
            tensors.push_back({"weight_format", {}, 1});
        } else if (model_.scale_rows > 0) {
            const Shape scales{divided_up(out, model_.scale_rows), divided_up(in, model_.scale_columns)};
            tensors.push_back({"weight_scale_inv", scales, bytes_of(scales, 32)});
        } else {
            tensors.push_back({"weight_scale", {1}, 4});
        }
    }
    if (bias) tensors.push_back(wanted("bias", {out}, Role::plain, module));
    return tensors;
}

std::vector<WantedTensor> ModuleBuilder::norm_tensors(std::int64_t width) const {
    std::vector<WantedTensor> tensors{wanted("weight", {width}, Role::plain, {})};
    if (model_.norm_bias) tensors.push_back(wanted("bias", {width}, Role::plain, {}));
    return tensors;
}

void ModuleBuilder::hold(Held& held, const std::string& module, std::span<const WantedTensor> tensors) {
    for (HeldTensor& tensor : book_.take(module, tensors)) {
        held.bytes += tensor.bytes;
        // The weights of a GGUF file, which may divide a map in two, say more than the model's numbers.
        if (!tensor.name.ends_with(".bias")) held.elements += tensor.elements;
        held.names.push_back(std::move(tensor.name));
        held.sizes.push_back(tensor.bytes);
        all_bytes_ += static_cast<double>(tensor.bytes);
    }
    if (all_bytes_ > kMostBytes)
        throw std::invalid_argument("the tensors of the model do not fit into 63 bits");
}

Op ModuleBuilder::op(const std::string& module, const char* kind, const Held& held) const {
    Op op;
    op.scope = scope_of_module(book_.path_of(module));
    op.name = op.scope;
    op.kind = kind;
    op.parameter_bytes = held.bytes;
    if (held.bytes > 0) op.parameter_dtype = type_;
    if (!held.names.empty()) {
        op.attributes["parameters"] = text_of(held.names);
        op.attributes["parameter_bytes"] = held.sizes.dump();
    }
    op.colocate = colocate_;
    if (!block_.empty()) op.attributes["block"] = text_of(block_);
    return op;
}

OpOutput ModuleBuilder::add(Op op, Shape shape, std::span<const OpOutput> inputs) {
    for (const OpOutput& input : inputs) op.inputs.push_back({input.op, 0});
    op.outputs = {make_tensor(shape, type_)};
    const OpOutput value{static_cast<OpId>(graph_.size()), std::move(shape)};
    graph_.add(std::move(op));
    return value;
}

OpOutput ModuleBuilder::plain(const std::string& module, const std::string& name, const char* kind,
                              Shape shape, std::span<const OpOutput> inputs) {
    Op made = op(module, kind, {});
    made.name = made.scope.empty() ? name : made.scope + '/' + name;
    std::vector<Shape> shapes;
    for (const OpOutput& input : inputs) shapes.push_back(input.shape);
    const std::vector<Shape> outputs{shape};
    made.flops = forward_flops({kind, shapes, outputs}).value_or(elements(shape));
    return add(std::move(made), std::move(shape), inputs);
}

OpOutput ModuleBuilder::sum(const std::string& module, const std::string& name, const OpOutput& a,
                            const OpOutput& b) {
    return plain(module, name, "add", a.shape, std::array{a, b});
}

void ModuleBuilder::idle(const std::string& module, std::span<const WantedTensor> tensors) {
    Held held;
    hold(held, module, tensors);
    Op made = op(module, "constant", held);
    made.read_bytes = 0;
    add(std::move(made), {0}, {});
}

OpOutput ModuleBuilder::linear(const std::string& module, const OpOutput& from, std::int64_t in,
                               std::int64_t out, bool bias, Role role) {
    Held held;
    hold(held, module, linear_tensors(module, in, out, bias, role));
    Op made = op(module, "linear", held);
    Shape shape = from.shape;
    const double rows = elements(shape) / static_cast<double>(shape.back());
    shape.back() = out;
    made.flops =
        2 * rows * (held.elements > 0 ? held.elements : static_cast<double>(in) * static_cast<double>(out));
    return add(std::move(made), std::move(shape), std::array{from});
}

OpOutput ModuleBuilder::norm(const std::string& module, const OpOutput& from) {
    Held held;
    hold(held, module, norm_tensors(from.shape.back()));
    return add_norm(op(module, family_.layer_norm ? "layer_norm" : "rms_norm", held), from, from.shape);
}

OpOutput ModuleBuilder::add_norm(Op made, const OpOutput& from, const Shape& shape) {
    made.flops = 4 * elements(shape);
    return add(std::move(made), shape, std::array{from});
}

OpOutput ModuleBuilder::head_norm(const std::string& module, const OpOutput& from, std::int64_t heads) {
    Held held;
    if (model_.head_norms) {
        for (std::int64_t i = 0; i < heads; ++i)
            hold(held, module + ".norms." + std::to_string(i),
                 std::array{wanted("weight", {model_.head_dim}, Role::plain, {})});
    } else {
        hold(held, module, std::array{wanted("weight", {model_.head_dim}, Role::plain, {})});
    }
    return add_norm(op(module, "rms_norm", held), from, from.shape);
}

OpOutput ModuleBuilder::lookup(const std::string& module, const OpOutput& indices, std::int64_t rows,
                               std::int64_t width, std::int64_t tokens) {
    Held held;
    hold(held, module, std::array{wanted("weight", {rows, width}, Role::head, module)});
    table_bytes_ = held.bytes;
    Op made = op(module, "embedding", held);
    made.read_bytes = bytes_of_rows(rows, tokens);
    if (model_.unread_blocks > 0) made.attributes["unread_blocks"] = std::to_string(model_.unread_blocks);
    return add(std::move(made), {batch_, tokens, width}, std::array{indices});
}

std::int64_t ModuleBuilder::bytes_of_rows(std::int64_t rows, std::int64_t tokens) const {
    const double row = static_cast<double>(table_bytes_) / static_cast<double>(rows);
    return std::min(table_bytes_, static_cast<std::int64_t>(row * static_cast<double>(batch_ * tokens)));
}

OpOutput ModuleBuilder::positions(const std::string& module, std::int64_t rows, std::int64_t width,
                                  std::int64_t tokens) {
    Held held;
    hold(held, module, std::array{wanted("weight", {rows, width}, Role::head, module)});
    Op made = op(module, "embedding", held);
    made.colocate = label_of(module);
    colocate_ = made.colocate;
    made.read_bytes = static_cast<std::int64_t>(static_cast<double>(held.bytes) / static_cast<double>(rows) *
                                                static_cast<double>(std::min(tokens, rows)));
    const OpOutput value = add(std::move(made), {1, tokens, width}, {});
    return value;
}

OpOutput ModuleBuilder::tokens_input(const std::string& name, std::int64_t tokens) {
    Op made;
    made.name = name;
    made.kind = "input";
    made.colocate = colocate_;
    made.outputs = {make_tensor({batch_, tokens}, DType::int64)};
    const OpOutput value{static_cast<OpId>(graph_.size()), {batch_, tokens}};
    graph_.add(std::move(made));
    return value;
}

OpOutput ModuleBuilder::activated(const std::string& module, const OpOutput& from, std::int64_t width) {
    Shape shape = from.shape;
    shape.back() = width;
    return plain(module, std::string(family_.activation), activation(), std::move(shape), std::array{from});
}

const char* ModuleBuilder::activation() const {
    if (family_.activation == "gelu") return "gelu";
    return family_.activation == "relu" ? "relu" : "silu";
}

OpOutput ModuleBuilder::convolution(const std::string& module, const char* kind, const OpOutput& from,
                                    const Shape& window, Shape shape) {
    Shape weight{shape[1]};
    weight.insert(weight.end(), window.begin(), window.end());
    Held held;
    hold(held, module,
         std::array{wanted("weight", weight, Role::plain, module),
                    wanted("bias", {shape[1]}, Role::plain, module)});
    Op made = op(module, kind, held);
    made.flops = 2 * elements(shape) * elements(window);
    made.attributes["kernel"] = Json(Shape(window.begin() + 1, window.end())).dump();
    return add(std::move(made), std::move(shape), std::array{from});
}

}  // namespace placewright
