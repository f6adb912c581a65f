// SPDX-License-Identifier: MIT
// The queue of a device or link: the items that are ready and wait for it.
#pragma once

#include <cstdint>
#include <utility>

#include "core/base/uint128.hpp"
#include "core/sim/event_heap.hpp"

namespace placewright::event_loop {

/// An intrusive queue: either first come, first served (append, take) or sorted (insert, take_first). The
/// sorted queue is a pairing heap (Fredman, Sedgewick, Sleator, Tarjan, 1986): `child` holds the first child
/// of an item, `next` its next sibling.
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

}  // namespace placewright::event_loop
