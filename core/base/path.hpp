// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace placewright {

using Path = std::filesystem::path;

}  // namespace placewright
