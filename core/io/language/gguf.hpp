// SPDX-License-Identifier: MIT
// GGUF, the files of llama.cpp: header only (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/flops.hpp"
#include "core/io/language/language_model.hpp"

namespace placewright {

bool is_gguf(const Path& file);

/// The header of a GGUF file of version 2 or 3. Counts and lengths are checked against the size of the file
/// before memory is spent on them.
class GgufFile {
public:
    struct Tensor {
        std::string name;
        Shape shape;  ///< of PyTorch: the slowest extent first
        std::int64_t bytes = 0;
    };
    /// Numbers, and arrays of whole numbers or booleans of up to a few thousand items; longer arrays and
    /// those of texts (vocabularies) are skipped.
    using Value =
        std::variant<std::monostate, std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;

    /// Reads the header of the file, and those of its other parts if it is the first of several. Throws
    /// InputError.
    explicit GgufFile(const Path& file);

    const Path& path() const { return path_; }
    const std::vector<Tensor>& tensors() const { return tensors_; }
    bool has(std::string_view tensor) const;
    const Tensor* find(std::string_view tensor) const;

    const Value* value(const std::string& key) const;
    /// A whole number of at least `least` and at most `most`; nothing if there is no such key.
    std::optional<std::int64_t> number(const std::string& key, std::int64_t least, std::int64_t most) const;
    std::string text_or(const std::string& key, std::string other) const;

    [[noreturn]] void fail(const std::string& where, const std::string& problem) const;

private:
    void read_part(const Path& file);

    Path path_;
    Path at_;  ///< the part that is being read; otherwise the first one
    std::map<std::string, Value> values_;
    std::vector<Tensor> tensors_;
    std::map<std::string, std::size_t, std::less<>> index_;
};

/// Returns the numbers of the model in a GGUF file; its family has the modules of Llama's class, as far as
/// the file has them. Throws InputError for an architecture whose tensors are not those of a transformer.
LanguageModel read_gguf_model(const GgufFile& file);

}  // namespace placewright
