// SPDX-License-Identifier: MIT
// Quantities as text for people, in one format everywhere: window, command line and messages.
#pragma once

#include <cstdint>
#include <string>

namespace placewright {

/// Seconds with three significant digits in a suitable unit: "41.2 ms", "1.30 s", "870 ns". Infinity is "∞".
std::string format_seconds(double seconds);

/// Bytes in powers of 1000, three significant digits: "8.10 GB". The machine files count memory in powers of
/// 1000 too.
std::string format_bytes(double bytes);

/// A count with an SI suffix from 10 000 on: "512", "12.4 k", "61.1 M".
std::string format_count(double count);

/// Floating-point operations: "11.4 GFLOP".
std::string format_flops(double flops);

/// A span of time for progress displays: "0:04", "12:30", "1:02:03".
std::string format_clock(double seconds);

}  // namespace placewright
