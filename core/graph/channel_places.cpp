// SPDX-License-Identifier: MIT
#include "core/graph/channel_places.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace placewright::channel_places {

Place customary(const Node& node) {
    const std::size_t rank = node.output()->size();
    if (rank < 2) return {};
    return rank == 3 ? 2 : 1;
}

Place kept(const Node& node) {
    for (std::size_t i = 0; i < node.op.inputs.size(); ++i) {
        if (const Shape* const input = node.input(i); input && input->size() == node.output()->size())
            return node.input_channels(i);
    }
    return customary(node);
}

Place aligned(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    if (!input || !channels || input->size() >= node.output()->size()) return kept(node);
    return *channels + node.output()->size() - input->size();
}

Place heads(const Node& node) {
    return node.output()->size() == 4 ? 1 : at<-1>(node);
}

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

Place reshaped(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    if (!input || !channels) return {};
    const auto before = [](const Shape& shape, std::size_t dimension) {
        return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dimension), 1.0,
                               std::multiplies<>());
    };
    // Skips dimensions of extent 1 in front of it.
    for (std::size_t dimension = node.output()->size(); dimension-- > 0;) {
        if (before(*node.output(), dimension) == before(*input, *channels)) return dimension;
    }
    return {};
}

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

Place permuted(const Node& node) {
    const Shape* const input = node.input(0);
    const auto channels = node.input_channels(0);
    const Shape& output = *node.output();
    if (!input || !channels || input->size() != output.size()) return {};
    const auto exchanged = [&](std::size_t first, std::size_t second) -> Place {
        return *channels == first ? second : *channels == second ? first : *channels;
    };
    const auto dims = node.dimensions("dims", output.size());
    if (dims && node.op.kind == "transpose") {
        if (dims->size() == 2) return exchanged(dims->front(), dims->back());
    } else if (dims && dims->size() == output.size()) {
        const auto found = std::ranges::find(*dims, *channels);
        return found == dims->end() ? Place() : static_cast<std::size_t>(found - dims->begin());
    }
    const auto first = node.dimensions("dim0", output.size()),
               second = node.dimensions("dim1", output.size());
    if (first && second && first->size() == 1 && second->size() == 1)
        return exchanged(first->front(), second->front());
    const std::int64_t extent = (*input)[*channels];
    if (std::ranges::count(*input, extent) != 1 || std::ranges::count(output, extent) != 1) return {};
    return static_cast<std::size_t>(std::ranges::find(output, extent) - output.begin());
}

}  // namespace placewright::channel_places
