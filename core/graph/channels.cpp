// SPDX-License-Identifier: MIT
#include "core/graph/channels.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/uint128.hpp"
#include "core/graph/channel_places.hpp"
#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

using namespace channel_places;

// Indivisible units of the channels.

struct Units {
    std::int64_t count = 0;
    std::string_view name = "channel";
    std::string_view attribute{};
};

/// Units from the first of the attributes that holds a single number.
Units units_from(const Node& node, std::span<const std::string_view> attributes, std::string_view name) {
    for (const std::string_view attribute : attributes) {
        if (const auto numbers = integer_attribute(node.op, std::string(attribute));
            numbers && numbers->size() == 1) {
            return {numbers->front(), name, attribute};
        }
    }
    return {};
}

/// Single channels of the output; each may correspond to several channels of an input.
Units single(const Node&, std::int64_t count) {
    return {.count = count};
}

constexpr std::array<std::string_view, 2> kGroups{"groups", "num_groups"}, kHeads{"heads", "num_heads"};

Units convolution_groups(const Node& node, std::int64_t count) {
    const Units units = units_from(node, kGroups, "group of channels");
    return units.attribute.empty() || units.count == 1 ? single(node, count) : units;
}

Units norm_groups(const Node& node, std::int64_t) {
    const Units units = units_from(node, kGroups, "group of channels");
    if (units.attribute.empty())
        node.refuse("its groups are not known, expected an attribute \"num_groups\"");
    return units;
}

/// Heads; with several queries per key (grouped-query attention), those of the keys.
Units attention_heads(const Node& node, std::int64_t count) {
    if (node.output()->size() == 4) {
        for (std::size_t i = 0; i < std::min<std::size_t>(node.op.inputs.size(), 3); ++i) {
            if (const Shape& input = node.shape_of_input(i); input.size() == 4)
                count = std::gcd(count, input[1]);
        }
        return {count, "head"};
    }
    const Units units = units_from(node, kHeads, "head");
    if (units.attribute.empty())
        node.refuse("its heads are not known, expected an attribute \"heads\" or tensors of rank 4");
    return units;
}

/// If channels are merged from smaller ones or divided, ranges end where both dimensions have a boundary.
Units shared_ends(const Node& node, std::int64_t count) {
    const auto channels = node.input_channels(0);
    return {channels ? std::gcd(count, node.shape_of_input(0)[*channels]) : count, "group of channels"};
}

// Rules for the inputs that a range of the channels reads.

using Pieces = std::vector<Piece>;

struct Request {
    const Node& node;
    const Channels& channels;
    Range range;
    bool exact;  ///< inputs have as many channels as the output, else a multiple of its units

    bool fits(std::int64_t extent) const {
        return exact ? extent == channels.count
                     : extent > 0 && channels.units > 0 && extent % channels.units == 0;
    }
    /// The range of dimension `dimension` of input `input`.
    Piece share(std::size_t input, std::size_t dimension) const {
        const Shape& shape = node.shape_of_input(input);
        const std::int64_t extent = dimension < shape.size() ? shape[dimension] : 0;
        if (!fits(extent)) {
            node.fail(
                "its input " + in_quotes(node.producer(input).name) + " has " + std::to_string(extent) +
                " channels, expected " +
                (exact ? std::to_string(channels.count) : "a multiple of " + std::to_string(channels.units)));
        }
        return {input, dimension, rescaled(range, channels.count, extent)};
    }
    /// The range of parameters given as a tensor, if they have channels there; otherwise the whole input.
    Piece share_of_parameters(std::size_t input, std::size_t dimension) const {
        const Shape* const shape = node.input(input);
        const bool has_channels = shape && dimension < shape->size() && fits((*shape)[dimension]);
        return node.is_parameter[node.op.inputs[input].op] && has_channels ? share(input, dimension)
                                                                           : Piece{input, {}};
    }
    /// The range of the input's dimension with the same position counted from the last one.
    Piece share_aligned(std::size_t input) const {
        const std::size_t rank = node.output()->size(), input_rank = node.shape_of_input(input).size();
        if (channels.dimension + input_rank < rank) return {input, {}};
        const std::size_t dimension = channels.dimension + input_rank - rank;
        const bool broadcast =
            channels.count > 1 && dimension < input_rank && node.shape_of_input(input)[dimension] == 1;
        return broadcast ? Piece{input, {}} : share(input, dimension);
    }
    template <class Read>
    Pieces each_input(Read read) const {
        Pieces pieces;
        for (std::size_t i = 0; i < node.op.inputs.size(); ++i) pieces.push_back(read(i));
        return pieces;
    }
};

