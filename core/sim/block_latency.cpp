// SPDX-License-Identifier: MIT
#include "core/sim/block_latency.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/base/infinity.hpp"
#include "core/base/text.hpp"

namespace placewright {
namespace {

using BlockId = std::uint32_t;
constexpr BlockId kNoBlock = std::numeric_limits<BlockId>::max();

}  // namespace

BlockLatency::BlockLatency(const Problem& problem)
    : problem_(problem), host_(problem), lane_(problem.devices, kNoLane) {
    if (problem.graph->training() != Training::none) {
        throw GraphError("", "block latency is not defined for training graphs; choose inference");
    }
    for (DeviceId device = 0; device < problem.devices; ++device) {
        if (!host_.is_cpu(device)) lane_[device] = lanes_++;
    }
    vectors_ = (lanes_ + kVector - 1) / kVector;
    levels_.resize(problem.ops * vectors_);
    pieces_on_.resize(lanes_);
    first_block_.resize(lanes_);
    device_of_.resize(problem.ops, kInvalidDevice);
    piece_.resize(problem.ops);
    block_of_.resize(problem.ops);
    block_op_.resize(problem.ops);
    last_reader_.resize(problem.tensors);
    rest_s_.resize(problem.ops);
    for (OpId op = problem.ops; op-- > 0;) {
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
            for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i)
                rest_s_[op] = std::max(rest_s_[op], rest_s_[problem.consumer[i]]);
        }
        double least_s = kInfinity;
        for (DeviceId device = 0; device < problem.devices; ++device)
            least_s = std::min(least_s, problem.time_s(op, device));
        rest_s_[op] += least_s;
    }
}

/// Counts for every accelerator how often a path to an op comes back to it at most. Ops before the first one
/// whose device has changed since the last call keep their pieces.
void BlockLatency::find_pieces(std::span<const DeviceId> placement) {
    OpId first = 0;
    while (first < problem_.ops && device_of_[first] == placement[problem_.grouping.group_of[first]]) ++first;
    for (OpId op = first; op < problem_.ops; ++op) {
        Levels* const levels = &levels_[op * vectors_];
        const DeviceId device = device_of_[op] = placement[problem_.grouping.group_of[op]];
        const std::uint32_t lane = lane_[device];
        std::fill_n(levels, vectors_, Levels{});
        Level own = 1;
        for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
            const OpId producer = problem_.producer[problem_.input[i]];
            const Levels* const before = &levels_[producer * vectors_];
            for (std::size_t k = 0; k < vectors_; ++k) {
                for (std::size_t j = 0; j < kVector; ++j) levels[k][j] = std::max(levels[k][j], before[k][j]);
            }
            if (lane != kNoLane && device_of_[producer] != device)
                own = std::max(own, before[lane / kVector][lane % kVector] + 1);
        }
        if (lane == kNoLane) continue;
        Level& level = levels[lane / kVector][lane % kVector];
        piece_[op] = level = std::max(level, own);
    }
}

void BlockLatency::find_blocks(std::span<const DeviceId> placement) {
    find_pieces(placement);
    std::ranges::fill(pieces_on_, 0);
    for (OpId op = 0; op < problem_.ops; ++op) {
        const std::uint32_t lane = lane_[device_of_[op]];
        if (lane != kNoLane) pieces_on_[lane] = std::max(pieces_on_[lane], piece_[op]);
    }
    blocks_.clear();
    for (DeviceId device = 0; device < problem_.devices; ++device) {
        if (lane_[device] == kNoLane) continue;
        first_block_[lane_[device]] = static_cast<BlockId>(blocks_.size());
        blocks_.insert(blocks_.end(), static_cast<std::size_t>(pieces_on_[lane_[device]]), {device});
    }
    for (OpId op = 0; op < problem_.ops; ++op) {
        const DeviceId device = device_of_[op];
        const bool alone = lane_[device] == kNoLane;
        const BlockId id = alone ? static_cast<BlockId>(blocks_.size())
                                 : first_block_[lane_[device]] + static_cast<BlockId>(piece_[op]) - 1;
        if (alone) blocks_.push_back({device});
        block_of_[op] = id;
        ++blocks_[id].size;
        for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
            if (block_of_[problem_.producer[problem_.input[i]]] != id) ++blocks_[id].missing;
        }
    }
    std::uint32_t begin = 0;
    for (Block& block : blocks_) {
        block.begin = begin;
        begin += block.size;
        block.size = 0;
    }
    for (OpId op = 0; op < problem_.ops; ++op) {
        Block& block = blocks_[block_of_[op]];
        block_op_[block.begin + block.size++] = op;
    }
}

