// SPDX-License-Identifier: MIT
#include "core/io/language/gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/language/tensor_book.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in memory");

constexpr std::uint64_t kMostText = 1 << 20;
constexpr std::uint64_t kMostItems = 1 << 16;  ///< of an array that is kept
constexpr std::uint64_t kMostTensors = 1 << 20, kMostPairs = 1 << 20;
constexpr std::int64_t kMostParts = 4096;
constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 48;

/// Elements and bytes of a block of a type (ggml.h, ggml-common.h).
struct BlockType {
    std::uint32_t number;
    std::int64_t elements, bytes;
};
constexpr std::array kBlockTypes{
    BlockType{0, 1, 4},      BlockType{1, 1, 2},      BlockType{2, 32, 18},    BlockType{3, 32, 20},
    BlockType{6, 32, 22},    BlockType{7, 32, 24},    BlockType{8, 32, 34},    BlockType{10, 256, 84},
    BlockType{11, 256, 110}, BlockType{12, 256, 144}, BlockType{13, 256, 176}, BlockType{14, 256, 210},
    BlockType{15, 256, 292}, BlockType{16, 256, 66},  BlockType{17, 256, 74},  BlockType{18, 256, 98},
    BlockType{19, 256, 50},  BlockType{20, 32, 18},   BlockType{21, 256, 110}, BlockType{22, 256, 82},
    BlockType{23, 256, 136}, BlockType{24, 1, 1},     BlockType{25, 1, 2},     BlockType{26, 1, 4},
    BlockType{27, 1, 8},     BlockType{28, 1, 8},     BlockType{29, 256, 56},  BlockType{30, 1, 2},
    BlockType{34, 256, 54},  BlockType{35, 256, 66},  BlockType{39, 32, 17},   BlockType{40, 64, 36}};

enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// Reads the header and never beyond the end of the file.
class Reader {
public:
    Reader(const Path& path, const GgufFile& file)
        : file_(file), left_(regular_file_size(path)), stream_(open_regular_file(path)) {
        if (!stream_) file_.fail("", "cannot be read");
    }

    std::uint64_t left() const { return left_; }

    void bytes(void* to, std::uint64_t count) {
        if (count > left_) cut_off();
        stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
        if (static_cast<std::uint64_t>(stream_.gcount()) != count) cut_off();
        left_ -= count;
    }
    void skip(std::uint64_t count) {
        if (count > left_) cut_off();
        stream_.seekg(static_cast<std::streamoff>(count), std::ios::cur);
        left_ -= count;
    }
    template <class Number>
    Number number() {
        Number value{};
        bytes(&value, sizeof value);
        return value;
    }
    std::string text() {
        const auto length = number<std::uint64_t>();
        if (length > left_) cut_off();
        if (length > kMostText) file_.fail("", "has a text of more than a million bytes in its GGUF header");
        std::string value(length, '\0');
        bytes(value.data(), length);
        return value;
    }
    void skip_text() { skip(number<std::uint64_t>()); }

    [[noreturn]] void cut_off() const {
        file_.fail("", "is cut off within its GGUF header; take another copy");
    }

private:
    const GgufFile& file_;
    std::uint64_t left_;
    std::ifstream stream_;
};

std::uint64_t width_of(ValueType type) {
    switch (type) {
        case ValueType::u8:
        case ValueType::i8:
        case ValueType::boolean:
            return 1;
        case ValueType::u16:
        case ValueType::i16:
            return 2;
        case ValueType::u32:
        case ValueType::i32:
        case ValueType::f32:
            return 4;
        case ValueType::u64:
        case ValueType::i64:
        case ValueType::f64:
            return 8;
        default:
            return 0;
    }
}

