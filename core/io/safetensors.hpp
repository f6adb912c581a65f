// SPDX-License-Identifier: MIT
// Tensors in files (https://huggingface.co/docs/safetensors): eight bytes with the length of a JSON object, this object, the tensors.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/flops.hpp"
#include "core/io/files.hpp"
#include "core/io/json.hpp"

namespace placewright {

/// The header of a safetensors file whose sizes all fit together: tensors lie one behind the other and fill the file.
class SafetensorsFile {
public:
    struct Entry {
        std::string dtype;  ///< "F32", "BF16", ...
        Shape shape;
        std::uint64_t begin = 0, end = 0;  ///< bytes, from the first tensor on
    };

    /// Reads the header, of at most 100 MB, and no more. `what` the file should be ("a policy") is said if it is none. Throws InputError.
    SafetensorsFile(const Path& file, const std::string& what);

    const Path& path() const { return path_; }
    const std::map<std::string, Entry>& entries() const { return entries_; }
    /// What the file says of itself, texts by name. Nothing if it says nothing.
    std::optional<JsonValue> metadata() const {
        const std::optional<JsonValue> own = root().find("__metadata__");
        if (!own) return {};
        return own->placed_at("__metadata__");
    }

    /// The bytes of a tensor.
    void read(const Entry& entry, std::span<std::byte> bytes);

    [[noreturn]] void fail(const std::string& where, const std::string& problem) const;

private:
    JsonValue root() const { return {*json_, root_}; }
    void read(void* to, std::uint64_t bytes);
    void check_entries(std::uint64_t bytes);

    Path path_;
    std::ifstream stream_;
    std::optional<JsonFile> json_;
    Json root_;
    std::uint64_t data_begin_ = 0;
    std::map<std::string, Entry> entries_;
};

/// Bytes by the name of the tensor. `file` is a safetensors file, or an index of several as Hugging Face writes it
/// (model.safetensors.index.json: "weight_map" with the file of each tensor, or just that object), which must lie in the same folder.
/// Throws InputError.
std::map<std::string, std::int64_t> read_parameter_sizes(const Path& file);

/// A graph with parameters of given sizes.
struct SizedGraph {
    Graph graph;
    std::vector<std::string> unmatched;  ///< names that no op has
    std::vector<std::string> missing;    ///< names that ops have and the sizes lack

    /// A parameter or buffer (where the network does not name them, what an op holds) that had another size.
    struct Resized {
        std::string name;
        std::int64_t from = 0, to = 0;  ///< bytes
    };
    std::vector<Resized> resized;
    std::size_t matched = 0;  ///< names that ops have
};

/// Replaces the bytes of parameters and buffers, and those of the tensor that an op of kind "parameter" or "constant" gives. What an op
/// holds is named by its attributes["parameters"] and ["buffers"] (see network_of); an op without that, but with parameters, has those of
/// the module that it is called like, or in whose scope it is the only such op ("layer1/0/conv1" and "layer1.0.conv1.weight"), where
/// running_mean, running_var and num_batches_tracked are buffers. Names without bytes beside others with some are those of tied parameters,
/// which have their bytes once.
SizedGraph with_parameter_sizes(const Graph& graph, const std::map<std::string, std::int64_t>& sizes);

}  // namespace placewright
