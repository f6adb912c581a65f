// SPDX-License-Identifier: MIT
// Changes the fields of an ONNX model, in all its messages.
#include <limits>
#include <vector>

#include <onnx/onnx_pb.h>

#include "tests/fuzz/structure.hpp"

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kMostMessages = 20'000;

class Changer {
public:
    Changer(Message& model, std::mt19937& random) : random_(random) {
        messages_.push_back(&model);
        std::vector<const FieldDescriptor*> fields;
        for (std::size_t i = 0; i < messages_.size() && messages_.size() < kMostMessages; ++i) {
            Message& message = *messages_[i];
            message.GetReflection()->ListFields(message, &fields);
            for (const FieldDescriptor* field : fields) add_parts(message, *field);
        }
    }

    void change() {
        Message& message = *messages_[below(messages_.size())];
        std::vector<const FieldDescriptor*> fields;
        message.GetReflection()->ListFields(message, &fields);
        const auto& type = *message.GetDescriptor();
        if (type.field_count() == 0) return;
        if (fields.empty() || below(4) == 0) {
            set(message, *type.field(static_cast<int>(below(static_cast<std::size_t>(type.field_count())))));
            return;
        }
        const FieldDescriptor& field = *fields[below(fields.size())];
        if (below(4) == 0) {
            message.GetReflection()->ClearField(&message, &field);
        } else if (field.is_repeated() && below(2) == 0) {
            rearrange(message, field);
        } else {
            set(message, field);
        }
    }

private:
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

    /// Collects the messages and strings of a field.
    void add_parts(Message& message, const FieldDescriptor& field) {
        const auto& reflection = *message.GetReflection();
        const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
        for (int i = 0; i < count; ++i) {
            if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
                messages_.push_back(field.is_repeated()
                                        ? reflection.MutableRepeatedMessage(&message, &field, i)
                                        : reflection.MutableMessage(&message, &field));
            } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
                strings_.push_back(field.is_repeated() ? reflection.GetRepeatedString(message, &field, i)
                                                       : reflection.GetString(message, &field));
            }
        }
    }

    /// Removes or swaps elements.
    void rearrange(Message& message, const FieldDescriptor& field) {
        const auto& reflection = *message.GetReflection();
        const int count = reflection.FieldSize(message, &field);
        const auto any = [&] { return static_cast<int>(below(static_cast<std::size_t>(count))); };
        if (below(2) == 0) {
            reflection.SwapElements(&message, &field, any(), any());
        } else {
            reflection.SwapElements(&message, &field, any(), count - 1);
            reflection.RemoveLast(&message, &field);
        }
    }

    std::int64_t number() {
        static const std::int64_t all[] = {0,
                                           1,
                                           -1,
                                           2,
                                           3,
                                           7,
                                           13,
                                           64,
                                           255,
                                           65'536,
                                           std::int64_t{1} << 31,
                                           std::int64_t{1} << 40,
                                           std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min()};
        return below(4) == 0 ? static_cast<std::int64_t>(random_() % 32) - 4 : all[below(std::size(all))];
    }

    std::string text() {
        std::string text = strings_.empty() ? "" : strings_[below(strings_.size())];
        if (below(8) == 0) text.insert(below(text.size()), 1, static_cast<char>(random_()));
        if (below(8) == 0) text.resize(below(text.size()));
        return text;
    }

    /// The bytes of a message of a type: one of the model's, or an empty one.
    std::string another(const google::protobuf::Descriptor& type) {
        for (int tries = 0; tries < 16; ++tries) {
            const Message& message = *messages_[below(messages_.size())];
            if (message.GetDescriptor() == &type) return message.SerializePartialAsString();
        }
        return {};
    }

    /// Sets a field; of a repeated one, an element or a new one.
    void set(Message& message, const FieldDescriptor& field) {
        const auto& reflection = *message.GetReflection();
        const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 0;
        const bool adds = field.is_repeated() && (count == 0 || below(2) == 0);
        const int at = static_cast<int>(below(static_cast<std::size_t>(count)));
        // Each type has three functions of the reflection: a field's, an element's and a new element's.
        const auto put = [&](auto one, auto element, auto added, auto value) {
            if (adds) {
                (reflection.*added)(&message, &field, value);
            } else if (field.is_repeated()) {
                (reflection.*element)(&message, &field, at, value);
            } else {
                (reflection.*one)(&message, &field, value);
            }
        };
        using Reflection = google::protobuf::Reflection;
        switch (field.cpp_type()) {
            case FieldDescriptor::CPPTYPE_INT32:
                put(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, &Reflection::AddInt32,
                    static_cast<std::int32_t>(number()));
                break;
            case FieldDescriptor::CPPTYPE_INT64:
                put(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, &Reflection::AddInt64, number());
                break;
            case FieldDescriptor::CPPTYPE_UINT64:
                put(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64,
                    static_cast<std::uint64_t>(number()));
                break;
            case FieldDescriptor::CPPTYPE_FLOAT:
                put(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, &Reflection::AddFloat,
                    static_cast<float>(number()));
                break;
            case FieldDescriptor::CPPTYPE_DOUBLE:
                put(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble,
                    static_cast<double>(number()));
                break;
            case FieldDescriptor::CPPTYPE_ENUM: {
                const auto& type = *field.enum_type();
                put(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue, &Reflection::AddEnumValue,
                    type.value(static_cast<int>(below(static_cast<std::size_t>(type.value_count()))))
                        ->number());
                break;
            }
            case FieldDescriptor::CPPTYPE_STRING:
                put(&Reflection::SetString, &Reflection::SetRepeatedString, &Reflection::AddString, text());
                break;
            case FieldDescriptor::CPPTYPE_MESSAGE: {
                // Taken first: making room for a message may end others.
                const std::string bytes = another(*field.message_type());
                Message* const part = adds ? reflection.AddMessage(&message, &field)
                                      : field.is_repeated()
                                          ? reflection.MutableRepeatedMessage(&message, &field, at)
                                          : reflection.MutableMessage(&message, &field);
                part->ParsePartialFromString(bytes);
                break;
            }
            default:
                break;  // types that ONNX does not use
        }
    }

    std::vector<Message*> messages_;
    std::vector<std::string> strings_;
    std::mt19937& random_;
};

}  // namespace

std::optional<std::string> with_changed_structure(std::string_view bytes, std::mt19937& random) {
    onnx::ModelProto model;
    if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) Changer(model, random).change();
    return model.SerializePartialAsString();
}
