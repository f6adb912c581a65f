// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>

#include "core/base/text.hpp"
#include "core/io/language/language_model.hpp"

namespace placewright {
namespace {

using Keys = std::initializer_list<const char*>;

/// The members of a config. A member that is null counts as absent. A number has one key in most families,
/// and others in some.
class Config {
public:
    explicit Config(const JsonValue& root) : root_(root) {}

    std::optional<JsonValue> find(Keys keys) const {
        for (const char* key : keys) {
            if (auto found = root_.find(key); found && !found->json().is_null()) return found;
        }
        return {};
    }

    /// A number that must be there.
    std::int64_t whole(Keys keys, std::int64_t most) const {
        if (const auto found = find(keys)) return found->whole(1, most);
        root_.fail("has no " + in_quotes(*keys.begin()) + ", expected a number");
    }

    std::int64_t whole_or(Keys keys, std::int64_t most, std::int64_t other, std::int64_t least = 1) const {
        const auto found = find(keys);
        return found ? found->whole(least, most) : other;
    }

    bool truth_or(Keys keys, bool other) const {
        const auto found = find(keys);
        return found ? found->truth() : other;
    }

    std::string text_or(Keys keys, std::string other) const {
        const auto found = find(keys);
        return found ? found->text() : other;
    }

    bool has(const BiasRule& rule) const {
        return rule.key.empty() ? rule.without_key
                                : truth_or({std::string(rule.key).c_str()}, rule.without_key);
    }