Pieces all(const Request& request) {
    return request.each_input([](std::size_t i) { return Piece{i, {}}; });
}

Pieces each_aligned(const Request& request) {
    return request.each_input([&](std::size_t i) { return request.share_aligned(i); });
}

/// Reads the first `values` inputs whole and the rows of parameters.
template <std::size_t values>
Pieces rows(const Request& request) {
    return request.each_input([&](std::size_t i) {
        return i < values ? Piece{i, {}} : request.share_of_parameters(i, 0);
    });
}

/// Reads the same channels of the first input and the rows of parameters.
Pieces same_channels(const Request& request) {
    return request.each_input([&](std::size_t i) {
        return i == 0 ? request.share(0, request.channels.dimension) : request.share_of_parameters(i, 0);
    });
}

/// Reads the same channels of the first input and the whole grid.
Pieces sampled(const Request& request) {
    return request.each_input([&](std::size_t i) {
        return i == 0 ? request.share(0, request.channels.dimension) : Piece{i, {}};
    });
}

/// Reads the rows of parameters; in a transposed convolution, with or without groups, the channels are
/// columns: inputs x outputs / groups.
template <bool transposed>
Pieces convolution(const Request& request) {
    const bool grouped = !request.channels.unit_attribute.empty();
    return request.each_input([&](std::size_t i) {
        if (i == 0) return grouped ? request.share(0, request.channels.dimension) : Piece{0, {}};
        return request.share_of_parameters(i, transposed && !grouped && i == 1 ? 1 : 0);
    });
}

Pieces table_columns(const Request& request) {
    return request.each_input([&](std::size_t i) {
        const Shape* const shape = i == 1 ? request.node.input(i) : nullptr;
        return shape && !shape->empty() ? request.share_of_parameters(i, shape->size() - 1) : Piece{i, {}};
    });
}

/// Reads the columns of the second factor, or the rows of the first factor if the second is a vector.
template <std::size_t factor>
Pieces columns(const Request& request) {
    return request.each_input([&](std::size_t i) {
        if (i < factor) return request.share_aligned(i);
        const Shape* const second = request.node.input(factor + 1);
        const bool vector = second && second->size() == 1;
        const std::size_t rank = request.node.shape_of_input(i).size();
        if (i == factor) return vector && rank >= 2 ? request.share(i, rank - 2) : Piece{i, {}};
        return vector ? Piece{i, {}} : request.share(i, rank - 1);
    });
}

Pieces einsum(const Request& request) {
    const auto labels = einsum_labels(request.node);
    if (!labels)
        request.node.refuse(
            "its summed dimensions are not known, expected an attribute \"equation\" that names each "
            "dimension");
    const char label = labels->back()[request.channels.dimension];
    return request.each_input([&](std::size_t i) {
        const std::size_t place = (*labels)[i].find(label);
        return place == std::string::npos ? Piece{i, {}} : request.share(i, place);
    });
}

Pieces attention(const Request& request) {
    const std::size_t rank = request.node.output()->size();
    return request.each_input([&](std::size_t i) {
        const Shape& input = request.node.shape_of_input(i);
        if (i < 3) return request.share(i, request.channels.dimension);
        // The mask is shared by all heads, or has one per head.
        const bool by_head = rank == 4 && input.size() >= 3 && input[input.size() - 3] != 1;
        return by_head ? request.share(i, input.size() - 3) : Piece{i, {}};
    });
}

/// Every gate of a hidden unit reads all inputs of the cell; the cell state and the output gate stay within a
/// unit.
Pieces recurrent(const Request& request) {
    return request.each_input([&](std::size_t i) {
        const bool cell_state =
            request.node.producer(i).kind == "lstm_cell" && request.node.op.inputs[i].output == 1;
        return cell_state ? request.share(i, request.channels.dimension) : request.share_of_parameters(i, 0);
    });
}

