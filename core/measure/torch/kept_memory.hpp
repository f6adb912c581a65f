// SPDX-License-Identifier: MIT
// Keeps freed memory of the host in the process while placements run.
#pragma once

namespace placewright {

/// While one exists, large blocks that LibTorch's tensors on the host free stay in the process for the
/// tensors that come next, as in LibTorch's allocators of GPUs. Without it each large tensor begins with page
/// faults, whatever allocator the program has: they take up to four fifths of the time of an op on a CPU, and
/// threads wait for each other in them. What tensors use and what is kept for them is together at most one
/// and a half times what they had in use at most. The destructor of the last one gives the memory back.
class KeptMemory {
public:
    KeptMemory();
    ~KeptMemory();
    KeptMemory(const KeptMemory&) = delete;
    KeptMemory& operator=(const KeptMemory&) = delete;
};

}  // namespace placewright
