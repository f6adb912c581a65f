// SPDX-License-Identifier: MIT
// The time of an op's work on a device whose efficiencies are known.
#pragma once

#include "core/cost/op_work.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Seconds of `work` on a device with efficiencies (Device::known). A roofline (Williams, Waterman,
/// Patterson, 2009) with ceilings by class of op:
///
///     kernels * launch + max(compute, bytes / (share * bandwidth)) + stream bytes / (elementwise *
///     bandwidth)
///
/// where the compute time of a product of M x N outputs and inner extent K is
///
///     FLOPs / (S  K/(K + k)  N/(N + n)  O/(O + o)),   O = batch M N max(1, K/2048)
///
/// S is the share of the unit's peak that large products reach, or what the board's power allows; the other
/// factors say how products with small extents leave units idle (k, n, o: half_depth, half_width,
/// half_outputs_per_tflops; a long K is split). 3x3 convolutions of stride 1 in float32 are faster by
/// Winograd's algorithm (Lavin, Gray, 2016).
double device_time_s(const OpWork& work, const Device& device);

/// The share of device_time_s() in which the device is busy at its ceilings: without launches and without
/// what small extents leave idle. In [0, 1].
double device_busy_share(const OpWork& work, const Device& device);

/// The parameter that says how far times of a class of ops are off.
double Efficiencies::*error_of(WorkClass work_class);

}  // namespace placewright
