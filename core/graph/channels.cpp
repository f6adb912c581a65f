// SPDX-License-Identifier: MIT
#include "core/graph/channels.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/uint128.hpp"
#include "core/graph/kinds.hpp"

namespace placewright {
namespace {

using Shape = std::vector<std::int64_t>;
using Place = std::optional<std::size_t>;  ///< of a dimension

/// An op among what is known of the ops before it.
struct Node {
    const Graph& graph;
    const Op& op;
    const std::vector<Place>& dimension_of;
    const std::vector<bool>& is_parameter;

    [[noreturn]] void fail(const std::string& problem) const { throw GraphError(op.name, "op " + quoted(op.name) + ": " + problem); }
    [[noreturn]] void refuse(std::string_view reason) const {
        fail("an op of kind " + quoted(op.kind) + " cannot be split by channels: " + std::string(reason));
    }

    const Shape* output() const { return op.outputs.empty() || !op.outputs.front().shape ? nullptr : &*op.outputs.front().shape; }
    const Op& producer(std::size_t input) const { return graph.op(op.inputs[input].op); }
    const Shape* input(std::size_t i) const {
        if (i >= op.inputs.size()) return nullptr;
        const Tensor& tensor = producer(i).outputs[op.inputs[i].output];
        return tensor.shape ? &*tensor.shape : nullptr;
    }
    const Shape& shape_of_input(std::size_t i) const {
        if (i >= op.inputs.size()) refuse("it has no input " + std::to_string(i) + " to take channels from");
        if (const Shape* const shape = input(i)) return *shape;
        fail("its input " + quoted(producer(i).name) + " has no shape, expected one to take channels from");
    }
    Place input_channels(std::size_t i) const { return i < op.inputs.size() ? dimension_of[op.inputs[i].op] : Place{}; }

    /// The dimensions of a tensor of `rank` that attribute `key` names; nothing where it does not name any.
    std::optional<std::vector<std::size_t>> dimensions(const std::string& key, std::size_t rank) const {
        const auto numbers = integer_attribute(op, key);
        if (!numbers) return {};
        std::vector<std::size_t> result;
        for (const std::int64_t number : *numbers) {
            const std::int64_t place = number < 0 ? number + static_cast<std::int64_t>(rank) : number;
            if (place < 0 || place >= static_cast<std::int64_t>(rank)) return {};
            result.push_back(static_cast<std::size_t>(place));
        }
        return result;
    }
};

// Where the channels of an output are.

Place customary(const Node& node) {
    const std::size_t rank = node.output()->size();
    if (rank < 2) return {};
    return rank == 3 ? 2 : 1;
}

/// Counted from the last dimension where negative.
template <int place>
Place at(const Node& node) {
    const int rank = static_cast<int>(node.output()->size());
    const int dimension = place < 0 ? rank + place : place;
    return dimension >= 0 && dimension < rank ? Place(dimension) : Place();
}

/// Where they are in the first input of as many dimensions.
Place kept(const Node& node) {
    for (std::size_t i = 0; i < node.op.inputs.size(); ++i) {
        if (const Shape* const input = node.input(i); input && input->size() == node.output()->size()) return node.input_channels(i);
    }
    return customary(node);
}

/// An output that is its inputs with shapes aligned at the last dimension.
Place aligned(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    if (!input || !channels || input->size() >= node.output()->size()) return kept(node);
    return *channels + node.output()->size() - input->size();
}

Place heads(const Node& node) {
    return node.output()->size() == 4 ? 1 : at<-1>(node);
}

/// The labels of an Einstein sum: one text for each input, and the output's.
std::optional<std::vector<std::string>> einsum_labels(const Node& node) {
    const auto attribute = node.op.attributes.find("equation");
    if (attribute == node.op.attributes.end() || !node.output()) return {};
    std::vector<std::string> terms(1);
    for (const char c : attribute->second) {
        if (c == ',' || c == '>') {
            terms.emplace_back();
        } else if (('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')) {
            terms.back() += c;
        } else if (c == '.') {
            return {};
        }
    }
    if (terms.size() != node.op.inputs.size() + 1 || terms.back().size() != node.output()->size()) return {};
    for (std::size_t i = 0; i < node.op.inputs.size(); ++i) {
        if (!node.input(i) || node.input(i)->size() != terms[i].size()) return {};
    }
    return terms;
}

// Views and reductions: where the channels of the first input go. Nothing if they do not stay together, or if that is not known.

/// As many elements in the same order: where as many elements stand before each channel.
Place reshaped(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    if (!input || !channels) return {};
    const auto before = [](const Shape& shape, std::size_t dimension) {
        return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dimension), 1.0, std::multiplies<>());
    };
    // Of dimensions of extent 1 in front of it, none is meant.
    for (std::size_t dimension = node.output()->size(); dimension-- > 0;) {
        if (before(*node.output(), dimension) == before(*input, *channels)) return dimension;
    }
    return {};
}

