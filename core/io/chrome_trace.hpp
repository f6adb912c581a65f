// SPDX-License-Identifier: MIT
#pragma once

#include "core/io/files.hpp"
#include "core/sim/simulator.hpp"

namespace placewright {

/// Writes a trace in Chrome's trace event format (opens in Perfetto and chrome://tracing): a process a device with its ops and its memory
/// as a counter, one process for all channels with a thread each. Times in microseconds with nanosecond digits. Throws InputError.
void write_chrome_trace(const Trace& trace, const Problem& problem, const Path& file);
/// The JSON text that write_chrome_trace writes.
std::string chrome_trace(const Trace& trace, const Problem& problem);

}  // namespace placewright