/// Refuses an op that works across its channels; without an attribute "dim" it is assumed to do so.
void expect_other_dimension(const Request& request) {
    const auto named = request.node.dimensions("dim", request.node.output()->size());
    if (named && !named->empty() && std::ranges::find(*named, request.channels.dimension) == named->end())
        return;
    request.node.refuse(named ? "it works across its channels, each of which needs all others"
                              : "it works across its channels, each of which needs all others, unless an "
                                "attribute \"dim\" names another dimension");
}

Pieces over_other_dimension(const Request& request) {
    expect_other_dimension(request);
    return each_aligned(request);
}

Pieces selected(const Request& request) {
    expect_other_dimension(request);
    return request.each_input([&](std::size_t i) {
        return i == 0 ? request.share(0, request.channels.dimension) : Piece{i, {}};
    });
}

/// Refuses an op whose channels are among the last dimensions, as many as "normalized_shape" has.
Pieces over_last_dimensions(const Request& request) {
    const auto shape = integer_attribute(request.node.op, "normalized_shape");
    if (request.channels.dimension + (shape ? shape->size() : 1) >= request.node.output()->size()) {
        request.node.refuse("it normalizes across its channels, each of which needs all others");
    }
    if (request.node.op.parameter_bytes > 0) request.node.refuse("its parameters belong to all channels");
    return request.each_input([&](std::size_t i) {
        return i == 0 ? request.share(0, request.channels.dimension) : Piece{i, {}};
    });
}

/// A view or an op that keeps the channels of its first input in one dimension, at a known position.
template <Place (*carried)(const Node&)>
Pieces carries(const Request& request) {
    if (!request.node.op.inputs.empty()) request.node.shape_of_input(0);
    const auto channels = request.node.input_channels(0);
    if (!channels || carried(request.node) != request.channels.dimension) {
        request.node.refuse(
            "it does not keep the channels of its input in one dimension, or its attributes do not say "
            "where");
    }
    return request.each_input([&](std::size_t i) { return request.share(i, *channels); });
}

/// An op that keeps its rank and its channels; inputs other than the first hold positions.
Pieces leaves(const Request& request) {
    const Shape& input = request.node.shape_of_input(0);
    const std::size_t dimension = request.channels.dimension;
    if (dimension >= input.size() || input.size() != request.node.output()->size() ||
        input[dimension] != request.channels.count) {
        request.node.refuse("its channels are not those of its input: it has fewer or more");
    }
    return request.each_input([&](std::size_t i) {
        return i == 0 ? request.share(0, dimension) : Piece{i, {}};
    });
}

/// The maximum of two tensors, or over some dimension of one.
Pieces extreme(const Request& request) {
    return request.node.op.inputs.size() > 1 ? each_aligned(request) : carries<reduced>(request);
}

/// The product of a channel of the input's first half and a function of one of the second half.
Pieces gated(const Request& request) {
    const Shape& input = request.node.shape_of_input(0);
    const std::size_t dimension = request.channels.dimension;
    if (input.size() == request.node.output()->size() && input[dimension] == request.channels.count)
        return leaves(request);
    const std::int64_t half = request.channels.count;
    if (dimension >= input.size() || input[dimension] != 2 * half)
        request.node.refuse("it does not halve the channels of its input");
    return {{0, dimension, request.range},
            {0, dimension, {half + request.range.begin, half + request.range.end}}};
}

/// Joined along the channels: reads the ranges of the inputs that the range covers. Joined along another
/// dimension: reads that range of each input.
Pieces joined(const Request& request) {
    const Node& node = request.node;
    const std::size_t dimension = request.channels.dimension;
    const auto named = node.dimensions("dim", node.output()->size());
    bool along_channels = named && *named == std::vector{dimension};
    if (!named)
        along_channels = node.op.inputs.empty() || node.shape_of_input(0).size() <= dimension ||
                         node.shape_of_input(0)[dimension] != request.channels.count;
    if (!along_channels) return each_aligned(request);
    Pieces pieces;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < node.op.inputs.size(); ++i) {
        const Shape& input = node.shape_of_input(i);
        const std::int64_t extent = dimension < input.size() ? input[dimension] : 0;
        const Range covered{std::max(request.range.begin, begin) - begin,
                            std::min(request.range.end, begin + extent) - begin};
        if (covered == Range{0, extent}) {
            pieces.push_back({i, {}});
        } else if (covered.size() > 0) {
            pieces.push_back({i, dimension, covered});
        }
        begin += extent;
    }
    if (begin != request.channels.count) {
        node.fail("its inputs have " + std::to_string(begin) + " channels, expected " +
                  std::to_string(request.channels.count));
    }
    return pieces;
}

