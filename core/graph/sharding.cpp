// SPDX-License-Identifier: MIT
#include "core/graph/sharding.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/base/uint128.hpp"

namespace placewright {
namespace {

[[noreturn]] void fail(const std::string& op, const std::string& problem) {
    throw GraphError(op, "op " + quoted(op) + ": " + problem);
}

/// How the channels of an output come about.
struct Rule {
    enum class Reads : std::uint8_t {
        everything,    ///< each channel from all that the op reads
        first_input,   ///< each channel from the same channel of the first input
        every_input,   ///< the same of all inputs
        input_groups,  ///< each group of channels from a group of the first input; everything where there is one group
    };
    std::string_view kind;
    Reads reads;
    /// Place of the channels; negative: counted from the last dimension. Nothing: that of the first input's channels.
    std::optional<int> dimension;
};

constexpr std::array kRules{
    Rule{"conv1d", Rule::Reads::input_groups, -2},
    Rule{"conv2d", Rule::Reads::input_groups, -3},
    Rule{"conv3d", Rule::Reads::input_groups, -4},
    Rule{"conv_transpose1d", Rule::Reads::input_groups, -2},
    Rule{"conv_transpose2d", Rule::Reads::input_groups, -3},
    Rule{"conv_transpose3d", Rule::Reads::input_groups, -4},

    Rule{"linear", Rule::Reads::everything, -1},
    Rule{"bilinear", Rule::Reads::everything, -1},
    Rule{"embedding", Rule::Reads::everything, -1},
    Rule{"embedding_bag", Rule::Reads::everything, -1},

    Rule{"batch_norm", Rule::Reads::first_input, 1},
    Rule{"instance_norm", Rule::Reads::first_input, 1},
    Rule{"prelu", Rule::Reads::first_input, 1},
    Rule{"interpolate", Rule::Reads::first_input, 1},
    Rule{"upsample", Rule::Reads::first_input, 1},
    Rule{"max_pool1d", Rule::Reads::first_input, -2},
    Rule{"max_pool2d", Rule::Reads::first_input, -3},
    Rule{"max_pool3d", Rule::Reads::first_input, -4},
    Rule{"avg_pool1d", Rule::Reads::first_input, -2},
    Rule{"avg_pool2d", Rule::Reads::first_input, -3},
    Rule{"avg_pool3d", Rule::Reads::first_input, -4},
    Rule{"adaptive_max_pool1d", Rule::Reads::first_input, -2},
    Rule{"adaptive_max_pool2d", Rule::Reads::first_input, -3},
    Rule{"adaptive_max_pool3d", Rule::Reads::first_input, -4},
    Rule{"adaptive_avg_pool1d", Rule::Reads::first_input, -2},
    Rule{"adaptive_avg_pool2d", Rule::Reads::first_input, -3},
    Rule{"adaptive_avg_pool3d", Rule::Reads::first_input, -4},
};

constexpr std::array<std::string_view, 36> kElementwise{
    "relu",      "relu6",         "leaky_relu", "elu",         "selu",       "celu",    "gelu",    "silu",      "mish",
    "softplus",  "hardtanh",      "hardswish",  "hardsigmoid", "logsigmoid", "sigmoid", "tanh",    "clamp",     "abs",
    "exp",       "log",           "pow",        "sqrt",        "rsqrt",      "neg",     "dropout", "dropout1d", "dropout2d",
    "dropout3d", "alpha_dropout", "clone",      "contiguous",  "add",        "sub",     "mul",     "div",       "masked_fill"};

std::optional<Rule> rule_for(std::string_view kind) {
    if (const auto* const found = std::ranges::find(kRules, kind, &Rule::kind); found != kRules.end()) return *found;
    if (std::ranges::find(kElementwise, kind) != kElementwise.end()) return Rule{kind, Rule::Reads::every_input, {}};
    return {};
}

const std::vector<std::int64_t>* shape_of(const Op& op) {
    return op.outputs.empty() || !op.outputs.front().shape ? nullptr : &*op.outputs.front().shape;
}

/// Where the channels of each op's first output are, as far as its kind or its first input tell. Images hold them in dimension 1, sequences
/// in the last one.
std::vector<std::optional<std::size_t>> channel_dimensions(const Graph& graph) {
    std::vector<std::optional<std::size_t>> result(graph.size());
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const auto* const shape = shape_of(op);
        if (shape == nullptr) continue;
        const std::size_t rank = shape->size();
        if (const auto rule = rule_for(op.kind); rule && rule->dimension) {
            const int dimension = *rule->dimension < 0 ? static_cast<int>(rank) + *rule->dimension : *rule->dimension;
            if (dimension >= 0 && dimension < static_cast<int>(rank)) result[id] = static_cast<std::size_t>(dimension);
            continue;
        }
        const auto* const input = op.inputs.empty() ? nullptr : shape_of(graph.op(op.inputs.front().op));
        if (input != nullptr && input->size() == rank) {
            result[id] = result[op.inputs.front().op];
        } else if (rank >= 2) {
            result[id] = rank == 3 ? 2 : 1;
        }
    }
    return result;
}

struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

/// `whole` bytes that belong to `of` units: those of the units in `range`. Neighbouring ranges add up.
std::int64_t portion(std::int64_t whole, Range range, std::int64_t of) {
    const auto up_to = [&](std::int64_t unit) {
        return static_cast<std::int64_t>(static_cast<uint128>(whole) * static_cast<uint128>(unit) / static_cast<uint128>(of));
    };
    return up_to(range.end) - up_to(range.begin);
}

Tensor with_extent(const Tensor& tensor, std::size_t dimension, std::int64_t extent) {
    std::vector<std::int64_t> shape = *tensor.shape;
    const std::int64_t whole = std::exchange(shape[dimension], extent);
    Tensor result = make_tensor(std::move(shape), tensor.dtype);
    if (tensor.transfer_s) result.transfer_s = *tensor.transfer_s * static_cast<double>(extent) / static_cast<double>(whole);
    return result;
}

/// How one op is split.
struct Split {
    Rule rule;
    std::size_t dimension = 0;   ///< of the output's channels
    std::int64_t channels = 0;   ///< of the whole output
    std::int64_t groups = 1;     ///< of the convolution
    std::vector<Range> parts;    ///< of the channels
    std::vector<OpId> part_ids;  ///< in the new graph

