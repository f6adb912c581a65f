// SPDX-License-Identifier: MIT
#include "app/experiments/measured_data.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/unpacked.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::string text_of(const Path& path) {
    regular_file_size(path);  // throws for what is no file
    Unpacked packed(path);
    if (!packed.is_open()) fail_file(path, "cannot be read");
    std::string text;
    std::array<char, 1 << 16> block{};
    while (const std::streamsize count = packed.sgetn(block.data(), block.size())) {
        text.append(block.data(), static_cast<std::size_t>(count));
        if (text.size() > kMostBytes)
            fail_file(path, "it has more than " + format_bytes(static_cast<double>(kMostBytes)) +
                                ", the maximum for measurements");
    }
    if (!packed.problem().empty()) fail_file(path, packed.problem());
    return text;
}

/// A list becomes the member "points" of an object, which is what files of the project are.
std::string object_of(std::string text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] != '[') return text;
    return "{\"points\": " + std::move(text) + '}';
}

std::vector<std::string> fields_of(std::string_view line) {
    std::vector<std::string> fields;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(',', begin), line.size());
        fields.emplace_back(line.substr(begin, end - begin));
        begin = end + 1;
    }
    return fields;
}

}  // namespace

MeasuredJson::MeasuredJson(const Path& path) : file_(path, object_of(text_of(path))), json_(file_.parse()) {}

double positive(const JsonValue& value) {
    const double number = value.number();
    if (number <= 0) value.fail("is " + short_number(number) + ", expected a positive number");
    return number;
}

MeasuredTable::MeasuredTable(Path path) : path_(std::move(path)) {
    std::istringstream lines(text_of(path_));
    std::string line;
    while (std::getline(lines, line)) {
        if (line.ends_with('\r')) line.pop_back();
        std::vector<std::string> fields = fields_of(line);
        if (header_.empty()) {
            header_ = std::move(fields);
            continue;
        }
        rows_.push_back(std::move(fields));
        if (rows_.back().size() != header_.size())
            fail(rows_.size() - 1, "",
                 "has " + std::to_string(rows_.back().size()) + " fields, but the first line has " +
                     std::to_string(header_.size()));
    }
}

void MeasuredTable::fail(std::size_t row, std::string_view column, const std::string& problem) const {
    const std::string where = column.empty() ? "" : ", " + in_quotes(column);
    throw InputError(path_.string(), "line " + std::to_string(row + 2) + where, problem);
}

const std::string& MeasuredTable::field(std::size_t row, std::string_view column) const {
    const auto found = std::ranges::find(header_, column);
    if (found == header_.end())
        throw InputError(path_.string(), "line 1", "there is no column " + in_quotes(column));
    return rows_[row][static_cast<std::size_t>(found - header_.begin())];
}

double MeasuredTable::number(std::size_t row, std::string_view column) const {
    const std::string& text = field(row, column);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0)
        fail(row, column, "is " + in_quotes(text) + ", expected a positive number");
    return value;
}

std::int64_t MeasuredTable::whole(std::size_t row, std::string_view column) const {
    const double value = number(row, column);
    if (value != std::floor(value) || value > 1e6)
        fail(row, column,
             "is " + in_quotes(field(row, column)) + ", expected a whole number up to a million");
    return static_cast<std::int64_t>(value);
}

}  // namespace placewright
