// SPDX-License-Identifier: MIT
// Headers of safetensors files, and their index files.
#include <cstring>

#include "core/io/state/safetensors.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    try {
        read_parameter_sizes(file.path());
    } catch (const InputError&) {
    }
    return 0;
}

std::vector<std::string> seeds() {
    const auto file = [](const std::string& header, std::size_t data_bytes) {
        const std::uint64_t length = header.size();
        std::string text(sizeof length, '\0');
        std::memcpy(text.data(), &length, sizeof length);
        return text + header + std::string(data_bytes, '\0');
    };
    return {
        file(
            R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}})",
            26),
        file(R"({"a":{"dtype":"F4","shape":[2,4,1],"data_offsets":[0,4]}})", 4),
        R"({"metadata":{"total_size":24},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})"};
}
