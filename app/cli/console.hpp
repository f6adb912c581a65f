// SPDX-License-Identifier: MIT
// Text output of the command line: tables and paragraphs for a terminal of 100 columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/text/json.hpp"
#include "core/search/options.hpp"
#include "core/sim/score.hpp"

namespace placewright {

/// "12 %"; "<1 %" for a positive share that rounds to 0.
std::string percent(double share);

/// `text` wrapped between words. All lines except the first are indented by `indent`; the first is assumed to
/// start at that column already. Ends with a newline. A word longer than a line is not broken.
std::string wrapped(std::string_view text, std::size_t indent);

/// `text` with each of its lines made printable.
std::string printable_lines(std::string_view text);

using Row = std::vector<std::string>;

/// Aligned table whose cells are made printable. `alignment` has one letter per column: 'l' left, 'r' right.
/// A left-aligned last column is wrapped.
std::string table(std::string_view alignment, std::vector<Row> rows);
/// A table for a Markdown file; the first row is its header.
std::string markdown(const std::vector<Row>& rows);

/// Null for infinity, which JSON lacks: the bound of a problem in which no placement fits.
Json finite_or_null(double value);
/// The objective, without and with the penalty for memory; null where it is not defined.
Json objective_json(const Score& score);
Json score_json(const Score& score);
Json option_json(const OptionValue& value);
/// Prints one line on standard output.
void print(const Json& json);

}  // namespace placewright
