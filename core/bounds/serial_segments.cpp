// SPDX-License-Identifier: MIT
#include "core/bounds/serial_segments.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/bounds/backbone.hpp"
#include "core/bounds/least_times.hpp"

namespace placewright {
namespace {

/// The tensors that ops of the segment read from `producer`, or all that `reader` reads from the segment.
class Borders {
public:
    explicit Borders(const Problem& problem) : problem_(problem) {}

    bool one_way_in(std::span<const OpId> segment, OpId producer) const {
        TensorId only = kNoTensor;
        for (const OpId op : segment) {
            if (!is_only(op, only, [&](OpId from) { return from == producer; })) return false;
        }
        return true;
    }

    bool one_way_out(std::span<const OpId> segment, OpId reader) const {
        TensorId only = kNoTensor;
        return is_only(reader, only, [&](OpId from) { return std::ranges::binary_search(segment, from); });
    }

private:
    template <class From>
    bool is_only(OpId op, TensorId& only, const From& from) const {
        for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
            const TensorId tensor = problem_.input[i];
            if (!from(problem_.producer[tensor])) continue;
            if (only != kNoTensor && only != tensor) return false;
            only = tensor;
        }
        return true;
    }

    const Problem& problem_;
};

bool reads(const Problem& problem, OpId reader, OpId producer) {
    for (auto i = problem.input_begin[reader]; i < problem.input_begin[reader + 1]; ++i) {
        if (problem.producer[problem.input[i]] == producer) return true;
    }
    return false;
}

/// Pairs of a tensor and the op that is to read it, too; ascending by the op.
std::vector<std::pair<TensorId, OpId>> missing_edges(const Problem& problem) {
    const Backbone spine(problem, fastest_of(problem, least_times_s(problem, 1)));
    const auto& group_of = problem.grouping.group_of;
    const Borders borders(problem);
    std::vector<std::pair<TensorId, OpId>> edges;
    for (std::size_t k = 0; k + 1 < spine.backbone.size(); ++k) {
        const std::span<const OpId> segment = spine.at(2 * k + 1);
        if (segment.size() < 2) continue;
        const GroupId group = group_of[segment.front()];
        const OpId before = spine.backbone[k], behind = spine.backbone[k + 1];
        const bool serial =
            std::ranges::all_of(segment,
                                [&](OpId op) {
                                    return group_of[op] == group &&
                                           problem.output_begin[op] < problem.output_begin[op + 1];
                                }) &&
            (group_of[before] == group || borders.one_way_in(segment, before)) &&
            (group_of[behind] == group || borders.one_way_out(segment, behind));
        if (!serial) continue;
        for (std::size_t i = 1; i < segment.size(); ++i) {
            if (!reads(problem, segment[i], segment[i - 1]))
                edges.emplace_back(problem.output_begin[segment[i - 1]], segment[i]);
        }
    }
    return edges;
}

}  // namespace

std::optional<Problem> with_serial_segments(const Problem& problem) {
    if (!problem.op_share.empty()) return std::nullopt;
    auto edges = missing_edges(problem);
    if (edges.empty()) return std::nullopt;

    Problem serial = problem;
    serial.input_begin.assign(1, 0);
    serial.input.clear();
    auto next = edges.begin();
    for (OpId op = 0; op < problem.ops; ++op) {
        serial.input.insert(serial.input.end(), problem.input.begin() + problem.input_begin[op],
                            problem.input.begin() + problem.input_begin[op + 1]);
        for (; next != edges.end() && next->second == op; ++next) serial.input.push_back(next->first);
        serial.input_begin.push_back(static_cast<std::uint32_t>(serial.input.size()));
    }
    std::ranges::sort(edges);
    serial.consumer_begin.assign(1, 0);
    serial.consumer.clear();
    next = edges.begin();
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        const auto first = static_cast<std::ptrdiff_t>(serial.consumer.size());
        serial.consumer.insert(serial.consumer.end(),
                               problem.consumer.begin() + problem.consumer_begin[tensor],
                               problem.consumer.begin() + problem.consumer_begin[tensor + 1]);
        for (; next != edges.end() && next->first == tensor; ++next) serial.consumer.push_back(next->second);
        std::ranges::sort(serial.consumer.begin() + first, serial.consumer.end());
        serial.consumer_begin.push_back(static_cast<std::uint32_t>(serial.consumer.size()));
    }
    return serial;
}

}  // namespace placewright
