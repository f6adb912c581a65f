// SPDX-License-Identifier: MIT
#include "core/measure/torch/kept_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

namespace placewright {
namespace {

constexpr std::size_t kLeast =
    64 * 1024;  ///< bytes of a block that is kept; allocators keep smaller ones themselves
constexpr std::size_t kPage = 4096;

/// All blocks that were made while memory was kept, in use or idle.
class Blocks {
public:
    void* take(std::size_t bytes) {
        const std::size_t size = (bytes + kPage - 1) / kPage * kPage;
        const std::scoped_lock lock(mutex_);
        void* block = nullptr;
        // A block that is up to an eighth larger will do.
        const auto found = idle_.lower_bound(size);
        if (found != idle_.end() && found->first - size <= size / 8) {
            block = found->second;
            idle_bytes_ -= found->first;
            idle_.erase(found);
        } else {
            block = allocated(size);
            size_of_[block] = size;
        }
        in_use_ += size_of_[block];
        most_in_use_ = std::max(most_in_use_, in_use_);
        return block;
    }

    /// Returns false for a block that was not made here.
    bool give_back(void* block) {
        const std::scoped_lock lock(mutex_);
        const auto found = size_of_.find(block);
        if (found == size_of_.end()) return false;
        const std::size_t size = found->second;
        in_use_ -= size;
        if (users_ > 0 && idle_bytes_ + size <= most_in_use_) {
            idle_.emplace(size, block);
            idle_bytes_ += size;
        } else {
            size_of_.erase(found);
            c10::free_cpu(block);
        }
        return true;
    }

    bool is_used() const {
        const std::scoped_lock lock(mutex_);
        return users_ > 0;
    }
    void begin() {
        const std::scoped_lock lock(mutex_);
        ++users_;
    }
    void end() {
        const std::scoped_lock lock(mutex_);
        if (--users_ > 0) return;
        free_idle();
        most_in_use_ = in_use_;
    }

private:
    void* allocated(std::size_t size) {
        try {
            return c10::alloc_cpu(size);
        } catch (const c10::Error&) {
            if (idle_.empty()) throw;
        }
        free_idle();
        return c10::alloc_cpu(size);
    }
    void free_idle() {
        for (const auto& [size, block] : idle_) {
            size_of_.erase(block);
            c10::free_cpu(block);
        }
        idle_.clear();
        idle_bytes_ = 0;
    }

    mutable std::mutex mutex_;
    std::unordered_map<void*, std::size_t> size_of_;
    std::multimap<std::size_t, void*> idle_;
    std::size_t in_use_ = 0, most_in_use_ = 0, idle_bytes_ = 0;
    int users_ = 0;
};

/// Never destroyed: tensors may outlive everything else.
Blocks& blocks() {
    static auto* const all = new Blocks;
    return *all;
}

void free_any(void* block) {
    if (block == nullptr) return;
    // The reporter must know of it before another thread may get the same block.
    c10::profiledCPUMemoryReporter().Delete(block);
    if (!blocks().give_back(block)) c10::free_cpu(block);
}

class HostAllocator final : public c10::Allocator {
public:
    // Without `override`: LibTorch's own is const up to 2.2, and not const from 2.3 on, which also has
    // copy_data().
    c10::DataPtr allocate(std::size_t bytes) const { return made(bytes); }
    c10::DataPtr allocate(std::size_t bytes) { return made(bytes); }
    void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
    c10::DeleterFnPtr raw_deleter() const override { return &free_any; }

private:
    static c10::DataPtr made(std::size_t bytes) {
        if (bytes < kLeast || !blocks().is_used()) return c10::GetDefaultCPUAllocator()->allocate(bytes);
        void* const block = blocks().take(bytes);
        c10::profiledCPUMemoryReporter().New(block, bytes);
        return {block, block, &free_any, c10::Device(c10::DeviceType::CPU)};
    }
};

}  // namespace

KeptMemory::KeptMemory() {
    // For the rest of the process: tensors that it made need it.
    static HostAllocator* const allocator = [] {
        auto* const made = new HostAllocator;
        c10::SetCPUAllocator(made);
        return made;
    }();
    static_cast<void>(allocator);
    blocks().begin();
}

KeptMemory::~KeptMemory() {
    blocks().end();
}

}  // namespace placewright
