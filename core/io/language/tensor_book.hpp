// SPDX-License-Identifier: MIT
// Which tensors the modules of a language model hold, by what its files say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/flops.hpp"
#include "core/io/language/gguf.hpp"
#include "core/io/language/language_model.hpp"

namespace placewright {

/// A tensor that a module needs.
struct WantedTensor {
    std::string leaf;  ///< "weight": its name below the module
    Shape shape;       ///< of PyTorch: the slowest extent first
    std::int64_t bytes = 0;
};

struct HeldTensor {
    std::string name;  ///< as in the files
    std::int64_t bytes = 0;
    double elements = 0;  ///< 0: as many as were wanted
};

/// Names of the tensors of a checkpoint, with their bytes if the weights are there.
struct Checkpoint {
    Path file;  ///< the index, or the file with the weights
    std::map<std::string, std::optional<std::int64_t>> tensors;
};

/// Reads the names from *.index.json, and the sizes from the headers of the safetensors files in the folder,
/// if there are any. Returns nothing if there are neither. Throws InputError.
std::optional<Checkpoint> read_checkpoint(const Path& folder);

/// Answers which tensors a module holds, and notes which were asked for.
class TensorBook {
public:
    virtual ~TensorBook() = default;
    /// Returns the tensors of a module of the model, whose path is as in Hugging Face's class. Throws
    /// InputError for a tensor that the files lack.
    virtual std::vector<HeldTensor> take(const std::string& module, std::span<const WantedTensor> wanted) = 0;
    /// The path of a module as the files have it.
    virtual std::string path_of(const std::string& module) const { return module; }
    /// What was left out, as a sentence; empty if nothing was. Throws InputError for tensors without which
    /// the model cannot be understood.
    virtual std::string left_out() const { return {}; }
};

/// A book of config.json alone, or with the names and sizes of a checkpoint.
class CheckpointBook final : public TensorBook {
public:
    /// `use_sizes`: sizes of the checkpoint win over those that are wanted.
    CheckpointBook(const LanguageModel& model, std::optional<Checkpoint> checkpoint, bool use_sizes);

    std::vector<HeldTensor> take(const std::string& module, std::span<const WantedTensor> wanted) override;
    std::string path_of(const std::string& module) const override;
    std::string left_out() const override;

private:
    struct Entry {
        std::string name;
        std::optional<std::int64_t> bytes;
        bool taken = false;
    };
    void find_prefix(const LanguageModel& model);

    std::optional<Checkpoint> checkpoint_;
    bool use_sizes_ = true;
    std::string method_;        ///< of the quantisation, for messages
    bool sizes_follow_ = true;  ///< from the config; else from the headers alone
    std::string dropped_prefix_;
    std::unordered_map<std::string, std::vector<Entry>> modules_;
    std::size_t left_ = 0;
};

/// A book of a GGUF file.
class GgufBook final : public TensorBook {
public:
    /// `use_sizes`: as in CheckpointBook.
    GgufBook(const GgufFile& file, const LanguageModel& model, bool use_sizes);

    std::vector<HeldTensor> take(const std::string& module, std::span<const WantedTensor> wanted) override;
    std::string left_out() const override;

private:
    std::string architecture() const;
    bool is_beyond_layers(const std::string& tensor) const;

    const GgufFile& file_;
    std::int64_t layers_ = 0;
    bool predicts_more_ = false;  ///< blocks beyond the layers predict more tokens, and do not run
    bool use_sizes_ = true;
    std::unordered_map<std::string, std::vector<std::size_t>> modules_;  ///< "blk.3.attn_q" -> tensors
    std::vector<char> taken_;
};

}  // namespace placewright
