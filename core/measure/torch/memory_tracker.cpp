// SPDX-License-Identifier: MIT
#include "core/measure/torch/memory_tracker.hpp"

#include <algorithm>

namespace placewright {

DeviceId& MemoryTracker::device_of_thread() {
    thread_local DeviceId device = 0;
    return device;
}

DeviceId MemoryTracker::device_of(c10::Device at) const {
    if (at.is_cuda() && at.has_index()) {
        const auto index = static_cast<std::size_t>(at.index());
        if (index < of_cuda_.size() && of_cuda_[index] != kInvalidDevice) return of_cuda_[index];
    }
    return device_of_thread();
}

void MemoryTracker::report(void* pointer, std::int64_t size, c10::Device at) {
    const std::scoped_lock lock(mutex_);
    if (size > 0) {
        const DeviceId device = device_of(at);
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
