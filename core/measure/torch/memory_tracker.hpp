// SPDX-License-Identifier: MIT
// Bytes in use on each device, as LibTorch's allocators report them.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include <c10/core/Allocator.h>

#include "core/machine/machine.hpp"

namespace placewright {

/// Counts an allocation to the device of the thread that makes it, and its end wherever it is freed.
class MemoryTracker : public c10::MemoryReportingInfoBase {
public:
    explicit MemoryTracker(std::size_t devices) : bytes_(devices), peak_(devices) {}

    /// Device to which this thread's allocations count.
    static DeviceId& device_of_thread();

#if defined(TORCH_VERSION_MAJOR) && TORCH_VERSION_MAJOR >= 2
    void reportMemoryUsage(void* pointer, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
        report(pointer, size);
    }
#else
    void reportMemoryUsage(void* pointer, std::int64_t size, std::int64_t, std::int64_t,
                           c10::Device) override {
        report(pointer, size);
    }
#endif
    bool memoryProfilingEnabled() const override {
        return true;
    }

    /// Peaks count from now on.
    void restart();
    std::vector<double> peaks() const;

private:
    struct Block {
        DeviceId device;
        std::int64_t bytes;
    };

    void report(void* pointer, std::int64_t size);

    mutable std::mutex mutex_;
    std::unordered_map<void*, Block> blocks_;
    std::vector<std::int64_t> bytes_, peak_;  ///< [device]
};

}  // namespace placewright