/// Some dimensions of the input are missing in the output: those that "dim" names, else those whose extents are missing.
Place reduced(const Node& node) {
    constexpr std::size_t kMostDimensions = 12;
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    const Shape& output = *node.output();
    if (!input || !channels || input->size() < output.size() || input->size() > kMostDimensions) return {};
    if (input->size() == output.size()) return (*input)[*channels] == output[*channels] ? channels : Place();
    const auto named = node.dimensions("dim", input->size());
    Place result;
    for (unsigned missing = 0; missing < 1U << input->size(); ++missing) {
        const auto is_missing = [&](std::size_t dimension) { return (missing >> dimension & 1U) != 0; };
        if (named && !std::ranges::all_of(*named, is_missing)) continue;
        Shape rest;
        Place place;
        for (std::size_t dimension = 0; dimension < input->size(); ++dimension) {
            if (dimension == *channels && !is_missing(dimension)) place = rest.size();
            if (!is_missing(dimension)) rest.push_back((*input)[dimension]);
        }
        if (rest != output) continue;
        if (!place || (result && result != place)) return {};
        result = place;
    }
    return result;
}

/// The output has one dimension more than each input.
Place stacked(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    const Shape& output = *node.output();
    if (!input || !channels || output.size() != input->size() + 1) return {};
    const auto named = node.dimensions("dim", output.size());
    Place result;
    for (std::size_t added = 0; added < output.size(); ++added) {
        Shape rest = output;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(added));
        if (rest != *input || (named && *named != std::vector{added})) continue;
        const Place place = *channels + (added <= *channels ? 1 : 0);
        if (result && result != place) return {};
        result = place;
    }
    return result;
}

/// "dims" of a permutation, "dim0" and "dim1" of an exchange; else the only dimension of the channels' extent.
Place permuted(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    const Shape& output = *node.output();
    if (!input || !channels || input->size() != output.size()) return {};
    if (const auto order = node.dimensions("dims", output.size()); order && order->size() == output.size()) {
        const auto found = std::ranges::find(*order, *channels);
        return found == order->end() ? Place() : static_cast<std::size_t>(found - order->begin());
    }
    const auto first = node.dimensions("dim0", output.size()), second = node.dimensions("dim1", output.size());
    if (first && second && first->size() == 1 && second->size() == 1) {
        return *channels == first->front() ? second->front() : *channels == second->front() ? first->front() : *channels;
    }
    const std::int64_t extent = (*input)[*channels];
    if (std::ranges::count(*input, extent) != 1 || std::ranges::count(output, extent) != 1) return {};
    return static_cast<std::size_t>(std::ranges::find(output, extent) - output.begin());
}

/// Of what is only known where the channels of its input go: elsewhere its output is like any other.
template <Place (*carried)(const Node&)>
Place or_customary(const Node& node) {
    const Place place = carried(node);
    return place ? place : customary(node);
}

// What cannot be divided.

struct Units {
    std::int64_t count = 0;
    std::string_view name = "channel";
    std::string_view attribute{};
};

/// The first of the attributes that holds one number.
Units units_from(const Node& node, std::span<const std::string_view> attributes, std::string_view name) {
    for (const std::string_view attribute : attributes) {
        if (const auto numbers = integer_attribute(node.op, std::string(attribute)); numbers && numbers->size() == 1) {
            return {numbers->front(), name, attribute};
        }
    }
    return {};
}

/// A channel each, of which there may be several in an input.
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
    if (units.attribute.empty()) node.refuse("its groups are not known, expected an attribute \"num_groups\"");
    return units;
}

/// Of several queries a key (grouped-query attention), the keys.
Units attention_heads(const Node& node, std::int64_t count) {
    if (node.output()->size() == 4) {
        for (std::size_t i = 0; i < std::min<std::size_t>(node.op.inputs.size(), 3); ++i) {
            if (const Shape& input = node.shape_of_input(i); input.size() == 4) count = std::gcd(count, input[1]);
        }
        return {count, "head"};
    }
    const Units units = units_from(node, kHeads, "head");
    if (units.attribute.empty()) node.refuse("its heads are not known, expected an attribute \"heads\" or tensors of rank 4");
    return units;
}

