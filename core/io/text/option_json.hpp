// SPDX-License-Identifier: MIT
// Options of algorithms as members of a JSON object.
#pragma once

#include "core/io/text/json.hpp"
#include "core/search/options.hpp"

namespace placewright {

Json options_json(const OptionValues& values);

/// Throws InputError for a value that no option can have: null, a list, an object. checked_option() checks
/// whether an algorithm accepts the value.
OptionValue option_from(const JsonValue& value);

}  // namespace placewright
