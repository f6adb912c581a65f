// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torch/script_file.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <unordered_set>

#include <caffe2/serialize/file_adapter.h>
#include <caffe2/serialize/inline_container.h>

#include "core/io/pytorch/scripted_program.hpp"

namespace placewright {
namespace {

using Remedy = ScriptError::Remedy;

/// Maximum depth of brackets in each other.
constexpr std::size_t kDeepestCode = 500;

/// Returns the depth of nested brackets, for each of which LibTorch recurses.
std::size_t nesting(std::string_view code) {
    std::size_t depth = 0, deepest = 0;
    for (const char c : code) {
        if (c == '(' || c == '[' || c == '{') deepest = std::max(deepest, ++depth);
        if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    }
    return deepest;
}

/// Checks the code of a file before it runs, with LibTorch's own reader: in a zip file with two directories
/// another reader may see other members.
void check_code(caffe2::serialize::PyTorchStreamReader& archive, bool run) {
    if (archive.hasRecord("model.json"))
        throw ScriptError(
            Remedy::none, "",
            "is TorchScript of an early PyTorch (model.json): load it with torch.jit.load and save it again");
    std::unordered_set<std::string> names;
    for (const std::string& name : archive.getAllRecords()) {
        std::string lower = name;
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (!lower.starts_with("code/")) continue;
        const std::string where = "member " + name;
        // LibTorch looks up full names regardless of case, but lists only a part of them.
        if (!archive.hasRecord(name) || !names.insert(lower).second)
            throw ScriptError(
                Remedy::none, where,
                "exists twice, or has too long a name: write the file again with torch.jit.save");
        if (!lower.ends_with(".py")) continue;
        const auto [bytes, size] = archive.getRecord(name);
        const std::string_view code(static_cast<const char*>(bytes.get()), size);
        if (nesting(code) > kDeepestCode)
            throw ScriptError(
                Remedy::none, where,
                "nests brackets more than " + std::to_string(kDeepestCode) + " deep, the maximum");
        if (!run && code.find("__setstate__") != std::string_view::npos)
            throw ScriptError(Remedy::run, where, "runs code of its own when it is loaded (__setstate__)");
    }
}

}  // namespace

torch::jit::Module load_script(const std::string& file, bool run) {
    const auto bytes = std::make_shared<caffe2::serialize::FileAdapter>(file);
    caffe2::serialize::PyTorchStreamReader archive(bytes);
    check_code(archive, run);
    return torch::jit::load(bytes, at::kCPU);
}

}  // namespace placewright
