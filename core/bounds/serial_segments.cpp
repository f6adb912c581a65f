// SPDX-License-Identifier: MIT
#include "core/bounds/serial_segments.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
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

/// Tensors that pass by the ends of a segment: from ops before the first end to ops of the segment, or from
/// these to ops behind the second end. They matter for the order within the segment only if they can arrive
/// after what the first end sends, or must leave before the second end can start.
class Skips {
public:
    Skips(const Problem& problem, const Backbone& spine, std::span<const double> least_s)
        : problem_(problem), spine_(spine), until_s_{0}, first_(problem.ops, kNone), last_(problem.ops, 0) {
        const auto ops = static_cast<std::uint32_t>(spine.backbone.size());
        for (const OpId op : spine.backbone) until_s_.push_back(until_s_.back() + least_s[op]);
        for (std::uint32_t i = 0; i < ops; ++i) {
            first_[spine.backbone[i]] = i;
            last_[spine.backbone[i]] = i + 1;
        }
        for (OpId op = 0; op < problem.ops; ++op) {
            for_each_input(op, [&](TensorId tensor) {
                last_[op] = std::max(last_[op], last_[problem.producer[tensor]]);
            });
        }
        for (OpId op = problem.ops; op-- > 0;)
            for_each_output(
                op, [&](OpId reader, TensorId) { first_[op] = std::min(first_[op], first_[reader]); });
    }

    /// Whether no tensor matters that passes by the ends of the segment behind op k of the backbone.
    bool none_matter(std::span<const OpId> segment, std::size_t k) const {
        const auto is_inside = [&](OpId op) { return std::ranges::binary_search(segment, op); };
        const OpId before = spine_.backbone[k], behind = spine_.backbone[k + 1];
        return std::ranges::all_of(segment, [&](OpId op) {
            bool harmless = true;
            for_each_input(op, [&](TensorId tensor) {
                const OpId from = problem_.producer[tensor];
                if (from != before && !is_inside(from))
                    harmless = harmless && comes_in_time(tensor, from, op, k);
            });
            for_each_output(op, [&](OpId reader, TensorId tensor) {
                if (reader != behind && !is_inside(reader))
                    harmless = harmless && leaves_in_time(tensor, op, reader, k + 1);
            });
            return harmless;
        });
    }

private:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    template <class Visit>
    void for_each_input(OpId op, const Visit& visit) const {
        for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i)
            visit(problem_.input[i]);
    }

    template <class Visit>
    void for_each_output(OpId op, const Visit& visit) const {
        for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1]; ++tensor) {
            for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i)
                visit(problem_.consumer[i], tensor);
        }
    }

    /// Whether the tensor is there when op k of the backbone ends, at whatever devices.
    bool comes_in_time(TensorId tensor, OpId from, OpId op, std::size_t k) const {
        const OpId before = spine_.backbone[k];
        if (problem_.grouping.group_of[before] == problem_.grouping.group_of[op]) {
            bool is_read_before = false;
            for_each_input(before, [&](TensorId read) { is_read_before = is_read_before || read == tensor; });
            if (is_read_before) return true;
        }
        const std::uint32_t next = first_[from];  // it ends before this op of the backbone, or is it
        if (next == kNone || next > k) return false;
        const std::size_t after = spine_.backbone[next] == from ? next + 1 : next;
        return transfer_s(tensor, from, op) <= until_s_[k + 1] - until_s_[after];
    }

    /// Whether the reader cannot start before the tensor is there that was sent when op k of the backbone
    /// started.
    bool leaves_in_time(TensorId tensor, OpId op, OpId reader, std::size_t k) const {
        const std::size_t ended = last_[reader];  // ops of the backbone before it, or with it
        const std::size_t others = ended > 0 && spine_.backbone[ended - 1] == reader ? ended - 1 : ended;
        return others > k && transfer_s(tensor, op, reader) <= until_s_[others] - until_s_[k];
    }

    /// The longest of the least times of the transfer; 0 within a group.
    double transfer_s(TensorId tensor, OpId from_op, OpId to_op) const {
        const GroupId from_group = problem_.grouping.group_of[from_op],
                      to_group = problem_.grouping.group_of[to_op];
        if (from_group == to_group) return 0;
        double longest_s = 0;
        for (const DeviceId from : problem_.allowed_devices(from_group)) {
            for (const DeviceId to : problem_.allowed_devices(to_group)) {
                if (from != to) longest_s = std::max(longest_s, least_transfer_s(problem_, tensor, from, to));
            }
        }
        return longest_s;
    }

    const Problem& problem_;
    const Backbone& spine_;
    std::vector<double> until_s_;       ///< [i]: least seconds of the first i ops of the backbone
    std::vector<std::uint32_t> first_;  ///< [op]: the first op of the backbone behind it, or itself
    std::vector<std::uint32_t> last_;   ///< [op]: the last op of the backbone before it, or itself, plus 1
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
    // Updates of the parameters do not run in every batch.
    const Skips skips(problem, spine, fastest_of(problem, least_times_s(problem, 2)));
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
            (group_of[behind] == group || borders.one_way_out(segment, behind)) &&
            skips.none_matter(segment, k);
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
