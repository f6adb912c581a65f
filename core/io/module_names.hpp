// SPDX-License-Identifier: MIT
// A module is "layer1.0.conv1" to PyTorch, and "layer1/0/conv1" as the scope of ops.
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

/// "layer1.0.conv1" of the parameter "layer1.0.conv1.weight".
inline std::string module_of(const std::string& parameter) {
    const std::size_t dot = parameter.rfind('.');
    return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

}  // namespace placewright
