// SPDX-License-Identifier: MIT
#pragma once

#include "core/base/path.hpp"
#include "core/machine/catalogue.hpp"

namespace placewright {

/// Reads placewright.catalogue: "name", "currency" and the lists "hosts" (a device with "slots"),
/// "accelerators" (devices), "host_links" (channels) and "fabrics" ("topology": "none", or "pairs" or
/// "switch" with the rest of a channel); every item has a "price".
Catalogue read_catalogue(const Path& file);

}  // namespace placewright