    bool reads_everything() const {
        return rule.reads == Rule::Reads::everything || (rule.reads == Rule::Reads::input_groups && groups == 1);
    }
};

std::int64_t group_count(const Op& op) {
    const auto groups = integer_attribute(op, "groups");
    return groups && !groups->empty() ? groups->front() : 1;
}

Split make_split(const Op& op, std::int64_t count, std::optional<std::size_t> dimension) {
    const auto rule = rule_for(op.kind);
    if (!rule) {
        fail(op.name, "an op of kind " + quoted(op.kind) +
                          " cannot be split by channels, expected a convolution, linear, embedding, batch_norm, pool or elementwise op");
    }
    if (op.outputs.size() != 1 || !op.outputs.front().shape || !dimension) {
        fail(op.name, "has no channel dimension, expected one output with a shape that has one");
    }
    Split split{*rule, *dimension, (*op.outputs.front().shape)[*dimension], 1, {}, {}};
    if (rule->reads == Rule::Reads::input_groups) split.groups = group_count(op);
    if (split.groups < 1 || split.channels % split.groups != 0) {
        fail(op.name, "its " + std::to_string(split.channels) + " channels do not divide into " + std::to_string(split.groups) + " groups");
    }
    const bool grouped = split.groups > 1;
    const std::int64_t units = grouped ? split.groups : split.channels;
    if (count < 1 || count > units) {
        fail(op.name, "cannot be split into " + std::to_string(count) + " parts, expected 1 to " + std::to_string(units) +
                          ", one for each " + (grouped ? "group of channels" : "channel"));
    }
    const std::int64_t unit = split.channels / units;
    std::int64_t begin = 0;
    for (std::int64_t part = 0; part < count; ++part) {
        const std::int64_t size = unit * (units / count + (part < units % count ? 1 : 0));
        split.parts.push_back({begin, begin + size});
        begin += size;
    }
    return split;
}

class Sharding {
public:
    Sharding(const Graph& graph, std::span<const ShardRequest> requests) : graph_(graph), new_id_(graph.size()) {
        const auto dimensions = channel_dimensions(graph);
        for (const ShardRequest& request : requests) {
            const auto id = graph.find(request.op);
            if (!id) throw GraphError(request.op, "there is no op " + quoted(request.op) + " to split");
            if (splits_.contains(*id)) fail(request.op, "is to be split twice, expected one number of parts");
            splits_.emplace(*id, make_split(graph.op(*id), request.parts, dimensions[*id]));
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
            for (std::size_t part = 0; part < *parts; ++part) own.push_back(fresh_label(shard_name(label, part)));
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

    std::string fresh_label(std::string label) {
        while (!labels_.insert(label).second) label += '\'';
        return label;
    }

    /// The label that `op` shares with what is to be on its device.
    const std::string& label_of(Op& op) {
        if (op.colocate.empty()) op.colocate = fresh_label(op.name);
        return op.colocate;
    }

    Split* split_of(OpId id) {
        const auto found = splits_.find(id);
        return found == splits_.end() ? nullptr : &found->second;
    }

    /// All of a tensor of the old graph, for `reader`, which is about to be added: a concatenation if its op is split.
    TensorRef whole(TensorRef input, Op& reader) {
        const Split* const split = split_of(input.op);
        if (split == nullptr) return {new_id_[input.op], input.output};
        const Op& producer = graph_.op(input.op);
        Op cat;
        cat.name = reader.name + "_conc_" + producer.name;
        // What a reader reads twice is joined once.
        const auto [known, first] = joined_.try_emplace(cat.name, static_cast<OpId>(ops_.size()));
        if (!first) return {known->second, 0};
        cat.kind = "cat";
        cat.scope = reader.scope;
        cat.devices = reader.devices;
        cat.attributes["dim"] = std::to_string(split->dimension);
        cat.colocate = label_of(reader);
        cat.outputs = producer.outputs;
        for (const OpId part : split->part_ids) cat.inputs.push_back({part, 0});
        return {add(std::move(cat)), 0};
    }

    /// A view of `range` of a dimension of a tensor of the new graph.
    Op narrow_of(TensorRef whole, std::size_t dimension, Range range) {
        Op& producer = ops_[whole.op];
        Op narrow;
        narrow.kind = "narrow";
        narrow.scope = producer.scope;
        narrow.devices = producer.devices;
        narrow.attributes = {
            {"dim", std::to_string(dimension)}, {"start", std::to_string(range.begin)}, {"length", std::to_string(range.size())}};
        narrow.colocate = label_of(producer);
        narrow.inputs = {whole};
        narrow.outputs = {with_extent(producer.outputs[whole.output], dimension, range.size())};
        return narrow;
    }

    /// Range `range` of a dimension of a tensor of the old graph, for `reader`, which is about to be added.
    TensorRef slice(TensorRef input, std::size_t dimension, Range range, Op& reader) {
        const Op& producer = graph_.op(input.op);
        if (const Split* const split = split_of(input.op)) {
            const auto part = std::ranges::find(split->parts, range);
            if (split->dimension == dimension && part != split->parts.end()) {
                return {split->part_ids[static_cast<std::size_t>(part - split->parts.begin())], 0};
            }
            Op narrow = narrow_of(whole(input, reader), dimension, range);
            narrow.name = reader.name + "_narrow_" + producer.name;
            return {add(std::move(narrow)), 0};
        }
        // Several readers of one slice get it in one message.
        const auto key = std::tuple(input.op, input.output, dimension, range.begin, range.end);
        if (const auto known = slices_.find(key); known != slices_.end()) return {known->second, 0};
        Op narrow = narrow_of({new_id_[input.op], input.output}, dimension, range);
        narrow.name = producer.name + (input.output > 0 ? "_" + std::to_string(input.output) : "") + "_narrow_" +
                      std::to_string(range.begin) + '_' + std::to_string(range.end);
        const OpId id = add(std::move(narrow));
        slices_.emplace(key, id);
        return {id, 0};
    }

    /// What a part reads of input `index` of the op.
    TensorRef input_of_part(const Op& op, std::size_t index, const Split& split, Range part, Op& reader) {
        const TensorRef input = op.inputs[index];
        const bool every = split.rule.reads == Rule::Reads::every_input;
        if (split.reads_everything() || (index > 0 && !every)) return whole(input, reader);
        const Op& producer = graph_.op(input.op);
        const Tensor& tensor = producer.outputs[input.output];
        if (!tensor.shape) fail(op.name, "its input " + quoted(producer.name) + " has no shape, expected one to take channels from");
        // Shapes are aligned at the last dimension, as they are broadcast.
        const std::size_t rank = op.outputs.front().shape->size();
        const std::size_t input_rank = tensor.shape->size();
        if (every && split.dimension + input_rank < rank) return whole(input, reader);
        const std::size_t dimension = every ? split.dimension + input_rank - rank : split.dimension;
        const std::int64_t channels = dimension < input_rank ? (*tensor.shape)[dimension] : 0;
        if (every && channels == 1 && split.channels > 1) return whole(input, reader);
        const bool grouped = split.groups > 1;
        if (grouped ? channels == 0 || channels % split.groups != 0 : channels != split.channels) {
            fail(op.name, "its input " + quoted(producer.name) + " has " + std::to_string(channels) + " channels, expected " +
                              (grouped ? "a multiple of " + std::to_string(split.groups) : std::to_string(split.channels)));
        }
        // Parts of a convolution in groups begin and end with a group.
        const auto scaled = [&](std::int64_t channel) { return channel / (split.channels / split.groups) * (channels / split.groups); };
        return slice(input, dimension, grouped ? Range{scaled(part.begin), scaled(part.end)} : part, reader);
    }

    Op part_of(const Op& op, const Split& split, std::size_t index) const {
        const Range range = split.parts[index];
        const double share = static_cast<double>(range.size()) / static_cast<double>(split.channels);
        const auto bytes = [&](std::int64_t all) { return portion(all, range, split.channels); };
        Op part = op;
        part.name = shard_name(op.name, index);
        part.flops = op.flops * share;
        if (op.backward_flops) part.backward_flops = *op.backward_flops * share;
        part.parameter_bytes = bytes(op.parameter_bytes);
        part.resident_bytes = bytes(op.resident_bytes);
        if (!split.reads_everything()) part.workspace_bytes = bytes(op.workspace_bytes);
        part.outputs = {with_extent(op.outputs.front(), split.dimension, range.size())};
        for (auto& [model, time] : part.time_s) {
            if (time.forward_s) *time.forward_s *= share;
            if (time.backward_s) *time.backward_s *= share;
        }
        if (split.groups > 1) part.attributes["groups"] = std::to_string(range.size() / (split.channels / split.groups));
        if (const auto labels = part_labels_.find(op.colocate); labels != part_labels_.end()) part.colocate = labels->second[index];
        return part;
    }

    void add_parts(OpId id, Split& split) {
        const Op& op = graph_.op(id);
        for (std::size_t index = 0; index < split.parts.size(); ++index) {
            Op part = part_of(op, split, index);
            for (std::size_t i = 0; i < op.inputs.size(); ++i) part.inputs[i] = input_of_part(op, i, split, split.parts[index], part);
            split.part_ids.push_back(add(std::move(part)));
        }
    }

    const Graph& graph_;
    std::vector<Op> ops_;
    std::vector<OpId> new_id_;                                     ///< by id in the old graph; of ops that are not split
    std::map<OpId, Split> splits_;                                 ///< by id in the old graph
    std::set<std::string> labels_;                                 ///< all colocation labels
    std::map<std::string, std::vector<std::string>> part_labels_;  ///< of labels whose ops are all split into as many parts
    std::map<std::string, OpId> joined_;                           ///< concatenations by name
    std::map<std::tuple<OpId, std::uint32_t, std::size_t, std::int64_t, std::int64_t>, OpId> slices_;
};

}  // namespace

std::string shard_name(std::string_view op, std::size_t part) {
    return std::string(op) + "_shard" + std::to_string(part);
}

Graph shard(const Graph& forward, std::span<const ShardRequest> requests) {
    if (requests.empty()) return forward;
    if (forward.training() == Training::explicit_) {
        throw GraphError("", "a graph that holds its backward ops cannot be split, expected forward ops alone");
    }
    return Sharding(forward, requests).run();
}

}  // namespace placewright
