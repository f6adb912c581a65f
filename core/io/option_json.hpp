// SPDX-License-Identifier: MIT
// Options of algorithms as members of an object.
#pragma once

#include "core/io/json.hpp"
#include "core/search/options.hpp"

namespace placewright {

Json options_json(const OptionValues& values);

/// Throws InputError for what no option is: null, a list, an object. Whether an algorithm takes it checked_option() tells.
OptionValue option_from(const JsonValue& value);

}  // namespace placewright
