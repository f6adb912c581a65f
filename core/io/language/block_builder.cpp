// SPDX-License-Identifier: MIT
#include "core/io/language/block_builder.hpp"

#include <array>

namespace placewright {

void BlockBuilder::begin_block(const std::string& block) {
    (options_.split_layers ? block_ : colocate_) = label_of(block);
}

void BlockBuilder::end_block() {
    block_.clear();
    colocate_.clear();
}

OpOutput BlockBuilder::block(const std::string& path, const OpOutput& from, std::size_t layer) {
    begin_block(path);
    const BlockNames& names = family_.block;
    const auto at = [&](std::string_view name) { return joined(path, name); };
    OpOutput x = from;
    if (family_.form == BlockForm::post_norm) {
        x = norm(at(names.norm1), sum(path, "add_1", x, self_attention(path, names, x, layer)));
        x = norm(at(names.norm2), sum(path, "add_2", x, mlp(path, names, x, layer)));
    } else if (family_.form == BlockForm::parallel) {
        const OpOutput first = norm(at(names.norm1), x);
        const OpOutput second = names.norm2.empty() ? first : norm(at(names.norm2), x);
        const OpOutput attended = self_attention(path, names, first, layer);
        const OpOutput parts = sum(path, "add_1", attended, mlp(path, names, second, layer));
        x = sum(path, "add_2", parts, x);
    } else {
        OpOutput attended = self_attention(path, names, norm(at(names.norm1), x), layer);
        if (!names.post_attention_norm.empty()) attended = norm(at(names.post_attention_norm), attended);
        x = sum(path, "add_1", attended, x);
        OpOutput mapped = mlp(path, names, norm(at(names.norm2), x), layer);
        if (!names.post_mlp_norm.empty()) mapped = norm(at(names.post_mlp_norm), mapped);
        x = sum(path, "add_2", mapped, x);
    }
    end_block();
    return x;
}

OpOutput BlockBuilder::block_at(std::int64_t layer, const OpOutput& from) {
    return block(prefixed(family_.blocks) + '.' + std::to_string(layer), from,
                 static_cast<std::size_t>(layer));
}

OpOutput BlockBuilder::embedded(std::int64_t tokens) {
    const std::string table = prefixed(family_.embedding);
    colocate_ = label_of(table);
    const OpOutput input = tokens_input("input_ids", tokens);
    const std::int64_t width = model_.embedding_width > 0 ? model_.embedding_width : model_.hidden;
    OpOutput x = lookup(table, input, model_.vocabulary, width, tokens);
    table_ = label_of(table);
    colocate_.clear();
    return x;
}

OpOutput BlockBuilder::with_positions(OpOutput x, std::int64_t tokens) {
    if (family_.positions.empty()) return x;
    const std::string module = prefixed(family_.positions);
    const OpOutput rows = positions(module, model_.positions, model_.hidden, tokens);
    return sum(module, "add", x, rows);
}

void BlockBuilder::head(OpOutput x, const std::string& module, std::int64_t out, bool bias, bool tied) {
    if (phase_ != LanguagePhase::training) x.shape = {batch_, 1, x.shape.back()};
    OpOutput logits;
    if (tied) {
        colocate_ = table_;
        Op made = op(module, "linear", {});
        made.parameter_dtype = type_;
        made.flops = 2 * elements(x.shape) * static_cast<double>(out);
        made.read_bytes = table_bytes_;
        Shape shape = x.shape;
        shape.back() = out;
        logits = add(std::move(made), std::move(shape), std::array{x});
    } else {
        logits = linear(module, x, x.shape.back(), out, bias, Role::head);
    }
    if (phase_ == LanguagePhase::training) {
        Op made = op("", "cross_entropy", {});
        made.name = "loss";
        made.flops = 4 * elements(logits.shape);
        add(std::move(made), {}, std::array{logits});
    }
    colocate_.clear();
}

OpOutput BlockBuilder::final_norm(const std::string& module, OpOutput x) {
    Held held;
    hold(held, module, norm_tensors(model_.hidden));
    if (phase_ != LanguagePhase::training) x.shape = {batch_, 1, model_.hidden};
    return add_norm(op(module, family_.layer_norm ? "layer_norm" : "rms_norm", held), x, x.shape);
}

}  // namespace placewright
