// SPDX-License-Identifier: MIT
#include "core/io/language/language_file.hpp"

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/base/text.hpp"
#include "core/io/language/gguf.hpp"
#include "core/io/language/language_graph.hpp"
#include "core/io/language/tensor_book.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

std::string file_name(const Path& path) {
    return printable(path.string(), 4096);
}

/// Whether linear weights have less than 16 bits; of a GGUF file, only if the options say so.
bool is_quantized(const LanguageModel& model, const LanguageOptions& options) {
    return options.weights ? bits_of(*options.weights) < 16 : model.quantization != Quantization::none;
}

NetworkFile network(const Path& path, const LanguageModel& model, std::optional<std::int64_t> batch,
                    const LanguageOptions& options, TensorBook& book) {
    NetworkFile result;
    result.batch_is_open = true;
    LanguageOptions used = options;
    used.sequence = sequence_of(model, options);
    if (!model.has_decode() && options.phase == LanguagePhase::decode) {
        used.phase = LanguagePhase::prefill;
        result.notes.push_back(model.family.model_type.empty()
                                   ? std::string()
                                   : std::string(model.family.model_type) +
                                         " is an encoder, which has no decode phase: read as prefill");
    }
    if (model.has_decode()) result.longest_sequence = model.limit;
    if (result.longest_sequence > 0 && *used.sequence > model.limit)
        result.notes.push_back("the sequence of " + std::to_string(*used.sequence) +
                               " tokens is longer than the model's limit of " + std::to_string(model.limit) +
                               ": the model was not trained for it; choose a shorter one");
    if (used.phase == LanguagePhase::training && is_quantized(model, used))
        result.notes.push_back(
            "the memory of this training step is too small: weights of less than 16 bits are not trained, "
            "and "
            "gradients and the optimizer are counted in the type of the weights; choose fp32, fp16 or bf16 "
            "for "
            "the weights (--dtype)");
    try {
        result.graph = language_graph(model, used, batch.value_or(1), book);
    } catch (const std::invalid_argument& error) {
        throw InputError(file_name(path), model.words_for_layers, printable(error.what(), 400));
    } catch (const std::length_error& error) {
        throw InputError(file_name(path), "", printable(error.what(), 400));
    } catch (const GraphError& error) {
        throw InputError(file_name(path), "", printable(error.what(), 400));
    }
    for (const std::string& note : model.notes) result.notes.push_back(note);
    if (std::string left = book.left_out(); !left.empty()) result.notes.push_back(std::move(left));
    result.language = used;
    return result;
}

NetworkFile from_config(const JsonFile& file, std::optional<Checkpoint> checkpoint,
                        std::optional<std::int64_t> batch, const LanguageOptions& options) {
    const LanguageModel model = read_language_config(file);
    const bool sized = checkpoint.has_value();
    if (model.quantization == Quantization::other && !sized && !options.weights)
        file.fail("quantization_config.quant_method",
                  "is " + in_quotes(model.quantization_method) +
                      ", whose sizes only the safetensors files of the model say: open the folder with them, "
                      "or give a number format with --dtype");
    CheckpointBook book(model, std::move(checkpoint), !options.weights);
    return network(file.path(), model, batch, options, book);
}

}  // namespace

bool is_model_folder(const Path& path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

NetworkFile read_language_model(const JsonFile& file, std::optional<std::int64_t> batch,
                                const LanguageOptions& options) {
    return from_config(file, {}, batch, options);
}

NetworkFile read_language_model(const Path& path, std::optional<std::int64_t> batch,
                                const LanguageOptions& options) {
    if (!is_model_folder(path)) {
        const GgufFile file(path);
        const LanguageModel model = read_gguf_model(file);
        GgufBook book(file, model, !options.weights);
        return network(path, model, batch, options, book);
    }
    const Path config = path / "config.json";
    std::error_code error;
    if (!std::filesystem::is_regular_file(config, error))
        throw InputError(
            file_name(path), "",
            "is a folder without config.json: expected the folder of a model of Hugging Face, or "
            "a file");
    return from_config(JsonFile(config), read_checkpoint(path), batch, options);
}

}  // namespace placewright
