// SPDX-License-Identifier: MIT
// Calls of PyTorch's operators (ATen), the common form of TorchScript and torch.export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace placewright {

/// A call with known sizes. Each value is defined once.
struct AtenCall {
    /// An argument under its name in the operator's schema. Other values, such as numbers that are not whole,
    /// are left out.
    struct Argument {
        std::string name;
        std::vector<std::string> values{};     ///< tensors; those of a list in their order
        std::vector<std::int64_t> integers{};  ///< true and false are 1 and 0
        std::string text{};
    };
    struct Output {
        std::string name;  ///< empty: not read by any call
        std::optional<Tensor> tensor;
    };

    std::string op;     ///< name without overload; with its namespace unless that is aten: "convolution",
                        ///< "torchvision::nms"
    std::string scope;  ///< module path, '/' separated
    std::vector<Argument> arguments;
    std::vector<Output> outputs;
};

}  // namespace placewright
