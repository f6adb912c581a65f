// SPDX-License-Identifier: MIT
#include "core/io/onnx/onnx_model.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <unordered_map>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

constexpr std::uintmax_t kMaxOnnxBytes = std::numeric_limits<std::int32_t>::max();
constexpr std::uint32_t kKeptTensorBytes = 64 << 10;
constexpr std::size_t kMaxKeptBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxItems = 10'000'000;
constexpr int kMaxOnnxDepth = 64;

void append_varint(std::string& text, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
}

void append_fixed(std::string& text, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
}

/// Copies a serialized message, by its descriptor, without the content of large tensors.
class Skimmer {
public:
    Skimmer(const Path& file, google::protobuf::io::CodedInputStream& input) : file_(file), input_(input) {}

    void message(const Descriptor& type, int depth, std::string& text) {
        if (depth > kMaxOnnxDepth)
            fail_file(file_,
                      "is nested more than " + std::to_string(kMaxOnnxDepth) + " levels deep, the maximum");
        while (const std::uint32_t tag = input_.ReadTag()) {
            if (++items_ > kMaxItems)
                fail_file(file_, "has more than " + std::to_string(kMaxItems) +
                                     " messages, names and numbers, the maximum");
            field(type, depth, tag, text);
            if (text.size() > kMaxKeptBytes) {
                fail_file(file_, "has more than " + format_bytes(kMaxKeptBytes) +
                                     " in addition to its tensors, the maximum");
            }
        }
        if (!input_.ConsumedEntireMessage()) cut();
    }

private:
    [[noreturn]] void cut() const {
        fail_file(file_, "is no ONNX model, or is cut off or damaged at byte " +
                             std::to_string(input_.CurrentPosition()) + "; export it again");
    }

    void field(const Descriptor& type, int depth, std::uint32_t tag, std::string& text) {
        std::uint64_t value = 0;
        std::uint32_t narrow = 0;
        switch (WireFormatLite::GetTagWireType(tag)) {
            case WireFormatLite::WIRETYPE_VARINT:
                if (!input_.ReadVarint64(&value)) cut();
                append_varint(text, tag);
                append_varint(text, value);
                return;
            case WireFormatLite::WIRETYPE_FIXED64:
                if (!input_.ReadLittleEndian64(&value)) cut();
                append_varint(text, tag);
                append_fixed(text, value, 8);
                return;
            case WireFormatLite::WIRETYPE_FIXED32:
                if (!input_.ReadLittleEndian32(&narrow)) cut();
                append_varint(text, tag);
                append_fixed(text, narrow, 4);
                return;
            case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
                return sized(type, depth, tag, text);
            default:
                cut();
        }
    }

    void sized(const Descriptor& type, int depth, std::uint32_t tag, std::string& text) {
        std::uint32_t bytes = 0;
        if (!input_.ReadVarint32(&bytes) || std::int64_t{bytes} > input_.BytesUntilLimit()) cut();
        const FieldDescriptor* const field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
        const bool is_message = field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE;
        std::string content;
        if (is_message) {
            const auto outer = input_.PushLimit(static_cast<int>(bytes));
            message(*field->message_type(), depth + 1, content);
            if (input_.BytesUntilLimit() != 0) cut();
            input_.PopLimit(outer);
        } else if (&type == onnx::TensorProto::descriptor() && bytes > kKeptTensorBytes) {
            if (!input_.Skip(static_cast<int>(bytes))) cut();
            return;
        } else if (!input_.ReadString(&content, static_cast<int>(bytes))) {
            cut();
        }
        append_varint(text, tag);
        append_varint(text, content.size());
        text += content;
    }

    const Path& file_;
    google::protobuf::io::CodedInputStream& input_;
    std::size_t items_ = 0;
};

std::uintmax_t checked_size(const Path& file) {
    const std::uintmax_t bytes = regular_file_size(file);
    if (bytes > kMaxOnnxBytes) {
        fail_file(file, "has " + format_bytes(static_cast<double>(bytes)) + ", expected at most " +
                            format_bytes(static_cast<double>(kMaxOnnxBytes)) +
                            "; save the model with its weights in external data");
    }
    return bytes;
}

/// Moves the messages of a repeated field to the unknown fields, before those that are there, if the library
/// knows the field.
void make_unknown(google::protobuf::Message& message, int number) {
    const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByNumber(number);
    if (field == nullptr || !field->is_repeated() || field->type() != FieldDescriptor::TYPE_MESSAGE) return;
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    google::protobuf::UnknownFieldSet unknown;
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        unknown.AddLengthDelimited(number,
                                   reflection.GetRepeatedMessage(message, field, i).SerializeAsString());
    }
    unknown.MergeFrom(reflection.GetUnknownFields(message));
    reflection.MutableUnknownFields(&message)->Swap(&unknown);
    reflection.ClearField(&message, field);
}