/// Where channels are put together from smaller ones, or taken apart, ranges end where both have an end.
Units shared_ends(const Node& node, std::int64_t count) {
    const auto channels = node.input_channels(0);
    return {channels ? std::gcd(count, node.shape_of_input(0)[*channels]) : count, "group of channels"};
}

// What a range of the channels reads.

using Pieces = std::vector<Piece>;

struct Request {
    const Node& node;
    const Channels& channels;
    Range range;
    bool exact;  ///< inputs have as many channels as the output, else a multiple of its units

    bool fits(std::int64_t extent) const {
        return exact ? extent == channels.count : extent > 0 && channels.units > 0 && extent % channels.units == 0;
    }
    /// The range of dimension `dimension` of input `input`.
    Piece share(std::size_t input, std::size_t dimension) const {
        const Shape& shape = node.shape_of_input(input);
        const std::int64_t extent = dimension < shape.size() ? shape[dimension] : 0;
        if (!fits(extent)) {
            node.fail("its input " + quoted(node.producer(input).name) + " has " + std::to_string(extent) + " channels, expected " +
                      (exact ? std::to_string(channels.count) : "a multiple of " + std::to_string(channels.units)));
        }
        return {input, dimension, rescaled(range, channels.count, extent)};
    }
    /// That of parameters given as a tensor, if they have channels there; else, and of any other input, all.
    Piece share_of_parameters(std::size_t input, std::size_t dimension) const {
        const Shape* const shape = node.input(input);
        const bool has_channels = shape && dimension < shape->size() && fits((*shape)[dimension]);
        return node.is_parameter[node.op.inputs[input].op] && has_channels ? share(input, dimension) : Piece{input, {}};
    }
    /// Whatever the dimension counted from the last one is in the input.
    Piece share_aligned(std::size_t input) const {
        const std::size_t rank = node.output()->size(), input_rank = node.shape_of_input(input).size();
        if (channels.dimension + input_rank < rank) return {input, {}};
        const std::size_t dimension = channels.dimension + input_rank - rank;
        const bool broadcast = channels.count > 1 && dimension < input_rank && node.shape_of_input(input)[dimension] == 1;
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

/// The first `values` inputs whole, of parameters the rows.
template <std::size_t values>
Pieces rows(const Request& request) {
    return request.each_input([&](std::size_t i) { return i < values ? Piece{i, {}} : request.share_of_parameters(i, 0); });
}

/// The same channels of the first input, of parameters the rows.
Pieces same_channels(const Request& request) {
    return request.each_input(
        [&](std::size_t i) { return i == 0 ? request.share(0, request.channels.dimension) : request.share_of_parameters(i, 0); });
}

/// The same channels of the first input, all of the grid.
Pieces sampled(const Request& request) {
    return request.each_input([&](std::size_t i) { return i == 0 ? request.share(0, request.channels.dimension) : Piece{i, {}}; });
}

/// Of parameters the rows; those of a transposed convolution, and the groups of one, are in columns: inputs x outputs / groups.
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

/// The columns of the second factor, or of a vector there the rows of the first.
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
    if (!labels) request.node.refuse("what it sums over is not known, expected an attribute \"equation\" that names each dimension");
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
        // A mask of all heads, or of each.
        const bool by_head = rank == 4 && input.size() >= 3 && input[input.size() - 3] != 1;
        return by_head ? request.share(i, input.size() - 3) : Piece{i, {}};
    });
}

/// Every gate of a hidden unit reads all that the cell reads, the cell state and the output gate of a unit only its own.
Pieces recurrent(const Request& request) {
    return request.each_input([&](std::size_t i) {
        const bool cell_state = request.node.producer(i).kind == "lstm_cell" && request.node.op.inputs[i].output == 1;
        return cell_state ? request.share(i, request.channels.dimension) : request.share_of_parameters(i, 0);
    });
}

/// Refuses an op that works over its channels; where its attribute does not tell, it does.
void expect_other_dimension(const Request& request) {
    const auto named = request.node.dimensions("dim", request.node.output()->size());
    if (named && !named->empty() && std::ranges::find(*named, request.channels.dimension) == named->end()) return;
    request.node.refuse(
        named ? "it works over its channels, each of which needs all others"
              : "it works over its channels, each of which needs all others, unless an attribute \"dim\" names another dimension");
}

