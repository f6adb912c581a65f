// SPDX-License-Identifier: MIT
// Tensors in files (https://huggingface.co/docs/safetensors): eight bytes with the length of a JSON object,
// this object, the tensors.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/flops.hpp"
#include "core/graph/graph.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// A safetensors file with a checked header: the tensors are contiguous and fill the file.
class SafetensorsFile {
public:
    struct Entry {
        std::string dtype;  ///< "F32", "BF16", ...
        Shape shape;
        std::uint64_t begin = 0, end = 0;  ///< byte offsets from the begin of the first tensor
    };

    /// Reads only the header, of at most 100 MB. Error messages call the expected content `what` ("a
    /// policy"). Throws InputError.
    SafetensorsFile(const Path& file, const std::string& what);

    const Path& path() const { return path_; }
    const std::map<std::string, Entry>& entries() const { return entries_; }
    /// Returns the file's metadata, an object of texts; nothing if there is none.
    std::optional<JsonValue> metadata() const {
        const std::optional<JsonValue> own = root().find("__metadata__");
        if (!own) return {};
        return own->placed_at("__metadata__");
    }

    /// Reads the bytes of a tensor.
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

/// Returns the bytes of each tensor by name. `file` is a safetensors file, or an index of several such files
/// as Hugging Face writes it (model.safetensors.index.json: "weight_map" with the file of each tensor, or
/// just that object); these files must be in the same folder. Throws InputError.
std::map<std::string, std::int64_t> read_parameter_sizes(const Path& file);

/// A graph whose parameters have given sizes.
struct SizedGraph {
    Graph graph;
    std::vector<std::string> unmatched;  ///< given names that no op has
    std::vector<std::string> missing;    ///< names of ops that have no given size

    /// A parameter or buffer that had another size; in a network without their names, all that an op holds.
    struct Resized {
        std::string name;
        std::int64_t from = 0, to = 0;  ///< bytes
    };
    std::vector<Resized> resized;
    std::size_t matched = 0;  ///< number of given names that an op has
};

/// Returns the graph with the given bytes of parameters and buffers, and of the tensor that an op of kind
/// "parameter" or "constant" outputs. The names that an op holds are in its attributes["parameters"] and
/// ["buffers"] (see network_of). An op without these attributes but with parameters holds those of a module:
/// the module with the op's name, or the module of its scope if it is the only such op there
/// ("layer1/0/conv1" and "layer1.0.conv1.weight"); then running_mean, running_var and num_batches_tracked are
/// buffers. A name with 0 bytes next to names with more is another name of a tied parameter, whose bytes
/// count once.
SizedGraph with_parameter_sizes(const Graph& graph, const std::map<std::string, std::int64_t>& sizes);

}  // namespace placewright