double BlockLatency::seconds(std::span<const DeviceId> placement, double limit_s) {
    find_blocks(placement);
    ready_.clear();
    for (BlockId block = 0; block < blocks_.size(); ++block) {
        if (blocks_[block].missing == 0) ready_.push_back(block);
    }
    std::ranges::fill(last_reader_, kNoBlock);
    double latency_s = 0;
    for (std::size_t done = 0; done < ready_.size(); ++done) {
        const BlockId id = ready_[done];
        Block& block = blocks_[id];
        double start_s = 0;
        double rest_s = 0;
        for (const OpId op : members(block)) {
            for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
                const TensorId tensor = problem_.input[i];
                const BlockId source = block_of_[problem_.producer[tensor]];
                if (source == id || last_reader_[tensor] == id) continue;
                last_reader_[tensor] = id;
                start_s = std::max(start_s, blocks_[source].end_s);
                block.seconds += host_.read_s(tensor, block.device);
            }
            block.seconds += problem_.time_s(op, block.device);
            for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1];
                 ++tensor) {
                bool leaves = false;
                for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i) {
                    const OpId reader = problem_.consumer[i];
                    if (block_of_[reader] == id) continue;
                    leaves = true;
                    rest_s = std::max(rest_s, rest_s_[reader]);
                    if (--blocks_[block_of_[reader]].missing == 0) ready_.push_back(block_of_[reader]);
                }
                if (leaves) block.seconds += host_.write_s(tensor, block.device);
            }
        }
        block.end_s = start_s + block.seconds;
        latency_s = std::max(latency_s, block.end_s + rest_s);
        if (latency_s > limit_s) return kInfinity;
    }
    return ready_.size() == blocks_.size() ? latency_s : kInfinity;
}

/// Blocks that lack an input wait for other such blocks; follows them until one repeats.
void BlockLatency::fail_with_cycle() const {
    struct Wait {
        BlockId block, other;
        OpId reader, producer;
    };
    const auto wait_of = [&](BlockId block) {
        for (const OpId op : members(blocks_[block])) {
            for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
                const OpId producer = problem_.producer[problem_.input[i]];
                const BlockId other = block_of_[producer];
                if (other != block && blocks_[other].missing > 0) return Wait{block, other, op, producer};
            }
        }
        throw std::logic_error("an open block waits for none");
    };
    std::vector<Wait> waits;
    const auto open = std::ranges::find_if(blocks_, [](const Block& block) { return block.missing > 0; });
    auto block = static_cast<BlockId>(open - blocks_.begin());
    const auto begin_of = [&](BlockId id) { return std::ranges::find(waits, id, &Wait::block); };
    while (begin_of(block) == waits.end()) {
        waits.push_back(wait_of(block));
        block = waits.back().other;
    }
    waits.erase(waits.begin(), begin_of(block));

    constexpr std::size_t kShown = 3;
    std::string text;
    for (const Wait& wait : std::span(waits).first(std::min(kShown, waits.size()))) {
        const auto device = [&](BlockId id) {
            return in_quotes(problem_.machine->device(blocks_[id].device).name);
        };
        text += (text.empty() ? "" : ", ") + device(wait.block) + " waits for " + device(wait.other) +
                " (op " + in_quotes(problem_.graph->op(wait.reader).name) + " reads " +
                in_quotes(problem_.graph->op(wait.producer).name) + ')';
    }
    throw PlacementError("the placement contracts to a cycle of " + std::to_string(waits.size()) +
                         " blocks, so none of them can begin: " + text +
                         (waits.size() > kShown ? " and so on" : ""));
}

Evaluation BlockLatency::evaluate(std::span<const DeviceId> placement) {
    Evaluation result = evaluate_memory(problem_, placement);
    result.seconds = seconds(placement);
    if (result.seconds == kInfinity) fail_with_cycle();
    for (const Block& block : blocks_) result.device_s[block.device] += block.seconds;
    return result;
}

Evaluation block_latency(const Problem& problem, std::span<const DeviceId> placement) {
    return BlockLatency(problem).evaluate(placement);
}

}  // namespace placewright
