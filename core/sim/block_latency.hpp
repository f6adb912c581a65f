// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/sim/host_memory.hpp"

namespace placewright {

/// Seconds for one sample when accelerators are called block by block (Tarnawski et al. 2020; greedy.cpp of their programs).
///
/// The ops of an accelerator fall into pieces: an op is in piece p if p - 1 is how often the path to it that does so most often leaves the
/// accelerator and comes back. Ops that no such detour separates are one piece. A piece is a block, called as a whole: once all that it
/// reads is there, it reads its inputs, runs its ops one after the other and writes what others read; nothing of it can be seen before it
/// ends. Tensors between two pieces of one accelerator are written and read too. An op on a CPU is a block of its own that
/// runs as soon as its inputs are there: CPUs are never short. The value is when the last block ends; device_s sums the blocks.
///
/// The placement must be one that check_placement accepts. Throws PlacementError if blocks wait for each other, GraphError for a
/// training graph, MachineError if the machine has no CPU. O((ops + edges) * devices).
Evaluation block_latency(const Problem& problem, std::span<const DeviceId> placement);

/// block_latency for many placements of one problem, which must outlive this.
class BlockLatency {
public:
    /// Throws GraphError and MachineError as block_latency does.
    explicit BlockLatency(const Problem& problem);

    /// The value alone; infinite if blocks wait for each other, or where it is above the limit, which is seen before the last block.
    double seconds(std::span<const DeviceId> placement, double limit_s = std::numeric_limits<double>::infinity());
    /// Throws PlacementError if blocks wait for each other.
    Evaluation evaluate(std::span<const DeviceId> placement);

private:
    using BlockId = std::uint32_t;
    using Level = std::int32_t;
    /// In vectors, for the sake of speed.
    static constexpr std::size_t kVector = 4;
    using Levels = std::array<Level, kVector>;
    static constexpr std::uint32_t kNoLane = std::numeric_limits<std::uint32_t>::max();

    struct Block {
        DeviceId device = 0;
        std::uint32_t begin = 0, size = 0;  ///< its ops in block_op_
        std::uint32_t missing = 0;          ///< edges into it from blocks that have not ended
        double seconds = 0, end_s = 0;
    };

    std::span<const OpId> members(const Block& block) const { return std::span(block_op_).subspan(block.begin, block.size); }
    void find_pieces(std::span<const DeviceId> placement);
    void find_blocks(std::span<const DeviceId> placement);
    [[noreturn]] void fail_with_cycle() const;

    const Problem& problem_;
    HostMemory host_;
    std::vector<std::uint32_t> lane_;  ///< [device]: accelerators are numbered, CPUs are not
    std::uint32_t lanes_ = 0;
    std::size_t vectors_ = 0;
    std::vector<double> rest_s_;  ///< [op]: the longest way from its start to the end, each op on its fastest device

    // Of the placement at hand.
    std::vector<DeviceId> device_of_;   ///< [op]
    std::vector<Levels> levels_;        ///< [op * vectors + vector]: the last piece of each accelerator on the way to the op
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
