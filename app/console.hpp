// SPDX-License-Identifier: MIT
// What the command line prints for people: tables and paragraphs for a terminal of 100 columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/json.hpp"
#include "core/search/options.hpp"

namespace placewright {

/// "12 %"; "<1 %" for what would read as none but is not.
std::string percent(double share);

/// `text` broken between words, every line but the first indented by `indent`, which the first is taken to be at already. Ends with a
/// newline. A word that is too long for a line stays whole.
std::string wrapped(std::string_view text, std::size_t indent);

using Row = std::vector<std::string>;

/// Rows with columns side by side; `alignment` has a letter a column: 'l' left, 'r' right. A last column that is left-aligned is wrapped.
std::string table(std::string_view alignment, const std::vector<Row>& rows);

/// JSON has no infinity: a bound that says that nothing fits is null.
Json finite_or_null(double value);
Json option_json(const OptionValue& value);
/// One line on standard output.
void print(const Json& json);

}  // namespace placewright