/// The rules for a family of kinds.
struct Family {
    std::string_view kinds;
    Place (*place)(const Node&) = kept;
    Pieces (*reads)(const Request&) = all;
    Units (*units)(const Node&,
                   std::int64_t count) = nullptr;  ///< null: channels, as many as in each input
    std::string_view never = {};                   ///< why no op of these kinds can be split
};

constexpr std::array kOpFamilies{
    Family{"conv1d", at<-2>, convolution<false>, convolution_groups},
    Family{"conv2d", at<-3>, convolution<false>, convolution_groups},
    Family{"conv3d", at<-4>, convolution<false>, convolution_groups},
    Family{"conv_transpose1d", at<-2>, convolution<true>, convolution_groups},
    Family{"conv_transpose2d", at<-3>, convolution<true>, convolution_groups},
    Family{"conv_transpose3d", at<-4>, convolution<true>, convolution_groups},
    Family{"linear", at<-1>, rows<1>},
    Family{"bilinear", at<-1>, rows<2>},
    Family{"embedding embedding_bag", at<-1>, table_columns},
    Family{"one_hot", at<-1>, all},
    Family{"matmul mm bmm", at<-1>, columns<0>},
    Family{"addmm baddbmm", at<-1>, columns<1>},
    Family{"einsum", at<-1>, einsum},
    Family{"scaled_dot_product_attention", heads, attention, attention_heads},
    Family{"lstm_cell gru_cell rnn_cell", at<-1>, recurrent, single},
    Family{"parameter", at<0>, all},

    Family{"batch_norm instance_norm prelu interpolate upsample", at<1>, same_channels},
    Family{"grid_sample", at<1>, sampled},
    Family{"group_norm", at<1>, same_channels, norm_groups},
    Family{"max_pool1d avg_pool1d adaptive_max_pool1d adaptive_avg_pool1d", at<-2>, same_channels},
    Family{"max_pool2d avg_pool2d adaptive_max_pool2d adaptive_avg_pool2d", at<-3>, same_channels},
    Family{"max_pool3d avg_pool3d adaptive_max_pool3d adaptive_avg_pool3d", at<-4>, same_channels},
    Family{"pixel_shuffle", at<-3>, same_channels, single},
    Family{"pixel_unshuffle", at<-3>, same_channels, shared_ends},
    Family{"layer_norm rms_norm", kept, over_last_dimensions},
    Family{"softmax log_softmax normalize cumsum gather", kept, over_other_dimension},
    Family{"index_select topk", kept, selected},
    Family{.kinds = "local_response_norm", .never = "it normalizes over neighbouring channels"},

    Family{
        "relu relu6 leaky_relu elu selu celu gelu silu mish softplus hardtanh hardswish hardsigmoid "
        "logsigmoid sigmoid tanh clamp abs "
        "exp log1p expm1 addcmul addcdiv lerp "
        "log pow sqrt rsqrt neg round sign dropout dropout1d dropout2d dropout3d alpha_dropout clone "
        "contiguous identity detach add sub "
        "mul "
        "div masked_fill where eq ge gt le lt ne mse_loss l1_loss smooth_l1_loss kl_div binary_cross_entropy "
        "binary_cross_entropy_with_logits erf sin cos reciprocal softsign threshold remainder maximum "
        "minimum ceil floor to "
        "quantize_per_tensor dequantize isinf isnan isfinite logical_and logical_not logical_or logical_xor "
        "bitwise_and bitwise_not "
        "bitwise_or",
        kept, each_aligned},
    Family{"expand", aligned, each_aligned},
    Family{"glu", kept, gated},
    Family{"cat", kept, joined},
    Family{"stack", or_customary<stacked>, carries<stacked>},
    Family{"pad narrow slice split chunk", kept, leaves},
    Family{"select unbind mean sum prod var norm logsumexp all any argmax argmin", or_customary<reduced>,
           carries<reduced>},
    Family{"max min", or_customary<reduced>, extreme},
    Family{"flatten unflatten reshape view squeeze unsqueeze", or_customary<reshaped>, carries<reshaped>,
           shared_ends},
    Family{"permute transpose", or_customary<permuted>, carries<permuted>},

    Family{.kinds = "repeat roll flip tril triu diagonal scatter unfold im2col col2im index_add scatter_add "
                    "pack_padded_sequence "
                    "pad_packed_sequence",
           .never = "the source of each element depends on its position"},
    Family{.kinds = "input constant arange full", .never = "it is a source without inputs"},
    Family{.kinds = "lstm gru rnn",
           .never = "each step reads all hidden units of the step before; use a network of cells instead"},
    Family{.kinds = "cdist bucketize pairwise_distance cosine_similarity weight_norm",
           .never = "each element needs all of an input"},
    Family{.kinds = "cross_entropy nll_loss", .never = "a loss over classes needs all of them"},
};