template <class Number>
std::int64_t as_whole(Number value) {
    if constexpr (std::is_same_v<Number, std::uint64_t>)
        return static_cast<std::int64_t>(
            std::min(value, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> whole_number(Reader& reader, ValueType type) {
    switch (type) {
        case ValueType::u8:
            return as_whole(reader.number<std::uint8_t>());
        case ValueType::i8:
            return as_whole(reader.number<std::int8_t>());
        case ValueType::u16:
            return as_whole(reader.number<std::uint16_t>());
        case ValueType::i16:
            return as_whole(reader.number<std::int16_t>());
        case ValueType::u32:
            return as_whole(reader.number<std::uint32_t>());
        case ValueType::i32:
            return as_whole(reader.number<std::int32_t>());
        case ValueType::u64:
            return as_whole(reader.number<std::uint64_t>());
        case ValueType::i64:
            return as_whole(reader.number<std::int64_t>());
        default:
            return {};
    }
}

GgufFile::Value array_value(Reader& reader, const GgufFile& file, const std::string& key) {
    const auto type = static_cast<ValueType>(reader.number<std::uint32_t>());
    const auto count = reader.number<std::uint64_t>();
    if (type == ValueType::text) {
        if (count > reader.left() / 8) reader.cut_off();
        for (std::uint64_t i = 0; i < count; ++i) reader.skip_text();
        return {};
    }
    const std::uint64_t width = width_of(type);
    if (width == 0) file.fail(key, "is an array of a type that GGUF does not have");
    if (count > reader.left() / width) reader.cut_off();
    const bool whole = type != ValueType::f32 && type != ValueType::f64 && type != ValueType::boolean;
    if (!whole || count > kMostItems) {
        reader.skip(count * width);
        return {};
    }
    std::vector<std::int64_t> items;
    items.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) items.push_back(*whole_number(reader, type));
    return items;
}

GgufFile::Value read_value(Reader& reader, const GgufFile& file, const std::string& key) {
    const auto type = static_cast<ValueType>(reader.number<std::uint32_t>());
    if (const auto whole = whole_number(reader, type)) return *whole;
    switch (type) {
        case ValueType::f32:
            return static_cast<double>(reader.number<float>());
        case ValueType::f64:
            return reader.number<double>();
        case ValueType::boolean:
            return reader.number<std::uint8_t>() != 0;
        case ValueType::text:
            return reader.text();
        case ValueType::array:
            return array_value(reader, file, key);
        default:
            file.fail(printable(key, 400), "has type " + std::to_string(static_cast<std::uint32_t>(type)) +
                                               ", which GGUF does not have");
    }
}

GgufFile::Tensor read_tensor(Reader& reader, const GgufFile& file) {
    GgufFile::Tensor tensor;
    tensor.name = reader.text();
    const std::string place = "tensor " + in_quotes(printable(tensor.name, 200));
    const auto extents = reader.number<std::uint32_t>();
    if (extents > 4) file.fail(place, "has " + std::to_string(extents) + " extents, expected at most 4");
    std::int64_t count = 1;
    for (std::uint32_t i = 0; i < extents; ++i) {
        const auto extent = reader.number<std::uint64_t>();
        if (extent == 0 || extent > static_cast<std::uint64_t>(kMostTensorBytes / count))
            file.fail(place, "has an extent of " + std::to_string(extent) + ", which no tensor has");
        count *= static_cast<std::int64_t>(extent);
        tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto number = reader.number<std::uint32_t>();
    const auto* const type = std::ranges::find(kBlockTypes, number, &BlockType::number);
    if (type == kBlockTypes.end())
        file.fail(place, "has type " + std::to_string(number) +
                             ", which is not known here: convert the model with another quantisation, or "
                             "open its config.json");
    const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.front();
    if (row % type->elements != 0)
        file.fail(place, "has rows of " + std::to_string(row) + " elements, expected a multiple of " +
                             std::to_string(type->elements));
    tensor.bytes = count / type->elements * type->bytes;
    std::ranges::reverse(tensor.shape);
    reader.number<std::uint64_t>();  // where its data is
    return tensor;
}

/// The other parts of "model-00001-of-00004.gguf".
std::vector<Path> other_parts(const Path& first, std::int64_t parts) {
    const std::string name = first.filename().string();
    std::vector<Path> others;
    const std::size_t of = name.rfind("-of-");
    if (of == std::string::npos || of < 5) return others;
    for (std::int64_t i = 2; i <= parts; ++i) {
        std::string digits = std::to_string(i);
        digits.insert(0, 5 - std::min<std::size_t>(5, digits.size()), '0');
        others.emplace_back(first.parent_path() / (name.substr(0, of - 5) + digits + name.substr(of)));
    }
    return others;
}

}  // namespace

bool is_gguf(const Path& file) {
    std::ifstream stream = open_regular_file(file);
    std::array<char, 4> magic{};
    stream.read(magic.data(), magic.size());
    return stream.gcount() == 4 && std::string_view(magic.data(), 4) == "GGUF";
}

GgufFile::GgufFile(const Path& file) : path_(file) {
    read_part(file);
    const std::int64_t parts = number("split.count", 0, kMostParts).value_or(0);
    if (parts > 1) {
        if (number("split.no", 0, kMostParts).value_or(0) != 0)
            fail("split.no", "is not 0: open the first of the " + std::to_string(parts) +
                                 " parts of the model, ...-00001-of-0000N.gguf");
        for (const Path& part : other_parts(file, parts)) read_part(part);
    }
}

void GgufFile::read_part(const Path& file) {
    Reader reader(file, *this);
    std::array<char, 4> magic{};
    reader.bytes(magic.data(), magic.size());
    if (std::string_view(magic.data(), 4) != "GGUF") fail("", "is not a GGUF file");
    const auto version = reader.number<std::uint32_t>();
    if (version != 2 && version != 3)
        fail("", "is GGUF of version " + std::to_string(version) + ", expected version 2 or 3");
    const auto tensors = reader.number<std::uint64_t>();
    const auto pairs = reader.number<std::uint64_t>();
    // The shortest tensor takes 24 bytes of the header, the shortest pair 13.
    if (tensors > kMostTensors || tensors > reader.left() / 24)
        fail("",
             "says that it has " + std::to_string(tensors) + " tensors, more than its GGUF header can hold");
    if (pairs > kMostPairs || pairs > reader.left() / 13)
        fail("", "says that it has " + std::to_string(pairs) + " values, more than its GGUF header can hold");
    for (std::uint64_t i = 0; i < pairs; ++i) {
        const std::string key = reader.text();
        Value value = read_value(reader, *this, key);
        if (!std::holds_alternative<std::monostate>(value)) values_.try_emplace(key, std::move(value));
    }
    for (std::uint64_t i = 0; i < tensors; ++i) {
        Tensor tensor = read_tensor(reader, *this);
        if (!index_.emplace(tensor.name, tensors_.size()).second)
            fail("tensor " + in_quotes(printable(tensor.name, 200)), "is there twice");
        tensors_.push_back(std::move(tensor));
    }
}

bool GgufFile::has(std::string_view tensor) const {
    return index_.contains(tensor);
}

const GgufFile::Tensor* GgufFile::find(std::string_view tensor) const {
    const auto found = index_.find(tensor);
    return found == index_.end() ? nullptr : &tensors_[found->second];
}

const GgufFile::Value* GgufFile::value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> GgufFile::number(const std::string& key, std::int64_t least,
                                             std::int64_t most) const {
    const Value* const found = value(key);
    if (found == nullptr) return {};
    const auto* const whole = std::get_if<std::int64_t>(found);
    if (whole == nullptr) fail(key, "is not a whole number");
    if (*whole < least || *whole > most)
        fail(key, "is " + std::to_string(*whole) + ", expected " + std::to_string(least) + " to " +
                      std::to_string(most));
    return *whole;
}

std::string GgufFile::text_or(const std::string& key, std::string other) const {
    const Value* const found = value(key);
    const auto* const text = found == nullptr ? nullptr : std::get_if<std::string>(found);
    return text == nullptr ? std::move(other) : *text;
}

void GgufFile::fail(const std::string& where, const std::string& problem) const {
    throw InputError(printable(path_.string(), 4096), where, problem);
}

namespace {

/// A number, or the largest of an array with one for each layer.
std::int64_t largest(const GgufFile& file, const std::string& key, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> other = {}) {
    const GgufFile::Value* const found = file.value(key);
    if (found == nullptr) {
        if (other) return *other;
        file.fail(key, "is missing, expected a number");
    }
    const auto* const items = std::get_if<std::vector<std::int64_t>>(found);
    if (items == nullptr) return *file.number(key, least, most);
    std::int64_t value = least;
    for (const std::int64_t item : *items) value = std::max(value, item);
    if (value > most) file.fail(key, "has an item of " + std::to_string(value));
    return value;
}

void read_gguf_windows(const GgufFile& file, const std::string& prefix, LanguageModel& model) {
    const std::int64_t window =
        file.number(prefix + "attention.sliding_window", 0, kMostSequence).value_or(0);
    model.window.assign(static_cast<std::size_t>(model.layers), 0);
    if (window == 0) return;
    const std::string architecture = prefix.substr(0, prefix.size() - 1);
    for (std::int64_t i = 0; i < model.layers; ++i) {
        const bool has_window = architecture == "llama" || architecture == "phi3" ||
                                ((architecture == "gemma2" || architecture == "gpt-oss") && i % 2 == 0) ||
                                (architecture == "gemma3" && (i + 1) % 6 != 0);
        if (has_window) model.window[static_cast<std::size_t>(i)] = window;
    }
}

void read_gguf_experts(const GgufFile& file, const std::string& prefix, LanguageModel& model) {
    const std::int64_t count = file.number(prefix + "expert_count", 0, kMostExperts).value_or(0);
    if (count == 0) return;
    ExpertLayers experts;
    experts.count = count;
    experts.per_token = file.number(prefix + "expert_used_count", 1, count).value_or(1);
    experts.width = file.number(prefix + "expert_feed_forward_length", 1, kMostWidth).value_or(model.width);
    for (std::int64_t i = 0; i < model.layers; ++i) {
        const std::string block = "blk." + std::to_string(i) + '.';
        experts.dense.push_back(!file.has(block + "ffn_down_exps.weight"));
        if (const GgufFile::Tensor* const shared = file.find(block + "ffn_down_shexp.weight"))
            experts.shared_width = shared->shape.back();
    }
    model.experts = std::move(experts);
    model.family.experts = {.router = "mlp.gate",
                            .gate = "mlp.experts.gate_proj",
                            .up = "mlp.experts.up_proj",
                            .down = "mlp.experts.down_proj",
                            .fused = true,
                            .shared = "mlp.shared_experts"};
    const bool gated = std::ranges::any_of(file.tensors(), [](const GgufFile::Tensor& tensor) {
        return tensor.name.ends_with("ffn_gate_exps.weight");
    });
    if (!gated) model.family.experts.gate = {};
    if (file.has("blk.0.ffn_gate_inp_shexp.weight"))
        model.family.experts.shared_gate = "mlp.shared_expert_gate";
}

void read_gguf_latent(const GgufFile& file, const std::string& prefix, LanguageModel& model) {
    const auto rank = file.number(prefix + "attention.kv_lora_rank", 1, kMostHidden);
    if (!rank) return;
    LatentAttention latent;
    latent.kv_rank = *rank;
    latent.q_rank = file.number(prefix + "attention.q_lora_rank", 0, kMostHidden).value_or(0);
    latent.rope = file.number(prefix + "rope.dimension_count", 1, kMostHidden).value_or(64);
    const std::int64_t key =
        file.number(prefix + "attention.key_length_mla", 1, kMostHidden)
            .value_or(file.number(prefix + "attention.key_length", 1, kMostHidden).value_or(model.head_dim));
    latent.nope = std::max<std::int64_t>(1, key - latent.rope);
    latent.value =
        file.number(prefix + "attention.value_length_mla", 1, kMostHidden)
            .value_or(file.number(prefix + "attention.value_length", 1, kMostHidden).value_or(key));
    model.head_dim = latent.nope + latent.rope;
    model.latent = latent;
    model.family.latent = true;
}

void read_kv_heads(const GgufFile& file, const std::string& key, LanguageModel& model) {
    const auto layers = static_cast<std::size_t>(model.layers);
    const GgufFile::Value* const found = file.value(key);
    const auto* const items = found == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(found);
    if (items == nullptr) {
        model.kv_heads.assign(layers, file.number(key, 1, kMostHeads).value_or(model.heads));
        return;
    }
    if (items->size() != layers)
        file.fail(key, "has " + std::to_string(items->size()) + " items, expected one for each of the " +
                           std::to_string(layers) + " layers");
    for (const std::int64_t item : *items) {
        if (item < 1 || item > kMostHeads)
            file.fail(key, "has an item of " + std::to_string(item) +
                               ": layers without attention are not known here");
        model.kv_heads.push_back(item);
    }
}

}  // namespace

LanguageModel read_gguf_model(const GgufFile& file) {
    const std::string architecture = file.text_or("general.architecture", "");
    if (architecture.empty()) file.fail("general.architecture", "is missing, expected such as \"llama\"");
    const std::string prefix = architecture + '.';
    LanguageModel model{.family = *find_language_family("llama"), .name = {}};
    model.name = printable(file.text_or("general.name", ""), 120);
    if (model.name.empty()) model.name = printable(file.path().stem().string(), 120);
    model.layers = largest(file, prefix + "block_count", 1, kMostLayers);
    model.words_for_layers = prefix + "block_count";
    model.hidden = largest(file, prefix + "embedding_length", 1, kMostHidden);
    model.heads = largest(file, prefix + "attention.head_count", 1, kMostHeads);
    model.width = largest(file, prefix + "feed_forward_length", 1, kMostWidth, 4 * model.hidden);
    model.limit = file.number(prefix + "context_length", 1, kMostSequence).value_or(0);
    model.head_dim = file.number(prefix + "attention.key_length", 1, kMostHidden)
                         .value_or(std::max<std::int64_t>(1, model.hidden / model.heads));
    const GgufFile::Tensor* const embedding = file.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
        file.fail("token_embd.weight", "is missing: this is not a language model");
    model.vocabulary = embedding->shape.front();
    read_kv_heads(file, prefix + "attention.head_count_kv", model);
    read_gguf_latent(file, prefix, model);
    read_gguf_experts(file, prefix, model);
    read_gguf_windows(file, prefix, model);

    LanguageFamily& family = model.family;
    const auto has = [&](const char* tensor) { return file.has(std::string("blk.0.") + tensor); };
    family.tied = model.tied = !file.has("output.weight");
    family.qk_norm = has("attn_q_norm.weight");
    family.sinks = has("attn_sinks.weight");
    if (has("attn_qkv.weight")) family.block.qkv = "self_attn.qkv_proj";
    if (has("post_attention_norm.weight") && has("ffn_norm.weight")) {
        family.block.post_attention_norm = "post_attention_layernorm";
        family.block.norm2 = "pre_feedforward_layernorm";
    }
    if (has("post_ffw_norm.weight")) family.block.post_mlp_norm = "post_feedforward_layernorm";
    if (has("attn_norm_2.weight")) family.block.norm2 = "attn_norm_2", family.form = BlockForm::parallel;
    if (!has("attn_norm_2.weight") && !has("ffn_norm.weight") && !has("post_attention_norm.weight"))
        family.block.norm2 = {}, family.form = BlockForm::parallel;
    const GgufFile::Tensor* const up = file.find("blk.0.ffn_up.weight");
    if (up != nullptr && !has("ffn_gate.weight")) {
        family.block.gate = {};
        if (up->shape.front() == 2 * model.width) family.block.gate_up = "mlp.up_proj";
    }
    if (!file.has("output_norm.weight")) model.has_final_norm = false;
    if (file.has("position_embd.weight")) {
        family.positions = "embed_positions";
        model.positions = file.find("position_embd.weight")->shape.front();
    }
    if (file.has("token_embd_norm.weight")) family.embedding_norm = "embed_norm";
    model.norm_bias = file.has("output_norm.bias");
    family.layer_norm = model.norm_bias;
    model.activations = DType::float16;
    model.stored = WeightType::fp16;
    if (architecture == "gemma" || architecture == "gemma2" || architecture == "gemma3" ||
        architecture == "gpt2" || architecture == "falcon" || architecture == "bloom" ||
        architecture == "gptneox" || architecture == "starcoder2")
        family.activation = "gelu";
    return model;
}

namespace {

/// Tensors by module of Llama's class; a module may have several.
const std::unordered_map<std::string_view, std::vector<std::string_view>>& gguf_names() {
    static const std::unordered_map<std::string_view, std::vector<std::string_view>> names{
        {"input_layernorm", {"attn_norm"}},
        {"attn_norm_2", {"attn_norm_2"}},
        {"post_attention_layernorm", {"post_attention_norm", "ffn_norm"}},
        {"pre_feedforward_layernorm", {"ffn_norm"}},
        {"post_feedforward_layernorm", {"post_ffw_norm"}},
        {"self_attn", {"attn_sinks"}},
        {"self_attn.q_proj", {"attn_q"}},
        {"self_attn.k_proj", {"attn_k"}},
        {"self_attn.v_proj", {"attn_v"}},
        {"self_attn.qkv_proj", {"attn_qkv"}},
        {"self_attn.o_proj", {"attn_output"}},
        {"self_attn.q_norm", {"attn_q_norm"}},
        {"self_attn.k_norm", {"attn_k_norm"}},
        {"self_attn.q_a_proj", {"attn_q_a"}},
        {"self_attn.q_a_layernorm", {"attn_q_a_norm"}},
        {"self_attn.q_b_proj", {"attn_q_b"}},
        {"self_attn.kv_a_proj_with_mqa", {"attn_kv_a_mqa"}},
        {"self_attn.kv_a_layernorm", {"attn_kv_a_norm"}},
        {"self_attn.kv_b_proj", {"attn_kv_b", "attn_k_b", "attn_v_b"}},
        {"mlp.gate_proj", {"ffn_gate"}},
        {"mlp.up_proj", {"ffn_up"}},
        {"mlp.down_proj", {"ffn_down"}},
        {"mlp.gate", {"ffn_gate_inp", "exp_probs_b"}},
        {"mlp.experts.gate_proj", {"ffn_gate_exps"}},
        {"mlp.experts.up_proj", {"ffn_up_exps"}},
        {"mlp.experts.down_proj", {"ffn_down_exps"}},
        {"mlp.shared_experts.gate_proj", {"ffn_gate_shexp"}},
        {"mlp.shared_experts.up_proj", {"ffn_up_shexp"}},
        {"mlp.shared_experts.down_proj", {"ffn_down_shexp"}},
        {"mlp.shared_expert_gate", {"ffn_gate_inp_shexp"}}};
    return names;
}

/// Every name of GGUF that a module may have, without the ends ".weight" and ".bias".
std::vector<std::string> gguf_candidates(const std::string& module) {
    static const std::unordered_map<std::string_view, std::string_view> outside{
        {"model.embed_tokens", "token_embd"},
        {"model.embed_positions", "position_embd"},
        {"model.embed_norm", "token_embd_norm"},
        {"model.norm", "output_norm"},
        {"lm_head", "output"}};
    if (const auto found = outside.find(module); found != outside.end()) return {std::string(found->second)};
    constexpr std::string_view blocks = "model.layers.";
    if (!module.starts_with(blocks)) return {};
    const std::size_t dot = module.find('.', blocks.size());
    if (dot == std::string::npos) return {};
    const auto found = gguf_names().find(std::string_view(module).substr(dot + 1));
    if (found == gguf_names().end()) return {};
    std::vector<std::string> all;
    for (const std::string_view name : found->second)
        all.push_back("blk." + module.substr(blocks.size(), dot - blocks.size()) + '.' + std::string(name));
    return all;
}

}  // namespace

GgufBook::GgufBook(const GgufFile& file) : file_(file), taken_(file.tensors().size(), 0) {
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
        const std::string& name = file.tensors()[i].name;
        modules_[name.substr(0, name.rfind('.'))].push_back(i);
    }
}

std::vector<HeldTensor> GgufBook::take(const std::string& module, std::span<const WantedTensor> wanted) {
    std::vector<HeldTensor> held;
    const std::vector<std::string> candidates = gguf_candidates(module);
    for (const std::string& candidate : candidates) {
        const auto found = modules_.find(candidate);
        if (found == modules_.end()) continue;
        for (const std::size_t i : found->second) {
            if (taken_[i] != 0) continue;
            const GgufFile::Tensor& tensor = file_.tensors()[i];
            taken_[i] = 1;
            held.push_back({tensor.name, tensor.bytes, elements(tensor.shape)});
        }
        // Of the two norms that may follow attention, a module has one.
        if (candidate.ends_with("_norm")) break;
    }
    if (held.empty() && !wanted.empty())
        file_.fail(candidates.empty() ? module : candidates.front() + ".weight",
                   "is missing, and the model needs it");
    return held;
}

std::string GgufBook::left_out() const {
    std::size_t left = 0;
    std::string example;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const std::string& name = file_.tensors()[i].name;
        if (taken_[i] != 0) continue;
        if (name.starts_with("rope_freqs") || name.starts_with("rope_factors") ||
            name.find(".rope_f") != std::string::npos || name.find(".nextn.") != std::string::npos) {
            ++left;
            example = name;
            continue;
        }
        file_.fail("tensor " + in_quotes(printable(name, 200)),
                   "is not known here in a model of architecture " +
                       in_quotes(printable(file_.text_or("general.architecture", ""), 80)) +
                       "; export the model from PyTorch with placewright.export(model, inputs, "
                       "\"model.json\")");
    }
    if (left == 0) return {};
    return std::to_string(left) + " stored tensors are not read by the model and left out: such as " +
           in_quotes(example);
}

}  // namespace placewright
