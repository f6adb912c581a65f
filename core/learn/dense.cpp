// SPDX-License-Identifier: MIT
#include "core/learn/dense.hpp"

#include <algorithm>

#include "core/learn/matrix.hpp"

namespace placewright {

std::pmr::memory_resource* table_memory() {
    thread_local std::pmr::unsynchronized_pool_resource memory(
        {.max_blocks_per_chunk = 1, .largest_required_pool_block = std::size_t{1} << 22});
    return &memory;
}

Linear::Linear(std::span<const float> weights, std::size_t first, std::size_t out, std::size_t in)
    : weight_(weights.data() + first), first_(first), out_(out), in_(in), columns_(out * in) {
    for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t i = 0; i < in; ++i) columns_[i * out + o] = weight_[o * in + i];
    }
}

void Linear::add(const float* x, std::size_t rows, float* y) const {
    add_product(y, out_, rows, out_, {x, in_}, in_, columns_.data(), out_);
}

void Linear::add(const Table& x, std::size_t begin, std::size_t first_row, Table& y) const {
    add_product(y[first_row], out_, x.rows() - first_row, out_, {x[first_row], x.width}, x.width,
                columns_.data() + begin * out_, out_);
}

void Linear::add_input_slope(const Table& y_slope, std::size_t begin, std::size_t inputs,
                             Table& x_slope) const {
    add_product(x_slope[0], x_slope.width, y_slope.rows(), inputs, {y_slope[0], out_}, out_, weight_ + begin,
                in_);
}

void Linear::add_weight_slope(const Table& x, std::size_t begin, const Table& y_slope,
                              std::span<float> slope) const {
    add_product(slope.data() + first_ + begin, in_, out_, x.width, {y_slope[0], 1, out_}, x.rows(), x[0],
                x.width);
}

void Linear::add_bias_slope(const Table& y_slope, std::span<float> slope) const {
    float* const mine = slope.data() + first_ + out_ * in_;
    for (std::size_t row = 0; row < y_slope.rows(); ++row) {
        for (std::size_t o = 0; o < out_; ++o) mine[o] += y_slope[row][o];
    }
}

void stop_at_relu(const Table& values, Table& slope) {
    for (std::size_t i = 0; i < values.values.size(); ++i)
        slope.values[i] = values.values[i] > 0 ? slope.values[i] : 0.0F;
}

std::vector<Table> DenseLayers::tables() const {
    std::vector<Table> tables;
    for (const Linear& map : maps) tables.emplace_back(map.out());
    return tables;
}

void DenseLayers::extend(const Table& x, std::vector<Table>& y) const {
    const std::size_t first = y.front().rows();
    for (std::size_t i = 0; i < maps.size(); ++i) {
        Table& values = y[i];
        values.resize(x.rows());
        for (std::size_t row = first; row < x.rows(); ++row)
            std::copy_n(maps[i].bias(), values.width, values[row]);
        maps[i].add(i == 0 ? x : y[i - 1], 0, first, values);
        if (i + 1 == maps.size() && !ends_in_relu) continue;
        for (float* value = values[first]; value < values[x.rows()]; ++value) *value = std::max(*value, 0.0F);
    }
}

void DenseLayers::add_slopes(const Table& x, const std::vector<Table>& y, Table y_slope, Table* x_slope,
                             std::span<float> slope) const {
    for (std::size_t i = maps.size(); i-- > 0;) {
        if (i + 1 < maps.size() || ends_in_relu) stop_at_relu(y[i], y_slope);
        maps[i].add_weight_slope(i == 0 ? x : y[i - 1], 0, y_slope, slope);
        maps[i].add_bias_slope(y_slope, slope);
        if (i > 0) {
            Table before(maps[i].in(), y_slope.rows());
            maps[i].add_input_slope(y_slope, 0, before.width, before);
            y_slope = std::move(before);
        } else if (x_slope != nullptr) {
            maps[i].add_input_slope(y_slope, 0, x_slope->width, *x_slope);
        }
    }
}

Linear LayerReader::linear() {
    const PolicyParameter& weight = parameters_[next_];
    const Linear map(weights_, first_, static_cast<std::size_t>(weight.shape[0]),
                     static_cast<std::size_t>(weight.shape[1]));
    first_ += weight.size() + parameters_[next_ + 1].size();
    next_ += 2;
    return map;
}

DenseLayers LayerReader::layers(std::size_t count, bool ends_in_relu) {
    DenseLayers all{{}, ends_in_relu};
    for (std::size_t i = 0; i < count; ++i) all.maps.push_back(linear());
    return all;
}

}  // namespace placewright
