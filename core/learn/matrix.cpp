// SPDX-License-Identifier: MIT
#include "core/learn/matrix.hpp"

namespace placewright {
namespace {

/// Eight numbers; the compiler splits them where the processor's vectors are shorter.
using Vector = float __attribute__((vector_size(32)));
/// A vector in memory that begins at any float. (The attributes stand before the `=`, because Clang ignores
/// them in the type.)
using VectorInMemory __attribute__((aligned(alignof(float)), may_alias)) = Vector;
constexpr std::size_t kLanes = 8;

// Returns no reference, which Clang would take for one to an aligned vector.
[[gnu::always_inline]] inline void load(Vector& vector, const float* numbers) {
    vector = *reinterpret_cast<const VectorInMemory*>(numbers);
}

struct Product {
    float* sum;
    std::size_t sum_stride, rows, columns;
    MatrixView left;
    std::size_t inner;
    const float* right;
    std::size_t right_stride;
};

/// Rows x Vectors accumulators in registers.
template <std::size_t Rows, std::size_t Vectors>
[[gnu::always_inline]] inline void add_tile(const Product& p, std::size_t row, std::size_t column) {
    Vector sums[Rows][Vectors];
    float* const sum = p.sum + row * p.sum_stride + column;
    for (std::size_t r = 0; r < Rows; ++r) {
        for (std::size_t v = 0; v < Vectors; ++v) load(sums[r][v], sum + r * p.sum_stride + v * kLanes);
    }
    const float* left = p.left.data + row * p.left.row_stride;
    const float* right = p.right + column;
    for (std::size_t i = 0; i < p.inner; ++i) {
        Vector factors[Vectors];
        for (std::size_t v = 0; v < Vectors; ++v) load(factors[v], right + v * kLanes);
        for (std::size_t r = 0; r < Rows; ++r) {
            const float value = left[r * p.left.row_stride];
            for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] += value * factors[v];
        }
        left += p.left.column_stride;
        right += p.right_stride;
    }
    for (std::size_t r = 0; r < Rows; ++r) {
        for (std::size_t v = 0; v < Vectors; ++v)
            *reinterpret_cast<VectorInMemory*>(sum + r * p.sum_stride + v * kLanes) = sums[r][v];
    }
}

template <std::size_t Vectors>
[[gnu::always_inline]] inline void add_columns(const Product& p, std::size_t column) {
    std::size_t row = 0;
    for (; row + 4 <= p.rows; row += 4) add_tile<4, Vectors>(p, row, column);
    for (; row < p.rows; ++row) add_tile<1, Vectors>(p, row, column);
}

[[gnu::always_inline]] inline void add_all(const Product& p) {
    std::size_t column = 0;
    for (; column + 2 * kLanes <= p.columns; column += 2 * kLanes) add_columns<2>(p, column);
    for (; column + kLanes <= p.columns; column += kLanes) add_columns<1>(p, column);
    if (column == p.columns) return;
    for (std::size_t row = 0; row < p.rows; ++row) {
        float* const sum = p.sum + row * p.sum_stride;
        for (std::size_t i = 0; i < p.inner; ++i) {
            const float value = p.left.data[row * p.left.row_stride + i * p.left.column_stride];
            for (std::size_t c = column; c < p.columns; ++c)
                sum[c] += value * p.right[i * p.right_stride + c];
        }
    }
}

void add_plainly(const Product& product) {
    add_all(product);
}

#if defined(__x86_64__)
// Without "fma", which rounds once where two instructions round twice.
[[gnu::target("avx2")]] void add_by_eight(const Product& product) {
    add_all(product);
}
#endif

}  // namespace

void add_product(float* sum, std::size_t sum_stride, std::size_t rows, std::size_t columns, MatrixView left,
                 std::size_t inner, const float* right, std::size_t right_stride) {
#if defined(__x86_64__)
    static const auto add = __builtin_cpu_supports("avx2") ? add_by_eight : add_plainly;
#else
    constexpr auto add = add_plainly;
#endif
    add({sum, sum_stride, rows, columns, left, inner, right, right_stride});
}

}  // namespace placewright
