// SPDX-License-Identifier: MIT
// JSON files of untrusted content: they are checked before memory is spent on them, then read through getters
// whose errors name the file, the place and the expected value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/path.hpp"
#include "core/base/text.hpp"

namespace placewright {

/// Objects keep the order of the file, which is the only order of the layers of an Exprimo network.
using Json = nlohmann::ordered_json;

class JsonValue;

/// A file that is one well-formed JSON object.
class JsonFile {
public:
    /// Properties of the outermost object that identify the type of a file; found without building the
    /// object.
    struct Outline {
        bool has_format = false;
        bool has_layers = false;
        bool has_comm_channels = false;
        bool has_max_fpgas = false;
        bool has_model_type = false;  ///< or "architectures": a config.json of Hugging Face
        bool only_devices = false;    ///< there is at least one member, and all are integers or names of
                                      ///< devices ("cpu", "cuda:1", "/device:GPU:1")
        std::string format;           ///< empty unless it is a string
        std::string name;             ///< empty unless it is a string
    };

    /// Reads and checks the file: a regular file of at most 512 MiB, UTF-8, one object of at most 50 million
    /// values nested at most 64 levels, numbers in range. A file that does not begin like an object is
    /// refused without reading all of it. Throws InputError. O(bytes).
    explicit JsonFile(const Path& file);
    /// Checks `text`, a part of the file, in the same way. Throws InputError.
    JsonFile(Path file, std::string text);

    const Path& path() const { return path_; }
    const Outline& outline() const { return outline_; }

    /// Returns the object. Throws InputError if any object in it has a key twice.
    Json parse() const;

    /// Throws InputError unless the file's "format" is `format`; does not parse the file. The message adds
    /// `alternative`, other content that would be accepted.
    void require_format(std::string_view format, const std::string& alternative = {}) const;
    /// Throws InputError unless the "version" of `root` is 1 to `newest`.
    static void require_version(const JsonValue& root, std::int64_t newest);

    /// Throws InputError; `where` may be empty.
    [[noreturn]] void fail(const std::string& where, const std::string& problem) const;

private:
    void check();

    Path path_;
    std::string text_;
    Outline outline_;
};

/// Returns the JSON value of a text from a file, such as an attribute. The value is_discarded() if the text
/// is not JSON, is nested deeper than files may be, or has a key twice in one object. O(bytes).
Json json_value(const std::string& text);

/// A value in a file together with its place. `file` and `json` must outlive it.
class JsonValue {
public:
    JsonValue(const JsonFile& file, const Json& json);

    /// Returns the same value; errors in it and in its members are reported at `where`, with paths relative
    /// to this value.
    JsonValue placed_at(std::string where) const;

    const Json& json() const { return *json_; }

    /// Returns a member of an object; if it is missing, at() throws InputError and find() returns nothing.
    JsonValue at(const std::string& key) const;
    std::optional<JsonValue> find(const std::string& key) const;
    /// Returns an item of a list.
    JsonValue at(std::size_t index) const;
    /// Number of items of a list. Throws InputError for any other value, as do the getters below.
    std::size_t size() const;

    std::string text() const;
    bool truth() const;
    /// A finite number.
    double number() const;
    /// A number without fraction that fits into 64 bits; "32.0" is allowed.
    std::int64_t whole() const;
    /// whole(), which must be at least `least` and at most `most`.
    std::int64_t whole(std::int64_t least, std::int64_t most) const;

    std::string text_or(const std::string& key, std::string other) const;
    double number_or(const std::string& key, double other) const;

    /// Calls `use(key, value)` for each member of an object, in the order of the file.
    template <class Use>
    void for_each_member(Use use) const {
        require(json_->is_object(), "an object");
        for (const auto& [key, member] : json_->items()) use(key, JsonValue(*this, member, member_path(key)));
    }

    /// Calls `use(value)` for each item of a list.
    template <class Use>
    void for_each_item(Use use) const {
        const std::size_t count = size();
        for (std::size_t i = 0; i < count; ++i) use(at(i));
    }

    /// Throws InputError "FILE: where: path problem".
    [[noreturn]] void fail(const std::string& problem) const;

private:
    JsonValue(const JsonValue& parent, const Json& json, std::string path);
    std::string member_path(const std::string& key) const;
    void require(bool right, const char* expected) const;

    const JsonFile* file_;
    const Json* json_;
    std::shared_ptr<const std::string> where_;
    std::string path_;
};

/// Returns a number for writing, as an integer if it has no fraction.
Json json_number(double value);

/// Appends a member whose key is new; does not search the existing keys, which takes linear time.
void append_member(Json& object, std::string key, Json value);

/// Returns the text of a file: plain members of the outermost object on one line, each list or object in it
/// with one element per line.
std::string file_text(const Json& root);

}  // namespace placewright
