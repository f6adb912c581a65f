// SPDX-License-Identifier: MIT
// Small graphs and machines for tests.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/random.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

namespace placewright::test {

/// A chain a0 -> a1 -> ... of compute ops "op0", "op1", ... of a relu-like kind; each op has `flops` FLOPs
/// and one output of `bytes` bytes.
Graph chain(std::size_t length, double flops = 1e9, std::int64_t bytes = 1'000'000,
            Training training = Training::none);

/// "source" -> `width` parallel ops "branch0".. -> "sink".
Graph fork_join(std::size_t width, double flops = 1e9, std::int64_t bytes = 1'000'000,
                Training training = Training::none);

/// A random DAG: op i reads up to `max_inputs` of the ops before it; sizes and costs vary. Deterministic in
/// the seed.
Graph random_graph(std::uint64_t seed, std::size_t ops, std::size_t max_inputs = 3,
                   Training training = Training::none);

/// A random DAG with ops of many sorts: views of one and of several outputs, ops that overwrite their input,
/// parameters read as tensors, workspaces, outputs that travel together, ops that share a device. Features
/// occur alone and in chains.
Graph random_network(std::uint64_t seed, std::size_t ops, std::size_t max_inputs = 3,
                     Training training = Training::none);

/// The same ops as a step with explicit backward and update ops, drawn at random: forward ops may read
/// outputs of any op. Every update op reads a gradient. Deterministic in the seed.
Graph with_phases(const Graph& graph, std::uint64_t seed);

/// A deep network similar to Inception-V3 and ResNet: a chain of modules, each with one to five parallel
/// branches of one to four ops, joined and added to the module's input. The training step has about `ops`
/// ops; sizes and costs vary. Deterministic in the seed.
Graph modular_network(std::uint64_t seed, std::size_t ops);

/// `gpus` GPUs "gpu:0".. of 1 TFLOP/s, 1 TB/s and `memory_bytes`; every ordered pair has its own channel of
/// 1 GB/s; no overheads, efficiency 1.
Machine uniform_machine(std::size_t gpus, double memory_bytes = 1e12);

/// A random machine of 1 to 4 devices of different speeds with shared and multi-hop channels.
Machine random_machine(std::uint64_t seed);

/// Features of real machines beyond one op per device and one transfer per channel.
struct MachineFeatures {
    bool streams = false;       ///< one to three streams per device
    bool copy_engines = false;  ///< none to two copy engines per device
    bool bus = false;           ///< some routes have a shared channel in the middle
    Crossing crossing = Crossing::store_and_forward;
};
/// `machine` with such features, drawn at random. Deterministic in the seed.
Machine with_features(const Machine& machine, std::uint64_t seed, const MachineFeatures& features);

std::shared_ptr<const Problem> problem(Graph graph, Machine machine, const ProblemOptions& options = {});

/// Random times in whole seconds, so that many events coincide.
std::shared_ptr<const Problem> with_whole_seconds(const Problem& problem, Random& random);

/// A device that it allows for each group.
Placement random_placement(const Problem& problem, Random& random);

}  // namespace placewright::test