void make_unknown(onnx::GraphProto& graph);

void make_unknown(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    for (onnx::NodeProto& node : nodes) {
        make_unknown(node, kNodeDeviceConfigurations);
        make_unknown(node, kNodeMetadata);
        for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
            if (attribute.has_g()) make_unknown(*attribute.mutable_g());
            for (onnx::GraphProto& graph : *attribute.mutable_graphs()) make_unknown(graph);
        }
    }
}

void make_unknown(onnx::GraphProto& graph) {
    make_unknown(*graph.mutable_node());
}

void make_newer_fields_unknown(onnx::ModelProto& model) {
    if (onnx::NodeProto::descriptor()->FindFieldByNumber(kNodeMetadata) == nullptr) return;
    make_unknown(model, kModelConfiguration);
    make_unknown(*model.mutable_graph());
    for (onnx::FunctionProto& function : *model.mutable_functions()) make_unknown(*function.mutable_node());
}

/// A file that stays open for reading during the lifetime of the object.
class OpenFile {
public:
    explicit OpenFile(const Path& file) : stream_(open(file)) { stream_.SetCloseOnDelete(true); }
    google::protobuf::io::FileInputStream& stream() { return stream_; }

private:
    static int open(const Path& file) {
        regular_file_size(file);  // throws for a pipe, whose opening would wait
        const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) fail_file(file, std::string("cannot be read: ") + std::strerror(errno));
        return descriptor;
    }
    google::protobuf::io::FileInputStream stream_;
};

}  // namespace

onnx::ModelProto read_onnx_model(const Path& file) {
    const std::uintmax_t bytes = checked_size(file);
    OpenFile open(file);
    std::string text;
    {
        google::protobuf::io::CodedInputStream input(&open.stream());
        input.PushLimit(static_cast<int>(bytes));
        Skimmer(file, input).message(*onnx::ModelProto::descriptor(), 0, text);
    }
    onnx::ModelProto model;
    if (!model.ParseFromString(text)) fail_file(file, "is no ONNX model, or is damaged");
    if (!model.has_graph()) fail_file(file, "is no ONNX model: it has no graph");
    make_newer_fields_unknown(model);
    return model;
}

onnx::ModelProto read_whole_onnx_model(const Path& file) {
    read_onnx_model(file);  // refuses a file that would take more memory than its size
    OpenFile open(file);
    onnx::ModelProto model;
    if (!model.ParseFromZeroCopyStream(&open.stream())) fail_file(file, "is no ONNX model, or is damaged");
    make_newer_fields_unknown(model);
    return model;
}

std::vector<std::string> onnx_op_names(const onnx::GraphProto& graph) {
    std::unordered_map<std::string, std::size_t> taken;
    taken.reserve(static_cast<std::size_t>(graph.input_size()) + static_cast<std::size_t>(graph.node_size()));
    for (const auto& input : graph.input()) taken.emplace(input.name(), 1);
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(graph.node_size()));
    for (const onnx::NodeProto& node : graph.node()) {
        std::string name = node.name();
        for (int i = 0; name.empty() && i < node.output_size(); ++i) name = node.output(i);
        if (name.empty()) name = node.op_type();
        const std::string wanted = name;
        while (!taken.emplace(name, 1).second) name = wanted + '#' + std::to_string(++taken[wanted]);
        names.push_back(std::move(name));
    }
    return names;
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
    const auto found = std::ranges::find(
        node.attribute(), name, [](const auto& attribute) -> const std::string& { return attribute.name(); });
    return found == node.attribute().end() ? nullptr : &*found;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t other) {
    const onnx::AttributeProto* attribute = find_attribute(node, name);
    return attribute != nullptr && attribute->has_i() ? attribute->i() : other;
}

std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, std::string_view name) {
    const onnx::AttributeProto* attribute = find_attribute(node, name);
    if (attribute == nullptr) return {};
    return {attribute->ints().begin(), attribute->ints().end()};
}

std::string node_metadata(const onnx::NodeProto& node, std::string_view key) {
    using google::protobuf::UnknownField;
    const auto& fields = onnx::NodeProto::GetReflection()->GetUnknownFields(node);
    for (int i = 0; i < fields.field_count(); ++i) {
        const UnknownField& field = fields.field(i);
        onnx::StringStringEntryProto entry;
        if (field.number() == kNodeMetadata && field.type() == UnknownField::TYPE_LENGTH_DELIMITED &&
            entry.ParseFromString(field.length_delimited()) && entry.key() == key)
            return entry.value();
    }
    return {};
}

}  // namespace placewright
