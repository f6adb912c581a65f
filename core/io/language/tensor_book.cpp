// SPDX-License-Identifier: MIT
#include "core/io/language/tensor_book.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/base/sorted.hpp"
#include "core/base/text.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/state/safetensors.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostFiles = 4096;

/// The names of an index by file: {"weight_map": {name: file}}.
std::map<std::string, std::string> read_weight_map(const Path& path) {
    const JsonFile file(path);
    const Json json = file.parse();
    const JsonValue root(file, json);
    std::map<std::string, std::string> files;
    root.at("weight_map").for_each_member([&](const std::string& name, const JsonValue& value) {
        files.emplace(name, value.text());
    });
    if (files.empty()) root.at("weight_map").fail("is empty, expected the names of the tensors");
    return files;
}

/// The sizes in a file, if it is there with a header that can be read here.
bool add_sizes(const Path& file, Checkpoint& checkpoint) {
    std::error_code error;
    if (file.extension() != ".safetensors" || !std::filesystem::is_regular_file(file, error) ||
        is_lfs_pointer(file))
        return false;
    const SafetensorsFile tensors(file, "weights");
    for (const auto& [name, entry] : tensors.entries())
        checkpoint.tensors[name] = static_cast<std::int64_t>(entry.end - entry.begin);
    return true;
}

bool is_plain_name(const std::string& name) {
    return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

/// Tensors that files store and models make anew: buffers of positions and masks.
bool is_buffer(std::string_view name) {
    static constexpr std::array<std::string_view, 7> kBuffers{"inv_freq",
                                                              "masked_bias",
                                                              "attn.bias",
                                                              "attention.bias",
                                                              "position_ids",
                                                              "rotary_emb.cos_cached",
                                                              "rotary_emb.sin_cached"};
    return std::ranges::any_of(kBuffers, [&](std::string_view end) {
        return name.ends_with(end) &&
               (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
    });
}

/// The module that holds a tensor. What belongs to one tensor has names below it: the scales of bitsandbytes
/// are "q_proj.weight.absmax".
std::string holder_of(const std::string& tensor) {
    const std::size_t below = tensor.rfind(".weight.");
    return below == std::string::npos ? module_of(tensor) : tensor.substr(0, below);
}

/// What the names of all wanted tensors begin with: "gate_up_proj" of "gate_up_proj_blocks" and
/// "gate_up_proj_scales"; empty for the weights of a module that holds nothing else.
std::string common_stem(std::span<const WantedTensor> wanted) {
    if (wanted.empty() || wanted[0].leaf == "weight") return {};
    std::string stem = wanted[0].leaf;
    for (const WantedTensor& tensor : wanted) {
        const auto differ = std::ranges::mismatch(stem, tensor.leaf).in1;
        stem.erase(differ, stem.end());
    }
    while (stem.ends_with('_')) stem.pop_back();
    return stem;
}

}  // namespace

std::optional<Checkpoint> read_checkpoint(const Path& folder) {
    std::vector<Path> indexes, weights;
    std::error_code error;
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (++files > kMostFiles) break;
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".index.json")) indexes.emplace_back(entry.path());
        if (name.ends_with(".safetensors") && !name.starts_with("adapter"))
            weights.emplace_back(entry.path());
    }
    std::ranges::sort(indexes);
    std::ranges::sort(weights);
    // The one that Transformers reads, then others of safetensors, then pytorch_model.bin.index.json.
    std::ranges::stable_sort(indexes, std::greater{}, [](const Path& path) {
        const std::string name = path.filename().string();
        return std::pair(name == "model.safetensors.index.json", name.ends_with("safetensors.index.json"));
    });
    if (!indexes.empty()) {
        Checkpoint checkpoint{indexes.front(), {}};
        std::vector<std::string> shards;
        for (const auto& [name, file] : read_weight_map(indexes.front())) {
            checkpoint.tensors.emplace(name, std::nullopt);
            shards.push_back(file);
        }
        std::ranges::sort(shards);
        erase_repeats(shards);
        for (const std::string& shard : shards) {
            if (is_plain_name(shard)) add_sizes(folder / shard, checkpoint);
        }
        return checkpoint;
    }
    if (weights.empty()) return {};
    // One file, or the parts of one: "model-00001-of-00004.safetensors".
    Checkpoint checkpoint{weights.front(), {}};
    for (const Path& file : weights) {
        const std::string name = file.filename().string();
        if (weights.size() == 1 || name == "model.safetensors" || name.find("-of-") != std::string::npos)
            add_sizes(file, checkpoint);
    }
    if (checkpoint.tensors.empty()) return {};
    return checkpoint;
}

CheckpointBook::CheckpointBook(const LanguageModel& model, std::optional<Checkpoint> checkpoint,
                               bool use_sizes)
    : checkpoint_(std::move(checkpoint)),
      use_sizes_(use_sizes),
      method_(model.quantization_method),
      sizes_follow_(model.quantization != Quantization::other) {
    if (model.base_model) dropped_prefix_ = model.family.prefix;
    if (!checkpoint_) return;
    for (const auto& [name, bytes] : checkpoint_->tensors)
        modules_[holder_of(name)].push_back({name, bytes, false});
    left_ = checkpoint_->tensors.size();
    find_prefix(model);
}

