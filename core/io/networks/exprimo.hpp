// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "core/io/networks/network_file.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// Reads a network of Exprimo (Lagostra, 2020), whose networks follow Paleo (Qi, Sparks, Talwalkar, 2017): a
/// file with "layers" and no "format". Throws InputError with the layer of a fault.
NetworkFile read_exprimo_network(const JsonFile& file, std::optional<std::int64_t> batch);

}  // namespace placewright