Pieces over_other_dimension(const Request& request) {
    expect_other_dimension(request);
    return each_aligned(request);
}

Pieces selected(const Request& request) {
    expect_other_dimension(request);
    return request.each_input([&](std::size_t i) { return i == 0 ? request.share(0, request.channels.dimension) : Piece{i, {}}; });
}

/// The last dimensions, as many as "normalized_shape" has.
Pieces over_last_dimensions(const Request& request) {
    const auto shape = integer_attribute(request.node.op, "normalized_shape");
    if (request.channels.dimension + (shape ? shape->size() : 1) >= request.node.output()->size()) {
        request.node.refuse("it normalizes over its channels, each of which needs all others");
    }
    if (request.node.op.parameter_bytes > 0) request.node.refuse("its parameters belong to all channels");
    return request.each_input([&](std::size_t i) { return i == 0 ? request.share(0, request.channels.dimension) : Piece{i, {}}; });
}

/// A view or an op that leaves the channels of its first input together, and where they are.
template <Place (*carried)(const Node&)>
Pieces carries(const Request& request) {
    if (!request.node.op.inputs.empty()) request.node.shape_of_input(0);
    const auto channels = request.node.input_channels(0);
    if (!channels || carried(request.node) != request.channels.dimension) {
        request.node.refuse("it does not keep the channels of its input in one dimension, or its attributes do not say where");
    }
    return request.each_input([&](std::size_t i) { return request.share(i, *channels); });
}

/// An op that keeps its rank and its channels; other inputs than the first tell where it looks.
Pieces leaves(const Request& request) {
    const Shape& input = request.node.shape_of_input(0);
    const std::size_t dimension = request.channels.dimension;
    if (dimension >= input.size() || input.size() != request.node.output()->size() || input[dimension] != request.channels.count) {
        request.node.refuse("its channels are not those of its input, but some of them or more");
    }
    return request.each_input([&](std::size_t i) { return i == 0 ? request.share(0, dimension) : Piece{i, {}}; });
}

/// The maximum of two tensors, or over some dimension of one.
Pieces extreme(const Request& request) {
    return request.node.op.inputs.size() > 1 ? each_aligned(request) : carries<reduced>(request);
}

/// A channel of the first half of the input times the function of one of the second.
Pieces gated(const Request& request) {
    const Shape& input = request.node.shape_of_input(0);
    const std::size_t dimension = request.channels.dimension;
    if (input.size() == request.node.output()->size() && input[dimension] == request.channels.count) return leaves(request);
    const std::int64_t half = request.channels.count;
    if (dimension >= input.size() || input[dimension] != 2 * half) request.node.refuse("it does not halve the channels of its input");
    return {{0, dimension, request.range}, {0, dimension, {half + request.range.begin, half + request.range.end}}};
}

/// Joined along the channels, the ranges of those inputs that the range covers; along another dimension, that range of each.
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
        const Range covered{std::max(request.range.begin, begin) - begin, std::min(request.range.end, begin + extent) - begin};
        if (covered == Range{0, extent}) {
            pieces.push_back({i, {}});
        } else if (covered.size() > 0) {
            pieces.push_back({i, dimension, covered});
        }
        begin += extent;
    }
    if (begin != request.channels.count) {
        node.fail("its inputs have " + std::to_string(begin) + " channels, expected " + std::to_string(request.channels.count));
    }
    return pieces;
}

/// What is known of kinds.
struct Family {
    std::string_view kinds;
    Place (*place)(const Node&) = kept;
    Pieces (*reads)(const Request&) = all;
    Units (*units)(const Node&, std::int64_t count) = nullptr;  ///< nothing: channels, as many as in each input
    std::string_view never = {};                                ///< why no op of these kinds can be split
};

