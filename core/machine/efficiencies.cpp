// SPDX-License-Identifier: MIT
#include "core/machine/efficiencies.hpp"

#include <array>

namespace placewright {
namespace {

constexpr double kLeastShare = 1e-3;
constexpr std::array kFields{
    EfficiencyField{"product_vector", &Efficiencies::product_vector, kLeastShare, 1},
    EfficiencyField{"product_matrix", &Efficiencies::product_matrix, kLeastShare, 1},
    EfficiencyField{"vector_j_per_flop", &Efficiencies::vector_j_per_flop, 0, 1},
    EfficiencyField{"matrix_j_per_flop", &Efficiencies::matrix_j_per_flop, 0, 1},
    EfficiencyField{"half_depth", &Efficiencies::half_depth, 0, 1e6},
    EfficiencyField{"half_width", &Efficiencies::half_width, 0, 1e6},
    EfficiencyField{"half_outputs_per_tflops", &Efficiencies::half_outputs_per_tflops, 0, 1e9},
    EfficiencyField{"batched_product", &Efficiencies::batched_product, kLeastShare, 2},
    EfficiencyField{"convolution_vector", &Efficiencies::convolution_vector, kLeastShare, 2},
    EfficiencyField{"convolution_matrix", &Efficiencies::convolution_matrix, kLeastShare, 2},
    EfficiencyField{"winograd", &Efficiencies::winograd, 1, 4},
    EfficiencyField{"grouped_convolution", &Efficiencies::grouped_convolution, kLeastShare, 4},
    EfficiencyField{"convolution_gradient", &Efficiencies::convolution_gradient, kLeastShare, 2},
    EfficiencyField{"product_memory", &Efficiencies::product_memory, kLeastShare, 1},
    EfficiencyField{"elementwise", &Efficiencies::elementwise, kLeastShare, 1},
    EfficiencyField{"softmax", &Efficiencies::softmax, kLeastShare, 1},
    EfficiencyField{"norm", &Efficiencies::norm, kLeastShare, 1},
    EfficiencyField{"reduction", &Efficiencies::reduction, kLeastShare, 1},
    EfficiencyField{"copy", &Efficiencies::copy, kLeastShare, 1},
    EfficiencyField{"gather", &Efficiencies::gather, kLeastShare, 1},
    EfficiencyField{"scatter", &Efficiencies::scatter, kLeastShare, 1},
    EfficiencyField{"depthwise", &Efficiencies::depthwise, kLeastShare, 1},
    EfficiencyField{"update", &Efficiencies::update, kLeastShare, 1},
    EfficiencyField{"cache_speed", &Efficiencies::cache_speed, 1, 100},
    EfficiencyField{"launch_s", &Efficiencies::launch_s, 0, 1},
    EfficiencyField{"product_launch_s", &Efficiencies::product_launch_s, 0, 1},
    EfficiencyField{"error_device", &Efficiencies::error_device, 0, 2},
    EfficiencyField{"error_product", &Efficiencies::error_product, 0, 2},
    EfficiencyField{"error_batched", &Efficiencies::error_batched, 0, 2},
    EfficiencyField{"error_convolution", &Efficiencies::error_convolution, 0, 2},
    EfficiencyField{"error_depthwise", &Efficiencies::error_depthwise, 0, 2},
    EfficiencyField{"error_elementwise", &Efficiencies::error_elementwise, 0, 2},
    EfficiencyField{"error_softmax", &Efficiencies::error_softmax, 0, 2},
    EfficiencyField{"error_norm", &Efficiencies::error_norm, 0, 2},
    EfficiencyField{"error_copy", &Efficiencies::error_copy, 0, 2},
    EfficiencyField{"error_gather", &Efficiencies::error_gather, 0, 2},
};

}  // namespace

std::span<const EfficiencyField> efficiency_fields() {
    return kFields;
}

}  // namespace placewright
