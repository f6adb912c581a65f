// SPDX-License-Identifier: MIT
// Changes the values of JSON: a whole file, a line of it, or the header of a safetensors file.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/fuzz/structure.hpp"

namespace {

using Json = nlohmann::ordered_json;

// Limits of what is changed: writing JSON recurses, and copies of parts into parts grow fast.
constexpr int kDeepest = 200;
constexpr std::size_t kMostValues = 20'000;

struct Value {
    Json* json;
    Json* parent;  // of the root: null
    int depth;
};

/// All values, parents first; none if they are too many or nested too deep.
std::vector<Value> values_of(Json& root) {
    std::vector<Value> values{{&root, nullptr, 0}};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Value value = values[i];
        if (value.depth > kDeepest || values.size() + value.json->size() > kMostValues) return {};
        if (!value.json->is_structured()) continue;
        for (Json& child : *value.json) values.push_back({&child, value.json, value.depth + 1});
    }
    return values;
}

class Changer {
public:
    Changer(Json& root, std::mt19937& random) : values_(values_of(root)), random_(random) {}

    void change() {
        if (values_.empty()) return;
        const Value at = any();
        switch (below(8)) {
            case 0:
                *at.json = odd();
                break;
            case 1:
                *at.json = Json(*any().json);
                break;
            case 2:
                erase(at);
                break;
            case 3:
                add(at);
                break;
            case 4:
                rename(at);
                break;
            case 5:
                *at.json = below(2) ? Json::array({*at.json}) : Json::object({{any_key(), *at.json}});
                break;
            default:
                alter(*at.json);
        }
    }

private:
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
    const Value& any() { return values_[below(values_.size())]; }

    /// A value that readers may not expect.
    Json odd() {
        static const std::vector<Json> all = {nullptr,
                                              true,
                                              false,
                                              0,
                                              1,
                                              -1,
                                              2,
                                              7,
                                              256,
                                              65'536,
                                              4'294'967'296,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::uint64_t>::max(),
                                              0.5,
                                              -0.0,
                                              1e-320,
                                              1e300,
                                              std::numeric_limits<double>::max(),
                                              "",
                                              " ",
                                              "0",
                                              "-1",
                                              "nan",
                                              "\n",
                                              "=1",
                                              "<b>",
                                              "../x",
                                              Json::array(),
                                              Json::object()};
        return all[below(all.size())];
    }

    /// A key of an object in the file, or an empty one.
    std::string any_key() {
        for (int tries = 0; tries < 8; ++tries) {
            const Json& json = *any().json;
            if (json.is_object() && !json.empty())
                return std::next(json.begin(), static_cast<std::ptrdiff_t>(below(json.size()))).key();
        }
        return {};
    }

    /// The key under which the parent, an object, holds the value.
    static std::string key_of(const Value& value) {
        for (const auto& [key, child] : value.parent->items())
            if (&child == value.json) return key;
        return {};
    }

    void erase(const Value& at) {
        if (at.parent == nullptr) return;
        if (at.parent->is_object()) {
            at.parent->erase(key_of(at));
        } else {
            at.parent->erase(static_cast<std::size_t>(at.json - &at.parent->front()));
        }
    }

    /// Adds copies of a value to what holds it.
    void add(const Value& at) {
        if (at.parent == nullptr) return;
        if (at.parent->is_object()) {
            (*at.parent)[any_key()] = Json(*at.json);
            return;
        }
        const Json copy = *at.json;
        const auto place = at.parent->begin() + static_cast<std::ptrdiff_t>(below(at.parent->size() + 1));
        at.parent->insert(place, below(8) == 0 ? 50 : 1, copy);
    }

    void rename(const Value& at) {
        if (at.parent == nullptr || !at.parent->is_object()) return;
        const std::string from = key_of(at), to = below(4) == 0 ? altered(from) : any_key();
        Json value = *at.json;
        at.parent->erase(from);
        (*at.parent)[to] = std::move(value);
    }

    std::string altered(std::string text) {
        if (text.empty()) return "x";
        const std::size_t at = below(text.size());
        switch (below(4)) {
            case 0:
                text[at] = static_cast<char>(' ' + below(95));
                break;
            case 1:
                text.erase(at, 1 + below(4));
                break;
            case 2:
                text.insert(at, text.substr(below(text.size()), 1 + below(16)));
                break;
            case 3:
                text += text;
                break;
        }
        return text;
    }

    /// Changes a value to one of the same type.
    void alter(Json& json) {
        if (json.is_string()) {
            const Json& other = *any().json;
            json = other.is_string() && below(2) == 0 ? other.get<std::string>()
                                                      : altered(json.get<std::string>());
        } else if (json.is_boolean()) {
            json = !json.get<bool>();
        } else if (json.is_number_float()) {
            const double factors[] = {-1, 0.5, 3, 1e6, 1e-6, 1e200};
            json = json.get<double>() * factors[below(std::size(factors))];
        } else if (json.is_number()) {
            const std::uint64_t number = json.get<std::uint64_t>();
            const std::uint64_t others[] = {number + 1, number - 1, 0 - number,
                                            number * 2, number / 2, number ^ (std::uint64_t{1} << below(64))};
            json = static_cast<std::int64_t>(others[below(std::size(others))]);
        } else if (json.is_array() && json.size() > 1) {
            std::swap(json[below(json.size())], json[below(json.size())]);
        } else {
            json = odd();
        }
    }

    std::vector<Value> values_;
    std::mt19937& random_;
};

/// A part of a file that may be JSON.
struct Part {
    std::string_view text;
    bool has_length = false;  ///< its length stands before it, as in safetensors files
};

Part json_part(std::string_view bytes, std::mt19937& random) {
    std::uint64_t length = 0;
    if (bytes.size() > sizeof length && bytes[sizeof length] == '{') {
        std::memcpy(&length, bytes.data(), sizeof length);
        if (length <= bytes.size() - sizeof length) return {bytes.substr(sizeof length, length), true};
    }
    if (Json::accept(bytes)) return {bytes};
    const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
    const std::size_t begin = bytes.rfind('\n', at) + 1,
                      end = std::min(bytes.find('\n', begin), bytes.size());
    return {bytes.substr(begin, end - begin)};
}

}  // namespace

std::optional<std::string> with_changed_structure(std::string_view bytes, std::mt19937& random) {
    const Part part = json_part(bytes, random);
    Json root = Json::parse(part.text, nullptr, false);
    if (root.is_discarded()) return std::nullopt;
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) Changer(root, random).change();
    if (values_of(root).empty()) return std::nullopt;
    const std::string text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto begin = static_cast<std::size_t>(part.text.data() - bytes.data());
    std::string changed(bytes.substr(0, begin));
    if (part.has_length) {
        const std::uint64_t length = text.size();
        std::memcpy(changed.data(), &length, sizeof length);
    }
    return changed + text + std::string(bytes.substr(begin + part.text.size()));
}
