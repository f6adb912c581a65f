// SPDX-License-Identifier: MIT
// In place of dot.cpp in a build without Graphviz.
#include "core/layout/layout.hpp"

namespace placewright {

LayoutResult dot_layout(const LayoutInput& input) {
    return layered_layout(input, {});
}

}  // namespace placewright
