// SPDX-License-Identifier: MIT
#include "core/io/state/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <set>
#include <unordered_map>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/networks/module_names.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

static_assert(std::endian::native == std::endian::little, "lengths are read as they lie in memory");

/// The limit in the format's own library.
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;
constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 48;

const std::map<std::string, std::uint64_t>& bits_by_dtype() {
    static const std::map<std::string, std::uint64_t> bits{
        {"BOOL", 8},    {"U8", 8},   {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8},
        {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U16", 16},
        {"I16", 16},    {"F16", 16}, {"BF16", 16},   {"U32", 32},    {"I32", 32},
        {"F32", 32},    {"U64", 64}, {"I64", 64},    {"F64", 64},    {"C64", 64}};
    return bits;
}

bool is_buffer(const std::string& parameter) {
    const std::string_view name = std::string_view(parameter).substr(parameter.rfind('.') + 1);
    return name == "running_mean" || name == "running_var" || name == "num_batches_tracked";
}

}  // namespace

SafetensorsFile::SafetensorsFile(const Path& file, const std::string& what) : path_(file) {
    const std::uintmax_t size = regular_file_size(file);
    errno = 0;
    stream_ = open_regular_file(file);
    if (!stream_) fail("", std::string("cannot be read: ") + std::strerror(errno));

    std::uint64_t length = 0;
    const bool long_enough = size > sizeof length;
    if (long_enough) read(&length, sizeof length);
    if (!long_enough || length < 2 ||
        length > std::min<std::uint64_t>(size - sizeof length, kMostHeaderBytes))
        fail("", "is not " + what + ", or is cut off: expected a safetensors file");
    std::string header(length, '\0');
    read(header.data(), length);
    if (header.front() != '{') fail("", "is not " + what + ": expected a safetensors file");
    json_.emplace(path_, std::move(header));
    root_ = json_->parse();
    data_begin_ = sizeof length + length;
    check_entries(size - data_begin_);
}

void SafetensorsFile::fail(const std::string& where, const std::string& problem) const {
    throw InputError(printable(path_.string(), 4096), where, problem);
}

void SafetensorsFile::read(void* to, std::uint64_t bytes) {
    if (bytes == 0) return;
    stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (static_cast<std::uint64_t>(stream_.gcount()) != bytes) fail("", "cannot be read to its end");
}

void SafetensorsFile::read(const Entry& entry, std::span<std::byte> bytes) {
    stream_.seekg(static_cast<std::streamoff>(data_begin_ + entry.begin));
    read(bytes.data(), bytes.size());
}

void SafetensorsFile::check_entries(std::uint64_t bytes) {
    root().for_each_member([&](const std::string& name, const JsonValue& value) {
        if (name == "__metadata__") return;
        const JsonValue at = value.placed_at("tensor " + in_quotes(name));
        Entry entry{at.at("dtype").text(), {}, 0, 0};
        const auto width = bits_by_dtype().find(entry.dtype);
        if (width == bits_by_dtype().end())
            at.at("dtype").fail("is " + in_quotes(entry.dtype) +
                                ", which is not known, expected such as F32 or BF16");
        std::uint64_t bits = width->second;
        at.at("shape").for_each_item([&](const JsonValue& extent) {
            entry.shape.push_back(extent.whole(0, kMostTensorBytes));
            if (bits > 0 && static_cast<std::uint64_t>(entry.shape.back()) >
                                8 * static_cast<std::uint64_t>(kMostTensorBytes) / bits)
                at.fail("is larger than any file");
            bits *= static_cast<std::uint64_t>(entry.shape.back());
        });
        const JsonValue offsets = at.at("data_offsets");
        if (offsets.size() != 2) offsets.fail("expected two numbers");
        entry.begin = static_cast<std::uint64_t>(offsets.at(0).whole(0, kMostTensorBytes));
        entry.end = static_cast<std::uint64_t>(offsets.at(1).whole(0, kMostTensorBytes));
        if (entry.end < entry.begin || 8 * (entry.end - entry.begin) != bits)
            offsets.fail("are not of the size of the tensor");
        entries_.emplace(name, std::move(entry));
    });
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [name, entry] : entries_) ranges.emplace_back(entry.begin, entry.end);
    std::ranges::sort(ranges);
    std::uint64_t end = 0;
    for (const auto& [begin, next] : ranges) {
        if (begin != end) fail("", "has a gap between its tensors, or two in the same place");
        end = next;
    }
    if (end > bytes)
        fail("", "is cut off: its tensors take " + format_bytes(static_cast<double>(end)) + ", there are " +
                     format_bytes(static_cast<double>(bytes)) + "; take another copy");
    if (end < bytes) fail("", "is longer than its tensors");
}

