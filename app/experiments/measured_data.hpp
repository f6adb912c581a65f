// SPDX-License-Identifier: MIT
// Files with measurements: JSON, which may be packed by gzip and may be a list, and tables (CSV).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// A JSON file in memory. A list is the member "points" of root().
class MeasuredJson {
public:
    /// Throws InputError.
    explicit MeasuredJson(const Path& path);

    JsonValue root() const { return {file_, json_}; }
    JsonValue points() const { return root().at("points"); }

private:
    JsonFile file_;
    Json json_;
};

/// A positive number of a file.
double positive(const JsonValue& value);

/// A table with a header, whose fields are numbers.
class MeasuredTable {
public:
    /// Throws InputError for a file that cannot be read or lines with another number of fields than the
    /// first.
    explicit MeasuredTable(Path path);

    std::size_t rows() const { return rows_.size(); }
    /// Throws InputError for an unknown column, or a field that is not a positive number.
    double number(std::size_t row, std::string_view column) const;
    /// The same for a whole number of at most a million.
    std::int64_t whole(std::size_t row, std::string_view column) const;

    /// Throws InputError at the row; `column` may be empty.
    [[noreturn]] void fail(std::size_t row, std::string_view column, const std::string& problem) const;

private:
    const std::string& field(std::size_t row, std::string_view column) const;

    Path path_;
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace placewright
