// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/io/language/block_builder.hpp"
#include "core/io/language/family_graphs.hpp"

namespace placewright {
namespace {

class EncoderBuilder : public BlockBuilder {
public:
    using BlockBuilder::BlockBuilder;

    Graph encoder() {
        OpOutput x = embedded(tokens_);
        const std::string types = prefixed(family_.token_types);
        const OpOutput rows = positions(types, model_.token_types, model_.hidden, tokens_);
        x = sum(types, "add", x, rows);
        colocate_.clear();
        x = with_positions(x, tokens_);
        colocate_.clear();
        x = norm(prefixed(family_.embedding_norm), x);
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) x = block_at(layer, x);
        const std::string& name = model_.class_name;
        const bool masked = name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining") ||
                            name.ends_with("LMHeadModel");
        const bool pooled =
            !masked && !name.ends_with("ForTokenClassification") && !name.ends_with("ForQuestionAnswering");
        OpOutput first = x;
        first.shape = {batch_, 1, model_.hidden};
        if (pooled || name.ends_with("ForPreTraining"))
            first = plain(
                prefixed("pooler"), "tanh", "tanh", first.shape,
                std::array{linear(prefixed("pooler.dense"), first, model_.hidden, model_.hidden, true)});
        if (masked) {
            OpOutput y = linear("cls.predictions.transform.dense", x, model_.hidden, model_.hidden, true);
            y = norm("cls.predictions.transform.LayerNorm",
                     activated("cls.predictions.transform", y, model_.hidden));
            Held held;
            hold(held, "cls.predictions", std::array{wanted("bias", {model_.vocabulary}, Role::plain, {})});
            colocate_ = table_;
            Op made = op("cls.predictions", "linear", held);
            made.name += "/decoder";
            made.flops = 2 * elements(y.shape) * static_cast<double>(model_.vocabulary);
            made.read_bytes = held.bytes + table_bytes_;
            add(std::move(made), {batch_, tokens_, model_.vocabulary}, std::array{y});
            colocate_.clear();
            if (name.ends_with("ForPreTraining"))
                linear("cls.seq_relationship", first, model_.hidden, 2, true, Role::head);
        } else if (name.ends_with("ForSequenceClassification")) {
            linear("classifier", first, model_.hidden, model_.labels, true, Role::head);
        } else if (name.ends_with("ForTokenClassification")) {
            linear("classifier", x, model_.hidden, model_.labels, true, Role::head);
        } else if (name.ends_with("ForQuestionAnswering")) {
            linear("qa_outputs", x, model_.hidden, 2, true, Role::head);
        }
        return graph_.build();
    }

    Graph image_encoder() {
        const std::string projection = prefixed(family_.embedding), embeddings = prefixed("embeddings");
        colocate_ = label_of(embeddings);
        const std::int64_t patches = model_.positions - 1;
        const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(patches))));
        Op image;
        image.name = "pixel_values";
        image.kind = "input";
        image.colocate = colocate_;
        image.outputs = {
            make_tensor({batch_, model_.channels, side * model_.patch, side * model_.patch}, type_)};
        const OpOutput input{static_cast<OpId>(graph_.size()), *image.outputs[0].shape};
        graph_.add(std::move(image));
        OpOutput x = convolution(projection, "conv2d", input, {model_.channels, model_.patch, model_.patch},
                                 {batch_, model_.hidden, side, side});
        Held held;
        hold(
            held, embeddings,
            std::array{wanted("cls_token", {1, 1, model_.hidden}, Role::plain, {}),
                       wanted("position_embeddings", {1, model_.positions, model_.hidden}, Role::plain, {})});
        Op made = op(embeddings, "add", held);
        made.name += "/add";
        made.flops = elements(Shape{batch_, model_.positions, model_.hidden});
        x = add(std::move(made), {batch_, model_.positions, model_.hidden}, std::array{x});
        colocate_.clear();
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) x = block_at(layer, x);
        x = norm(prefixed(family_.final_norm), x);
        x.shape = {batch_, 1, model_.hidden};
        if (model_.class_name.ends_with("ForImageClassification")) {
            linear("classifier", x, model_.hidden, model_.labels, true, Role::head);
        } else {
            linear(prefixed("pooler.dense"), x, model_.hidden, model_.hidden, true);
        }
        return graph_.build();
    }
};

}  // namespace

Graph encoder_graph(const LanguageStep& step) {
    return EncoderBuilder(step).encoder();
}

Graph image_encoder_graph(const LanguageStep& step) {
    return EncoderBuilder(step).image_encoder();
}

}  // namespace placewright
