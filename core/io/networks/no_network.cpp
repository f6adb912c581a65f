// SPDX-License-Identifier: MIT
#include "core/io/networks/no_network.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "core/io/language/gguf.hpp"
#include "core/io/language/language_file.hpp"
#include "core/io/networks/dot_file.hpp"
#include "core/io/onnx/onnx.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/io/text/archive.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/io/traces/trace_file.hpp"

namespace placewright {
namespace {

/// What is said of a file whose name has this ending.
struct NamedFormat {
    std::string_view ending;
    std::string_view problem;
};

constexpr std::string_view kNoScript =
    "is not a model of PyTorch, or damaged: write it again with torch.jit.trace(model, "
    "example).save(\"model.pt\")";
constexpr std::array<NamedFormat, 5> kNamedFormats{{
    {".pt", kNoScript},
    {".pth", kNoScript},
    {".pt2",
     "is not a program of torch.export, or damaged: write it again with torch.export.save(program, "
     "\"model.pt2\")"},
    {".gguf", "is not a GGUF file, or damaged: download or convert the model again"},
    {".safetensors", "is not a safetensors file, or damaged: download or write it again"},
}};

std::string beginning_of(const Path& file) {
    constexpr std::size_t kBytes = 64;
    std::string begin(kBytes, '\0');
    std::ifstream stream = open_regular_file(file);
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(stream.gcount()));
    return begin;
}

/// Whether a reader will say what is wrong with the file. What begins with a bracket, a blank or a byte order
/// mark may be JSON; 0x1f begins a packed file.
bool is_known(const Path& file, std::string_view begin) {
    constexpr std::string_view kFirst = "{[ \t\r\n\xef\x1f";
    return begin.empty() || kFirst.find(begin.front()) != std::string_view::npos || is_gguf(file) ||
           is_onnx(file) || is_archive(file) || is_dot(file) || is_trace(file);
}

}  // namespace

void refuse_no_network(const Path& file) {
    if (is_model_folder(file)) return;
    const std::string begin = beginning_of(file);
    if (is_lfs_pointer(file)) fail_file(file, kIsLfsPointer);
    if (holds_weights(file)) {
        fail_file(file,
                  "holds weights, not a network: --parameters, or Run > Simulation in the window, takes the "
                  "sizes of parameters from it");
    }
    if (holds_policy(file)) {
        fail_file(
            file,
            "is a policy, not a network: open a network and then the policy in the window, or give both "
            "to placewright-cli predict POLICY NETWORK");
    }
    refuse_pickle(file);
    if (is_known(file, begin)) return;
    const std::string ending = file.extension().string();
    const auto* const named = std::ranges::find(kNamedFormats, ending, &NamedFormat::ending);
    if (named != kNamedFormats.end()) fail_file(file, std::string(named->problem));
    // Of files with these names a reader says where they are wrong.
    if (ending == ".json" || ending == ".csv" || ending == ".tsv") return;
    fail_file(
        file,
        "has no format that Placewright reads: open an ONNX, TorchScript, torch.export, GGUF, DOT or JSON "
        "file, or the folder of a model of Hugging Face");
}

}  // namespace placewright
