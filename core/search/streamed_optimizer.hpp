// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "core/search/optimizer.hpp"

namespace placewright {

/// An optimizer whose placements are a stream. For those who want batches, ask() takes all items that the
/// stream gives out at a time.
class StreamedOptimizer : public Optimizer, public PlacementStream {
public:
    std::span<const Placement> ask(std::size_t limit) override {
        items_.clear();
        batch_.clear();
        StreamLimits limits{limit, limit, threads()};
        limits.in_batches = true;
        for (; items_.empty(); limits.continues = true) {
            PlacementStream* const items = stream(limits);
            made_.clear();
            while (StreamItem* const item = items->next()) made_.push_back(item);
            if (made_.empty() && (is_exhausted() || open() > 0 || stop().stop_requested())) return {};
            for_each(made_.size(), [&](std::size_t i) { items->fill(*made_[i]); });
            for (StreamItem* const item : made_) {
                if (!items->knows(*item)) items_.push_back(item);
            }
        }
        for (const StreamItem* const item : items_) batch_.push_back(*item->placement);
        return batch_;
    }
    const Placement* base(std::size_t i) const override { return items_[i]->base; }
    void tell(std::span<const Score> scores) override {
        for (std::size_t i = 0; i < scores.size(); ++i) scored(*items_[i], scores[i]);
    }
    bool proposes_ahead() const override { return true; }
    std::span<const Scored> counted() const override = 0;

private:
    std::vector<StreamItem*> items_, made_;
    std::vector<Placement> batch_;  ///< [items_]
};

/// The placements of any optimizer, asked for in batches, as a stream.
class BatchStream final : public PlacementStream {
public:
    explicit BatchStream(Optimizer& optimizer) : optimizer_(optimizer) {}

    /// Begins a section. At most `at_once` placements are asked for at a time.
    void begin(const StreamLimits& limits, std::size_t at_once) {
        limits_ = limits;
        at_once_ = at_once;
        given_here_ = 0;
        counted_.clear();
    }

    StreamItem* next() override {
        if (given_here_ == limits_.given) return nullptr;
        if (given_ == items_.size() && !ask()) return nullptr;
        ++given_here_;
        return &items_[given_++];
    }
    void fill(StreamItem& item) override {
        const std::size_t i = index_of(item);
        optimizer_.make(i);
        item.placement = &optimizer_.asked()[i];
        item.key = key_of(*item.placement);
        item.base = optimizer_.base(i);
    }
    void scored(StreamItem& item, const Score& score) override {
        scores_[index_of(item)] = score;
        if (++scored_ < items_.size()) return;
        // The optimizer may reuse the memory of what it proposed.
        for (std::size_t i = 0; i < items_.size(); ++i) {
            placements_[counted_.size()] = *items_[i].placement;
            counted_.push_back({&placements_[counted_.size()], scores_[i]});
        }
        optimizer_.tell(scores_);
        items_.clear();
        given_ = scored_ = 0;
    }

    std::span<const Scored> counted() const override { return counted_; }
    std::size_t open() const override { return given_; }
    bool is_next_certain() const override { return true; }
    bool is_exhausted() const override { return is_exhausted_; }

private:
    std::size_t index_of(const StreamItem& item) const {
        return static_cast<std::size_t>(&item - items_.data());
    }
    /// Returns false if there is nothing before all of the last batch are scored, or at all.
    bool ask() {
        if (!items_.empty()) return false;
        const std::size_t room = limits_.counted - std::min(limits_.counted, counted_.size());
        if (room == 0) return false;
        items_.resize(optimizer_.begin_ask(std::min(room, at_once_)));
        is_exhausted_ = items_.empty();
        scores_.resize(items_.size());
        if (placements_.size() < counted_.size() + items_.size())
            placements_.resize(counted_.size() + items_.size());
        return !items_.empty();
    }

    Optimizer& optimizer_;
    StreamLimits limits_;
    std::size_t at_once_ = 1, given_here_ = 0;
    bool is_exhausted_ = false;

    std::vector<StreamItem> items_;  ///< of the batch
    std::vector<Score> scores_;      ///< [items_]
    std::size_t given_ = 0, scored_ = 0;
    std::vector<Scored> counted_;
    std::deque<Placement> placements_;  ///< [counted_], and more
};

}  // namespace placewright
