// SPDX-License-Identifier: MIT
#include "core/measure/torch/memory_tracker.hpp"

#include <algorithm>

#include <torch/version.h>

namespace placewright {

DeviceId& MemoryTracker::device_of_thread() {
    thread_local DeviceId device = 0;
    return device;
}

void MemoryTracker::report(void* pointer, std::int64_t size) {
    const std::scoped_lock lock(mutex_);
    if (size > 0) {
        const DeviceId device = device_of_thread();
        blocks_[pointer] = {device, size};
        bytes_[device] += size;
        peak_[device] = std::max(peak_[device], bytes_[device]);
        return;
    }
    const auto found = blocks_.find(pointer);
    if (found == blocks_.end()) return;  // allocated outside
    bytes_[found->second.device] -= found->second.bytes;
    blocks_.erase(found);
}

void MemoryTracker::restart() {
    const std::scoped_lock lock(mutex_);
    peak_ = bytes_;
}

std::vector<double> MemoryTracker::peaks() const {
    const std::scoped_lock lock(mutex_);
    return {peak_.begin(), peak_.end()};
}

}  // namespace placewright
