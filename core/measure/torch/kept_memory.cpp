// SPDX-License-Identifier: MIT
#include "core/measure/torch/kept_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

namespace placewright {
namespace {

/// Bytes of the smallest block that is kept; allocators keep smaller ones themselves.
constexpr std::size_t kLeast = 64 * 1024;
constexpr std::size_t kPage = 4096;

/// All blocks that were made while memory was kept, in use or idle. Blocks are made and freed outside of the
/// lock: the system takes long for large ones, and other devices would wait.
class Blocks {
public:
    /// Returns nullptr if memory is not kept now. Throws c10::Error.
    void* take(std::size_t bytes) {
        const std::size_t size = (bytes + kPage - 1) / kPage * kPage;
        std::vector<void*> surplus;
        {
            const std::scoped_lock lock(mutex_);
            if (users_ == 0) return nullptr;
            // A block that is up to an eighth larger will do.
            const auto found = idle_.lower_bound(size);
            if (found != idle_.end() && found->first - size <= size / 8) {
                void* const block = found->second;
                use(found->first);
                idle_bytes_ -= found->first;
                idle_.erase(found);
                return block;
            }
            use(size);
            while (!idle_.empty() && in_use_ + idle_bytes_ > most()) surplus.push_back(drop_largest());
        }
        free(surplus);
        void* block = nullptr;
        try {
            block = c10::alloc_cpu(size);
        } catch (const c10::Error&) {
            free_idle();
            try {
                block = c10::alloc_cpu(size);
            } catch (...) {
                const std::scoped_lock lock(mutex_);
                in_use_ -= size;
                throw;
            }
        }
        const std::scoped_lock lock(mutex_);
        size_of_[block] = size;
        return block;
    }

    void give_back(void* block) {
        {
            const std::scoped_lock lock(mutex_);
            if (const auto found = size_of_.find(block); found != size_of_.end()) {
                const std::size_t size = found->second;
                in_use_ -= size;
                if (users_ > 0 && in_use_ + idle_bytes_ + size <= most()) {
                    idle_.emplace(size, block);
                    idle_bytes_ += size;
                    return;
                }
                size_of_.erase(found);
            }
        }
        c10::free_cpu(block);
    }

    void begin() {
        const std::scoped_lock lock(mutex_);
        if (users_++ == 0) most_in_use_ = in_use_;
    }
    void end() {
        {
            const std::scoped_lock lock(mutex_);
            if (--users_ > 0) return;
        }
        free_idle();
    }

private:
    /// Tensors of different sizes cannot share all of it.
    std::size_t most() const { return most_in_use_ + most_in_use_ / 2; }
    void use(std::size_t size) {
        in_use_ += size;
        most_in_use_ = std::max(most_in_use_, in_use_);
    }
    void* drop_largest() {
        const auto largest = std::prev(idle_.end());
        void* const block = largest->second;
        idle_bytes_ -= largest->first;
        size_of_.erase(block);
        idle_.erase(largest);
        return block;
    }
    void free_idle() {
        std::vector<void*> all;
        {
            const std::scoped_lock lock(mutex_);
            while (!idle_.empty()) all.push_back(drop_largest());
        }
        free(all);
    }
    static void free(const std::vector<void*>& blocks) {
        for (void* const block : blocks) c10::free_cpu(block);
    }

    std::mutex mutex_;
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
    blocks().give_back(block);
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
        void* const block = bytes < kLeast ? nullptr : blocks().take(bytes);
        if (block == nullptr) return c10::GetDefaultCPUAllocator()->allocate(bytes);
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
