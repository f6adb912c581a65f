// SPDX-License-Identifier: MIT
#include "core/io/networks/node_values.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/io/file_content.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/name_list.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr std::uintmax_t kLargestValuesFile = std::uintmax_t{512} << 20;
constexpr std::size_t kSniffed = std::size_t{1} << 20;

std::string_view stripped(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<double> number_from(std::string_view text) {
    text = stripped(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
    return value;
}

bool ends_with_word(const Path& file, std::string_view suffix) {
    std::string name = file.filename().string();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.ends_with(suffix);
}

bool is_csv(const Path& file) {
    return ends_with_word(file, ".csv") || ends_with_word(file, ".tsv");
}

/// The fields of a line; a field in quotes may contain the separator, and "" for a quote.
std::vector<std::string> fields_of(std::string_view line, char separator) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
            fields.back() += line[++i];
        } else if (line[i] == '"') {
            quoted = !quoted;
        } else if (line[i] == separator && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += line[i];
        }
    }
    for (std::string& field : fields) field = std::string(text_of_csv_field(stripped(field)));
    return fields;
}

NodeValues read_csv(const Path& file) {
    if (regular_file_size(file) > kLargestValuesFile) fail_file(file, "is larger than 512 MiB");
    std::ifstream in = open_regular_file(file);
    NodeValues result;
    std::unordered_map<std::string, std::size_t> line_of;
    char separator = '\0';
    bool is_first = true;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        std::string_view text = line;
        if (number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
        if (stripped(text).empty() || text.starts_with('#')) continue;
        const auto fail = [&](const std::string& problem) {
            throw InputError(file.string(), "line " + std::to_string(number), problem);
        };
        if (separator == '\0') {
            separator = text.find('\t') != std::string_view::npos  ? '\t'
                        : text.find(';') != std::string_view::npos ? ';'
                                                                   : ',';
        }
        std::vector<std::string> fields = fields_of(text, separator);
        if (fields.size() != 2) {
            fail("has " + std::to_string(fields.size()) + (fields.size() == 1 ? " field" : " fields") +
                 ", expected two: the name of an op and a number, such as conv1,0.25");
        }
        const std::optional<double> value = number_from(fields[1]);
        if (std::exchange(is_first, false) && !value) {
            result.title = fields[1];
            continue;
        }
        if (!value)
            fail(in_quotes(fields[1]) + " is not a number; write the value of " + in_quotes(fields[0]) +
                 " with a decimal point, such as 0.25");
        const auto [known, is_new] = line_of.try_emplace(fields[0], number);
        if (!is_new)
            fail(in_quotes(fields[0]) + " has a value in line " + std::to_string(known->second) +
                 " already; keep one of them");
        result.nodes.push_back({std::move(fields[0]), *value});
    }
    if (result.nodes.empty())
        fail_file(file, "has no values, expected the name of an op and a number on each line");
    return result;
}

/// Numbers of Model Explorer may be written as texts.
double value_of(const JsonValue& value) {
    if (!value.json().is_string()) return value.number();
    const auto number = number_from(value.text());
    if (!number) value.fail("must be a number");
    return *number;
}

NodeValues read_node_data(const JsonValue& data) {
    NodeValues result;
    data.at("results").for_each_member([&](const std::string& name, const JsonValue& node) {
        if (!node.json().is_object()) {
            result.nodes.push_back({name, value_of(node)});
        } else if (node.find("value")) {
            result.nodes.push_back({name, value_of(node.at("value")), node.text_or("bgColor", {})});
        }
    });
    if (const auto thresholds = data.find("thresholds")) {
        thresholds->for_each_item([&](const JsonValue& each) {
            result.thresholds.push_back({each.at("value").number(), each.at("bgColor").text()});
        });
        std::ranges::stable_sort(result.thresholds, {}, &NodeValues::Threshold::value);
    }
    if (const auto gradient = data.find("gradient")) {
        gradient->for_each_item([&](const JsonValue& each) {
            const double share = each.at("stop").number();
            if (share < 0 || share > 1) each.at("stop").fail("must be between 0 and 1");
            result.gradient.push_back({share, each.at("bgColor").text()});
        });
        std::ranges::stable_sort(result.gradient, {}, &NodeValues::Stop::share);
        if (result.gradient.size() == 1) result.gradient.clear();
    }
    return result;
}

