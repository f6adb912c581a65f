// SPDX-License-Identifier: MIT
#include "core/io/language/gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in memory");

constexpr std::uint64_t kMostText = 1 << 20;
constexpr std::uint64_t kMostItems = 1 << 16;  ///< of an array that is kept
constexpr std::uint64_t kMostTensors = 1 << 20, kMostPairs = 1 << 20;
constexpr std::int64_t kMostParts = 4096;
constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 48;

/// Elements and bytes of a block of a type (ggml.h, ggml-common.h).
struct BlockType {
    std::uint32_t number;
    std::int64_t elements, bytes;
};
constexpr std::array kBlockTypes{
    BlockType{0, 1, 4},      BlockType{1, 1, 2},      BlockType{2, 32, 18},    BlockType{3, 32, 20},
    BlockType{6, 32, 22},    BlockType{7, 32, 24},    BlockType{8, 32, 34},    BlockType{10, 256, 84},
    BlockType{11, 256, 110}, BlockType{12, 256, 144}, BlockType{13, 256, 176}, BlockType{14, 256, 210},
    BlockType{15, 256, 292}, BlockType{16, 256, 66},  BlockType{17, 256, 74},  BlockType{18, 256, 98},
    BlockType{19, 256, 50},  BlockType{20, 32, 18},   BlockType{21, 256, 110}, BlockType{22, 256, 82},
    BlockType{23, 256, 136}, BlockType{24, 1, 1},     BlockType{25, 1, 2},     BlockType{26, 1, 4},
    BlockType{27, 1, 8},     BlockType{28, 1, 8},     BlockType{29, 256, 56},  BlockType{30, 1, 2},
    BlockType{34, 256, 54},  BlockType{35, 256, 66},  BlockType{39, 32, 17},   BlockType{40, 64, 36}};

enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// Reads the header and never beyond the end of the file.
class Reader {
public:
    Reader(const Path& path, const GgufFile& file)
        : file_(file), left_(regular_file_size(path)), stream_(open_regular_file(path)) {
        if (!stream_) file_.fail("", "cannot be read");
    }

    std::uint64_t left() const { return left_; }

    void bytes(void* to, std::uint64_t count) {
        if (count > left_) cut_off();
        stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
        if (static_cast<std::uint64_t>(stream_.gcount()) != count) cut_off();
        left_ -= count;
    }
    void skip(std::uint64_t count) {
        if (count > left_) cut_off();
        stream_.seekg(static_cast<std::streamoff>(count), std::ios::cur);
        left_ -= count;
    }
    template <class Number>
    Number number() {
        Number value{};
        bytes(&value, sizeof value);
        return value;
    }
    std::string text() {
        const auto length = number<std::uint64_t>();
        if (length > left_) cut_off();
        if (length > kMostText) file_.fail("", "has a text of more than a million bytes in its GGUF header");
        std::string value(length, '\0');
        bytes(value.data(), length);
        return value;
    }
    void skip_text() { skip(number<std::uint64_t>()); }

    [[noreturn]] void cut_off() const {
        file_.fail("", "is cut off within its GGUF header; take another copy");
    }

private:
    const GgufFile& file_;
    std::uint64_t left_;
    std::ifstream stream_;
};

std::uint64_t width_of(ValueType type) {
    switch (type) {
        case ValueType::u8:
        case ValueType::i8:
        case ValueType::boolean:
            return 1;
        case ValueType::u16:
        case ValueType::i16:
            return 2;
        case ValueType::u32:
        case ValueType::i32:
        case ValueType::f32:
            return 4;
        case ValueType::u64:
        case ValueType::i64:
        case ValueType::f64:
            return 8;
        default:
            return 0;
    }
}

