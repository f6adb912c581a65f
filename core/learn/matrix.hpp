// SPDX-License-Identifier: MIT
// Products of small matrices, for networks that are computed and differentiated without LibTorch.
#pragma once

#include <cstddef>

namespace placewright {

/// A matrix in memory: element (row, column) is data[row * row_stride + column * column_stride].
struct MatrixView {
    const float* data = nullptr;
    std::size_t row_stride = 0, column_stride = 1;
};

/// sum [rows, columns] += left [rows, inner] * right [inner, columns]; rows of `sum` are `sum_stride` apart,
/// those of `right` `right_stride`. Adds to every element in the order of `inner`, without fused
/// multiplications: an element does not depend on the others nor on the processor.
void add_product(float* sum, std::size_t sum_stride, std::size_t rows, std::size_t columns, MatrixView left,
                 std::size_t inner, const float* right, std::size_t right_stride);

}  // namespace placewright
