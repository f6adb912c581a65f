// SPDX-License-Identifier: MIT
#include "core/io/text/json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <unordered_set>
#include <vector>

#include "core/base/units.hpp"
#include "core/io/placements/framework_devices.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{512} << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 50'000'000;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// "byte 0x1f".
std::string byte_text(unsigned char byte) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "byte 0x%02x", static_cast<unsigned>(byte));
    return text.data();
}

/// "line 3, column 7" of a byte; columns count characters.
std::string line_and_column(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::string_view row = before.substr(before.rfind('\n') + 1);
    const auto column = 1 + std::count_if(row.begin(), row.end(), [](char c) {
                            return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                        });
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// Checks a file without building its values.
class Checker : public nlohmann::json_sax<Json> {
public:
    explicit Checker(std::string_view text) : text_(text) {}

    JsonFile::Outline outline;
    std::string where, problem;  ///< set when the file is refused

    bool null() override { return other_value(); }
    bool boolean(bool) override { return other_value(); }
    bool number_integer(number_integer_t) override { return plain_value(); }
    bool number_unsigned(number_unsigned_t) override { return plain_value(); }
    bool number_float(number_float_t, const string_t&) override { return other_value(); }
    bool binary(binary_t&) override { return other_value(); }
    bool string(string_t& value) override {
        if (depth_ == 1 && key_ == "format") outline.format = value;
        if (depth_ == 1 && key_ == "name") outline.name = value;
        return depth_ == 1 && (names_device(value) || TensorFlowDevice::from(value)) ? plain_value()
                                                                                     : other_value();
    }
    bool key(string_t& key) override {
        if (depth_ > 1) return true;
        outline.has_format |= key == "format";
        outline.has_layers |= key == "layers";
        outline.has_comm_channels |= key == "comm_channels";
        outline.has_max_fpgas |= key == "maxFPGAs";
        outline.has_model_type |= key == "model_type" || key == "architectures";
        outline.only_devices = !has_others_;
        key_ = key;
        return true;
    }
    bool start_object(std::size_t) override { return enter(); }
    bool start_array(std::size_t) override { return enter(); }
    bool end_object() override { return leave(); }
    bool end_array() override { return leave(); }

    bool parse_error(std::size_t position, const std::string& token,
                     const nlohmann::detail::exception& error) override {
        where = line_and_column(text_, position > 0 ? position - 1 : 0);
        if (dynamic_cast<const nlohmann::detail::out_of_range*>(&error) != nullptr) {
            problem = "the number " + printable(token, 80) + " is too large, expected one below 1.8e308";
            return false;
        }
        if (position > text_.size()) {
            problem = "is cut off or damaged: the file ends before its value is complete";
            return false;
        }
        // "[json.exception...] parse error at line 1, column 2: syntax error while parsing ..."
        const std::string_view what = error.what();
        const std::size_t begin = what.find("syntax error");
        problem = printable(begin == std::string_view::npos ? what : what.substr(begin), 240);
        return false;
    }

private:
    bool plain_value() {
        if (++values_ <= kMaxValues) return true;
        problem = "has more than " + std::to_string(kMaxValues) + " values, the maximum";
        return false;
    }
    bool other_value() {
        has_others_ = true;
        outline.only_devices = false;
        return plain_value();
    }
    bool enter() {
        if (++depth_ <= kMaxDepth) return depth_ > 1 ? other_value() : plain_value();
        problem = "is nested more than " + std::to_string(kMaxDepth) + " levels deep, the maximum";
        return false;
    }
    bool leave() {
        --depth_;
        return true;
    }

    std::string_view text_;
    std::string key_;
    std::size_t depth_ = 0, values_ = 0;
    bool has_others_ = false;  ///< whether there are values that are no devices
};

/// Builds the values of a file that was checked. nlohmann's own builder of ordered objects compares each new
/// key with all before it, which takes quadratic time in a placement of many ops.
class Builder : public nlohmann::json_sax<Json> {
public:
    Json root;
    std::string repeated_key;

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; }
    bool key(string_t& key) override {
        key_ = std::move(key);
        if (is_new(key_)) return true;
        repeated_key = key_;
        return false;
    }
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }

private:
    /// An open object or list. Only the last element of each changes, so pointers into those around it stay
    /// valid.
    struct Level {
        Json* value;
        std::unordered_set<std::string>
            keys;  ///< keys of a large object, for which comparing all keys would be slow
    };
    static constexpr std::size_t kCompared = 16;

    bool is_new(const std::string& key) {
        Level& level = levels_.back();
        const auto& members = level.value->get_ref<const Json::object_t&>();
        if (members.size() < kCompared) {
            return std::none_of(members.begin(), members.end(),
                                [&](const auto& member) { return member.first == key; });
        }
        if (level.keys.empty()) {
            for (const auto& member : members) level.keys.insert(member.first);
        }
        return level.keys.insert(key).second;
    }

    Json* put(Json value) {
        if (levels_.empty()) {
            root = std::move(value);
            return &root;
        }
        Json& parent = *levels_.back().value;
        if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
        append_member(parent, std::move(key_), std::move(value));
        return &parent.get_ref<Json::object_t&>().back().second;
    }
    bool add(Json value) {
        put(std::move(value));
        return true;
    }
    bool open(Json value) {
        if (levels_.size() == kMaxDepth) return false;
        levels_.push_back({put(std::move(value)), {}});
        return true;
    }
    bool close() {
        levels_.pop_back();
        return true;
    }

    std::vector<Level> levels_;
    std::string key_;
};

