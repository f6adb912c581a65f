// SPDX-License-Identifier: MIT
#include "core/io/text/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

template <class Number>
std::optional<Number> parsed(const std::string& field) {
    Number value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) return {};
    return value;
}

}  // namespace

CsvTable::CsvTable(const Path& file) : file_(file.string()), stream_(open_regular_file(file)) {
    if (!stream_) throw InputError(file_, "", "cannot be read");
    next();
    header_ = fields_;
}

bool CsvTable::next() {
    std::string line;
    if (!std::getline(stream_, line)) return false;
    line_ = ++lines_read_;
    // The byte order mark that spreadsheets write.
    if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    fields_.assign(1, {});
    bool quoted = false;
    for (std::size_t i = 0;; ++i) {
        if (i == line.size()) {
            if (!quoted) break;
            // The field goes on in the next line.
            if (!std::getline(stream_, line)) fail("ends within quotes; the file is cut off or damaged");
            ++lines_read_;
            fields_.back() += '\n';
            i = std::string::npos;
            continue;
        }
        if (line[i] == '\r' && i + 1 == line.size() && !quoted) break;
        if (line[i] == '"') {
            if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
                fields_.back() += line[i++];
            } else {
                quoted = !quoted;
            }
        } else if (line[i] == ',' && !quoted) {
            fields_.emplace_back();
        } else {
            fields_.back() += line[i];
        }
    }
    for (std::string& field : fields_) field = std::string(text_of_csv_field(field));
    if (!header_.empty() && fields_.size() != header_.size())
        fail("has " + std::to_string(fields_.size()) + " fields, expected " + std::to_string(header_.size()) +
             " as in the first line");
    return true;
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
    const auto found = std::ranges::find(header_, column);
    if (found == header_.end()) return {};
    return static_cast<std::size_t>(found - header_.begin());
}

std::size_t CsvTable::column(std::string_view name) const {
    const auto found = find(name);
    if (!found) throw InputError(file_, "line 1", "there is no column \"" + std::string(name) + "\"");
    return *found;
}

double CsvTable::number(std::size_t column) const {
    const auto value = parsed<double>(fields_[column]);
    if (!value || !std::isfinite(*value)) fail_expecting("a number", column);
    return *value;
}

std::uint64_t CsvTable::whole(std::size_t column) const {
    const auto value = parsed<std::uint64_t>(fields_[column]);
    if (!value) fail_expecting("a whole number", column);
    return *value;
}

void CsvTable::fail_expecting(const std::string& expected, std::size_t column) const {
    fail("is \"" + fields_[column].substr(0, 40) + "\", expected " + expected, column);
}

void CsvTable::fail(const std::string& problem, std::optional<std::size_t> column) const {
    throw InputError(
        file_, "line " + std::to_string(line_) + (column ? ", " + header_[*column] : std::string()), problem);
}

}  // namespace placewright
