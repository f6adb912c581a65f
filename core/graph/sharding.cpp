// SPDX-License-Identifier: MIT
#include "core/graph/sharding.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/graph/channels.hpp"

namespace placewright {
namespace {

/// The part of `whole` bytes, which belong to `of` channels, for the channels in `range`. Adjacent ranges add
/// up.
std::int64_t portion(std::int64_t whole, Range range, std::int64_t of) {
    return rescaled(range, of, whole).size();
}

Tensor with_extent(const Tensor& tensor, std::size_t dimension, std::int64_t extent) {
    std::vector<std::int64_t> shape = *tensor.shape;
    const std::int64_t whole = std::exchange(shape[dimension], extent);
    Tensor result = make_tensor(std::move(shape), tensor.dtype);
    if (tensor.transfer_s)
        result.transfer_s = *tensor.transfer_s * static_cast<double>(extent) / static_cast<double>(whole);
    return result;
}

/// How one op is split.
struct Split {
    Channels channels;
    std::vector<Range> parts;    ///< of the channels
    std::vector<OpId> part_ids;  ///< in the new graph
};

Split make_split(const Op& op, std::int64_t count, const Channels& channels) {
    if (count < 1 || count > channels.units) {
        fail_at(op.name, "cannot be split into " + std::to_string(count) + " parts, expected 1 to " +
                             std::to_string(channels.units) + ", one for each " + std::string(channels.unit));
    }
    Split split{channels, {}, {}};
    std::int64_t begin = 0;
    for (std::int64_t part = 0; part < count; ++part) {
        const std::int64_t units = channels.units / count + (part < channels.units % count ? 1 : 0);
        const std::int64_t size = units * (channels.count / channels.units);
        split.parts.push_back({begin, begin + size});
        begin += size;
    }
    return split;
}

class Sharding {
public:
    Sharding(const Graph& graph, std::span<const ShardRequest> requests)
        : graph_(graph), channels_(graph), new_id_(graph.size()) {
        for (const ShardRequest& request : requests) {
            const auto id = graph.find(request.op);
            if (!id) throw GraphError(request.op, "there is no op " + in_quotes(request.op) + " to split");
            if (splits_.contains(*id))
                fail_at(request.op, "is to be split twice, expected one number of parts");
            splits_.emplace(*id, make_split(graph.op(*id), request.parts, channels_.of(*id)));
        }
        std::map<std::string_view, std::optional<std::size_t>> parts_of_label;
        for (OpId id = 0; id < graph.size(); ++id) {
            const std::string& label = graph.op(id).colocate;
            labels_.insert(label);
            const auto split = splits_.find(id);
            const std::size_t parts = split == splits_.end() ? 0 : split->second.parts.size();
            const auto [known, first] = parts_of_label.try_emplace(label, parts);
            if (!first && known->second != parts) known->second.reset();
        }
        for (const auto& [label, parts] : parts_of_label) {
            if (label.empty() || !parts || *parts == 0) continue;
            auto& own = part_labels_[std::string(label)];
            for (std::size_t part = 0; part < *parts; ++part)
                own.push_back(fresh(labels_, shard_name(label, part)));
        }
    }

    Graph run() {
        for (OpId id = 0; id < graph_.size(); ++id) {
            if (const auto split = splits_.find(id); split != splits_.end()) {
                add_parts(id, split->second);
            } else {
                Op op = graph_.op(id);
                for (TensorRef& input : op.inputs) input = whole(input, op);
                new_id_[id] = add(std::move(op));
            }
        }
        GraphBuilder builder(graph_.name(), graph_.batch(), graph_.training());
        for (Op& op : ops_) builder.add(std::move(op));
        return builder.build();
    }

private:
    OpId add(Op op) {
        ops_.push_back(std::move(op));
        return static_cast<OpId>(ops_.size() - 1);
    }

    static std::string fresh(std::set<std::string>& taken, std::string text) {
        while (!taken.insert(text).second) text += '\'';
        return text;
    }

    /// The label that `op` shares with the ops that must be on its device.
    const std::string& label_of(Op& op) {
        if (op.colocate.empty()) op.colocate = fresh(labels_, op.name);
        return op.colocate;
    }

    Split* split_of(OpId id) {
        const auto found = splits_.find(id);
        return found == splits_.end() ? nullptr : &found->second;
    }

    /// All of a tensor of the old graph, for `reader`, which is about to be added: a concatenation if its op
    /// is split.
    TensorRef whole(TensorRef input, Op& reader) {
        const Split* const split = split_of(input.op);
        if (split == nullptr) return {new_id_[input.op], input.output};
        Op cat;
        // A tensor that a reader reads twice is concatenated once.
        const auto key = std::tuple(reader.name, input.op, input.output);
        const auto [known, first] = joined_.try_emplace(key, static_cast<OpId>(ops_.size()));
        if (!first) return {known->second, 0};
        cat.name =
            fresh(made_names_, reader.name + "_conc_" +
                                   tensor_name(input));  // output 1 of "f" is named as output 0 of "f_1"
        cat.kind = "cat";
        cat.scope = reader.scope;
        cat.devices = reader.devices;
        cat.attributes["dim"] = std::to_string(split->channels.dimension);
        cat.colocate = label_of(reader);
        cat.outputs = {graph_.op(input.op).outputs[input.output]};
        for (const OpId part : split->part_ids) cat.inputs.push_back({part, input.output});
        return {add(std::move(cat)), 0};
    }

    /// Name of an output of the old graph for use in names of ops.
    std::string tensor_name(TensorRef tensor) const {
        return graph_.op(tensor.op).name + (tensor.output > 0 ? '_' + std::to_string(tensor.output) : "");
    }

