// SPDX-License-Identifier: MIT
// Traces of runs as profilers write them, in Chrome's trace event format: PyTorch (Kineto), ONNX Runtime, our own. Sources: Chromium,
// "Trace Event Format"; pytorch/kineto, libkineto/src/output_json.cpp; perfetto, docs/getting-started/other-formats.md.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/io/files.hpp"

namespace placewright {

/// Something that took time.
struct TraceEvent {
    std::uint32_t name = 0;      ///< in TraceFile::names
    std::uint32_t category = 0;  ///< in TraceFile::names; "" without one
    std::uint32_t lane = 0;
    std::uint32_t row = 0;  ///< within the lane: 0, or how many events it lies in, or more where it overlaps others
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t external_id = -1;  ///< what a kernel was launched by, and the op's own number
    std::int64_t correlation = -1;  ///< of a launch and what was launched
    std::int64_t sequence = -1;     ///< of a forward op and its backward

    std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// A thread, or a stream of a device.
struct TraceLane {
    std::string process, thread;  ///< as the trace names them, else their numbers
    std::string model;            ///< of the device that it is part of; empty if the trace does not say
    std::uint32_t rows = 0;       ///< 1 and more; 0 without events
    std::int64_t busy_ns = 0;     ///< in which something runs
};

struct TraceFile {
    Path file{};
    std::vector<std::string> names;
    std::vector<TraceLane> lanes;    ///< in the order in which viewers show them
    std::vector<TraceEvent> events;  ///< by lane, start, longest first; times from the first event on
    std::int64_t duration_ns = 0;
    std::size_t counters = 0;  ///< samples of counters, which are not kept
    std::size_t others = 0;    ///< flows, instants, asynchronous and other events, which are not kept
    std::size_t bad = 0;       ///< events without what they need
    std::string first_bad;     ///< what the first of them lacks
    std::size_t overlaps = 0;  ///< events that overlap others on their lane without lying within them
    std::string broken;        ///< where and why reading ended early

    /// What a person should know, a sentence each: "12 408 events in 6 lanes", "3 events have no duration", ...
    std::vector<std::string> report() const;
};

/// Whether the file begins like a trace, packed or not: a list of objects, or an object with a list "traceEvents" of them in its first
/// megabyte.
bool is_trace(const Path& file);

/// Reads a bare list of events (whose "]" may be missing) or an object with "traceEvents", also packed by gzip, as a stream. Times are read
/// digit by digit to nanoseconds, strings too; process and thread ids may be strings. Complete events ("X") and pairs of begin and end
/// ("B", "E") are kept, names of processes and threads ("M") used; all others are counted. A file that breaks off, or is no JSON from some
/// place on, gives what stands before. At most 10 million events, 256 MiB of names, strings of 8 MiB, 4 GiB unpacked. Throws InputError if
/// nothing could be read. The result is empty if `stop` was requested. O(n log n).
TraceFile read_trace(const Path& file, std::stop_token stop = {});

}  // namespace placewright
