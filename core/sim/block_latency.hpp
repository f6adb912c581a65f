// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/sim/host_memory.hpp"

namespace placewright {

/// Seconds for one batch if accelerators are called block by block (Tarnawski et al. 2020; greedy.cpp of
/// their programs).
///
/// The ops of an accelerator form pieces. The number of an op's piece is 1 plus the largest number of times
/// that a path to the op leaves the accelerator and comes back; ops that no such detour separates are one
/// piece. A piece is a block that is called as a whole: once all its inputs are there, it reads them, runs
/// its ops one after the other and writes the outputs that other blocks read; its results are not visible
/// before it ends. Tensors between two pieces of one accelerator are also written and read. An op on a CPU is
/// a block of its own that runs as soon as its inputs are there: the number of CPUs sets no limit. The value
/// is the end of the last block; device_s sums the blocks.
///
/// The placement must be one that check_placement accepts. Throws PlacementError if blocks wait for each
/// other, GraphError for a training graph, MachineError if the machine has no CPU. O((ops + edges) *
/// devices).
Evaluation block_latency(const Problem& problem, std::span<const DeviceId> placement);

/// Computes block_latency for many placements of one problem, which must outlive this object.
class BlockLatency {
public:
    /// Throws GraphError and MachineError as block_latency does.
    explicit BlockLatency(const Problem& problem);

    /// Returns the value alone; infinity if blocks wait for each other or the value exceeds the limit, which
    /// is detected before the last block.
    double seconds(std::span<const DeviceId> placement, double limit_s = kInfinity);
    /// Throws PlacementError if blocks wait for each other.
    Evaluation evaluate(std::span<const DeviceId> placement);

private:
    using BlockId = std::uint32_t;
    using Level = std::int32_t;
    /// Number of levels that are computed together, so that the compiler can use vector instructions.
    static constexpr std::size_t kVector = 4;
    using Levels = std::array<Level, kVector>;
    static constexpr std::uint32_t kNoLane = std::numeric_limits<std::uint32_t>::max();

    struct Block {
        DeviceId device = 0;
        std::uint32_t begin = 0, size = 0;  ///< its ops in block_op_
        std::uint32_t missing = 0;          ///< edges into it from blocks that have not ended
        double seconds = 0, end_s = 0;
    };

    std::span<const OpId> members(const Block& block) const {
        return std::span(block_op_).subspan(block.begin, block.size);
    }
    void find_pieces(std::span<const DeviceId> placement);
    void find_blocks(std::span<const DeviceId> placement);
    [[noreturn]] void fail_with_cycle() const;

    const Problem& problem_;
    HostMemory host_;
    std::vector<std::uint32_t> lane_;  ///< [device]: accelerators are numbered, CPUs are not
    std::uint32_t lanes_ = 0;
    std::size_t vectors_ = 0;
    std::vector<double>
        rest_s_;  ///< [op]: longest path from its start to the end, each op on its fastest device

    // Tables of the current placement.
    std::vector<DeviceId> device_of_;  ///< [op]
    /// [op * vectors + vector]: the last piece of each accelerator on the paths to the op.
    std::vector<Levels> levels_;
    std::vector<Level> piece_;          ///< [op], counted from 1
    std::vector<Level> pieces_on_;      ///< [lane]
    std::vector<BlockId> first_block_;  ///< [lane]
    std::vector<BlockId> block_of_;     ///< [op]
    std::vector<OpId> block_op_;
    std::vector<Block> blocks_;
    std::vector<BlockId> ready_;
    std::vector<BlockId> last_reader_;  ///< [tensor]
};

}  // namespace placewright