const Family* family_of(std::string_view kind) {
    static const auto by_kind = [] {
        std::unordered_map<std::string_view, const Family*> result;
        for (const Family& family : kOpFamilies) {
            for (std::string_view rest = family.kinds; !rest.empty();) {
                const std::size_t length = std::min(rest.find(' '), rest.size());
                result.emplace(rest.substr(0, length), &family);
                rest.remove_prefix(std::min(length + 1, rest.size()));
            }
        }
        return result;
    }();
    const auto found = by_kind.find(kind);
    return found == by_kind.end() ? nullptr : found->second;
}

}  // namespace

Range rescaled(Range range, std::int64_t of, std::int64_t extent) {
    if (of < 1) return {};
    const auto up_to = [&](std::int64_t place) {
        return static_cast<std::int64_t>(static_cast<uint128>(extent) * static_cast<uint128>(place) /
                                         static_cast<uint128>(of));
    };
    return {up_to(range.begin), up_to(range.end)};
}

ChannelMap::ChannelMap(const Graph& graph)
    : graph_(graph), dimension_(graph.size()), is_parameter_(graph.size()) {
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const KindInfo& kind = kind_info(op.kind);
        is_parameter_[id] =
            kind.parameter || (kind.view && !op.inputs.empty() && is_parameter_[op.inputs.front().op]);
        const Node node{graph, op, dimension_, is_parameter_};
        if (!node.output()) continue;
        const Family* const family = family_of(op.kind);
        dimension_[id] = family ? family->place(node) : kept(node);
    }
}

Channels ChannelMap::of(OpId id) const {
    const Op& op = graph_.op(id);
    const Node node{graph_, op, dimension_, is_parameter_};
    const Family* const family = family_of(op.kind);
    if (!family) node.refuse("it is not known from which inputs its channels are computed");
    if (!family->never.empty()) node.refuse(family->never);
    const auto dimension = dimension_[id];
    if (!dimension) {
        node.fail("has no channel dimension: an op of kind " + in_quotes(op.kind) +
                  (node.output() ? " whose output has rank " + std::to_string(node.output()->size())
                                 : " without a shape of its output"));
    }
    Channels channels{*dimension, (*node.output())[*dimension]};
    if (channels.count < 1) node.fail("has no channels");
    channels.units = channels.count;
    if (family->units) {
        const Units units = family->units(node, channels.count);
        if (units.count < 1 || channels.count % units.count != 0) {
            node.fail("its " + std::to_string(channels.count) + " channels do not divide into " +
                      std::to_string(units.count) + ' ' + (units.name == "head" ? "heads" : "groups"));
        }
        channels.units = units.count;
        channels.unit = units.count == channels.count && units.attribute.empty() ? "channel" : units.name;
        channels.unit_attribute = units.attribute;
    }
    for (std::size_t k = 1; k < op.outputs.size(); ++k) {
        const auto& shape = op.outputs[k].shape;
        const std::int64_t extent =
            shape && channels.dimension < shape->size() ? (*shape)[channels.dimension] : 0;
        if (family->units ? extent % channels.units != 0 || extent == 0 : extent != channels.count) {
            node.fail("has no channel dimension: its output " + std::to_string(k) + " has " +
                      std::to_string(extent) + " channels, its first " + std::to_string(channels.count));
        }
    }
    read_by(id, channels, {0, channels.count});  // throws if its inputs do not fit
    return channels;
}

std::vector<Piece> ChannelMap::read_by(OpId id, const Channels& channels, Range range) const {
    const Family& family = *family_of(graph_.op(id).kind);
    const Node node{graph_, graph_.op(id), dimension_, is_parameter_};
    return family.reads({node, channels, range, family.units == nullptr});
}

}  // namespace placewright
