// SPDX-License-Identifier: MIT
// AMD's GPUs, by what their kernel driver (amdgpu, and amdkfd for computing) writes under /sys.
#pragma once

#include "core/base/path.hpp"
#include "core/measure/found_gpu.hpp"

namespace placewright {

/// GPUs of this vendor with less memory of their own are for displays (in CPUs) and left out, with a note.
inline constexpr double kLeastGpuMemoryBytes = 2e9;

/// The GPUs in the order of their PCI addresses. `root` is the folder that sys and usr are below, "/" on a
/// computer. Names are from the card itself (product_name), else from the lists of names that libdrm
/// (usr/share/libdrm/amdgpu.ids) and pciutils (usr/share/misc/pci.ids) install.
FoundGpus amd_gpus(const Path& root);

}  // namespace placewright