std::string described(const Json& json) {
    switch (json.type()) {
        case Json::value_t::null:
            return "null";
        case Json::value_t::object:
            return "an object";
        case Json::value_t::array:
            return "a list";
        case Json::value_t::string:
            return "the string " + in_quotes(json.get_ref<const std::string&>());
        case Json::value_t::boolean:
            return json.get<bool>() ? "true" : "false";
        default:
            return printable(json.dump());
    }
}

/// Writes JSON on one line, with a blank after each comma and colon.
void write_spaced(const Json& json, std::string& text) {
    if (!json.is_structured() || json.empty()) {
        text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
        return;
    }
    text += json.is_array() ? '[' : '{';
    bool first = true;
    for (const auto& [key, value] : json.items()) {
        if (!std::exchange(first, false)) text += ", ";
        if (json.is_object()) {
            write_spaced(key, text);
            text += ": ";
        }
        write_spaced(value, text);
    }
    text += json.is_array() ? ']' : '}';
}

}  // namespace

JsonFile::JsonFile(const Path& file) : path_(file) {
    const std::uintmax_t bytes = regular_file_size(file);
    if (bytes > kMaxFileBytes) {
        fail("", "has " + format_bytes(static_cast<double>(bytes)) + ", expected at most " +
                     format_bytes(static_cast<double>(kMaxFileBytes)));
    }

    errno = 0;
    std::ifstream stream = open_regular_file(file);
    const auto fail_to_read = [&] {
        fail("", std::string("cannot be read: ") + std::strerror(errno != 0 ? errno : EIO));
    };
    if (!stream) fail_to_read();

    std::string block(std::size_t{64} << 10, '\0');
    bool at_begin = true;
    const char* begin = nullptr;
    while (begin == nullptr) {
        stream.read(block.data(), static_cast<std::streamsize>(block.size()));
        const auto count = static_cast<std::size_t>(stream.gcount());
        if (count == 0) fail("", "the file holds nothing but blanks, expected a JSON object");
        std::size_t skipped = 0;
        if (std::exchange(at_begin, false) && std::string_view(block).starts_with(kByteOrderMark))
            skipped = kByteOrderMark.size();
        const char* const data = block.data();
        const char* const found = std::find_if_not(data + skipped, data + count, is_blank);
        if (found != data + count) begin = found;
    }
    if (*begin != '{') {
        const auto byte = static_cast<unsigned char>(*begin);
        const std::string found =
            byte > 0x20 && byte < 0x7f ? '"' + std::string(1, *begin) + '"' : byte_text(byte);
        const std::string what =
            file.extension() == ".csv" ? "is a table (CSV), not a JSON object" : "is not a JSON object";
        if (byte == 0x1f) fail("", "is packed (gzip): unpack it first");
        if (is_lfs_pointer(file)) fail("", kIsLfsPointer);
        fail("", what + ": it begins with " + found + ", expected \"{\"");
    }

    text_.resize(bytes);
    stream.clear();
    stream.seekg(0);
    stream.read(text_.data(), static_cast<std::streamsize>(bytes));
    text_.resize(static_cast<std::size_t>(stream.gcount()));
    if (stream.bad() || text_.empty()) fail_to_read();
    check();
}

JsonFile::JsonFile(Path file, std::string text) : path_(std::move(file)), text_(std::move(text)) {
    const auto begin = std::ranges::find_if_not(text_, is_blank);
    if (begin == text_.end() || *begin != '{')
        fail("", "holds " + in_quotes(text_) + ", expected a JSON object");
    check();
}

void JsonFile::check() {
    Checker checker(text_);
    if (!Json::sax_parse(text_.data(), text_.data() + text_.size(), &checker))
        fail(checker.where, checker.problem);
    outline_ = std::move(checker.outline);
}

Json json_value(const std::string& text) {
    Builder builder;
    return Json::sax_parse(text, &builder) ? std::move(builder.root) : Json(Json::value_t::discarded);
}

Json JsonFile::parse() const {
    Builder builder;
    if (!Json::sax_parse(text_.data(), text_.data() + text_.size(), &builder)) {
        fail("", "the key " + in_quotes(builder.repeated_key) +
                     " is twice in one object, expected each key once");
    }
    return std::move(builder.root);
}

void JsonFile::require_format(std::string_view format, const std::string& alternative) const {
    const std::string expected = ", expected " + in_quotes(format) + alternative;
    if (!outline_.has_format) fail("", "has no \"format\"" + expected);
    if (outline_.format.empty()) fail("", "the format is not a name" + expected);
    if (outline_.format != format) fail("", "the format is " + in_quotes(outline_.format) + expected);
}

