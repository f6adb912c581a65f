// SPDX-License-Identifier: MIT
// The pending events of a run: at most one for each resource.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/uint128.hpp"

namespace placewright::event_loop {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The pending end of an op or of a leg. Events are ordered by time, then by the sequence number in which the
/// work was started. The bit patterns of non-negative doubles have the order of the numbers, so one wide
/// integer comparison decides.
struct Event {
    std::uint64_t time_bits;
    std::uint64_t order;  ///< sequence << kResourceBits | resource

    /// Streams, then channels (a leg counts under its first channel): at most 65536 of each. The sequence has
    /// 46 bits.
    static constexpr int kResourceBits = 18;

    double time_s() const { return std::bit_cast<double>(time_bits); }
    std::uint32_t resource() const { return static_cast<std::uint32_t>(order & ((1U << kResourceBits) - 1)); }
    bool before(const Event& other) const {
        return (static_cast<uint128>(time_bits) << 64 | order) <
               (static_cast<uint128>(other.time_bits) << 64 | other.order);
    }
};

/// Binary heap of at most one event per resource. The event that is being handled stays at the root until
/// `pop` or `replace_top`, so that a resource that starts its next piece of work costs one sift instead of
/// two.
class EventHeap {
public:
    void reserve(std::size_t capacity) { events_.resize(capacity); }
    void clear() { size_ = 0; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const Event& top() const { return events_[0]; }
    std::span<const Event> events() const { return std::span(events_).first(size_); }
    std::span<Event> events() { return std::span(events_).first(size_); }

    void push(const Event& event) {
        std::size_t hole = size_++;
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / 2;
            if (!event.before(events_[parent])) break;
            events_[hole] = events_[parent];
            hole = parent;
        }
        events_[hole] = event;
    }

    void pop() {
        --size_;
        if (size_ > 0) sift_down(events_[size_]);
    }

    void replace_top(const Event& event) { sift_down(event); }

private:
    void sift_down(const Event event) {
        std::size_t hole = 0;
        for (std::size_t child = 1; child < size_; child = 2 * hole + 1) {
            if (child + 1 < size_ && events_[child + 1].before(events_[child])) ++child;
            if (!events_[child].before(event)) break;
            events_[hole] = events_[child];
            hole = child;
        }
        events_[hole] = event;
    }

    std::vector<Event> events_;
    std::size_t size_ = 0;
};

}  // namespace placewright::event_loop
