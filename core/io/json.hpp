// SPDX-License-Identifier: MIT
// JSON files that may hold anything: checked before memory is spent on them, then read through getters whose errors name the
// file, the place and what was expected there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/io/files.hpp"

namespace placewright {

/// Objects keep the order of the file: the layers of an Exprimo network have no other.
using Json = nlohmann::ordered_json;

/// `text` on one line and safe to print: control characters and bytes that are not UTF-8 are written as \xNN, and what exceeds
/// `limit` bytes is cut.
std::string printable(std::string_view text, std::size_t limit = 1000);
/// A name from a file in double quotes, printable and cut after 80 bytes.
std::string in_quotes(std::string_view name);
/// The text of an error without the place that it repeats at its begin.
std::string without_prefix(std::string_view text, std::string_view prefix);

class JsonValue;

/// A file that is one well-formed JSON object.
class JsonFile {
public:
    /// Members of the outermost object that tell what a file is; found without building the object.
    struct Outline {
        bool has_format = false;
        bool has_layers = false;
        bool has_comm_channels = false;
        bool has_max_fpgas = false;
        bool only_devices = false;  ///< there are members, all integers or names of devices ("cpu", "cuda:1", "/device:GPU:1")
        std::string format;         ///< empty unless it is a string
        std::string name;           ///< empty unless it is a string
    };

    /// Reads and checks the file: a regular file of at most 512 MiB, UTF-8, one object of at most 50 million values nested at most
    /// 64 levels, numbers in range. A file that does not begin like an object is refused without reading it whole. O(bytes).
    explicit JsonFile(const Path& file);
    /// A part of the file, checked as if it were one.
    JsonFile(Path file, std::string text);

    const Path& path() const { return path_; }
    const Outline& outline() const { return outline_; }

    /// The object. Throws InputError if some object has a key twice.
    Json parse() const;

    /// Throws InputError unless the file says that it has `format`; needs no parsing. `alternative` is what else would have been
    /// understood, for the message.
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

/// The JSON value of a text that came in a file: an attribute, say. Discarded for what is none, is nested deeper than files may be, or has
/// a key twice in one object. O(bytes).
Json json_value(const std::string& text);

/// A value in a file together with its place. `file` and `json` must outlive it.
class JsonValue {
public:
    JsonValue(const JsonFile& file, const Json& json);

    /// The same value; errors in it and in what it holds are reported at `where` and name the path from here on.
    JsonValue placed_at(std::string where) const;

    const Json& json() const { return *json_; }

    /// A member of an object; at() throws where it is missing.
    JsonValue at(const std::string& key) const;
    std::optional<JsonValue> find(const std::string& key) const;
    /// An item of a list.
    JsonValue at(std::size_t index) const;
    /// Items of a list; throws if this is none.
    std::size_t size() const;

    std::string text() const;
    bool truth() const;
    /// A finite number.
    double number() const;
    /// A number without fraction that fits into 64 bits; "32.0" is one too.
    std::int64_t whole() const;
    /// whole() of at least `least` and at most `most`.
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

/// A number for writing: without fraction where it has none.
Json json_number(double value);

/// Appends a member without looking for the key among those that are there, which takes linear time.
void append_member(Json& object, std::string key, Json value);

/// The text of a file: the plain members of the outermost object on one line, each list or object in it with one element a line.
std::string file_text(const Json& root);

}  // namespace placewright
