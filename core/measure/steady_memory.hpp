// SPDX-License-Identifier: MIT
// Keeps freed memory in the process while placements run.
#pragma once

namespace placewright {

/// While one exists, large blocks of memory are not given back to the operating system when they are freed,
/// as GPU allocators do it too. Otherwise each large tensor begins with page faults, which take up to a third
/// of a step on a CPU and which threads wait for together. Does nothing where the C library is not glibc.
///
/// The destructor of the last one gives the memory back and sets the limits back, but two things stay for the
/// rest of the process, because glibc has no way back. Its rule that adapts the size from which blocks are
/// mapped one by one is off; the size is then the 32 MB that the rule reaches in programs that free large
/// blocks, so the rest runs as it would after its own large blocks. And if no second thread asked for memory
/// before the first one of these exists, all threads use one arena from then on: they wait for each other
/// where they ask for blocks of more than 1 kB at the same moment, which costs time and changes no result.
/// Where threads had arenas before, blocks of more than 64 MB begin with page faults all the same.
class SteadyMemory {
public:
    SteadyMemory();
    ~SteadyMemory();
    SteadyMemory(const SteadyMemory&) = delete;
    SteadyMemory& operator=(const SteadyMemory&) = delete;
};

}  // namespace placewright
