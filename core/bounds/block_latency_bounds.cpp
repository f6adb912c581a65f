// SPDX-License-Identifier: MIT
#include "core/bounds/block_latency_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/base/infinity.hpp"
#include "core/bounds/backbone.hpp"
#include "core/bounds/least_times.hpp"
#include "core/bounds/min_cut.hpp"
#include "core/bounds/simple_bounds.hpp"
#include "core/sim/host_memory.hpp"

namespace placewright {
namespace {

class BackboneProgram {
public:
    explicit BackboneProgram(const Problem& problem)
        : problem_(problem),
          host_(problem),
          fastest_s_(fastest_of(problem, least_times_s(problem, 1))),
          spine_(problem, fastest_s_) {
        const std::size_t length = spine_.backbone.size();
        group_bytes_.assign(problem.groups, 0);
        for (OpId op = 0; op < problem.ops; ++op) {
            double& bytes = group_bytes_[problem.grouping.group_of[op]];
            bytes += problem.resident_bytes[op];
            for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor)
                bytes += problem.output_bytes[tensor];
        }
        for (std::size_t k = 0; k + 1 < length; ++k)
            paths_.push_back(spine_.segment_path(problem, k, fastest_s_));
        best_s_.assign(length, kInfinity);
        find_last_readers();
    }

    double latency_s() {
        // Blocks that begin at i need everything that ends before it.
        const std::vector<DeviceId> accelerators = distinct_accelerators();
        std::vector<std::vector<double>> in_s, out_s;
        for (const DeviceId device : accelerators) {
            in_s.push_back({0});
            out_s.emplace_back();
            for (std::size_t k = 0; k + 1 < spine_.backbone.size(); ++k) {
                out_s.back().push_back(least_end_s(k, device));
                in_s.back().push_back(least_begin_s(k, device));
            }
            out_s.back().push_back(0);
        }
        for (std::size_t i = 0; i < spine_.backbone.size(); ++i) {
            const double start_s = i == 0 ? 0 : best_s_[i - 1] + paths_[i - 1].seconds;
            best_s_[i] = std::min(best_s_[i], start_s + cpu_s(spine_.backbone[i]));
            for (std::size_t a = 0; a < accelerators.size(); ++a)
                add_blocks(i, accelerators[a], start_s + in_s[a][i], out_s[a]);
        }
        return best_s_.back();
    }

private:
    double time_s(OpId op, DeviceId device) const {
        const auto allowed = problem_.allowed_devices(problem_.grouping.group_of[op]);
        return std::ranges::binary_search(allowed, device) ? problem_.time_s(op, device) : kInfinity;
    }

    double cpu_s(OpId op) const {
        double least_s = kInfinity;
        for (DeviceId device = 0; device < problem_.devices; ++device) {
            if (host_.is_cpu(device)) least_s = std::min(least_s, time_s(op, device));
        }
        return least_s;
    }

    /// One accelerator of each class of equal ones.
    std::vector<DeviceId> distinct_accelerators() const {
        std::vector<DeviceId> distinct;
        const auto alike = [&](DeviceId a, DeviceId b) {
            if (problem_.memory_limit_bytes[a] != problem_.memory_limit_bytes[b]) return false;
            for (OpId op = 0; op < problem_.ops; ++op) {
                if (time_s(op, a) != time_s(op, b)) return false;
            }
            for (TensorId tensor = 0; tensor < problem_.tensors; ++tensor) {
                if (host_.read_s(tensor, a) != host_.read_s(tensor, b) ||
                    host_.write_s(tensor, a) != host_.write_s(tensor, b))
                    return false;
            }
            return true;
        };
        for (DeviceId device = 0; device < problem_.devices; ++device) {
            if (!host_.is_cpu(device) &&
                std::ranges::none_of(distinct, [&](DeviceId other) { return alike(other, device); }))
                distinct.push_back(device);
        }
        return distinct;
    }

