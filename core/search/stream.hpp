// SPDX-License-Identifier: MIT
// The placements of a search that takes one step after the other, for threads that take them one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "core/cost/placement_key.hpp"
#include "core/sim/score.hpp"

namespace placewright {

/// A placement and its score.
struct Scored {
    const Placement* placement = nullptr;
    Score score;
};

/// A placement that a stream gives out to be scored. PlacementStream::fill() fills in all of it.
struct StreamItem {
    const Placement* placement = nullptr;
    PlacementKey key;                 ///< of the placement
    const Placement* base = nullptr;  ///< a placement from which it differs in few groups, or null
};

/// The placements of a search, one by one. Each thread takes an item, scores it, and then takes the next one,
/// so that no thread waits for the end of a batch.
///
/// An item may depend on the score of an earlier item that is not known yet. The stream then guesses that
/// score's effect and gives the item out; if the guess was wrong, the item does not count. So what counts
/// does not depend on the number of threads.
///
/// Several threads may call fill() at the same time; all other functions are called by one thread at a time.
/// All are called within Workers::for_each(), which must not be nested: a stream must not use the threads.
class PlacementStream {
public:
    virtual ~PlacementStream() = default;

    /// Returns the next item, which stays valid until it is scored. Returns null if other items must be
    /// scored first, or if this section of the stream (Optimizer::stream()) has ended.
    virtual StreamItem* next() = 0;
    /// Fills in the item.
    virtual void fill(StreamItem& item) = 0;
    /// Returns true if the search has scored this placement before. The item then counts as scored, and the
    /// caller must not call scored().
    virtual bool knows(StreamItem& /*item*/) { return false; }
    /// Tells the score of an item.
    virtual void scored(StreamItem& item, const Score& score) = 0;

    /// The scored placements of this section that are part of the search, in its order. Valid until the next
    /// section.
    virtual std::span<const Scored> counted() const = 0;
    /// Number of items that were given out and may still count.
    virtual std::size_t open() const = 0;
    /// Whether the next item will count for sure, so that scoring it is never in vain.
    virtual bool is_next_certain() const = 0;
    /// Whether the search has nothing more to propose.
    virtual bool is_exhausted() const = 0;
};

/// Passes everything on to another stream.
class ForwardedStream : public PlacementStream {
public:
    explicit ForwardedStream(PlacementStream& stream) : stream_(stream) {}

    StreamItem* next() override { return stream_.next(); }
    void fill(StreamItem& item) override { stream_.fill(item); }
    bool knows(StreamItem& item) override { return stream_.knows(item); }
    void scored(StreamItem& item, const Score& score) override { stream_.scored(item, score); }
    std::span<const Scored> counted() const override { return stream_.counted(); }
    std::size_t open() const override { return stream_.open(); }
    bool is_next_certain() const override { return stream_.is_next_certain(); }
    bool is_exhausted() const override { return stream_.is_exhausted(); }

private:
    PlacementStream& stream_;
};

/// Passes everything on, and calls a function for each placement that becomes part of the search, in its
/// order.
class CountingStream final : public ForwardedStream {
public:
    CountingStream(PlacementStream& stream, std::function<void(const Scored&)> count)
        : ForwardedStream(stream), count_(std::move(count)), counted_(stream.counted().size()) {}

    StreamItem* next() override {
        StreamItem* const item = ForwardedStream::next();
        count_new();
        return item;
    }
    bool knows(StreamItem& item) override {
        const bool is_known = ForwardedStream::knows(item);
        if (is_known) count_new();
        return is_known;
    }
    void scored(StreamItem& item, const Score& score) override {
        ForwardedStream::scored(item, score);
        count_new();
    }

private:
    void count_new() {
        for (const auto all = counted(); counted_ < all.size(); ++counted_) count_(all[counted_]);
    }

    std::function<void(const Scored&)> count_;
    std::size_t counted_;
};

/// Limits of one section of a stream.
struct StreamLimits {
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

    std::size_t counted = kNone;  ///< largest number of placements that count
    std::size_t given = kNone;    ///< largest number of items given out
    std::size_t threads = 1;      ///< number of threads that score
    bool continues = false;       ///< counted() keeps what it holds of the section before
    bool in_batches = false;      ///< the caller takes all items that it can get, then scores all of them
};

}  // namespace placewright
