// SPDX-License-Identifier: MIT
// The queue of a device or link: the items that are ready and wait for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/uint128.hpp"
#include "core/sim/event_heap.hpp"

namespace placewright::event_loop {

/// An intrusive queue: either first come, first served (append, take) or sorted (insert, take_first). Where a
/// RankSet holds the items, only `head` is used. The sorted queue is a pairing heap (Fredman, Sedgewick,
/// Sleator, Tarjan, 1986): `child` holds the first child of an item, `next` its next sibling.
struct Queue {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;

    bool empty() const { return head == kNone; }

    void append(std::uint32_t item, std::uint32_t* next) {
        next[item] = kNone;
        if (head == kNone) {
            head = item;
        } else {
            next[tail] = item;
        }
        tail = item;
    }

    std::uint32_t take(const std::uint32_t* next) {
        const std::uint32_t item = head;
        head = next[item];
        return item;
    }

    template <class Before>
    void insert(std::uint32_t item, std::uint32_t* next, std::uint32_t* child, const Before& before) {
        next[item] = child[item] = kNone;
        head = head == kNone ? item : meld(head, item, next, child, before);
    }

    template <class Before>
    std::uint32_t take_first(std::uint32_t* next, std::uint32_t* child, const Before& before) {
        const std::uint32_t item = head;
        std::uint32_t pairs = kNone;  // last first
        for (std::uint32_t one = child[item]; one != kNone;) {
            const std::uint32_t other = next[one];
            const std::uint32_t rest = other == kNone ? kNone : next[other];
            const std::uint32_t pair = other == kNone ? one : meld(one, other, next, child, before);
            next[pair] = std::exchange(pairs, pair);
            one = rest;
        }
        head = pairs;
        if (head == kNone) return item;
        for (std::uint32_t pair = next[head]; pair != kNone;) {
            const std::uint32_t rest = next[pair];
            head = meld(head, pair, next, child, before);
            pair = rest;
        }
        next[head] = kNone;
        return item;
    }

private:
    template <class Before>
    static std::uint32_t meld(std::uint32_t one, std::uint32_t other, std::uint32_t* next,
                              std::uint32_t* child, const Before& before) {
        if (before(other, one)) std::swap(one, other);
        next[other] = std::exchange(child[one], other);
        return one;
    }
};

/// Position of an item in a sorted queue: smaller keys first, equal keys in the order of arrival.
struct QueueKey {
    std::uint64_t key;
    std::uint64_t arrival;

    bool before(const QueueKey& other) const {
        return (static_cast<uint128>(key) << 64 | arrival) <
               (static_cast<uint128>(other.key) << 64 | other.arrival);
    }
};

/// A set of numbers below a limit that has its least at hand: one bit for each number, and on each level
/// above one bit for each word that is not zero. A number costs as many words as there are levels, three for
/// 262 144 numbers.
class RankSet {
public:
    explicit RankSet(std::size_t limit) {
        do {
            level_begin_.push_back(words_.size());
            limit = (limit + kBits - 1) / kBits;
            words_.resize(words_.size() + limit);
        } while (limit > 1);
    }

    bool operator==(const RankSet&) const = default;

    void clear() { std::ranges::fill(words_, 0); }

    void insert(std::uint32_t number) {
        for (const std::size_t begin : level_begin_) {
            std::uint64_t& word = words_[begin + number / kBits];
            const bool was_empty = word == 0;
            word |= bit(number);
            if (!was_empty) return;
            number /= kBits;
        }
    }

    void erase(std::uint32_t number) {
        for (const std::size_t begin : level_begin_) {
            std::uint64_t& word = words_[begin + number / kBits];
            word &= ~bit(number);
            if (word != 0) return;
            number /= kBits;
        }
    }

    /// The least number; kNone if the set is empty.
    std::uint32_t first() const {
        if (words_.back() == 0) return kNone;
        std::uint32_t number = 0;
        for (std::size_t level = level_begin_.size(); level-- > 0;) {
            const std::uint64_t word = words_[level_begin_[level] + number];
            number = number * kBits + static_cast<std::uint32_t>(std::countr_zero(word));
        }
        return number;
    }

private:
    static constexpr std::uint32_t kBits = 64;
    static std::uint64_t bit(std::uint32_t number) { return std::uint64_t{1} << number % kBits; }

    std::vector<std::uint64_t> words_;      ///< of all levels; the last word is the top
    std::vector<std::size_t> level_begin_;  ///< [level]: into words_
};

}  // namespace placewright::event_loop