    /// A view of `range` of a dimension of a tensor of the new graph. Readers of the same slice share it.
    TensorRef narrow(TensorRef whole, std::size_t dimension, Range range, const std::string& name) {
        const auto key = std::tuple(whole.op, whole.output, dimension, range.begin, range.end);
        const auto [known, first] = slices_.try_emplace(key, static_cast<OpId>(ops_.size()));
        if (!first) return {known->second, 0};
        Op& producer = ops_[whole.op];
        Op narrow;
        narrow.name = fresh(made_names_, name);  // another dimension may have a slice with the same bounds
        narrow.kind = "narrow";
        narrow.scope = producer.scope;
        narrow.devices = producer.devices;
        narrow.attributes = {{"dim", std::to_string(dimension)},
                             {"start", std::to_string(range.begin)},
                             {"length", std::to_string(range.size())}};
        narrow.colocate = label_of(producer);
        narrow.inputs = {whole};
        narrow.outputs = {with_extent(producer.outputs[whole.output], dimension, range.size())};
        return {add(std::move(narrow)), 0};
    }

    /// A piece of a tensor of the old graph, for `reader`, which is about to be added.
    TensorRef read(TensorRef input, const Piece& piece, Op& reader) {
        if (!piece.dimension) return whole(input, reader);
        const std::string bounds =
            '_' + std::to_string(piece.range.begin) + '_' + std::to_string(piece.range.end);
        const Split* const split = split_of(input.op);
        if (split == nullptr)
            return narrow({new_id_[input.op], input.output}, *piece.dimension, piece.range,
                          tensor_name(input) + "_narrow" + bounds);
        const std::int64_t extent =
            (*graph_.op(input.op).outputs[input.output].shape)[split->channels.dimension];
        const auto part = std::ranges::find_if(split->parts, [&](Range channels) {
            return rescaled(channels, split->channels.count, extent) == piece.range;
        });
        if (split->channels.dimension == *piece.dimension && part != split->parts.end()) {
            return {split->part_ids[static_cast<std::size_t>(part - split->parts.begin())], input.output};
        }
        return narrow(whole(input, reader), *piece.dimension, piece.range,
                      reader.name + "_narrow_" + tensor_name(input) + bounds);
    }

    Op part_of(const Op& op, const Split& split, std::size_t index) const {
        const Channels& channels = split.channels;
        const Range range = split.parts[index];
        const double share = static_cast<double>(range.size()) / static_cast<double>(channels.count);
        const auto bytes = [&](std::int64_t all) { return portion(all, range, channels.count); };
        Op part = op;
        part.name = shard_name(op.name, index);
        part.flops = op.flops * share;
        if (op.backward_flops) part.backward_flops = *op.backward_flops * share;
        part.parameter_bytes = bytes(op.parameter_bytes);
        part.resident_bytes = bytes(op.resident_bytes);
        if (op.read_bytes) part.read_bytes = bytes(*op.read_bytes);
        for (Tensor& output : part.outputs) {
            const std::int64_t extent = (*output.shape)[channels.dimension];
            output = with_extent(output, channels.dimension, rescaled(range, channels.count, extent).size());
        }
        for (auto& [model, time] : part.time_s) {
            for (std::optional<double>* part_s :
                 {&time.forward_s, &time.backward_s, &time.weight_gradient_s, &time.update_s}) {
                if (*part_s) **part_s *= share;
            }
        }
        if (!channels.unit_attribute.empty()) {
            part.attributes[std::string(channels.unit_attribute)] =
                std::to_string(rescaled(range, channels.count, channels.units).size());
        }
        if (const auto labels = part_labels_.find(op.colocate); labels != part_labels_.end())
            part.colocate = labels->second[index];
        return part;
    }

    void add_parts(OpId id, Split& split) {
        const Op& op = graph_.op(id);
        for (std::size_t index = 0; index < split.parts.size(); ++index) {
            Op part = part_of(op, split, index);
            part.inputs.clear();
            for (const Piece& piece : channels_.read_by(id, split.channels, split.parts[index])) {
                // An op that unfolds its whole first input does so for each part.
                if (piece.input == 0 && piece.dimension)
                    part.workspace_bytes =
                        portion(op.workspace_bytes, split.parts[index], split.channels.count);
                part.inputs.push_back(read(op.inputs[piece.input], piece, part));
            }
            split.part_ids.push_back(add(std::move(part)));
        }
    }

    const Graph& graph_;
    ChannelMap channels_;
    std::vector<Op> ops_;
    std::vector<OpId> new_id_;          ///< [id in the old graph], for ops that are not split
    std::map<OpId, Split> splits_;      ///< by id in the old graph
    std::set<std::string> made_names_;  ///< names of slices and concatenations
    std::set<std::string> labels_;      ///< all colocation labels
    std::map<std::string, std::vector<std::string>>
        part_labels_;  ///< labels whose ops are all split into the same number of parts
    /// Concatenations by reader, and op and output in the old graph.
    std::map<std::tuple<std::string, OpId, std::uint32_t>, OpId> joined_;
    /// By op and output in the new graph, dimension, begin and end.
    std::map<std::tuple<OpId, std::uint32_t, std::size_t, std::int64_t, std::int64_t>, OpId> slices_;
};

}  // namespace

std::string shard_name(std::string_view op, std::size_t part) {
    return std::string(op) + "_shard" + std::to_string(part);
}

Graph shard(const Graph& forward, std::span<const ShardRequest> requests) {
    if (requests.empty()) return forward;
    if (forward.training() == Training::explicit_) {
        throw GraphError("",
                         "a graph that contains backward ops cannot be split, expected forward ops alone");
    }
    return Sharding(forward, requests).run();
}

}  // namespace placewright
