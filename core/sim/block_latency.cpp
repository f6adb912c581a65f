// SPDX-License-Identifier: MIT
#include "core/sim/block_latency.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/text.hpp"

namespace placewright {
namespace {

using BlockId = std::uint32_t;

struct Blocks {
    std::vector<BlockId> of;           ///< [op]
    std::vector<DeviceId> device;      ///< [block]
    std::vector<std::uint32_t> begin;  ///< [blocks + 1]: a block's ops in `ops`
    std::vector<OpId> ops;

    std::size_t size() const { return device.size(); }
    std::span<const OpId> members(BlockId block) const { return std::span(ops).subspan(begin[block], begin[block + 1] - begin[block]); }
};

/// The piece, counted from 1, of each op within its device. Follows for every device how often the longest way to an op has come back to
/// it.
std::vector<std::uint32_t> pieces(const Problem& problem, const std::vector<DeviceId>& device_of) {
    const std::size_t devices = problem.devices;
    std::vector<std::uint32_t> levels(problem.ops * devices, 0);
    std::vector<std::uint32_t> piece(problem.ops);
    for (OpId op = 0; op < problem.ops; ++op) {
        std::uint32_t* const level = &levels[op * devices];
        const DeviceId own = device_of[op];
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            const OpId producer = problem.producer[problem.input[i]];
            const std::uint32_t* const before = &levels[producer * devices];
            for (std::size_t device = 0; device < devices; ++device) level[device] = std::max(level[device], before[device]);
            if (device_of[producer] != own) level[own] = std::max(level[own], before[own] + 1);
        }
        level[own] = std::max(level[own], 1U);
        piece[op] = level[own];
    }
    return piece;
}

Blocks make_blocks(const Problem& problem, const HostMemory& host, const std::vector<DeviceId>& device_of) {
    const std::vector<std::uint32_t> piece = pieces(problem, device_of);
    std::vector<std::uint32_t> pieces_on(problem.devices, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        if (!host.is_cpu(device_of[op])) pieces_on[device_of[op]] = std::max(pieces_on[device_of[op]], piece[op]);
    }
    Blocks blocks;
    std::vector<BlockId> first(problem.devices);
    for (DeviceId device = 0; device < problem.devices; ++device) {
        first[device] = static_cast<BlockId>(blocks.size());
        blocks.device.insert(blocks.device.end(), pieces_on[device], device);
    }
    for (OpId op = 0; op < problem.ops; ++op) {
        const bool alone = host.is_cpu(device_of[op]);
        blocks.of.push_back(alone ? static_cast<BlockId>(blocks.size()) : first[device_of[op]] + piece[op] - 1);
        if (alone) blocks.device.push_back(device_of[op]);
    }
    blocks.begin.assign(blocks.size() + 1, 0);
    for (const BlockId block : blocks.of) ++blocks.begin[block + 1];
    std::partial_sum(blocks.begin.begin(), blocks.begin.end(), blocks.begin.begin());
    std::vector<std::uint32_t> next(blocks.begin.begin(), blocks.begin.end() - 1);
    blocks.ops.resize(problem.ops);
    for (OpId op = 0; op < problem.ops; ++op) blocks.ops[next[blocks.of[op]]++] = op;
    return blocks;
}

/// Blocks in `open` wait for other blocks in `open`; follows them until one comes again.
[[noreturn]] void fail_with_cycle(const Problem& problem, const Blocks& blocks, const std::vector<bool>& open) {
    struct Wait {
        BlockId block, other;
        OpId reader, producer;
    };
    const auto wait_of = [&](BlockId block) {
        for (const OpId op : blocks.members(block)) {
            for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
                const OpId producer = problem.producer[problem.input[i]];
                const BlockId other = blocks.of[producer];
                if (other != block && open[other]) return Wait{block, other, op, producer};
            }
        }
        throw std::logic_error("an open block waits for none");
    };
    std::vector<Wait> waits;
    auto block = static_cast<BlockId>(std::ranges::find(open, true) - open.begin());
    const auto begin_of = [&](BlockId id) { return std::ranges::find(waits, id, &Wait::block); };
    while (begin_of(block) == waits.end()) {
        waits.push_back(wait_of(block));
        block = waits.back().other;
    }
    waits.erase(waits.begin(), begin_of(block));

    constexpr std::size_t kShown = 3;
    std::string text;
    for (const Wait& wait : std::span(waits).first(std::min(kShown, waits.size()))) {
        const auto device = [&](BlockId id) { return quoted(problem.machine->device(blocks.device[id]).name); };
        text += (text.empty() ? "" : ", ") + device(wait.block) + " waits for " + device(wait.other) + " (op " +
                quoted(problem.graph->op(wait.reader).name) + " reads " + quoted(problem.graph->op(wait.producer).name) + ')';
    }
    throw PlacementError("the placement contracts to a cycle of " + std::to_string(waits.size()) +
                         " blocks, so none of them can begin: " + text + (waits.size() > kShown ? " and so on" : ""));
}

}  // namespace

Evaluation block_latency(const Problem& problem, std::span<const DeviceId> placement) {
    if (problem.graph->training() != Training::none) {
        throw GraphError("", "block latency is not defined for training graphs; simulate the inference");
    }
    const HostMemory host(problem);
    Evaluation result = evaluate_memory(problem, placement);
    std::vector<DeviceId> device_of(problem.ops);
    for (OpId op = 0; op < problem.ops; ++op) device_of[op] = placement[problem.grouping.group_of[op]];
    const Blocks blocks = make_blocks(problem, host, device_of);

    std::vector<std::uint32_t> missing(blocks.size(), 0);  // edges into the block from blocks that have not ended
    for (OpId op = 0; op < problem.ops; ++op) {
        for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
            if (blocks.of[problem.producer[problem.input[i]]] != blocks.of[op]) ++missing[blocks.of[op]];
        }
    }
    std::vector<BlockId> ready;
    std::vector<bool> open(blocks.size(), true);
    for (BlockId block = 0; block < blocks.size(); ++block) {
        if (missing[block] == 0) ready.push_back(block);
    }

    constexpr BlockId kNoBlock = std::numeric_limits<BlockId>::max();
    std::vector<BlockId> last_reader(problem.tensors, kNoBlock);
    std::vector<double> end_s(blocks.size(), 0);
    for (std::size_t done = 0; done < ready.size(); ++done) {
        const BlockId block = ready[done];
        const DeviceId device = blocks.device[block];
        double start_s = 0;
        double seconds = 0;
        for (const OpId op : blocks.members(block)) {
            for (auto i = problem.input_begin[op]; i < problem.input_begin[op + 1]; ++i) {
                const TensorId tensor = problem.input[i];
                const BlockId source = blocks.of[problem.producer[tensor]];
                if (source == block || last_reader[tensor] == block) continue;
                last_reader[tensor] = block;
                start_s = std::max(start_s, end_s[source]);
                seconds += host.read_s(tensor, device);
            }
            seconds += problem.time_s(op, device);
            for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor) {
                bool leaves = false;
                for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i) {
                    const BlockId reader = blocks.of[problem.consumer[i]];
                    if (reader == block) continue;
                    leaves = true;
                    if (--missing[reader] == 0) ready.push_back(reader);
                }
                if (leaves) seconds += host.write_s(tensor, device);
            }
        }
        open[block] = false;
        end_s[block] = start_s + seconds;
        result.device_s[device] += seconds;
        result.seconds = std::max(result.seconds, end_s[block]);
    }
    if (ready.size() < blocks.size()) fail_with_cycle(problem, blocks, open);
    return result;
}

}  // namespace placewright