constexpr std::array kFamilies{
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

    Family{"relu relu6 leaky_relu elu selu celu gelu silu mish softplus hardtanh hardswish hardsigmoid logsigmoid sigmoid tanh clamp abs "
           "exp log1p expm1 addcmul addcdiv lerp "
           "log pow sqrt rsqrt neg round sign dropout dropout1d dropout2d dropout3d alpha_dropout clone contiguous identity detach add sub "
           "mul "
           "div masked_fill where eq ge gt le lt ne mse_loss l1_loss smooth_l1_loss kl_div binary_cross_entropy "
           "binary_cross_entropy_with_logits erf sin cos reciprocal softsign threshold remainder maximum minimum ceil floor to "
           "quantize_per_tensor dequantize isinf isnan isfinite logical_and logical_not logical_or logical_xor bitwise_and bitwise_not "
           "bitwise_or",
           kept, each_aligned},
    Family{"expand", aligned, each_aligned},
    Family{"glu", kept, gated},
    Family{"cat", kept, joined},
    Family{"stack", or_customary<stacked>, carries<stacked>},
    Family{"pad narrow slice split chunk", kept, leaves},
    Family{"select unbind mean sum prod var norm logsumexp all any argmax argmin", or_customary<reduced>, carries<reduced>},
    Family{"max min", or_customary<reduced>, extreme},
    Family{"flatten unflatten reshape view squeeze unsqueeze", or_customary<reshaped>, carries<reshaped>, shared_ends},
    Family{"permute transpose", or_customary<permuted>, carries<permuted>},

    Family{.kinds = "repeat roll flip tril triu diagonal scatter unfold im2col col2im index_add scatter_add pack_padded_sequence "
                    "pad_packed_sequence",
           .never = "where its elements come from depends on their places"},
    Family{.kinds = "input constant arange full", .never = "its values come from outside"},
    Family{.kinds = "lstm gru rnn", .never = "each step reads all hidden units of the step before; split a network of cells"},
    Family{.kinds = "cdist bucketize pairwise_distance cosine_similarity weight_norm", .never = "each element takes all of an input"},
    Family{.kinds = "cross_entropy nll_loss", .never = "a loss over classes needs all of them"},
};

const Family* family_of(std::string_view kind) {
    static const auto by_kind = [] {
        std::unordered_map<std::string_view, const Family*> result;
        for (const Family& family : kFamilies) {
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
        return static_cast<std::int64_t>(static_cast<uint128>(extent) * static_cast<uint128>(place) / static_cast<uint128>(of));
    };
    return {up_to(range.begin), up_to(range.end)};
}

ChannelMap::ChannelMap(const Graph& graph) : graph_(graph), dimension_(graph.size()), is_parameter_(graph.size()) {
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const KindInfo& kind = kind_info(op.kind);
        is_parameter_[id] = kind.parameter || (kind.view && !op.inputs.empty() && is_parameter_[op.inputs.front().op]);
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
    if (!family) node.refuse("what its channels are computed from is not known");
    if (!family->never.empty()) node.refuse(family->never);
    const auto dimension = dimension_[id];
    if (!dimension) {
        node.fail("has no channel dimension: an op of kind " + quoted(op.kind) +
                  (node.output() ? " whose output has rank " + std::to_string(node.output()->size()) : " without a shape of its output"));
    }
    Channels channels{*dimension, (*node.output())[*dimension]};
    if (channels.count < 1) node.fail("has no channels");
    channels.units = channels.count;
    if (family->units) {
        const Units units = family->units(node, channels.count);
        if (units.count < 1 || channels.count % units.count != 0) {
            node.fail("its " + std::to_string(channels.count) + " channels do not divide into " + std::to_string(units.count) + ' ' +
                      (units.name == "head" ? "heads" : "groups"));
        }
        channels.units = units.count;
        channels.unit = units.count == channels.count && units.attribute.empty() ? "channel" : units.name;
        channels.unit_attribute = units.attribute;
    }
    for (std::size_t k = 1; k < op.outputs.size(); ++k) {
        const auto& shape = op.outputs[k].shape;
        const std::int64_t extent = shape && channels.dimension < shape->size() ? (*shape)[channels.dimension] : 0;
        if (family->units ? extent % channels.units != 0 || extent == 0 : extent != channels.count) {
            node.fail("has no channel dimension: its output " + std::to_string(k) + " has " + std::to_string(extent) +
                      " channels, its first " + std::to_string(channels.count));
        }
    }
    read_by(id, channels, {0, channels.count});  // whatever is wrong with its inputs
    return channels;
}

std::vector<Piece> ChannelMap::read_by(OpId id, const Channels& channels, Range range) const {
    const Family& family = *family_of(graph_.op(id).kind);
    const Node node{graph_, graph_.op(id), dimension_, is_parameter_};
    return family.reads({node, channels, range, family.units == nullptr});
}

}  // namespace placewright
