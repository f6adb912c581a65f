// SPDX-License-Identifier: MIT
#include "core/learn/placeto_values.hpp"

#include <algorithm>
#include <limits>

namespace placewright {
namespace {

void add_row(const float* from, std::size_t width, float* to) {
    for (std::size_t i = 0; i < width; ++i) to[i] += from[i];
}

void add_scaled(const float* from, float factor, std::size_t width, float* to) {
    for (std::size_t i = 0; i < width; ++i) to[i] += factor * from[i];
}

std::size_t own_inputs(const PlacetoNetwork& network) {
    if (network.one_hot()) return 0;
    const bool flat = network.aggregation == PlacetoAggregation::flat;
    return PlacetoNetwork::kDeviceFeatures + (flat ? 0 : PlacetoNetwork::kSets * network.embedding());
}

}  // namespace

PlacetoValues::PlacetoValues(const PlacetoNetwork& network, std::span<const PolicyParameter> parameters,
                             std::span<const float> weights, const PolicyGraph& graph)
    : network_(network),
      graph_(graph),
      features_(network.node_features()),
      embedding_(network.embedding()),
      common_(network.head_inputs() - own_inputs(network)),
      own_(std::max<std::size_t>(1, own_inputs(network))),
      shared_(network.hidden),
      hidden_(network.hidden),
      logits_(network.head_outputs()) {
    LayerReader reader(parameters, weights);
    if (network.aggregation == PlacetoAggregation::messages) {
        transform_ = reader.layers(network.layers + std::size_t{1}, false);
        base_ = transform_.tables();
        for (std::size_t way = 0; way < 2; ++way) {
            auto& [f, g] = message_[way];
            f = reader.layers(network.layers);
            g = reader.layers(network.layers);
            for (std::uint32_t round = 0; round < network.rounds; ++round)
                rounds_[way].push_back({f.tables(), Table(network.width), g.tables(), Table(network.width)});
        }
    }
    if (!flat()) {
        for (auto& [l, h] : pooling_) {
            l = reader.layers(1);
            h = reader.layers(1);
            sets_.push_back({Table(network.embedding()), l.tables(), Table(network.embedding()), h.tables()});
        }
    }
    head_.push_back(reader.linear());
    head_.push_back(reader.linear());
}

void PlacetoValues::clear() {
    const auto clear_all = [](std::vector<Table>& tables) {
        for (Table& table : tables) table.resize(0);
    };
    clear_all(base_);
    for (auto& way : rounds_) {
        for (Round& round : way) {
            clear_all(round.message);
            clear_all(round.answer);
            round.sum.resize(0);
            round.x.resize(0);
        }
    }
    for (Set& set : sets_) {
        clear_all(set.single);
        clear_all(set.pooled);
        set.input.resize(0);
        set.sum.resize(0);
    }
    for (Table* table : {&features_, &embedding_, &common_, &own_, &shared_, &hidden_, &logits_})
        table->resize(0);
}

void PlacetoValues::extend(const PlacetoTrace& trace) {
    const std::size_t known = features_.values.size();
    features_.values.insert(features_.values.end(),
                            trace.features.begin() + static_cast<std::ptrdiff_t>(known),
                            trace.features.end());
    if (!flat()) {
        extend_messages(trace);
        extend_sets(trace);
    }
    extend_head(trace);
}

void PlacetoValues::extend_messages(const PlacetoTrace& trace) {
    const std::size_t width = network_.width, first = embedding_.rows();
    embedding_.resize(trace.embedding[0].size());
    if (network_.aggregation != PlacetoAggregation::messages) {
        for (std::size_t row = first; row < embedding_.rows(); ++row)
            std::copy_n(features_[trace.embedding[0][row]], embedding_.width, embedding_[row]);
        return;
    }
    transform_.extend(features_, base_);
    for (std::size_t way = 0; way < 2; ++way) {
        const auto& [f, g] = message_[way];
        const Table* before = &base_.back();
        for (std::size_t i = 0; i < rounds_[way].size(); ++i) {
            Round& round = rounds_[way][i];
            const PlacetoTrace::Round& rows = trace.rounds[way][i];
            f.extend(*before, round.message);
            const std::size_t begin = round.x.rows(), end = rows.base.size();
            round.sum.resize(end);
            round.x.resize(end);
            for (std::size_t row = begin; row < end; ++row) {
                const float share = share_of_senders(rows, row);
                for (auto at = rows.sender_begin[row]; at < rows.sender_begin[row + 1]; ++at)
                    add_scaled(round.message.back()[rows.sender[at]], share, width, round.sum[row]);
            }
            g.extend(round.sum, round.answer);
            for (std::size_t row = begin; row < end; ++row) {
                add_row(base_.back()[rows.base[row]], width, round.x[row]);
                // Without senders nothing is added, though g(0) is not 0.
                if (rows.sender_begin[row] < rows.sender_begin[row + 1])
                    add_row(round.answer.back()[row], width, round.x[row]);
            }
            before = &round.x;
        }
        for (std::size_t row = first; row < embedding_.rows(); ++row)
            std::copy_n((*before)[trace.embedding[way][row]], width, embedding_[row] + way * width);
    }
}

void PlacetoValues::extend_sets(const PlacetoTrace& trace) {
    const std::size_t width = embedding_.width;
    std::vector<float> elsewhere(width);  // sum over members on none of the devices
    for (std::size_t i = 0; i < sets_.size(); ++i) {
        Set& set = sets_[i];
        const PlacetoTrace::Set& rows = trace.sets[i];
        for (std::size_t row = set.input.rows(); row < rows.embedding.size(); ++row) {
            const float* embedding = embedding_[rows.embedding[row]];
            set.input.values.insert(set.input.values.end(), embedding, embedding + width);
        }
        pooling_[i][0].extend(set.input, set.single);
        const std::size_t first = set.sum.rows() / bins();
        set.sum.resize(trace.decisions() * bins());
        for (std::size_t decision = first; decision < trace.decisions(); ++decision) {
            std::ranges::fill(elsewhere, 0.0F);
            float* const all = set.sum[decision * bins()];
            for (auto at = rows.member_begin[decision]; at < rows.member_begin[decision + 1]; ++at) {
                float* const sum = one_hot()                          ? all
                                   : rows.device[at] < graph_.devices ? all + (1 + rows.device[at]) * width
                                                                      : elsewhere.data();
                add_row(set.single.back()[rows.member[at]], width, sum);
            }
            add_row(elsewhere.data(), width, all);
            for (std::size_t bin = 1; bin < bins(); ++bin) add_row(all + bin * width, width, all);
            for (float* sum = all; sum < all + bins() * width; ++sum) *sum *= share();
        }
        pooling_[i][1].extend(set.sum, set.pooled);
    }
}

void PlacetoValues::extend_head(const PlacetoTrace& trace) {
    const std::size_t first = common_.rows(), width = network_.embedding(), devices = graph_.devices;
    common_.resize(trace.decisions());
    own_.resize(one_hot() ? 0 : trace.decisions() * devices);
    shared_.resize(trace.decisions());
    hidden_.resize(trace.decisions() * heads());
    logits_.resize(trace.decisions() * heads());
    for (std::size_t decision = first; decision < trace.decisions(); ++decision) {
        float* common = common_[decision];
        if (flat()) {
            for (std::size_t node = 0; node < graph_.nodes; ++node, common += features_.width)
                std::copy_n(features_[trace.all[decision * graph_.nodes + node]], features_.width, common);
        } else {
            for (const Set& set : sets_)
                common = std::copy_n(set.pooled.back()[decision * bins()], width, common);
            std::copy_n(embedding_[trace.current[decision]], width, common);
        }
        if (!one_hot()) {
            constexpr std::size_t kOwn = PlacetoNetwork::kDeviceFeatures;
            for (std::size_t device = 0; device < devices; ++device) {
                float* own = own_[decision * devices + device];
                for (const Set& set : sets_)
                    own = std::copy_n(set.pooled.back()[decision * bins() + 1 + device], width, own);
                std::copy_n(trace.device_features.data() + (decision * devices + device) * kOwn, kOwn, own);
            }
        }
        std::copy_n(head_[0].bias(), shared_.width, shared_[decision]);
    }
    head_[0].add(common_, 0, first, shared_);
    for (std::size_t row = first * heads(); row < hidden_.rows(); ++row) {
        std::copy_n(shared_[row / heads()], shared_.width, hidden_[row]);
        std::copy_n(head_[1].bias(), logits_.width, logits_[row]);
    }
    if (!one_hot()) head_[0].add(own_, common_.width, first * devices, hidden_);
    for (float* value = hidden_[first * heads()]; value < hidden_[hidden_.rows()]; ++value)
        *value = std::max(*value, 0.0F);

    head_[1].add(hidden_, 0, first * heads(), logits_);
    for (std::size_t i = first * devices; i < logits_.values.size(); ++i) {
        logits_.values[i] = trace.allowed[i] != 0 ? logits_.values[i] + trace.preferences[i]
                                                  : -std::numeric_limits<float>::infinity();
    }
}

void PlacetoValues::add_slopes(const PlacetoTrace& trace, Table logit_slope, std::span<float> slope) const {
    logit_slope.width = head_[1].out();
    head_[1].add_weight_slope(hidden_, 0, logit_slope, slope);
    head_[1].add_bias_slope(logit_slope, slope);
    Table hidden_slope(hidden_.width, hidden_.rows());
    head_[1].add_input_slope(logit_slope, 0, hidden_.width, hidden_slope);
    stop_at_relu(hidden_, hidden_slope);
    Table shared_slope(hidden_.width, trace.decisions());
    for (std::size_t row = 0; row < hidden_slope.rows(); ++row)
        add_row(hidden_slope[row], hidden_.width, shared_slope[row / heads()]);
    head_[0].add_weight_slope(common_, 0, shared_slope, slope);
    head_[0].add_bias_slope(shared_slope, slope);
    if (!one_hot()) head_[0].add_weight_slope(own_, common_.width, hidden_slope, slope);
    if (flat()) return;

    const std::size_t width = embedding_.width;
    Table common_slope(common_.width, trace.decisions());
    head_[0].add_input_slope(shared_slope, 0, common_.width, common_slope);
    Table own_slope(PlacetoNetwork::kSets * width, own_.rows());
    if (!one_hot()) head_[0].add_input_slope(hidden_slope, common_.width, own_slope.width, own_slope);
    Table embedding_slope(width, embedding_.rows());
    for (std::size_t set = 0; set < sets_.size(); ++set) {
        Table pooled_slope(width, sets_[set].sum.rows());
        for (std::size_t row = 0; row < pooled_slope.rows(); ++row) {
            const std::size_t decision = row / bins(), bin = row % bins();
            const float* from = bin == 0 ? common_slope[decision] : own_slope[decision * heads() + bin - 1];
            std::copy_n(from + set * width, width, pooled_slope[row]);
        }
        add_set_slopes(trace, set, std::move(pooled_slope), embedding_slope, slope);
    }
    if (network_.aggregation != PlacetoAggregation::messages) return;
    for (std::size_t decision = 0; decision < trace.decisions(); ++decision)
        add_row(common_slope[decision] + PlacetoNetwork::kSets * width, width,
                embedding_slope[trace.current[decision]]);
    add_message_slopes(trace, embedding_slope, slope);
}

void PlacetoValues::add_set_slopes(const PlacetoTrace& trace, std::size_t which, Table pooled_slope,
                                   Table& embedding_slope, std::span<float> slope) const {
    const Set& set = sets_[which];
    const PlacetoTrace::Set& rows = trace.sets[which];
    const auto& [l, h] = pooling_[which];
    const std::size_t width = embedding_.width;
    Table sum_slope(width, set.sum.rows());
    h.add_slopes(set.sum, set.pooled, std::move(pooled_slope), &sum_slope, slope);
    Table single_slope(width, set.input.rows());
    for (std::size_t decision = 0; decision < trace.decisions(); ++decision) {
        // A member counts towards the sum of all and that of its device.
        float* const all = sum_slope[decision * bins()];
        for (std::size_t bin = 1; bin < bins(); ++bin) add_row(all, width, all + bin * width);
        for (auto at = rows.member_begin[decision]; at < rows.member_begin[decision + 1]; ++at) {
            const bool apart = !one_hot() && rows.device[at] < graph_.devices;
            add_scaled(all + (apart ? 1 + rows.device[at] : 0) * width, share(), width,
                       single_slope[rows.member[at]]);
        }
    }
    const bool learns = network_.aggregation == PlacetoAggregation::messages;
    Table input_slope(width, learns ? set.input.rows() : 0);
    l.add_slopes(set.input, set.single, std::move(single_slope), learns ? &input_slope : nullptr, slope);
    for (std::size_t row = 0; row < input_slope.rows(); ++row)
        add_row(input_slope[row], width, embedding_slope[rows.embedding[row]]);
}

void PlacetoValues::add_message_slopes(const PlacetoTrace& trace, const Table& embedding_slope,
                                       std::span<float> slope) const {
    const std::size_t width = network_.width;
    Table base_slope(width, base_.back().rows());
    for (std::size_t way = 0; way < 2; ++way) {
        const auto& [f, g] = message_[way];
        const auto& rounds = rounds_[way];
        Table x_slope(width, (rounds.empty() ? base_.back() : rounds.back().x).rows());
        for (std::size_t row = 0; row < embedding_slope.rows(); ++row)
            add_row(embedding_slope[row] + way * width, width, x_slope[trace.embedding[way][row]]);
        for (std::size_t i = rounds.size(); i-- > 0;) {
            const Round& round = rounds[i];
            const PlacetoTrace::Round& rows = trace.rounds[way][i];
            for (std::size_t row = 0; row < x_slope.rows(); ++row) {
                add_row(x_slope[row], width, base_slope[rows.base[row]]);
                if (rows.sender_begin[row] == rows.sender_begin[row + 1])
                    std::fill_n(x_slope[row], width, 0.0F);
            }
            Table sum_slope(width, round.sum.rows());
            g.add_slopes(round.sum, round.answer, std::move(x_slope), &sum_slope, slope);
            const Table& before = i == 0 ? base_.back() : rounds[i - 1].x;
            Table message_slope(width, before.rows());
            for (std::size_t row = 0; row < sum_slope.rows(); ++row) {
                const float share = share_of_senders(rows, row);
                for (auto at = rows.sender_begin[row]; at < rows.sender_begin[row + 1]; ++at)
                    add_scaled(sum_slope[row], share, width, message_slope[rows.sender[at]]);
            }
            x_slope = Table(width, before.rows());
            f.add_slopes(before, round.message, std::move(message_slope), &x_slope, slope);
        }
        add_row(x_slope[0], x_slope.values.size(), base_slope[0]);
    }
    transform_.add_slopes(features_, base_, std::move(base_slope), nullptr, slope);
}

}  // namespace placewright