namespace {

std::map<std::string, std::int64_t> sizes_in(const SafetensorsFile& file) {
    std::map<std::string, std::int64_t> sizes;
    for (const auto& [name, entry] : file.entries())
        sizes.emplace(name, static_cast<std::int64_t>(entry.end - entry.begin));
    return sizes;
}

std::map<std::string, std::int64_t> read_index(const Path& path) {
    const JsonFile file(path);
    const Json json = file.parse();
    const JsonValue root(file, json);
    if (root.find("format"))
        file.fail("",
                  "is no index of safetensors: it has a \"format\", and no \"weight_map\" or names of files "
                  "by tensor");
    const JsonValue map = root.find("weight_map").value_or(root);
    std::map<std::string, std::map<std::string, std::int64_t>> shards;
    std::map<std::string, std::int64_t> sizes;
    map.for_each_member([&](const std::string& name, const JsonValue& value) {
        const std::string shard = value.text();
        if (!shards.contains(shard)) {
            // An untrusted index must not open files in other folders.
            if (shard.empty() || shard == "." || shard == ".." || Path(shard).filename().string() != shard)
                value.fail("is " + in_quotes(shard) + ", expected the name of a file in the same folder");
            shards.emplace(shard, sizes_in(SafetensorsFile(path.parent_path() / shard, "a file of weights")));
        }
        const auto& tensors = shards.at(shard);
        const auto found = tensors.find(name);
        if (found == tensors.end())
            value.fail("has no tensor " + in_quotes(name) + ", which the index says it has");
        sizes.emplace(name, found->second);
    });
    return sizes;
}

/// Returns whether a file begins like JSON. A safetensors file may begin with any byte, but its ninth is a
/// brace.
bool begins_like_json(const Path& file) {
    std::ifstream stream = open_regular_file(file);
    std::array<char, 9> begin{};
    stream.read(begin.data(), begin.size());
    const bool whole = stream.gcount() == static_cast<std::streamsize>(begin.size());
    return stream.gcount() > 0 && begin[0] != '\0' && !(whole && begin[8] == '{' && begin[7] == '\0') &&
           std::string_view("{ \t\r\n\xef").find(begin[0]) != std::string_view::npos;
}

/// A parameter or buffer of an op.
struct HeldParameter {
    std::string name;
    std::int64_t bytes = 0;
    bool buffer = false;
};

/// Returns the parameters and buffers that an op lists in its attributes.
std::vector<HeldParameter> held_by(const Op& op) {
    const auto list = [&](const char* attribute) {
        const auto found = op.attributes.find(attribute);
        return found == op.attributes.end() ? Json() : json_value(found->second);
    };
    const Json names = list("parameters"), bytes = list("parameter_bytes"), buffers = list("buffers");
    if (!names.is_array() || !bytes.is_array() || names.size() != bytes.size()) return {};
    std::vector<HeldParameter> held;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!names[i].is_string() || !bytes[i].is_number_integer()) return {};
        const bool buffer = buffers.is_array() && std::ranges::find(buffers, names[i]) != buffers.end();
        held.push_back({names[i].get<std::string>(), bytes[i].get<std::int64_t>(), buffer});
    }
    return held;
}

