// SPDX-License-Identifier: MIT
// Keeps freed memory in the process while placements run.
#pragma once

namespace placewright {

/// While one exists, large blocks of memory are not given back to the operating system when they are freed,
/// as GPU allocators do it too. Otherwise each large tensor begins with page faults, which take up to a third
/// of a step on a CPU and which threads wait for together. The destructor of the last one restores the
/// defaults of the C library and gives the memory back. Does nothing where the C library is not glibc.
class SteadyMemory {
public:
    SteadyMemory();
    ~SteadyMemory();
    SteadyMemory(const SteadyMemory&) = delete;
    SteadyMemory& operator=(const SteadyMemory&) = delete;
};

}  // namespace placewright