    const JsonValue& root() const { return root_; }

private:
    JsonValue root_;
};

[[noreturn]] void fail_at_key(const Config& config, Keys keys, const std::string& problem) {
    if (const auto found = config.find(keys)) found->fail(problem);
    config.root().fail(in_quotes(*keys.begin()) + ' ' + problem);
}

DType dtype_of(WeightType type) {
    switch (type) {
        case WeightType::fp32:
            return DType::float32;
        case WeightType::fp16:
            return DType::float16;
        default:
            return DType::bfloat16;
    }
}

WeightType stored_type(const Config& config, WeightType other) {
    const auto found = config.find({"torch_dtype", "dtype"});
    if (!found) return other;
    const std::string text = found->text();
    static const std::map<std::string, WeightType, std::less<>> types{{"float32", WeightType::fp32},
                                                                      {"float", WeightType::fp32},
                                                                      {"torch.float32", WeightType::fp32},
                                                                      {"float16", WeightType::fp16},
                                                                      {"half", WeightType::fp16},
                                                                      {"torch.float16", WeightType::fp16},
                                                                      {"bfloat16", WeightType::bf16},
                                                                      {"torch.bfloat16", WeightType::bf16},
                                                                      {"auto", other}};
    const auto type = types.find(text);
    if (type == types.end()) found->fail("is " + in_quotes(text) + ", expected float32, float16 or bfloat16");
    return type->second;
}

void read_quantization(const Config& config, LanguageModel& model) {
    const auto given = config.find({"quantization_config"});
    if (!given) return;
    const Config settings(*given);
    const std::string method = settings.text_or({"quant_method"}, "");
    model.quantization_method = method;
    if (const auto skipped =
            settings.find({"modules_to_not_convert", "llm_int8_skip_modules", "ignored_layers"}))
        skipped->for_each_item([&](const JsonValue& item) { model.not_converted.insert(item.text()); });
    if (method == "fp8") {
        model.quantization = Quantization::fp8;
        if (const auto block = settings.find({"weight_block_size"})) {
            if (block->size() != 2)
                block->fail("has " + std::to_string(block->size()) + " numbers, expected rows and columns");
            model.scale_rows = block->at(0).whole(1, kMostHidden);
            model.scale_columns = block->at(1).whole(1, kMostHidden);
        }
    } else if (method == "mxfp4") {
        model.quantization = Quantization::mxfp4;
    } else if (method == "bitsandbytes" && settings.truth_or({"load_in_8bit", "_load_in_8bit"}, false)) {
        model.quantization = Quantization::bitsandbytes;
    } else {
        model.quantization = Quantization::other;
        if (method == "bitsandbytes") model.quantization_method = "bitsandbytes in 4 bits";
    }
}

/// The window of each layer: from layer_types if the config has them, else by the family's rule.
std::vector<std::int64_t> windows(const Config& config, const LanguageFamily& family, std::int64_t layers) {
    std::vector<std::int64_t> windows(static_cast<std::size_t>(layers), 0);
    const std::int64_t window = config.whole_or({"sliding_window"}, kMostSequence, 0, 0);
    if (window == 0 || family.window == WindowRule::none) return windows;
    if (family.window == WindowRule::last && !config.truth_or({"use_sliding_window"}, false)) return windows;
    if (const auto types = config.find({"layer_types"})) {
        if (types->size() != windows.size())
            types->fail("has " + std::to_string(types->size()) + " entries, expected one for each of the " +
                        std::to_string(layers) + " layers");
        for (std::size_t i = 0; i < windows.size(); ++i) {
            if (types->at(i).text() == "sliding_attention") windows[i] = window;
        }
        return windows;
    }
    const std::int64_t pattern =
        config.whole_or({"sliding_window_pattern", "_sliding_window_pattern"}, kMostLayers, 6);
    const std::int64_t first = config.whole_or({"max_window_layers"}, kMostLayers, layers, 0);
    for (std::int64_t i = 0; i < layers; ++i) {
        const bool sees_window = family.window == WindowRule::all ||
                                 (family.window == WindowRule::even && i % 2 == 0) ||
                                 (family.window == WindowRule::pattern && (i + 1) % pattern != 0) ||
                                 (family.window == WindowRule::last && i >= first);
        if (sees_window) windows[static_cast<std::size_t>(i)] = window;
    }
    return windows;
}

void read_experts(const Config& config, LanguageModel& model) {
    const std::int64_t count =
        config.whole_or({"num_local_experts", "num_experts", "n_routed_experts"}, kMostExperts, 0, 0);
    if (count == 0) {
        if (model.family.latent) return;  // a dense model
        config.whole({"num_experts", "num_local_experts"}, kMostExperts);
    }
    if (count * model.layers > kMostBlocksOfExperts)
        fail_at_key(config, {"num_local_experts", "num_experts", "n_routed_experts"},
                    "times the layers are more than a million experts");
    ExpertLayers experts;
    experts.count = count;
    experts.per_token = config.whole({"num_experts_per_tok", "experts_per_token"}, kMostExperts);
    if (experts.per_token > count)
        fail_at_key(config, {"num_experts_per_tok", "experts_per_token"},
                    "is " + std::to_string(experts.per_token) + ", expected at most the " +
                        std::to_string(count) + " experts");
    experts.width = config.whole_or({"moe_intermediate_size"}, kMostWidth, model.width);
    experts.bias = model.family.sinks;
    experts.dense.assign(static_cast<std::size_t>(model.layers), 0);
    if (!model.family.experts.shared.empty()) {
        experts.shared_width = config.whole_or({"shared_expert_intermediate_size"}, kMostWidth, 0, 0);
        const std::int64_t shared = config.whole_or({"n_shared_experts"}, kMostExperts, 0, 0);
        if (experts.shared_width == 0) experts.shared_width = shared * experts.width;
    }
    if (model.family.latent) {
        const std::int64_t dense = config.whole_or({"first_k_dense_replace"}, kMostLayers, 0, 0);
        const std::int64_t every = config.whole_or({"moe_layer_freq"}, kMostLayers, 1);
        for (std::int64_t i = 0; i < model.layers; ++i)
            experts.dense[static_cast<std::size_t>(i)] = i < dense || i % every != 0;
        experts.score_correction =
            config.text_or({"topk_method"},
                           model.family.model_type == "deepseek_v2" ? "greedy" : "noaux_tc") == "noaux_tc";
    } else if (config.find({"decoder_sparse_step", "mlp_only_layers"})) {
        const std::int64_t step = config.whole_or({"decoder_sparse_step"}, kMostLayers, 1);
        for (std::int64_t i = 0; i < model.layers; ++i)
            experts.dense[static_cast<std::size_t>(i)] = (i + 1) % step != 0;
        if (const auto dense = config.find({"mlp_only_layers"})) {
            dense->for_each_item([&](const JsonValue& layer) {
                experts.dense[static_cast<std::size_t>(layer.whole(0, model.layers - 1))] = 1;
            });
        }
    }
    model.experts = std::move(experts);
}

void read_latent(const Config& config, LanguageModel& model) {
    LatentAttention latent;
    latent.q_rank = config.whole_or({"q_lora_rank"}, kMostHidden, 0, 0);
    latent.kv_rank = config.whole({"kv_lora_rank"}, kMostHidden);
    latent.nope = config.whole({"qk_nope_head_dim"}, kMostHeadDim);
    latent.rope = config.whole({"qk_rope_head_dim"}, kMostHeadDim);
    latent.value = config.whole({"v_head_dim"}, kMostHeadDim);
    model.head_dim = latent.nope + latent.rope;
    model.latent = latent;
}

/// What families call the number of heads of keys and values, and how many there are without a number.
std::int64_t kv_heads(const Config& config, const LanguageModel& model) {
    const Keys keys{"num_key_value_heads", "num_kv_heads", "n_head_kv"};
    std::int64_t count = config.whole_or(keys, kMostHeads, model.heads);
    if (model.family.model_type == "falcon" && !config.truth_or({"new_decoder_architecture"}, false))
        count = config.truth_or({"multi_query"}, true) ? 1 : model.heads;
    if (model.heads % count != 0)
        fail_at_key(config, keys,
                    "is " + std::to_string(count) + ", expected a divisor of the " +
                        std::to_string(model.heads) + " heads of num_attention_heads");
    return count;
}

/// Falcon's and StableLM's variants differ in more than numbers.
void read_variant(const Config& config, LanguageModel& model) {
    LanguageFamily& family = model.family;
    if (family.model_type == "falcon") {
        const bool fresh = config.truth_or({"new_decoder_architecture"}, false);
        const bool parallel = fresh || config.truth_or({"parallel_attn"}, true);
        if (parallel) family.form = BlockForm::parallel;
        if (fresh && config.whole_or({"num_ln_in_parallel_attn"}, 2, 2) == 2) {
            family.block.norm1 = "ln_attn";
            family.block.norm2 = "ln_mlp";
        } else if (parallel) {
            family.block.norm2 = {};
        }
    } else if (family.model_type == "stablelm") {
        if (config.truth_or({"use_parallel_residual"}, false)) {
            family.form = BlockForm::parallel;
            family.block.norm2 = {};
        }
        model.head_norms = config.truth_or({"qk_layernorm"}, false);
        if (model.head_norms && model.layers * model.heads > kMostBlocksOfExperts)
            fail_at_key(config, {"qk_layernorm"},
                        "asks for norms of " + std::to_string(model.layers * model.heads) +
                            " heads, expected at most " + std::to_string(kMostBlocksOfExperts));
        if (model.head_norms) {
            family.block.q_norm = "self_attn.q_layernorm";
            family.block.k_norm = "self_attn.k_layernorm";
        }
        model.norm_bias = config.truth_or({"layer_norm_bias"}, true);
    } else if (family.model_type == "gpt_neox" && !config.truth_or({"use_parallel_residual"}, true)) {
        family.form = BlockForm::pre_norm;
    } else if (family.model_type == "opt") {
        model.has_final_norm = config.truth_or({"do_layer_norm_before"}, true) &&
                               !config.truth_or({"_remove_final_layer_norm"}, false);
        if (!config.truth_or({"do_layer_norm_before"}, true)) family.form = BlockForm::post_norm;
        model.embedding_width = config.whole_or({"word_embed_proj_dim"}, kMostHidden, model.hidden);
    }
}

void read_t5(const Config& config, LanguageModel& model) {
    LanguageFamily& family = model.family;
    model.head_dim = config.whole({"d_kv"}, kMostHeadDim);
    model.encoder_layers = model.layers;
    model.layers = config.whole_or({"num_decoder_layers"}, kMostLayers, model.layers);
    model.encoder_heads = model.heads;
    model.encoder_width = model.width;
    model.position_buckets = config.whole_or({"relative_attention_num_buckets"}, kMostHidden, 32);
    const std::string projection = config.text_or({"feed_forward_proj"}, "relu");
    if (config.truth_or({"is_gated_act"}, projection.starts_with("gated-"))) {
        family.block.gate = "layer.2.DenseReluDense.wi_0";
        family.block.up = "layer.2.DenseReluDense.wi_1";
    }
    if (projection.ends_with("gelu")) family.activation = "gelu";
}

void read_whisper(const Config& config, LanguageModel& model) {
    model.encoder_layers = config.whole({"encoder_layers"}, kMostLayers);
    model.encoder_heads = config.whole_or({"encoder_attention_heads"}, kMostHeads, model.heads);
    model.encoder_width = config.whole_or({"encoder_ffn_dim"}, kMostWidth, model.width);
    model.encoder_tokens = config.whole_or({"max_source_positions"}, kMostSequence, 1500);
    model.positions = config.whole_or({"max_target_positions"}, kMostSequence, 448);
    model.limit = model.positions;
    model.channels = config.whole_or({"num_mel_bins"}, kMostHidden, 80);
}

void read_image(const Config& config, LanguageModel& model) {
    model.patch = config.whole_or({"patch_size"}, kMostHidden, 16);
    model.channels = config.whole_or({"num_channels"}, kMostHidden, 3);
    const std::int64_t side = config.whole_or({"image_size"}, kMostHidden, 224);
    if (model.patch > side)
        fail_at_key(config, {"patch_size"}, "is larger than image_size, " + std::to_string(side));
    const std::int64_t patches = side / model.patch;
    model.positions = patches * patches + 1;
    model.limit = model.positions;
}

std::int64_t label_count(const Config& config) {
    if (const auto names = config.find({"id2label"})) {
        std::int64_t count = 0;
        names->for_each_member([&](const std::string&, const JsonValue&) { ++count; });
        return std::max<std::int64_t>(count, 1);
    }
    return config.whole_or({"num_labels"}, kMostWords, 2);
}

void read_vision(const Config& whole, LanguageModel& model) {
    const auto given = whole.find({"vision_config"});
    if (!given) return;
    const Config config(*given);
    VisionTower tower;
    tower.hidden = config.whole_or({"hidden_size"}, kMostHidden, 1152);
    tower.layers = config.whole_or({"num_hidden_layers"}, kMostLayers, 27);
    tower.width = config.whole_or({"intermediate_size"}, kMostWidth, 4304);
    tower.patch = config.whole_or({"patch_size"}, kMostHidden, 14);
    tower.image = config.whole_or({"image_size"}, kMostHidden, 896);
    tower.channels = config.whole_or({"num_channels"}, kMostHidden, 3);
    model.vision = tower;
}

std::string model_name(const JsonFile& file, const JsonValue& root, const std::string& type) {
    std::string name = root.find("_name_or_path") && root.at("_name_or_path").json().is_string()
                           ? root.at("_name_or_path").text()
                           : std::string();
    while (name.ends_with('/')) name.pop_back();
    name = name.substr(name.rfind('/') + 1);
    if (!name.empty()) return printable(name, 120);
    const auto folder = file.path().parent_path().filename().string();
    if (file.path().filename() != "config.json") return printable(file.path().stem().string(), 120);
    return folder.empty() || folder == "." ? type : printable(folder, 120);
}

[[noreturn]] void refuse_type(const JsonValue& place, const std::string& type) {
    place.fail(in_quotes(type) +
               " is not known here; export the model from PyTorch with placewright.export(model, inputs, "
               "\"model.json\")");
}

/// Classes that have only the encoder of such a model.
void refuse_half_models(const Config& config, const LanguageModel& model) {
    const bool both = model.family.shape == FamilyShape::t5 || model.family.shape == FamilyShape::whisper;
    const std::string& name = model.class_name;
    if (!both || name.empty() || name.ends_with("ForConditionalGeneration")) return;
    if (name.ends_with("Model") && !name.ends_with("EncoderModel")) return;
    fail_at_key(config, {"architectures"},
                in_quotes(name) +
                    " is not known here; export the model from PyTorch with "
                    "placewright.export(model, inputs, \"model.json\")");
}

}  // namespace

LanguageModel read_language_config(const JsonFile& file) {
    const Json json = file.parse();
    const JsonValue root(file, json);
    const Config outer(root);
    const auto type = outer.find({"model_type"});
    if (!type) file.fail("model_type", "is missing, expected such as \"llama\"");
    const std::string type_text = type->text();
    const LanguageFamily* const family = find_language_family(type_text);
    if (family == nullptr) refuse_type(*type, type_text);

    LanguageModel model{.family = *family, .name = model_name(file, root, type_text)};
    const bool wrapped = type_text == "gemma3";
    const Config config(wrapped && outer.find({"text_config"}) ? root.at("text_config") : root);
    if (const auto classes = outer.find({"architectures"}); classes && classes->size() > 0)
        model.class_name = classes->at(0).text();
    model.base_model = model.class_name.ends_with("Model") && !model.class_name.ends_with("HeadModel") &&
                       !model.class_name.ends_with("HeadsModel");
    refuse_half_models(outer, model);

    // Gemma 3's text_config leaves out what is as in the library (configuration_gemma3.py).
    const bool gemma3 = type_text.starts_with("gemma3");
    const auto number = [&](Keys keys, std::int64_t most, std::int64_t gemma3_default) {
        return gemma3 ? config.whole_or(keys, most, gemma3_default) : config.whole(keys, most);
    };
    model.hidden = number({"hidden_size", "n_embd", "n_embed", "d_model"}, kMostHidden, 2304);
    // Whisper's num_hidden_layers are those of the encoder.
    const bool whisper = family->shape == FamilyShape::whisper;
    const Keys usual_layers{"num_hidden_layers", "n_layer", "num_layers", "decoder_layers"};
    const Keys whisper_layers{"decoder_layers", "num_hidden_layers"};
    const Keys usual_heads{"num_attention_heads", "n_head", "num_heads", "decoder_attention_heads"};
    const Keys whisper_heads{"decoder_attention_heads", "num_attention_heads"};
    const Keys& layer_keys = whisper ? whisper_layers : usual_layers;
    const Keys& head_keys = whisper ? whisper_heads : usual_heads;
    model.layers = number(layer_keys, kMostLayers, 26);
    model.heads = number(head_keys, kMostHeads, 8);
    if (family->shape != FamilyShape::image_encoder)
        model.vocabulary = number({"vocab_size"}, kMostWords, 262208);
    const bool has_head_dim = config.find({"head_dim", "d_kv"}).has_value();
    const std::int64_t gemma_dim = type_text.starts_with("gemma") ? 256 : 0;
    if (family->latent) {
        read_latent(config, model);
    } else if (has_head_dim || gemma_dim > 0) {
        model.head_dim = config.whole_or({"head_dim", "d_kv"}, kMostHeadDim, gemma_dim);
    } else if (model.hidden % model.heads != 0) {
        fail_at_key(config, head_keys,
                    "is " + std::to_string(model.heads) + ", which does not divide the hidden size " +
                        std::to_string(model.hidden) + ", and there is no head_dim");
    } else {
        model.head_dim = model.hidden / model.heads;
    }
    const Keys width_keys{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "d_ff",
                          "decoder_ffn_dim"};
    // These families have four times the hidden size where the config does not say it.
    const bool four_times = type_text == "falcon" || type_text == "bloom" || type_text == "gpt2";
    model.width = four_times ? config.whole_or(width_keys, kMostWidth, 4 * model.hidden)
                             : number(width_keys, kMostWidth, 9216);
    const std::int64_t kv =
        gemma3 ? config.whole_or({"num_key_value_heads"}, kMostHeads, 4) : kv_heads(config, model);
    model.limit =
        config.whole_or({"max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len"},
                        kMostSequence, type_text == "gpt2" ? 1024 : 0);
    if (!family->positions.empty()) model.positions = model.limit + family->more_positions;
    if (!family->token_types.empty()) model.token_types = config.whole_or({"type_vocab_size"}, kMostWords, 2);
    model.norm_bias = family->layer_norm;
    model.qkv_bias = config.has(family->qkv_bias);
    model.out_bias = config.has(family->out_bias);
    model.mlp_bias = config.has(family->mlp_bias);
    model.tied =
        outer.truth_or({"tie_word_embeddings"}, config.truth_or({"tie_word_embeddings"}, family->tied));
    model.has_final_norm = !family->final_norm.empty();
    model.labels = label_count(outer);
    read_variant(config, model);
    if (family->shape == FamilyShape::t5) read_t5(config, model);
    if (family->shape == FamilyShape::whisper) read_whisper(config, model);
    if (family->shape == FamilyShape::image_encoder) read_image(config, model);
    if (!family->positions.empty() && model.limit == 0)
        config.whole({"max_position_embeddings", "n_positions"}, kMostSequence);
    if (!family->experts.router.empty()) read_experts(config, model);
    if (wrapped) read_vision(outer, model);
    model.kv_heads.assign(static_cast<std::size_t>(model.layers), kv);
    model.window = windows(config, *family, model.layers);
    model.stored = stored_type(config, stored_type(outer, family->type));
    model.activations = dtype_of(model.stored);
    read_quantization(outer, model);
    return model;
}

}  // namespace placewright
