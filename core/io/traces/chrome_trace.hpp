// SPDX-License-Identifier: MIT
#pragma once

#include "core/base/path.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// Writes a trace in Chrome's trace event format, which Perfetto and chrome://tracing open. Each device is a
/// process with its ops, and its memory as a counter; all channels are one process with a thread each. Times
/// are in microseconds with nanosecond digits. Throws InputError.
void write_chrome_trace(const Trace& trace, const Problem& problem, const Path& file);
/// Returns the JSON text that write_chrome_trace writes.
std::string chrome_trace(const Trace& trace, const Problem& problem);

}  // namespace placewright
