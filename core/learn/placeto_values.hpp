// SPDX-License-Identifier: MIT
// The numbers that Placeto's network computes along a trace, and their derivatives.
#pragma once

#include "core/learn/dense.hpp"
#include "core/learn/placeto_trace.hpp"

namespace placewright {

class PlacetoValues {
public:
    /// All must outlive this object.
    PlacetoValues(const PlacetoNetwork& network, std::span<const PolicyParameter> parameters,
                  std::span<const float> weights, const PolicyGraph& graph);

    /// Computes what was added to the trace since the last call, or since clear().
    void extend(const PlacetoTrace& trace);
    /// To be called when the trace is cleared.
    void clear();
    /// Returns the logits of the devices at a decision; -infinity for devices that the node may not be on.
    std::span<const float> logits(std::size_t decision) const {
        return std::span(logits_.values).subspan(decision * graph_.devices, graph_.devices);
    }

    /// Adds the derivatives by all weights to `slope`. `logit_slope` [decision, device]: derivatives by the
    /// logits.
    void add_slopes(const PlacetoTrace& trace, Table logit_slope, std::span<float> slope) const;

private:
    struct Round {
        std::vector<Table> message;  ///< f of the round before
        Table sum;                   ///< of the messages that a row receives
        std::vector<Table> answer;   ///< g of the sums
        Table x;
    };
    struct Set {
        Table input;                ///< embeddings
        std::vector<Table> single;  ///< l of them
        Table sum;                  ///< [decision * bins() + bin]: of all members, then by device
        std::vector<Table> pooled;  ///< h of the sums
    };

    bool one_hot() const { return network_.one_hot(); }
    bool flat() const { return network_.aggregation == PlacetoAggregation::flat; }
    /// Sums over a set: over all its members and, if devices are told apart by features, by device.
    std::size_t bins() const { return one_hot() ? 1 : 1 + std::size_t{graph_.devices}; }
    /// Factor of the messages of a row's senders.
    float share_of_senders(const PlacetoTrace::Round& rows, std::size_t row) const {
        const auto senders = rows.sender_begin[row + 1] - rows.sender_begin[row];
        return network_.mean_messages && senders > 1 ? 1.0F / static_cast<float>(senders) : 1.0F;
    }
    /// Share of a member in the sums over a set.
    float share() const { return 1.0F / static_cast<float>(graph_.nodes); }
    /// Evaluations of the head per decision.
    std::size_t heads() const { return one_hot() ? 1 : graph_.devices; }

    void extend_messages(const PlacetoTrace& trace);
    void extend_sets(const PlacetoTrace& trace);
    void extend_head(const PlacetoTrace& trace);

    void add_set_slopes(const PlacetoTrace& trace, std::size_t which, Table pooled_slope,
                        Table& embedding_slope, std::span<float> slope) const;
    void add_message_slopes(const PlacetoTrace& trace, const Table& embedding_slope,
                            std::span<float> slope) const;

    const PlacetoNetwork& network_;
    const PolicyGraph& graph_;

    DenseLayers transform_;
    std::array<std::array<DenseLayers, 2>, 2> message_;                      ///< [direction][f, g]
    std::array<std::array<DenseLayers, 2>, PlacetoNetwork::kSets> pooling_;  ///< [set][l, h]
    std::vector<Linear> head_;

    Table features_;
    std::vector<Table> base_;                   ///< transform of the features
    std::array<std::vector<Round>, 2> rounds_;  ///< [direction]
    Table embedding_;
    std::vector<Set> sets_;
    Table common_;  ///< [decision]: inputs of the head that all devices share
    Table own_;     ///< [decision, device]: the others
    Table shared_;  ///< [decision]: what the common inputs give before the relu
    Table hidden_;  ///< [decision, device], or [decision] if one_hot
    Table logits_;  ///< likewise
};

}  // namespace placewright
