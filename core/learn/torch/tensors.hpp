// SPDX-License-Identifier: MIT
// Flat weights as tensors and back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "core/learn/policy.hpp"

namespace placewright {

/// Where networks are computed: CUDA where LibTorch has it and there is a device.
inline torch::Device torch_device() {
    static const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
    return device;
}

/// A leaf for each parameter. To be called first on every thread: policies are trained by many threads, each with a core of its own, so
/// that LibTorch is to begin none.
inline std::vector<at::Tensor> weight_tensors(const std::vector<PolicyParameter>& parameters, std::span<const float> weights,
                                              bool requires_grad) {
    at::set_num_threads(1);
    std::vector<at::Tensor> tensors;
    const float* next = weights.data();
    for (const PolicyParameter& parameter : parameters) {
        at::Tensor tensor = torch::from_blob(const_cast<float*>(next), parameter.shape, torch::kFloat).clone().to(torch_device());
        tensors.push_back(tensor.requires_grad_(requires_grad));
        next += parameter.size();
    }
    return tensors;
}

/// Adds the gradients that tensors have gathered.
inline void add_gradients(const std::vector<at::Tensor>& tensors, std::span<float> gradient) {
    float* next = gradient.data();
    for (const at::Tensor& tensor : tensors) {
        const auto size = tensor.numel();
        if (tensor.grad().defined()) {
            const at::Tensor own = tensor.grad().to(torch::kCPU).contiguous();
            const float* values = own.data_ptr<float>();
            for (std::int64_t i = 0; i < size; ++i) next[i] += values[i];
        }
        next += size;
    }
}

/// A copy of `values` on the device.
template <class T>
at::Tensor tensor_of(const std::vector<T>& values, at::IntArrayRef shape, torch::ScalarType type) {
    return torch::from_blob(const_cast<T*>(values.data()), shape, type).clone().to(torch_device());
}

}  // namespace placewright