template <class Number>
std::int64_t as_whole(Number value) {
    if constexpr (std::is_same_v<Number, std::uint64_t>)
        return static_cast<std::int64_t>(
            std::min(value, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> whole_number(Reader& reader, ValueType type) {
    switch (type) {
        case ValueType::u8:
            return as_whole(reader.number<std::uint8_t>());
        case ValueType::i8:
            return as_whole(reader.number<std::int8_t>());
        case ValueType::u16:
            return as_whole(reader.number<std::uint16_t>());
        case ValueType::i16:
            return as_whole(reader.number<std::int16_t>());
        case ValueType::u32:
            return as_whole(reader.number<std::uint32_t>());
        case ValueType::i32:
            return as_whole(reader.number<std::int32_t>());
        case ValueType::u64:
            return as_whole(reader.number<std::uint64_t>());
        case ValueType::i64:
            return as_whole(reader.number<std::int64_t>());
        default:
            return {};
    }
}

GgufFile::Value array_value(Reader& reader, const GgufFile& file, const std::string& key) {
    const auto type = static_cast<ValueType>(reader.number<std::uint32_t>());
    const auto count = reader.number<std::uint64_t>();
    if (type == ValueType::text) {
        if (count > reader.left() / 8) reader.cut_off();
        for (std::uint64_t i = 0; i < count; ++i) reader.skip_text();
        return {};
    }
    const std::uint64_t width = width_of(type);
    if (width == 0) file.fail(key, "is an array of a type that GGUF does not have");
    if (count > reader.left() / width) reader.cut_off();
    const ValueType item = type == ValueType::boolean ? ValueType::u8 : type;
    const bool whole = type != ValueType::f32 && type != ValueType::f64;
    if (!whole || count > kMostItems) {
        reader.skip(count * width);
        return {};
    }
    std::vector<std::int64_t> items;
    items.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) items.push_back(*whole_number(reader, item));
    return items;
}

GgufFile::Value read_value(Reader& reader, const GgufFile& file, const std::string& key) {
    const auto type = static_cast<ValueType>(reader.number<std::uint32_t>());
    if (const auto whole = whole_number(reader, type)) return *whole;
    switch (type) {
        case ValueType::f32:
            return static_cast<double>(reader.number<float>());
        case ValueType::f64:
            return reader.number<double>();
        case ValueType::boolean:
            return reader.number<std::uint8_t>() != 0;
        case ValueType::text:
            return reader.text();
        case ValueType::array:
            return array_value(reader, file, key);
        default:
            file.fail(printable(key, 400), "has type " + std::to_string(static_cast<std::uint32_t>(type)) +
                                               ", which GGUF does not have");
    }
}

GgufFile::Tensor read_tensor(Reader& reader, const GgufFile& file) {
    GgufFile::Tensor tensor;
    tensor.name = reader.text();
    const std::string place = "tensor " + in_quotes(printable(tensor.name, 200));
    const auto extents = reader.number<std::uint32_t>();
    if (extents < 1 || extents > 4)
        file.fail(place, "has " + std::to_string(extents) + " extents, expected 1 to 4");
    std::int64_t count = 1;
    for (std::uint32_t i = 0; i < extents; ++i) {
        const auto extent = reader.number<std::uint64_t>();
        if (extent == 0 || extent > static_cast<std::uint64_t>(kMostTensorBytes / count))
            file.fail(place, "has an extent of " + std::to_string(extent) + ", which no tensor has");
        count *= static_cast<std::int64_t>(extent);
        tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto number = reader.number<std::uint32_t>();
    const auto* const type = std::ranges::find(kBlockTypes, number, &BlockType::number);
    if (type == kBlockTypes.end())
        file.fail(place, "has type " + std::to_string(number) +
                             ", which is not known here: convert the model with another quantisation, or "
                             "open its config.json");
    const std::int64_t row = tensor.shape.front();
    if (row % type->elements != 0)
        file.fail(place, "has rows of " + std::to_string(row) + " elements, expected a multiple of " +
                             std::to_string(type->elements));
    tensor.bytes = count / type->elements * type->bytes;
    std::ranges::reverse(tensor.shape);
    reader.number<std::uint64_t>();  // where its data is
    return tensor;
}

/// The other parts of "model-00001-of-00004.gguf"; none if the file has another name.
std::vector<Path> other_parts(const Path& first, std::int64_t parts) {
    const std::string name = first.filename().string();
    std::vector<Path> others;
    const std::size_t of = name.rfind("-of-");
    if (of == std::string::npos || of < 6 || name.compare(of - 6, 6, "-00001") != 0) return others;
    for (std::int64_t i = 2; i <= parts; ++i) {
        std::string digits = std::to_string(i);
        digits.insert(0, 5 - std::min<std::size_t>(5, digits.size()), '0');
        others.emplace_back(first.parent_path() / (name.substr(0, of - 5) + digits + name.substr(of)));
    }
    return others;
}

}  // namespace

bool is_gguf(const Path& file) {
    std::ifstream stream = open_regular_file(file);
    std::array<char, 4> magic{};
    stream.read(magic.data(), magic.size());
    return stream.gcount() == 4 && std::string_view(magic.data(), 4) == "GGUF";
}

GgufFile::GgufFile(const Path& file) : path_(file), at_(file) {
    read_part(file);
    const std::int64_t parts = number("split.count", 0, kMostParts).value_or(0);
    if (parts > 1) {
        if (number("split.no", 0, kMostParts).value_or(0) != 0)
            fail("split.no", "is not 0: open the first of the " + std::to_string(parts) +
                                 " parts of the model, ...-00001-of-0000N.gguf");
        const std::vector<Path> others = other_parts(file, parts);
        if (others.empty())
            fail("split.count", "is " + std::to_string(parts) +
                                    ", but the name of the file does not end in -00001-of-0000N.gguf, so "
                                    "that the other parts cannot be "
                                    "found: give the file its name back");
        for (const Path& part : others) read_part(part);
        at_ = path_;
    }
}

void GgufFile::read_part(const Path& file) {
    at_ = file;
    Reader reader(file, *this);
    std::array<char, 4> magic{};
    reader.bytes(magic.data(), magic.size());
    if (is_lfs_pointer(file)) fail("", kIsLfsPointer);
    if (std::string_view(magic.data(), 4) != "GGUF") fail("", "is not a GGUF file");
    const auto version = reader.number<std::uint32_t>();
    if (version != 0 && version % (1U << 24) == 0)
        fail("",
             "is a GGUF file of a big-endian computer: convert it with gguf_convert_endian.py of llama.cpp");
    if (version != 2 && version != 3)
        fail("", "is GGUF of version " + std::to_string(version) + ", expected version 2 or 3");
    const auto tensors = reader.number<std::uint64_t>();
    const auto pairs = reader.number<std::uint64_t>();
    // The shortest tensor takes 24 bytes of the header, the shortest pair 13.
    if (tensors > kMostTensors || tensors > reader.left() / 24)
        fail("",
             "says that it has " + std::to_string(tensors) + " tensors, more than its GGUF header can hold");
    if (pairs > kMostPairs || pairs > reader.left() / 13)
        fail("", "says that it has " + std::to_string(pairs) + " values, more than its GGUF header can hold");
    for (std::uint64_t i = 0; i < pairs; ++i) {
        const std::string key = reader.text();
        Value value = read_value(reader, *this, key);
        if (!std::holds_alternative<std::monostate>(value)) values_.try_emplace(key, std::move(value));
    }
    for (std::uint64_t i = 0; i < tensors; ++i) {
        Tensor tensor = read_tensor(reader, *this);
        if (!index_.emplace(tensor.name, tensors_.size()).second)
            fail("tensor " + in_quotes(printable(tensor.name, 200)), "is there twice");
        tensors_.push_back(std::move(tensor));
    }
}

bool GgufFile::has(std::string_view tensor) const {
    return index_.contains(tensor);
}

const GgufFile::Tensor* GgufFile::find(std::string_view tensor) const {
    const auto found = index_.find(tensor);
    return found == index_.end() ? nullptr : &tensors_[found->second];
}

const GgufFile::Value* GgufFile::value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> GgufFile::number(const std::string& key, std::int64_t least,
                                             std::int64_t most) const {
    const Value* const found = value(key);
    if (found == nullptr) return {};
    const auto* const whole = std::get_if<std::int64_t>(found);
    if (whole == nullptr) fail(key, "is not a whole number");
    if (*whole < least || *whole > most)
        fail(key, "is " + std::to_string(*whole) + ", expected " + std::to_string(least) + " to " +
                      std::to_string(most));
    return *whole;
}

std::string GgufFile::text_or(const std::string& key, std::string other) const {
    const Value* const found = value(key);
    const auto* const text = found == nullptr ? nullptr : std::get_if<std::string>(found);
    return text == nullptr ? std::move(other) : *text;
}

void GgufFile::fail(const std::string& where, const std::string& problem) const {
    throw InputError(printable(at_.string(), 4096), where, problem);
}

}  // namespace placewright
