// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/io/language/block_builder.hpp"
#include "core/io/language/family_graphs.hpp"

namespace placewright {
namespace {

class DecoderBuilder : public BlockBuilder {
public:
    using BlockBuilder::BlockBuilder;

    Graph decoder() {
        OpOutput x = embedded(tokens_);
        if (!family_.embedding_norm.empty()) x = norm(prefixed(family_.embedding_norm), x);
        if (model_.embedding_width > 0 && model_.embedding_width != model_.hidden)
            x = linear(prefixed("decoder.project_in"), x, model_.embedding_width, model_.hidden, false);
        x = with_positions(x, tokens_);
        colocate_.clear();
        for (std::int64_t layer = 0; layer < model_.layers; ++layer) x = block_at(layer, x);
        if (model_.has_final_norm) x = final_norm(prefixed(family_.final_norm), x);
        if (model_.embedding_width > 0 && model_.embedding_width != model_.hidden)
            x = linear(prefixed("decoder.project_out"), x, model_.hidden, model_.embedding_width, false);
        if (model_.vision) vision_tower(*model_.vision);
        if (model_.base_model) return graph_.build();
        if (is_classifier()) {
            head(x, "score", model_.labels, false, false);
        } else {
            head(x, std::string(family_.head), model_.vocabulary, false, model_.tied);
        }
        return graph_.build();
    }

private:
    bool is_classifier() const {
        return model_.class_name.ends_with("ForSequenceClassification") ||
               model_.class_name.ends_with("ForTokenClassification");
    }

    /// SigLIP and the projection of Gemma 3: they run once for an image, never in decode.
    void vision_tower(const VisionTower& tower) {
        const std::string vision = "vision_tower.vision_model.";
        const auto maps = [&](const std::string& module, std::int64_t in, std::int64_t out) {
            idle(module, std::array{wanted("weight", {out, in}, Role::plain, module),
                                    wanted("bias", {out}, Role::plain, module)});
        };
        const auto norm_of = [&](const std::string& module) {
            idle(module, std::array{wanted("weight", {tower.hidden}, Role::plain, module),
                                    wanted("bias", {tower.hidden}, Role::plain, module)});
        };
        colocate_ = "vision_tower";
        const std::int64_t side = std::max<std::int64_t>(1, tower.image / tower.patch);
        const std::string patches = vision + "embeddings.patch_embedding";
        idle(patches, std::array{wanted("weight", {tower.hidden, tower.channels, tower.patch, tower.patch},
                                        Role::plain, patches),
                                 wanted("bias", {tower.hidden}, Role::plain, patches)});
        idle(vision + "embeddings.position_embedding",
             std::array{wanted("weight", {side * side, tower.hidden}, Role::plain, {})});
        for (std::int64_t i = 0; i < tower.layers; ++i) {
            const std::string layer = vision + "encoder.layers." + std::to_string(i) + '.';
            norm_of(layer + "layer_norm1");
            for (const char* map : {"k_proj", "v_proj", "q_proj", "out_proj"})
                maps(layer + "self_attn." + map, tower.hidden, tower.hidden);
            norm_of(layer + "layer_norm2");
            maps(layer + "mlp.fc1", tower.hidden, tower.width);
            maps(layer + "mlp.fc2", tower.width, tower.hidden);
        }
        norm_of(vision + "post_layernorm");
        colocate_ = "multi_modal_projector";
        Held held;
        hold(
            held, "multi_modal_projector",
            std::array{wanted("mm_input_projection_weight", {tower.hidden, model_.hidden}, Role::plain, {})});
        Op made = op("multi_modal_projector", "constant", held);
        made.read_bytes = 0;
        add(std::move(made), {0}, {});
        idle("multi_modal_projector.mm_soft_emb_norm",
             std::array{wanted("weight", {tower.hidden}, Role::plain, {})});
        colocate_.clear();
    }
};

}  // namespace

Graph decoder_graph(const LanguageStep& step) {
    return DecoderBuilder(step).decoder();
}

}  // namespace placewright
