// SPDX-License-Identifier: MIT
// Traces of runs in Chrome's trace event format, as written by the profilers of PyTorch (Kineto) and ONNX
// Runtime, and by this program. Sources: Chromium, "Trace Event Format"; pytorch/kineto,
// libkineto/src/output_json.cpp; perfetto, docs/getting-started/other-formats.md.
#pragma once

#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/graph.hpp"

namespace placewright {

/// An event with a duration.
struct TraceEvent {
    std::uint32_t name = 0;      ///< index in TraceFile::names
    std::uint32_t category = 0;  ///< index in TraceFile::names; "" for none
    std::uint32_t lane = 0;
    std::uint32_t row =
        0;  ///< row within the lane: the number of events that enclose it, or more if it overlaps others
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t external_id = -1;  ///< number of an op, also in the kernels that it launched; -1 for none
    std::int64_t correlation = -1;  ///< common number of a launch and its kernel; -1 for none
    std::int64_t sequence = -1;     ///< common number of a forward op and its backward; -1 for none
    std::uint32_t transfer = std::numeric_limits<std::uint32_t>::max();  ///< index in TraceFile::transfers
    Phase phase = Phase::forward;  ///< of the op, where the trace says it, as those of this program do

    std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// What an event that is a transfer carries, as traces of this program say it.
struct TraceTransfer {
    std::uint32_t from = 0, to = 0;  ///< names of devices: indices in TraceFile::names
    double bytes = 0;
};

/// Bytes in use from a time on: a counter "memory" of this program, or a "[memory]" of PyTorch's profiler
/// (profile_memory=True).
struct TraceMemory {
    std::uint32_t process = 0;  ///< name of the device, as TraceLane::process: index in TraceFile::names
    std::int64_t time_ns = 0;
    double bytes = 0;
};

/// A thread, or a stream of a device.
struct TraceLane {
    std::string process, thread;  ///< names in the trace, else their numbers
    std::string model;            ///< model of the lane's device; empty if the trace does not name it
    std::uint32_t rows = 0;       ///< number of rows; 0 without events
    std::int64_t busy_ns = 0;     ///< time in which at least one event runs
};

struct TraceFile {
    Path file{};
    std::vector<std::string> names;
    std::vector<TraceLane> lanes;  ///< in the order in which viewers show them
    std::vector<TraceEvent>
        events;  ///< sorted by lane, then start, then longest first; times are relative to the first event
    std::int64_t duration_ns = 0;
    std::vector<TraceTransfer> transfers;
    std::vector<TraceMemory> memory;  ///< ascending in time, which is relative to the first event
    std::string producer;             ///< program that says it wrote the file; empty if none does
    std::size_t counters = 0;         ///< number of counter samples, which are not kept
    std::size_t others = 0;  ///< number of flows, instants, asynchronous and other events, which are not kept
    std::size_t bad = 0;     ///< number of events that lack a needed member
    std::string first_bad;   ///< description of the first of these events
    std::size_t overlaps =
        0;               ///< number of events that overlap others on their lane without being nested in them
    std::string broken;  ///< place and reason of an early end of reading; empty if all was read

    bool is_ours() const { return producer == "placewright"; }

    /// Returns lines for the user: "12 408 events in 6 lanes over 1.2 s", "3 flows, instants and other marks
    /// are not shown", ...
    std::vector<std::string> report() const;
};

/// Returns whether the file begins like a trace, compressed or not: a list of objects, or an object with a
/// list "traceEvents" of them in its first megabyte.
bool is_trace(const Path& file);

/// Reads a bare list of events (whose "]" may be missing) or an object with "traceEvents", also compressed by
/// gzip, as a stream. Times are read digit by digit to nanoseconds, from numbers or strings; process and
/// thread ids may be strings. The result contains complete events ("X") and pairs of begin and end ("B",
/// "E"), with the names of processes and threads from metadata events ("M"), and memory in use; all other
/// events are only counted. Of a file that is cut off, or is invalid JSON from some place on, the result
/// contains the part before. Limits: 10 million events, 256 MiB of names, 8 MiB per string, 4 GiB
/// uncompressed. Throws InputError if nothing could be read. The result is empty if `stop` was requested. O(n
/// log n).
TraceFile read_trace(const Path& file, std::stop_token stop = {});

}  // namespace placewright
