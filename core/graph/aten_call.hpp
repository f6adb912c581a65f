// SPDX-License-Identifier: MIT
// What TorchScript and torch.export have in common: calls of PyTorch's operators (ATen).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// A call whose sizes are known. Values are named once.
struct AtenCall {
    /// By the name that the operator's schema gives it. Numbers that are not whole and the like are left out.
    struct Argument {
        std::string name;
        std::vector<std::string> values{};     ///< tensors, those of a list in order
        std::vector<std::int64_t> integers{};  ///< true and false are 1 and 0
        std::string text{};
    };
    struct Output {
        std::string name;  ///< empty: nobody reads it
        std::optional<Tensor> tensor;
    };

    std::string op;     ///< without overload, in the namespace aten without that ("convolution"), else with it ("torchvision::nms")
    std::string scope;  ///< module path, '/' separated
    std::vector<Argument> arguments;
    std::vector<Output> outputs;
};

}  // namespace placewright
