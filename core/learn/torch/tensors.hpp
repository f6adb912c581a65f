// SPDX-License-Identifier: MIT
// Conversion of flat weights to tensors and back.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "core/learn/policy.hpp"

namespace placewright {

/// Returns the device for networks: CUDA if LibTorch supports it and there is a device, else the CPU.
inline torch::Device torch_device() {
    static const torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
    return device;
}

/// Returns a leaf tensor for each parameter. To be called first on every thread: policies are trained by many
/// threads, each with its own core, so LibTorch must not start any threads.
inline std::vector<at::Tensor> weight_tensors(const std::vector<PolicyParameter>& parameters,
                                              std::span<const float> weights, bool requires_grad) {
    at::set_num_threads(1);
    std::vector<at::Tensor> tensors;
    const float* next = weights.data();
    for (const PolicyParameter& parameter : parameters) {
        at::Tensor tensor = torch::from_blob(const_cast<float*>(next), parameter.shape, torch::kFloat)
                                .clone()
                                .to(torch_device());
        tensors.push_back(tensor.requires_grad_(requires_grad));
        next += parameter.size();
    }
    return tensors;
}

/// Adds the accumulated gradients of tensors to `gradient`.
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

/// Returns a copy of `values` on the device.
template <class T>
at::Tensor tensor_of(const std::vector<T>& values, at::IntArrayRef shape, torch::ScalarType type) {
    return torch::from_blob(const_cast<T*>(values.data()), shape, type).clone().to(torch_device());
}

}  // namespace placewright
