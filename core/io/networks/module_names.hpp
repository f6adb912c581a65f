// SPDX-License-Identifier: MIT
// Converts names of modules: PyTorch's "layer1.0.conv1" is the scope "layer1/0/conv1" of ops.
#pragma once

#include <algorithm>
#include <string>

namespace placewright {

inline std::string dotted(std::string scope) {
    std::ranges::replace(scope, '/', '.');
    return scope;
}

inline std::string scope_of_module(std::string module) {
    std::ranges::replace(module, '.', '/');
    return module;
}

/// Returns "layer1.0.conv1" for the parameter "layer1.0.conv1.weight"; empty for a name without a dot.
inline std::string module_of(const std::string& parameter) {
    const std::size_t dot = parameter.rfind('.');
    return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

}  // namespace placewright
