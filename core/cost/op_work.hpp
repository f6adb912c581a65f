// SPDX-License-Identifier: MIT
// What the kernels of an op do: the products that they compute, the bytes that they move, how many there are.
// It depends on the graph alone; core/cost/device_time.hpp makes a time of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/graph/graph.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {

/// What bounds the speed of a kernel, apart from bytes and FLOPs.
enum class WorkClass : std::uint8_t {
    none,         ///< takes no time: views, sources, gradients that are passed on
    product,      ///< linear maps, matrix products
    batched,      ///< many products of small matrices
    convolution,  ///< without groups, or with few
    depthwise,    ///< convolutions of each channel alone
    elementwise,
    softmax,
    norm,
    reduction,  ///< pools, means, losses
    copy,       ///< into another order
    gather,     ///< rows by index
    scatter,    ///< additions to places by index
    update,     ///< of the optimizer
};

std::string_view to_string(WorkClass work_class);

/// A product of matrices, or a convolution as the product that it is (Chellapilla, Puri, Simard, 2006):
/// `batch` times (rows x depth) (depth x columns).
struct ProductShape {
    double batch = 1, rows = 1, columns = 1, depth = 1;
    double flops = 0;
    bool winograd = false;  ///< a 3x3 convolution of stride 1
    /// How often it is done, each time with what the one before gave, as in the layers of recurrent networks;
    /// each reads step_bytes of weights.
    double steps = 1, step_bytes = 0;
};

struct OpWork {
    WorkClass work_class = WorkClass::none;
    NumberType type = NumberType::fp32;  ///< of the factors of products
    std::array<ProductShape, 2> products{};
    std::size_t product_count = 0;
    bool gradient = false;  ///< of a convolution
    double flops = 0;
    double bytes = 0;         ///< read and written, in the order of the class
    double stream_bytes = 0;  ///< read and written element by element in kernels beside: sums of gradients,
                              ///< casts of parameters
    double kernels = 0;
};

/// What eager frameworks do with gradients beside an op's own derivative.
struct GradientWork {
    double sum_bytes = 0;  ///< read and written to sum the gradients that several readers send, or to put
                           ///< those of parts side by side
    double sum_kernels = 0;
    double received_bytes = 0;  ///< of all gradients that the op reads
    double summed_bytes = 0;    ///< of their sum
    double view_bytes = 0;  ///< read and written by the backward of a view: zeros in the size of the whole
                            ///< and a copy into them (KindInfo::range), or the sum over what was expanded
    double view_kernels = 0;
};

/// Returns that work for an op of Phase::backward; zeros for all others, and for the weight gradient of an op
/// that has a data gradient too, which sums. The gradient that a view of a part sends counts with the bytes
/// of the whole: frameworks add it so. O(inputs).
GradientWork gradient_work(const Graph& graph, OpId op);

/// The work of an op as eager frameworks run it; formulas by kind are in the source. `optimizer_states`:
/// numbers that the optimizer keeps per parameter. O(inputs + consumers).
OpWork op_work(const Graph& graph, OpId op, double optimizer_states = 0);

}  // namespace placewright