NodeValues read_json(const Path& file, const std::string& network) {
    const JsonFile json(file);
    const Json root_json = json.parse();
    const JsonValue root(json, root_json);
    NodeValues result;
    if (root.find("results") && root.at("results").json().is_object()) {
        result = read_node_data(root);
    } else {
        std::vector<std::string> graphs;
        root.for_each_member([&](const std::string& name, const JsonValue& member) {
            if (member.json().is_object() && member.find("results")) graphs.push_back(name);
        });
        if (!graphs.empty()) {
            const bool named = std::ranges::find(graphs, network) != graphs.end();
            const std::string graph = named ? network : graphs.front();
            result = read_node_data(root.at(graph));
            if (!named) result.title = graph;
        } else {
            root.for_each_member([&](const std::string& name, const JsonValue& value) {
                if (!value.json().is_number())
                    value.fail(
                        "must be a number: values are {\"name of an op\": number}, or node data of Model "
                        "Explorer");
                result.nodes.push_back({name, value.number()});
            });
        }
    }
    if (result.nodes.empty()) json.fail("", "has no values of ops");
    return result;
}

/// Looks at the beginning of a JSON file and stops as soon as it is clear what it is.
struct ValuesSniffer : nlohmann::json_sax<Json> {
    bool is_values = false;
    int depth = 0;

    bool found() {
        is_values = true;
        return false;
    }
    bool scalar() const { return depth > 1; }

    bool null() override { return scalar(); }
    bool boolean(bool) override { return scalar(); }
    bool number_integer(number_integer_t value) override { return depth == 1 && value < 0 ? found() : true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return depth == 1 ? found() : true; }
    bool string(string_t&) override { return scalar(); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return ++depth <= 3; }
    bool key(string_t& name) override {
        if (depth > 2) return true;
        if (name == "results") return found();
        return name != "format";
    }
    bool end_object() override { return --depth > 0; }
    bool start_array(std::size_t) override { return depth == 2; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        return false;
    }
};

}  // namespace

NodeValues read_node_values(const Path& file, const std::string& network) {
    NodeValues values = is_csv(file) ? read_csv(file) : read_json(file, network);
    if (values.title.empty()) values.title = file.stem().string();
    return values;
}

bool is_node_values(const Path& file) {
    if (is_csv(file)) return true;
    std::ifstream in = open_regular_file(file);
    std::string begin(kSniffed, '\0');
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(in.gcount()));
    if (begin.find_first_of('{') != begin.find_first_not_of(" \t\r\n\xEF\xBB\xBF")) return false;
    ValuesSniffer sniffer;
    Json::sax_parse(begin, &sniffer);
    if (!sniffer.is_values) return false;
    try {
        return file_content(file) == FileContent::unknown;
    } catch (const InputError&) {
        return false;  // not JSON after all
    }
}

MatchedValues match(const NodeValues& of, const Graph& graph) {
    MatchedValues result;
    result.values.assign(graph.size(), std::numeric_limits<double>::quiet_NaN());
    result.colors.resize(graph.size());
    NameList unknown;
    for (const NodeValues::Node& node : of.nodes) {
        const auto op = graph.find(node.name);
        if (!op) {
            unknown.add(node.name);
            continue;
        }
        result.values[*op] = node.value;
        result.colors[*op] = node.color;
        ++result.matched;
    }
    result.unknown = unknown.size();
    if (!unknown.empty()) result.examples = unknown.text();
    return result;
}

}  // namespace placewright
