// SPDX-License-Identifier: MIT
// TorchScript files: as whole files, and as a pickle and code put into one, because a zip file has
// checksums.
#include "core/base/path.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/zip.hpp"

using namespace placewright;

namespace {

constexpr std::string_view kBetween = "\n# code\n";

/// Pickle of a module without members except "training".
constexpr std::string_view kPickle{
    "\x80\x02"
    "c__torch__\nNet\nq\x00)\x81}X\x08\x00\x00\x00trainingq\x01\x89sb.",
    42};
constexpr std::string_view kCode =
    "class Net(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = []\n"
    "  training : bool\n"
    "  def forward(self: __torch__.Net,\n"
    "    x: Tensor) -> Tensor:\n"
    "    y = torch.relu(torch.add(x, torch.t(x), alpha=2))\n"
    "    for i in range(3):\n"
    "      y = torch.mm(y, torch.view(x, [torch.size(x, 0), -1]))\n"
    "    return torch.slice(y, 0, 1, annotate(Optional[int], None), 1)\n";

std::string archive(std::string_view pickle, std::string_view code) {
    return zipped({{"net/data.pkl", std::string(pickle)},
                   {"net/code/__torch__.py", std::string(code)},
                   {"net/constants.pkl", "\x80\x02)."},
                   {"net/version", "3\n"}});
}

void read(std::string_view bytes) {
    const MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    try {
        ReadOptions options;
        options.inputs = {{{4, 4}}};
        // Not /proc/self, which is the process that reads it.
        read_torchscript(Archive(Path("/proc/" + std::to_string(getpid()) +
                                      file.path().substr(std::string_view("/proc/self").size()))),
                         options);
    } catch (const InputError&) {
    }
}

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    const std::size_t between = text.find(kBetween);
    if (between == std::string_view::npos) {
        read(text);
    } else {
        read(archive(text.substr(0, between), text.substr(between + kBetween.size())));
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {archive(kPickle, kCode), std::string(kPickle) + std::string(kBetween) + std::string(kCode)};
}