void describe(Op& op, const std::vector<HeldParameter>& held) {
    Json names = Json::array(), bytes = Json::array(), buffers = Json::array();
    for (const auto& [name, size, buffer] : held) {
        names.push_back(name);
        bytes.push_back(size);
        if (buffer) buffers.push_back(name);
    }
    op.attributes["parameters"] = names.dump();
    op.attributes["parameter_bytes"] = bytes.dump();
    if (!buffers.empty()) op.attributes["buffers"] = buffers.dump();
}

/// Sets the size of the output tensor of an op that is a parameter. Its shape is kept only if it matches the
/// new size.
void resize_tensor(Op& op) {
    const std::int64_t bytes = op.parameter_bytes + op.resident_bytes;
    if ((op.kind == "parameter" || op.kind == "constant") && op.outputs.size() == 1 &&
        op.outputs[0].bytes != bytes)
        op.outputs[0] = Tensor{.shape = {},
                               .dtype = op.outputs[0].dtype,
                               .bytes = bytes,
                               .transfer_s = op.outputs[0].transfer_s};
}

}  // namespace

std::map<std::string, std::int64_t> read_parameter_sizes(const Path& file) {
    return begins_like_json(file) ? read_index(file) : sizes_in(SafetensorsFile(file, "a file of weights"));
}

SizedGraph with_parameter_sizes(const Graph& graph, const std::map<std::string, std::int64_t>& sizes) {
    std::unordered_map<std::string, std::vector<HeldParameter>> by_module;
    for (const auto& [name, bytes] : sizes)
        by_module[module_of(name)].push_back({name, bytes, is_buffer(name)});
    // Ops whose parameters are not named.
    std::unordered_map<std::string, std::size_t> nameless_in_scope;
    const auto is_nameless = [](const Op& op) {
        return op.phase == Phase::forward && op.parameter_bytes > 0 && held_by(op).empty();
    };
    for (const Op& op : graph.ops()) {
        if (is_nameless(op)) ++nameless_in_scope[dotted(op.scope)];
    }

    SizedGraph result;
    std::set<std::string> used;
    GraphBuilder builder(graph.name(), graph.batch(), graph.training());
    for (Op op : graph.ops()) {
        auto held = held_by(op);
        const bool has_bytes =
            std::ranges::any_of(held, [](const HeldParameter& each) { return each.bytes > 0; });
        for (auto& [name, bytes, buffer] : held) {
            const auto found = sizes.find(name);
            if (bytes == 0 && has_bytes) {  // another name of a tied parameter
                if (found != sizes.end()) used.insert(name);
                continue;
            }
            if (found == sizes.end()) {
                result.missing.push_back(name);
                continue;
            }
            used.insert(name);
            if (bytes != found->second) result.resized.push_back({name, bytes, found->second});
            std::int64_t& sum = buffer ? op.resident_bytes : op.parameter_bytes;
            sum = std::max<std::int64_t>(0, sum - bytes) + found->second;
            bytes = found->second;
        }
        if (!held.empty()) describe(op, held);
        if (is_nameless(op)) {
            auto module = by_module.find(dotted(op.name));
            if (module == by_module.end() && !op.scope.empty() && nameless_in_scope.at(dotted(op.scope)) == 1)
                module = by_module.find(dotted(op.scope));
            if (module != by_module.end()) {
                const std::int64_t before = op.parameter_bytes;
                op.parameter_bytes = 0;
                for (const auto& [name, bytes, buffer] : module->second) {
                    used.insert(name);
                    (buffer ? op.resident_bytes : op.parameter_bytes) += bytes;
                }
                if (op.parameter_bytes != before)
                    result.resized.push_back({op.name, before, op.parameter_bytes});
                describe(op, module->second);
            } else {
                result.missing.push_back(op.name);
            }
        }
        if (!held_by(op).empty()) resize_tensor(op);
        builder.add(std::move(op));
    }
    for (const auto& [name, bytes] : sizes) {
        if (!used.contains(name)) result.unmatched.push_back(name);
    }
    result.matched = used.size();
    result.graph = builder.build();
    return result;
}

}  // namespace placewright
