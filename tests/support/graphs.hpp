// SPDX-License-Identifier: MIT
// Small graphs and machines that tests build on.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/random.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright::test {

/// a0 -> a1 -> ... of kind "relu"-like compute ops "op0", "op1", ...; every op `flops` FLOPs and one output of `bytes` bytes.
Graph chain(std::size_t length, double flops = 1e9, std::int64_t bytes = 1'000'000, Training training = Training::none);

/// "source" -> `width` parallel ops "branch0".. -> "sink".
Graph fork_join(std::size_t width, double flops = 1e9, std::int64_t bytes = 1'000'000, Training training = Training::none);

/// A random DAG: op i reads up to `max_inputs` of the ops before it; sizes and costs vary. The same for the same seed.
Graph random_graph(std::uint64_t seed, std::size_t ops, std::size_t max_inputs = 3, Training training = Training::none);

/// The same with ops of all sorts: views of one and of several outputs, ops that overwrite their input, parameters seen as tensors,
/// workspaces, outputs that travel together, ops that share a device. Beside each other and in chains.
Graph random_network(std::uint64_t seed, std::size_t ops, std::size_t max_inputs = 3, Training training = Training::none);

/// The same ops as a step that gives its backward and update ops itself, drawn at random: forward ops may read what any of them make.
/// Every update op reads a gradient. The same for the same seed.
Graph with_phases(const Graph& graph, std::uint64_t seed);

/// A deep network as Inception-V3 and ResNet are: a chain of modules, each of one to five parallel branches of one to four ops, joined and
/// added to what went in. A training step of about `ops` ops; sizes and costs vary. The same for the same seed.
Graph modular_network(std::uint64_t seed, std::size_t ops);

/// `gpus` GPUs "gpu:0".. of 1 TFLOP/s, 1 TB/s and `memory_bytes`, every ordered pair with a channel of its own of 1 GB/s; no overheads,
/// efficiency 1.
Machine uniform_machine(std::size_t gpus, double memory_bytes = 1e12);

/// A random machine of 1 to 4 devices of different speeds with shared and multi-hop channels.
Machine random_machine(std::uint64_t seed);

/// What real machines have beyond one thing at a time.
struct MachineFeatures {
    bool streams = false;       ///< one to three a device
    bool copy_engines = false;  ///< none to two a device
    bool bus = false;           ///< some routes cross a channel in the middle that all share
    Crossing crossing = Crossing::store_and_forward;
};
/// The machine with such features, drawn at random. The same for the same seed.
Machine with_features(const Machine& machine, std::uint64_t seed, const MachineFeatures& features);

std::shared_ptr<const Problem> problem(Graph graph, Machine machine, const ProblemOptions& options = {});

/// Times in whole seconds, drawn at random, so that many events tie.
std::shared_ptr<const Problem> with_whole_seconds(const Problem& problem, Random& random);

}  // namespace placewright::test
