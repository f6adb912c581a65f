// SPDX-License-Identifier: MIT
// Dense layers that are computed and differentiated without LibTorch, many rows at a time.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "core/learn/policy.hpp"

namespace placewright {

/// Memory of this thread for tables, which keeps what they give back: an episode needs megabytes, and to get
/// them from the system each time takes as long as to compute with them.
std::pmr::memory_resource* table_memory();

/// Rows of numbers. For the thread that made it only.
struct Table {
    explicit Table(std::size_t row_width, std::size_t row_count = 0)
        : width(row_width), values(row_width * row_count, table_memory()) {}

    std::size_t rows() const { return values.size() / width; }
    /// New rows are zero.
    void resize(std::size_t rows) { values.resize(rows * width); }
    float* operator[](std::size_t row) { return values.data() + row * width; }
    const float* operator[](std::size_t row) const { return values.data() + row * width; }

    std::size_t width;
    std::pmr::vector<float> values;
};

/// y = W x + b.
class Linear {
public:
    /// `weights`: of the whole policy; `first`: where W [out, in] begins among them; b follows. `weights`
    /// must outlive this object.
    Linear(std::span<const float> weights, std::size_t first, std::size_t out, std::size_t in);

    std::size_t in() const { return in_; }
    std::size_t out() const { return out_; }
    const float* bias() const { return weight_ + out_ * in_; }

    // A part of the inputs begins with input `begin`, and the rows of `x` have as many numbers. Rows of `y`
    // and `y_slope` have out() numbers.

    /// Adds to `rows` rows of `y` what all inputs give, without b.
    void add(const float* x, std::size_t rows, float* y) const;
    /// Adds to `y` what this part of the inputs gives, without b.
    void add(const Table& x, std::size_t begin, std::size_t first_row, Table& y) const;
    /// Adds to the first `inputs` numbers of each row of `x_slope`.
    void add_input_slope(const Table& y_slope, std::size_t begin, std::size_t inputs, Table& x_slope) const;
    /// Adds to the slope of W in that of all weights of the policy.
    void add_weight_slope(const Table& x, std::size_t begin, const Table& y_slope,
                          std::span<float> slope) const;
    void add_bias_slope(const Table& y_slope, std::span<float> slope) const;

private:
    const float* weight_;
    std::size_t first_, out_, in_;
    std::vector<float> columns_;  ///< W [in, out]
};

/// Sets slopes to zero where the relu that gave `values` was flat.
void stop_at_relu(const Table& values, Table& slope);

/// Layers, each followed by a relu; the last one only if `ends_in_relu`.
struct DenseLayers {
    std::vector<Linear> maps;
    bool ends_in_relu = true;

    /// Returns an empty table for what each layer gives.
    std::vector<Table> tables() const;
    /// Computes the rows of `x` that `y` does not have yet.
    void extend(const Table& x, std::vector<Table>& y) const;
    /// Adds to `slope`, that of all weights of the policy, and to `x_slope` if that is not null.
    void add_slopes(const Table& x, const std::vector<Table>& y, Table y_slope, Table* x_slope,
                    std::span<float> slope) const;
};

/// Reads the layers of a policy in the order of its parameters.
class LayerReader {
public:
    /// Both must outlive the layers.
    LayerReader(std::span<const PolicyParameter> parameters, std::span<const float> weights)
        : parameters_(parameters), weights_(weights) {}

    Linear linear();
    DenseLayers layers(std::size_t count, bool ends_in_relu = true);

private:
    std::span<const PolicyParameter> parameters_;
    std::span<const float> weights_;
    std::size_t next_ = 0, first_ = 0;
};

}  // namespace placewright
