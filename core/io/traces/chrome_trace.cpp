// SPDX-License-Identifier: MIT
#include "core/io/traces/chrome_trace.hpp"

#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/path.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

using Json = nlohmann::ordered_json;

/// Microseconds rounded to whole nanoseconds, so that neighbouring spans neither overlap nor gap by rounding.
double microseconds(double seconds) {
    return std::round(seconds * 1e9) / 1e3;
}

Json metadata(const char* what, std::size_t process, std::size_t thread, const char* key, const Json& value) {
    return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{key, value}}}};
}

/// Adds the threads of the host and what they issue.
void add_host(const Trace& trace, const Problem& problem, std::size_t process, Json& events) {
    if (trace.issues.empty()) return;
    events.push_back(metadata("process_name", process, 0, "name", "host"));
    events.push_back(metadata("process_sort_index", process, 0, "sort_index", process));
    std::set<std::uint16_t> threads;
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
        const Issue& issue = trace.issues[i];
        if (issue.end_s <= issue.start_s) continue;
        threads.insert(issue.thread);
        const double start = microseconds(issue.start_s);
        events.push_back({{"ph", "X"},
                          {"ts", start},
                          {"dur", microseconds(issue.end_s) - start},
                          {"name", problem.graph->op(trace.spans[i].op).name},
                          {"cat", "host"},
                          {"pid", process},
                          {"tid", issue.thread},
                          {"args", {{"batch", trace.spans[i].batch}}}});
    }
    for (const std::uint16_t thread : threads)
        events.push_back(metadata("thread_name", process, thread, "name", host_thread_name(problem, thread)));
}

}  // namespace

std::string chrome_trace(const Trace& trace, const Problem& problem) {
    const Machine& machine = *problem.machine;
    const std::size_t channels_process = machine.devices().size();
    Json events = Json::array();
    for (std::size_t i = 0; i < machine.devices().size(); ++i) {
        const Device& device = machine.devices()[i];
        events.push_back(metadata("process_name", i, 0, "name", device.name + " (" + device.model + ")"));
        events.push_back(metadata("process_sort_index", i, 0, "sort_index", i));
        events.push_back(metadata("thread_name", i, 0, "name", "compute"));
        for (std::uint32_t stream = 1; stream < device.streams; ++stream) {
            events.push_back(
                metadata("thread_name", i, stream, "name", "compute " + std::to_string(stream + 1)));
        }
    }
    events.push_back(metadata("process_name", channels_process, 0, "name", "channels"));
    events.push_back(metadata("process_sort_index", channels_process, 0, "sort_index", channels_process));
    for (std::size_t i = 0; i < machine.channels().size(); ++i) {
        events.push_back(metadata("thread_name", channels_process, i, "name", machine.channels()[i].name));
    }
    add_host(trace, problem, channels_process + 1, events);
    for (const Span& span : trace.spans) {
        const Op& op = problem.graph->op(span.op);
        const double start = microseconds(span.start_s);
        Json event{{"ph", "X"}, {"ts", start}, {"dur", microseconds(span.end_s) - start}};
        Json args{{"batch", span.batch}};
        if (span.kind == Span::Kind::op) {
            event["name"] = op.name;
            event["cat"] = "kernel";
            event["pid"] = span.resource;
            event["tid"] = span.stream;  // slices of one thread must not overlap
            args["kind"] = op.kind;
            args["phase"] = to_string(op.phase);
        } else {
            event["name"] = op.name;
            event["cat"] = "transfer";
            event["pid"] = channels_process;
            event["tid"] = span.resource;
            args["from"] = machine.device(span.from).name;
            args["to"] = machine.device(span.to).name;
            args["bytes"] = span.bytes;
        }
        event["args"] = std::move(args);
        events.push_back(std::move(event));
    }
    for (const MemorySample& sample : trace.memory) {
        events.push_back({{"ph", "C"},
                          {"name", "memory"},
                          {"pid", sample.device},
                          {"ts", microseconds(sample.time_s)},
                          {"args", {{"bytes", sample.bytes}}}});
    }
    const Json document{
        {"displayTimeUnit", "ms"},
        {"otherData",
         {{"producer", "placewright"}, {"graph", problem.graph->name()}, {"machine", machine.name()}}},
        {"distributedInfo", {{"rank", 0}}},
        {"traceEvents", std::move(events)}};
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_chrome_trace(const Trace& trace, const Problem& problem, const Path& file) {
    write_file(file, chrome_trace(trace, problem));
}

}  // namespace placewright