/// A checkpoint of the base model lacks the prefix that the class with a head has, and the other way round.
void CheckpointBook::find_prefix(const LanguageModel& model) {
    const std::string prefix(model.family.prefix);
    if (prefix.empty()) return;
    std::size_t with = 0;
    for (const auto& [name, bytes] : checkpoint_->tensors) with += name.starts_with(prefix);
    dropped_prefix_ = with > 0 ? "" : prefix;
}

std::string CheckpointBook::path_of(const std::string& module) const {
    if (!dropped_prefix_.empty() && module.starts_with(dropped_prefix_))
        return module.substr(dropped_prefix_.size());
    return module;
}

std::vector<HeldTensor> CheckpointBook::take(const std::string& module,
                                             std::span<const WantedTensor> wanted) {
    const std::string path = path_of(module);
    const auto full = [&](const std::string& leaf) { return path.empty() ? leaf : path + '.' + leaf; };
    std::vector<HeldTensor> held;
    if (!checkpoint_) {
        for (const WantedTensor& tensor : wanted) held.push_back({full(tensor.leaf), tensor.bytes});
        return held;
    }
    const auto fail = [&](const std::string& name, const std::string& problem) {
        throw InputError(printable(checkpoint_->file.string(), 4096), printable(name, 400), problem);
    };
    const auto found = modules_.find(path);
    std::vector<Entry> none;
    std::vector<Entry>& entries = found == modules_.end() ? none : found->second;
    const auto take = [&](Entry& entry) {
        entry.taken = true;
        --left_;
    };
    std::vector<HeldTensor> missing;
    bool has_sizes = true;
    for (const WantedTensor& tensor : wanted) {
        const std::string name = full(tensor.leaf);
        const auto entry = std::ranges::find_if(
            entries, [&](const Entry& each) { return !each.taken && each.name == name; });
        if (entry == entries.end()) {
            missing.push_back({name, tensor.bytes});
            continue;
        }
        take(*entry);
        has_sizes = has_sizes && entry->bytes;
        held.push_back({name, use_sizes_ ? entry->bytes.value_or(tensor.bytes) : tensor.bytes});
    }
    // Quantised weights have other names, or scales beside them: their sizes are those in the headers.
    const std::string stem = full(common_stem(wanted));
    bool other = false;
    for (Entry& entry : entries) {
        if (entry.taken || is_buffer(entry.name) || !entry.name.starts_with(stem)) continue;
        const bool bias = entry.name.ends_with(".bias") && !wanted.empty() && !wanted[0].shape.empty();
        const bool quantised = !bias && (!missing.empty() || !method_.empty());
        if (quantised && !use_sizes_) {
            // The weights are read in another type, without what belongs to the quantised ones.
            take(entry);
            other = true;
        } else if (entry.bytes && (quantised || bias)) {
            take(entry);
            held.push_back({entry.name, *entry.bytes});
            other = other || quantised;
        } else if (bias) {
            // Without a header, of the type of the weight.
            const double elements_of_weight = elements(wanted[0].shape);
            if (elements_of_weight > 0) {
                take(entry);
                held.push_back(
                    {entry.name, static_cast<std::int64_t>(static_cast<double>(wanted[0].bytes) *
                                                           static_cast<double>(wanted[0].shape[0]) /
                                                           elements_of_weight)});
            }
        }
        // Scales alone tell weights that keep their names from those that are not quantised.
        if (quantised && use_sizes_ && (!entry.bytes || !has_sizes) && (!missing.empty() || !sizes_follow_))
            fail(entry.name, "belongs to weights quantised by " +
                                 (method_.empty() ? std::string("a method that the config does not name")
                                                  : in_quotes(method_)) +
                                 ", whose sizes only the headers of the safetensors files say; put them "
                                 "into the folder, or give a number format with --dtype");
    }
    if (!missing.empty() && !other)
        fail(missing.front().name,
             "is missing, and the model needs it: expected the names of the whole model");
    if (!use_sizes_) std::ranges::move(missing, std::back_inserter(held));
    return held;
}

std::string CheckpointBook::left_out() const {
    if (left_ == 0) return {};
    std::string example;
    std::size_t buffers = 0;
    for (const auto& [name, bytes] : checkpoint_->tensors) {
        const auto& entries = modules_.at(holder_of(name));
        const auto entry = std::ranges::find(entries, name, &Entry::name);
        if (entry->taken) continue;
        if (is_buffer(name)) ++buffers;
        if (example.empty() || (is_buffer(example) && !is_buffer(name))) example = name;
    }
    return std::to_string(left_) + (left_ == 1 ? " stored tensor is" : " stored tensors are") +
           " not read by the model and left out: " + (buffers == left_ ? "buffers such as " : "such as ") +
           in_quotes(example);
}

}  // namespace placewright
