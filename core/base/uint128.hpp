// SPDX-License-Identifier: MIT
#pragma once

namespace placewright {

__extension__ typedef unsigned __int128 uint128;  ///< of GCC and Clang; not in ISO C++, hence the keyword

}  // namespace placewright
