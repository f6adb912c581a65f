// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/path.hpp"

namespace placewright {

/// Reads a CSV table with a header (RFC 4180), row by row. Everything throws
/// InputError with the file, the line and the column.
class CsvTable {
public:
    /// Reads the header. The current row is the header.
    explicit CsvTable(const Path& file);

    /// Goes to the next row; false at the end. A row has as many fields as the header.
    bool next();

    bool has(std::string_view column) const { return find(column).has_value(); }
    std::optional<std::size_t> find(std::string_view column) const;
    /// The index of a column, which there must be.
    std::size_t column(std::string_view name) const;

    const std::vector<std::string>& fields() const { return fields_; }
    const std::string& operator[](std::size_t column) const { return fields_[column]; }
    /// Finite.
    double number(std::size_t column) const;
    std::uint64_t whole(std::size_t column) const;
    [[noreturn]] void fail(const std::string& problem, std::optional<std::size_t> column = {}) const;
    /// "is "7x", expected a number"
    [[noreturn]] void fail_expecting(const std::string& expected, std::size_t column) const;

private:
    std::string file_;
    std::ifstream stream_;
    std::size_t line_ = 0, lines_read_ = 0;  ///< the first line of the current row
    std::vector<std::string> header_, fields_;
};

}  // namespace placewright