void JsonFile::require_version(const JsonValue& root, std::int64_t newest) {
    const std::int64_t version = root.at("version").whole();
    if (version > newest) {
        root.fail("version " + std::to_string(version) + " is newer than this program reads (" +
                  std::to_string(newest) + ")");
    }
    if (version < 1)
        root.fail("version " + std::to_string(version) + " is unknown, expected 1 to " +
                  std::to_string(newest));
}

void JsonFile::fail(const std::string& where, const std::string& problem) const {
    throw InputError(printable(path_.string(), 4096), where, problem);
}

JsonValue::JsonValue(const JsonFile& file, const Json& json)
    : file_(&file), json_(&json), where_(std::make_shared<const std::string>()) {}

JsonValue::JsonValue(const JsonValue& parent, const Json& json, std::string path)
    : file_(parent.file_), json_(&json), where_(parent.where_), path_(std::move(path)) {}

JsonValue JsonValue::placed_at(std::string where) const {
    JsonValue copy(*file_, *json_);
    copy.where_ = std::make_shared<const std::string>(std::move(where));
    return copy;
}

std::string JsonValue::member_path(const std::string& key) const {
    const bool plain = !key.empty() && key.size() <= 40 && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!plain) return path_ + '[' + in_quotes(key) + ']';
    return path_.empty() ? key : path_ + '.' + key;
}

std::optional<JsonValue> JsonValue::find(const std::string& key) const {
    require(json_->is_object(), "an object");
    const auto member = json_->find(key);
    if (member == json_->end()) return std::nullopt;
    return JsonValue(*this, *member, member_path(key));
}

JsonValue JsonValue::at(const std::string& key) const {
    auto member = find(key);
    if (!member)
        fail((path_.empty() ? "" : "has no ") + in_quotes(key) + (path_.empty() ? " is missing" : ""));
    return *std::move(member);
}

JsonValue JsonValue::at(std::size_t index) const {
    return JsonValue(*this, json_->get_ref<const Json::array_t&>()[index],
                     path_ + '[' + std::to_string(index) + ']');
}

std::size_t JsonValue::size() const {
    require(json_->is_array(), "a list");
    return json_->size();
}

std::string JsonValue::text() const {
    require(json_->is_string(), "a string");
    return json_->get_ref<const std::string&>();
}

bool JsonValue::truth() const {
    require(json_->is_boolean(), "true or false");
    return json_->get<bool>();
}

double JsonValue::number() const {
    require(json_->is_number(), "a number");
    return json_->get<double>();
}

std::int64_t JsonValue::whole() const {
    require(json_->is_number(), "a whole number");
    if (json_->is_number_float()) {
        const double value = json_->get<double>();
        require(value == std::floor(value), "a whole number");
        require(std::abs(value) < 0x1.0p63, "a whole number below 2^63");
        return static_cast<std::int64_t>(value);
    }
    // Integers that JSON gives without a sign are stored unsigned.
    require(!json_->is_number_unsigned() ||
                json_->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()},
            "a whole number below 2^63");
    return json_->get<std::int64_t>();
}

std::int64_t JsonValue::whole(std::int64_t least, std::int64_t most) const {
    const std::int64_t value = whole();
    if (value < least) fail("is " + std::to_string(value) + ", expected at least " + std::to_string(least));
    if (value > most) fail("is " + std::to_string(value) + ", expected at most " + std::to_string(most));
    return value;
}

std::string JsonValue::text_or(const std::string& key, std::string other) const {
    const auto member = find(key);
    return member ? member->text() : std::move(other);
}

double JsonValue::number_or(const std::string& key, double other) const {
    const auto member = find(key);
    return member ? member->number() : other;
}

void JsonValue::fail(const std::string& problem) const {
    file_->fail(*where_, path_.empty() ? problem : path_ + ' ' + problem);
}

void JsonValue::require(bool right, const char* expected) const {
    if (!right) fail("is " + described(*json_) + ", expected " + expected);
}

Json json_number(double value) {
    constexpr double kExact = 0x1.0p53;
    if (std::abs(value) <= kExact && value == std::floor(value)) return static_cast<std::int64_t>(value);
    return value;
}

void append_member(Json& object, std::string key, Json value) {
    object.get_ref<Json::object_t&>().emplace_back(std::move(key), std::move(value));
}

std::string file_text(const Json& root) {
    std::string text = "{";
    bool after_plain = false;
    for (const auto& [key, value] : root.items()) {
        const bool plain = !value.is_structured() || value.empty();
        if (text.size() > 1) text += ',';
        text += plain && after_plain ? " " : "\n  ";
        write_spaced(key, text);
        text += ": ";
        after_plain = plain;
        if (plain) {
            write_spaced(value, text);
            continue;
        }
        text += value.is_array() ? '[' : '{';
        bool first = true;
        for (const auto& [inner_key, element] : value.items()) {
            text += std::exchange(first, false) ? "\n    " : ",\n    ";
            if (value.is_object()) {
                write_spaced(inner_key, text);
                text += ": ";
            }
            write_spaced(element, text);
        }
        text += value.is_array() ? "\n  ]" : "\n  }";
    }
    return text + "\n}\n";
}

}  // namespace placewright
