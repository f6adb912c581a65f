// SPDX-License-Identifier: MIT
#include "core/io/text/option_json.hpp"

namespace placewright {

Json options_json(const OptionValues& values) {
    Json json = Json::object();
    for (const auto& entry : values)
        std::visit([&](const auto& plain) { json[entry.first] = plain; }, entry.second);
    return json;
}

OptionValue option_from(const JsonValue& value) {
    const Json& json = value.json();
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return value.whole();
    if (json.is_number()) return value.number();
    return value.text();
}

}  // namespace placewright