    void find_last_readers() {
        last_reader_.assign(problem_.tensors, kNowhere);
        for (TensorId tensor = 0; tensor < problem_.tensors; ++tensor) {
            if (place(problem_.producer[tensor]) == kNowhere) continue;
            for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i) {
                const std::size_t reader = place(problem_.consumer[i]);
                if (reader == kNowhere) continue;
                last_reader_[tensor] =
                    last_reader_[tensor] == kNowhere ? reader : std::max(last_reader_[tensor], reader);
            }
        }
    }

    static constexpr std::size_t kNowhere = Backbone::kNowhere;
    std::size_t place(OpId op) const { return spine_.place[op]; }

    /// Calls `visit` with every input of the op whose producer lies between the ends.
    template <class Visit>
    void for_each_input(OpId op, const Visit& visit) const {
        for (auto i = problem_.input_begin[op]; i < problem_.input_begin[op + 1]; ++i) {
            if (place(problem_.producer[problem_.input[i]]) != kNowhere) visit(problem_.input[i]);
        }
    }

    /// Adds the blocks on the device that begin at op `first` of the backbone, at `start_s` at the earliest.
    void add_blocks(std::size_t first, DeviceId device, double start_s, const std::vector<double>& out_s) {
        if (!std::isfinite(start_s)) return;
        std::vector<bool> held(problem_.groups, false), was_read(problem_.tensors, false);
        std::vector<double> read_last(2 * spine_.backbone.size() + 1,
                                      0);  // [place]: sum over the tensors with their last reader there
        double seconds = 0, unread_s = 0, bytes = 0;
        for (std::size_t last = first; last < spine_.backbone.size(); ++last) {
            const std::size_t begin = last == first ? 2 * last : 2 * last - 1;
            for (std::size_t at = begin; at <= 2 * last; ++at) {
                for (const OpId op : spine_.at(at)) {
                    const GroupId group = problem_.grouping.group_of[op];
                    seconds += time_s(op, device);
                    if (!held[group]) bytes += group_bytes_[group];
                    held[group] = true;
                    for_each_input(op, [&](TensorId tensor) {
                        if (was_read[tensor] || first == 0 ||
                            place(problem_.producer[tensor]) > 2 * (first - 1))
                            return;
                        was_read[tensor] = true;
                        seconds += host_.read_s(tensor, device);
                    });
                    for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1];
                         ++tensor) {
                        if (last_reader_[tensor] == kNowhere) continue;
                        const double write_s = host_.write_s(tensor, device);
                        unread_s += write_s;
                        read_last[last_reader_[tensor]] += write_s;
                    }
                }
            }
            // Tensors whose last reader is in the next segment may be read within the block; the cut decides
            // that.
            for (std::size_t at = begin; at <= 2 * last; ++at) unread_s -= std::exchange(read_last[at], 0);
            unread_s -= std::exchange(read_last[2 * last + 1], 0);
            if (!std::isfinite(seconds) || bytes > problem_.memory_limit_bytes[device]) return;
            best_s_[last] = std::min(best_s_[last], start_s + seconds + unread_s + out_s[last]);
        }
    }

    Ticks ticks(double seconds) const {
        return std::isfinite(seconds) ? to_ticks(seconds, problem_.tick_s) : kForbidden;
    }

    /// Source and sink of the network of a segment; each of its ops has a vertex.
    struct SegmentNetwork {
        CutNetwork network;
        std::map<OpId, CutNetwork::Vertex> vertex;
        CutNetwork::Vertex block = 0, other = 0;
    };

    SegmentNetwork segment_network(std::size_t k, DeviceId device) const {
        SegmentNetwork result;
        result.block = result.network.add_vertex();
        result.other = result.network.add_vertex();
        for (const OpId op : spine_.at(2 * k + 1)) {
            const auto vertex = result.vertex[op] = result.network.add_vertex();
            const double own_s = time_s(op, device);
            const bool on_path = std::ranges::binary_search(paths_[k].ops, op);
            result.network.connect(vertex, result.other, on_path && std::isfinite(own_s) ? 0 : ticks(own_s));
        }
        return result;
    }

    /// The least time that a block with op k of the backbone takes to end in the segment behind it.
    double least_end_s(std::size_t k, DeviceId device) const {
        SegmentNetwork segment = segment_network(k, device);
        CutNetwork& network = segment.network;
        const auto add_outputs = [&](OpId op, CutNetwork::Vertex vertex) {
            for (TensorId tensor = problem_.output_begin[op]; tensor < problem_.output_begin[op + 1];
                 ++tensor) {
                if (last_reader_[tensor] == kNowhere) continue;
                const Ticks write = ticks(host_.write_s(tensor, device));
                if (last_reader_[tensor] > 2 * k + 1) {
                    if (vertex != segment.block)
                        network.connect(vertex, segment.other, write);  // otherwise it counts with the block
                    continue;
                }
                const auto all_read = network.add_vertex();
                network.connect(vertex, all_read, write);
                for (auto i = problem_.consumer_begin[tensor]; i < problem_.consumer_begin[tensor + 1]; ++i) {
                    if (const auto reader = segment.vertex.find(problem_.consumer[i]);
                        reader != segment.vertex.end())
                        network.connect(all_read, reader->second, kForbidden);
                }
            }
        };
        add_outputs(spine_.backbone[k], segment.block);
        for (const auto& member : segment.vertex) {
            const auto vertex = member.second;
            add_outputs(member.first, vertex);
            for_each_input(member.first, [&](TensorId tensor) {
                if (const auto before = segment.vertex.find(problem_.producer[tensor]);
                    before != segment.vertex.end())
                    network.connect(vertex, before->second, kForbidden);
            });
        }
        return static_cast<double>(network.solve(segment.block, segment.other)) * problem_.tick_s;
    }

    /// The least time that a block with op k + 1 of the backbone takes to begin in the segment before it.
    double least_begin_s(std::size_t k, DeviceId device) const {
        SegmentNetwork segment = segment_network(k, device);
        CutNetwork& network = segment.network;
        std::map<TensorId, CutNetwork::Vertex> any_reads;
        const auto add_inputs = [&](OpId op, CutNetwork::Vertex vertex) {
            for_each_input(op, [&](TensorId tensor) {
                const auto producer = segment.vertex.find(problem_.producer[tensor]);
                if (producer == segment.vertex.end() && last_reader_[tensor] > 2 * k + 1)
                    return;  // counts with the block, if at all
                const auto [found, is_new] = any_reads.try_emplace(tensor, 0);
                if (is_new) {
                    found->second = network.add_vertex();
                    const auto from = producer == segment.vertex.end() ? segment.other : producer->second;
                    network.connect(found->second, from, ticks(host_.read_s(tensor, device)));
                }
                network.connect(vertex, found->second, kForbidden);
                if (producer != segment.vertex.end() && vertex != segment.block)
                    network.connect(producer->second, vertex, kForbidden);
            });
        };
        add_inputs(spine_.backbone[k + 1], segment.block);
        for (const auto& [op, vertex] : segment.vertex) add_inputs(op, vertex);
        return static_cast<double>(network.solve(segment.block, segment.other)) * problem_.tick_s;
    }

    static constexpr Ticks kForbidden = kMostTicks;

    const Problem& problem_;
    HostMemory host_;
    std::vector<double> fastest_s_;
    Backbone spine_;
    std::vector<Backbone::Path> paths_;  ///< [segment]
    std::vector<double> group_bytes_;
    std::vector<std::size_t>
        last_reader_;  ///< [tensor]: place of its last reader, if it is produced and read between the ends
    std::vector<double> best_s_;  ///< [op of the backbone]: earliest time at which it can be reached
};

}  // namespace

double backbone_latency_s(const Problem& problem) {
    if (problem.graph->training() != Training::none)
        throw GraphError("", "block latency is not defined for training graphs; choose inference");
    return std::max(critical_path_s(problem), BackboneProgram(problem).latency_s());
}

}  // namespace placewright
