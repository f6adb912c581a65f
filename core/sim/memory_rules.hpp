// SPDX-License-Identifier: MIT
// When tensors are allocated, freed and counted: the event loop asks the rule, so that other systems' accounting can be compared with.
#pragma once

namespace placewright {

/// As a real step does it.
struct TrainingMemory {
    /// Outputs exist from the start of their op and copies from the start of their last hop; otherwise from the end of these.
    static constexpr bool kAllocatesAtStart = true;
    /// Every allocation can be a peak; otherwise only what is left when an event has been handled.
    static constexpr bool kCountsWithinEvents = true;
    /// The end of an op frees what nobody else reads on its device; otherwise in inference nothing read there is ever freed.
    static constexpr bool kInferenceFrees = true;
};

/// As Exprimo replays its events.
struct ExprimoMemory {
    static constexpr bool kAllocatesAtStart = false;
    static constexpr bool kCountsWithinEvents = false;
    static constexpr bool kInferenceFrees = false;
};

}  // namespace placewright
