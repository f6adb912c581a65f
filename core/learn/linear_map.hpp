// SPDX-License-Identifier: MIT
// Linear maps of policies that are evaluated without LibTorch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/learn/policy.hpp"

namespace placewright {

/// y = W x + b, stored by columns, so that the compiler can vectorise over outputs.
struct LinearMap {
    std::vector<float> columns;  ///< [in, out]
    std::vector<float> bias;     ///< [out]
    std::size_t in = 0, out = 0;

    /// y += W x
    void add(const float* x, float* y) const {
        for (std::size_t i = 0; i < in; ++i) {
            const float value = x[i];
            if (value == 0) continue;
            const float* column = columns.data() + i * out;
            for (std::size_t o = 0; o < out; ++o) y[o] += value * column[o];
        }
    }
    void apply(const float* x, float* y) const {
        std::ranges::copy(bias, y);
        add(x, y);
    }
    /// Keeps y where it is positive.
    void rectify(float* y) const {
        for (std::size_t o = 0; o < out; ++o) y[o] = std::max(y[o], 0.0F);
    }
};

/// Reads linear maps, a weight [out, in] and a bias [out] each, from flat weights in their order.
class LinearMapReader {
public:
    LinearMapReader(const std::vector<PolicyParameter>& parameters, std::span<const float> weights)
        : parameters_(parameters), weights_(weights) {}

    LinearMap take() {
        LinearMap map;
        map.out = static_cast<std::size_t>(parameters_[next_].shape[0]);
        map.in = static_cast<std::size_t>(parameters_[next_].shape[1]);
        const float* weight = next();
        map.columns.resize(map.in * map.out);
        for (std::size_t o = 0; o < map.out; ++o) {
            for (std::size_t i = 0; i < map.in; ++i) map.columns[i * map.out + o] = weight[o * map.in + i];
        }
        const float* bias = next();
        map.bias.assign(bias, bias + map.out);
        return map;
    }

private:
    const float* next() {
        const float* start = weights_.data() + offset_;
        offset_ += parameters_[next_++].size();
        return start;
    }

    const std::vector<PolicyParameter>& parameters_;
    std::span<const float> weights_;
    std::size_t next_ = 0, offset_ = 0;
};

}  // namespace placewright
