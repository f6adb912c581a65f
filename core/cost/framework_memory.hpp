// SPDX-License-Identifier: MIT
// What a framework takes of a device's memory beside the bytes of the tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/machine/machine.hpp"

namespace placewright {

struct ProblemOptions;

enum class Framework : std::uint8_t {
    none,    ///< tensors take their bytes, and the whole memory is theirs
    pytorch  ///< a context on each accelerator, and PyTorch's caching allocator
};
std::string_view to_string(Framework framework);
std::optional<Framework> framework_from(std::string_view text);

/// How many bytes a request for memory takes.
enum class Allocator : std::uint8_t {
    none,              ///< those that are asked for
    pytorch,           ///< blocks of PyTorch's caching allocator: its count of allocated bytes
    pytorch_segments,  ///< also what is lost in large segments: an estimate of its count of reserved bytes
};
std::string_view to_string(Allocator allocator);
std::optional<Allocator> allocator_from(std::string_view text);

/// What PyTorch holds on an accelerator beside its allocator: the CUDA or ROCm context with the code of the
/// kernels (0.3 to 0.6 GB, more with newer libraries), the workspace of cuBLAS (8 MiB, on Hopper 32 MiB).
inline constexpr double kPytorchContextBytes = 500e6;

/// Bytes that a request takes of the device's memory; 0 for no bytes. `pytorch`: multiples of 512 B.
/// `pytorch_segments`: also, requests of 10 MiB and more get segments of their own, in multiples of 2 MiB; a
/// rest of more than 1 MiB is split off and serves other requests, a smaller one is lost
/// (c10/cuda/CUDACachingAllocator.cpp, PyTorch 1.13). Not counted are the gaps in segments that several
/// tensors share (of 2 MiB for requests up to 1 MiB, of 20 MiB for those up to 10 MiB), and what the
/// allocator keeps for later: it gives that back before it runs out. Whole bytes give whole bytes.
double allocated_bytes(Allocator allocator, double bytes);

/// Bytes of the device's memory that the framework holds throughout: ProblemOptions::context_bytes on every
/// accelerator if given, else those of the framework where counts_framework().
double context_bytes(const ProblemOptions& options, const Device& device);

/// Whether the options' framework holds memory on the device: on accelerators with a memory of their own that
/// the catalogue knows, for costs and memory of real devices. Machine files that describe their devices, and
/// the cost and memory models of other systems, repeat the figures of papers, which leave frameworks out.
bool counts_framework(const ProblemOptions& options, const Device& device);

/// The options' allocator; if none is given, that of the framework if it counts on any device of the machine.
Allocator used_allocator(const ProblemOptions& options, const Machine& machine);

}  // namespace placewright
