// SPDX-License-Identifier: MIT
#include <cstring>

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/structure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    return fuzz(bytes, size);
}

// The changes of libFuzzer itself.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t limit);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size, std::size_t limit,
                                               unsigned int seed) {
    std::mt19937 random(seed);
    if (random() % 2 == 0) {
        const auto changed = with_changed_structure({reinterpret_cast<const char*>(bytes), size}, random);
        if (changed && changed->size() <= limit) {
            std::memcpy(bytes, changed->data(), changed->size());
            return changed->size();
        }
    }
    return LLVMFuzzerMutate(bytes, size, limit);
}
