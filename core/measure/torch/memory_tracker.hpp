// SPDX-License-Identifier: MIT
// Bytes in use on each device, as LibTorch's allocators report them.
#pragma once

#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/core/Allocator.h>
#include <torch/version.h>

#include "core/machine/machine.hpp"

namespace placewright {

/// Counts an allocation on a CUDA device to this device, and one in the memory of the host to the device of
/// the thread that makes it; autograd runs the backward ops of CUDA devices on threads of its own. Its end
/// counts wherever it is freed.
class MemoryTracker : public c10::MemoryReportingInfoBase {
public:
    /// `of_cuda`: [CUDA device]: its device, or kInvalidDevice.
    MemoryTracker(std::size_t devices, std::vector<DeviceId> of_cuda)
        : of_cuda_(std::move(of_cuda)), bytes_(devices), peak_(devices) {}

    /// Device to which this thread's allocations on the host count.
    static DeviceId& device_of_thread();

#if TORCH_VERSION_MAJOR >= 2
    void reportMemoryUsage(void* pointer, std::int64_t size, std::size_t, std::size_t,
                           c10::Device at) override {
        report(pointer, size, at);
    }
#else
    void reportMemoryUsage(void* pointer, std::int64_t size, std::int64_t, std::int64_t,
                           c10::Device at) override {
        report(pointer, size, at);
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

    void report(void* pointer, std::int64_t size, c10::Device at);
    DeviceId device_of(c10::Device at) const;

    std::vector<DeviceId> of_cuda_;
    mutable std::mutex mutex_;
    std::unordered_map<void*, Block> blocks_;
    std::vector<std::int64_t> bytes_, peak_;  ///< [device]
};

}  // namespace placewright
