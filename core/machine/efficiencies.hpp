// SPDX-License-Identifier: MIT
// Which share of its data sheet a kind of device reaches, by class of op.
#pragma once

#include <span>
#include <string_view>

namespace placewright {

/// Parameters of the op times of an architecture. They come from measurements (models/devices/README.md says
/// from which and how); core/cost/device_time.hpp says how they make a time. Shares are in (0, 1], relative
/// to the peak FLOP/s of the unit or to the memory bandwidth.
struct Efficiencies {
    // Products: linear maps, matrix products, convolutions.
    double product_vector = 0.95;  ///< share of large products on the ordinary units
    double product_matrix = 0.75;  ///< share of large products on the matrix units
    double vector_j_per_flop = 0;  ///< energy; limits the speed of boards of little power; 0: no limit
    double matrix_j_per_flop = 0;  ///< the same for the matrix units
    double half_depth = 80;        ///< inner extent K that reaches half of the share
    double half_width = 8;         ///< width N that reaches half of the share
    double half_outputs_per_tflops = 1.5e4;  ///< outputs M N that reach half, for each TFLOP/s of the unit
    double batched_product = 1;              ///< speed of batched products over that of one large product
    double convolution_vector = 1;           ///< speed of convolutions over that of products, ordinary units
    double convolution_matrix = 1;           ///< the same for the matrix units
    double winograd = 1.6;                   ///< speed-up of 3x3 convolutions of stride 1 in float32
    double grouped_convolution = 0.5;        ///< speed of convolutions in groups over that of one group
    double convolution_gradient = 1;  ///< speed of the gradients of convolutions over that of convolutions
    // Bytes.
    double product_memory = 0.8;  ///< share of the bandwidth in products with few FLOPs a byte
    double elementwise = 0.85;
    double softmax = 0.85;
    double norm = 0.65;
    double reduction = 0.8;
    double copy = 0.75;      ///< copies into another order: contiguous, cat, transposed
    double gather = 0.55;    ///< rows by index
    double scatter = 0.45;   ///< additions to places by index, as in the backward of a max pool
    double depthwise = 0.5;  ///< depthwise convolutions
    double update = 0.85;    ///< of the optimizer
    double cache_speed = 1;  ///< bandwidth of the last cache over that of the memory
    // Overheads.
    double launch_s = 8e-6;          ///< of each kernel
    double product_launch_s = 1e-5;  ///< of a product, in addition

    // Standard deviations of the logarithm of computed over measured time: of all ops of a class together,
    // and of the device as a whole (larger where the architecture was not measured).
    double error_device = 0.12;
    double error_product = 0.07;
    double error_batched = 0.18;
    double error_convolution = 0.1;
    double error_depthwise = 0.25;
    double error_elementwise = 0.06;
    double error_softmax = 0.14;
    double error_norm = 0.18;
    double error_copy = 0.2;    ///< copies, reductions, updates
    double error_gather = 0.4;  ///< gathers and scatters

    bool operator==(const Efficiencies&) const = default;
};

/// A parameter by its name in files.
struct EfficiencyField {
    std::string_view name;
    double Efficiencies::*value;
    double least, most;  ///< allowed range
};
std::span<const EfficiencyField> efficiency_fields();

}  // namespace placewright
