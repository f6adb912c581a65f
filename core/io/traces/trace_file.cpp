// SPDX-License-Identifier: MIT
#include "core/io/traces/trace_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <istream>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/unpacked.hpp"
#include "core/io/text/whole_file.hpp"
#include "core/io/traces/trace_rows.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostEvents = 10'000'000;
constexpr std::size_t kMostText = std::size_t{256} << 20;  // bytes of names
constexpr std::size_t kMostDepth = 64;
constexpr std::size_t kMostOpen = 100'000;  // maximum number of open events on a lane

/// Converts microseconds in decimal digits to nanoseconds, rounded; nothing for other text or a too large
/// number.
std::optional<std::int64_t> nanoseconds(std::string_view text) {
    constexpr std::int64_t kMost =
        std::numeric_limits<std::int64_t>::max() / 4;  // differences and sums fit too
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty()) return {};
    if (text.find_first_of("eE") != std::string_view::npos) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() ||
            !(std::abs(value) * 1e3 < static_cast<double>(kMost)))
            return {};
        return std::llround((negative ? -value : value) * 1e3);
    }
    std::int64_t value = 0;
    int decimals = -1;
    bool round_up = false;
    for (const char c : text) {
        if (c == '.' && decimals < 0) {
            decimals = 0;
        } else if (c < '0' || c > '9') {
            return {};
        } else if (decimals == 3) {
            round_up = c >= '5';
            decimals = 4;
        } else if (decimals < 3) {
            if (value > kMost / 10) return {};
            value = value * 10 + (c - '0');
            if (decimals >= 0) ++decimals;
        }
    }
    for (int missing = 3 - std::clamp(decimals, 0, 3); missing > 0; --missing) {
        if (value > kMost / 10) return {};
        value *= 10;
    }
    value += round_up ? 1 : 0;
    return negative ? -value : value;
}

std::optional<double> finite_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(value)
               ? std::optional(value)
               : std::nullopt;
}

std::int64_t whole(std::string_view text, std::int64_t other) {
    std::int64_t value = other;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : other;
}

/// Returns the text in the brackets of "gpu:0 (NVIDIA V100)".
std::string model_in(const std::string& process) {
    const std::size_t open = process.find(" (");
    return open == std::string::npos || !process.ends_with(')')
               ? ""
               : process.substr(open + 2, process.size() - open - 3);
}

struct Stopped {};

class TraceReader : public nlohmann::json_sax<nlohmann::json> {
public:
    TraceFile trace;
    bool found_events = false;

    // Only the texts of numbers are used, and only for requested members.
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t value) override {
        return field_ == nullptr || take(std::to_string(value));
    }
    bool number_unsigned(number_unsigned_t value) override {
        return field_ == nullptr || take(std::to_string(value));
    }
    bool number_float(number_float_t, const string_t& text) override {
        return field_ == nullptr || take(text);
    }
    bool string(string_t& value) override { return field_ == nullptr || take(value); }
    bool binary(binary_t&) override { return false; }

    bool key(string_t& key) override {
        field_ = nullptr;
        if (depth_ == 1) {
            root_key_ = key;
        } else if (depth_ == event_depth_ && in_events_) {
            const auto known = std::ranges::find(event_fields_, key, &Field::first);
            if (known != event_fields_.end()) field_ = known->second;
            in_args_ = key == "args";
        } else if (depth_ == event_depth_ + 1 && in_events_ && in_args_) {
            const auto known = std::ranges::find(argument_fields_, key, &Field::first);
            if (known != argument_fields_.end()) field_ = known->second;
        } else if (depth_ == 3 && root_key_ == "deviceProperties") {
            if (key == "id") field_ = &device_id_;
            if (key == "name") field_ = &device_name_;
        } else if (depth_ == 2 && root_key_ == "otherData" && key == "producer") {
            field_ = &trace.producer;
        }
        return true;
    }
    bool start_object(std::size_t) override {
        if (!enter()) return false;
        if (in_events_ && depth_ == event_depth_) clear_event();
        return true;
    }
    bool start_array(std::size_t) override {
        if (!enter()) return false;
        if (!in_events_ && (depth_ == 1 || (depth_ == 2 && root_key_ == "traceEvents"))) {
            in_events_ = found_events = true;
            is_list_ = depth_ == 1;
            event_depth_ = depth_ + 1;
        }
        return true;
    }
    bool end_object() override {
        if (in_events_ && depth_ == event_depth_) {
            add_event();
        } else if (depth_ == 3 && root_key_ == "deviceProperties") {
            if (device_names_.try_emplace(device_id_, device_name_).second)
                kept_bytes_ += device_id_.size() + device_name_.size() + kPerName;
        }
        if (trace.events.size() < kMostEvents && trace.memory.size() < kMostEvents &&
            kept_bytes_ <= kMostText)
            return leave();
        trace.broken = "it has more than " + format_count(double(kMostEvents)) + " events or " +
                       format_bytes(double(kMostText)) + " of names, the maximum";
        return false;
    }
    bool end_array() override {
        if (in_events_ && depth_ + 1 == event_depth_) {
            in_events_ = false;
            complete_ = true;
        }
        return leave();
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value
        // - ..."
        std::string_view what = error.what();
        if (const std::size_t at = what.find("line "); at != std::string_view::npos) what.remove_prefix(at);
        // A list need not end, but its last event has to.
        const bool open_list =
            is_list_ && depth_ == 1 && what.find("unexpected end of input") != std::string_view::npos;
        if (!open_list) trace.broken = printable(what, 240);
        return false;
    }

    /// Completes the trace: names, order and rows of events, and times relative to the first event. Throws
    /// Stopped when `stop` is requested.
    void finish(const std::stop_token& stop);

private:
    using Field = std::pair<std::string_view, std::string*>;
    struct LaneKey {
        std::string pid, tid;
        auto operator<=>(const LaneKey&) const = default;
    };
    struct Begun {
        std::uint32_t name, category;
        std::int64_t start_ns;
    };
    struct Lane {
        LaneKey key;
        std::string name;
        std::int64_t sort_index = 0;
        std::vector<Begun> begun;
    };
    struct Process {
        std::string name, labels;
        std::int64_t sort_index = 0;
    };

    bool take(const std::string& value) {
        *field_ = value;
        field_ = nullptr;
        return true;
    }
    bool enter() {
        field_ = nullptr;
        if (++depth_ <= kMostDepth) return true;
        trace.broken = "it is nested more than " + std::to_string(kMostDepth) + " levels deep, the maximum";
        return false;
    }
    bool leave() {
        --depth_;
        field_ = nullptr;
        return true;
    }
    void clear_event() {
        for (const Field& field : event_fields_) field.second->clear();
        for (const Field& field : argument_fields_) field.second->clear();
        in_args_ = false;
    }
    void bad(const std::string& what) {
        if (trace.bad++ == 0) trace.first_bad = in_quotes(name_) + ' ' + what;
    }

    std::uint32_t id_of(const std::string& name) {
        const auto [known, is_new] =
            name_ids_.try_emplace(name, static_cast<std::uint32_t>(trace.names.size()));
        if (is_new) {
            trace.names.push_back(name);
            kept_bytes_ += 2 * name.size() + kPerName;
        }
        return known->second;
    }
    std::uint32_t lane_id() {
        const auto [known, is_new] =
            lane_ids_.try_emplace(LaneKey{pid_, tid_}, static_cast<std::uint32_t>(lanes_.size()));
        if (is_new) {
            lanes_.push_back({known->first, {}, 0, {}});
            kept_bytes_ += 2 * (pid_.size() + tid_.size()) + kPerName;
        }
        return known->second;
    }

    void add_event() {
        if (ph_ == "M") return add_metadata();
        if (ph_ == "C") {
            if (name_ != "memory" || !add_memory(pid_, bytes_)) ++trace.counters;
            return;
        }
        if (ph_ != "X" && ph_ != "B" && ph_ != "E") {
            if (ph_.empty()) return bad("has no \"ph\"");
            if (name_ != "[memory]" || !add_profiled_memory()) ++trace.others;
            return;
        }
        const auto start_ns = nanoseconds(ts_);
        if (!start_ns) return bad(ts_.empty() ? "has no \"ts\"" : "has the time " + in_quotes(ts_));
        if (ph_ == "B") {
            Lane& lane = lanes_[lane_id()];
            if (lane.begun.size() >= kMostOpen) return bad("lies in too many others");
            lane.begun.push_back({id_of(name_), id_of(cat_), *start_ns});
            kept_bytes_ += sizeof(Begun);
            return;
        }
        TraceEvent event;
        event.lane = lane_id();
        if (ph_ == "E") {
            Lane& lane = lanes_[event.lane];
            if (lane.begun.empty()) return bad("ends without having begun");
            event.name = lane.begun.back().name;
            event.category = lane.begun.back().category;
            event.start_ns = lane.begun.back().start_ns;
            event.duration_ns = *start_ns - event.start_ns;
            lane.begun.pop_back();
        } else {
            const auto duration_ns = nanoseconds(dur_);
            if (!duration_ns)
                return bad(dur_.empty() ? "has no \"dur\"" : "has the duration " + in_quotes(dur_));
            event.name = id_of(name_);
            event.category = id_of(cat_);
            event.start_ns = *start_ns;
            event.duration_ns = *duration_ns;
        }
        if (event.duration_ns < 0) return bad("ends before it begins");
        event.external_id = whole(external_id_, -1);
        event.correlation = whole(correlation_, -1);
        event.sequence = whole(sequence_, -1);
        if (const auto phase = phase_from(phase_)) event.phase = *phase;
        if (const auto bytes = finite_number(bytes_); bytes && cat_ == "transfer") {
            event.transfer = static_cast<std::uint32_t>(trace.transfers.size());
            trace.transfers.push_back({id_of(from_), id_of(to_), *bytes});
        }
        trace.events.push_back(event);
    }
    /// Keeps a sample of memory of a process, which finish() names; false if it is none.
    bool add_memory(const std::string& process, const std::string& bytes_text) {
        const auto time_ns = nanoseconds(ts_);
        const auto bytes = finite_number(bytes_text);
        if (!time_ns || !bytes || !(*bytes >= 0)) return false;
        trace.memory.push_back({id_of(process), *time_ns, *bytes});
        return true;
    }
    /// The same of PyTorch's profiler, which numbers devices by type (c10/core/DeviceType.h: 0 CPU, 1 CUDA).
    bool add_profiled_memory() {
        if (device_type_ != "0" && device_type_ != "1") return false;
        return add_memory(device_type_ == "0" ? "CPU" : "GPU " + device_number_, allocated_);
    }
    void add_metadata() {
        kept_bytes_ += pid_.size() + arg_name_.size() + arg_labels_.size() + kPerName;
        Process& process = processes_[pid_];
        if (name_ == "process_name") process.name = arg_name_;
        if (name_ == "process_labels") process.labels = arg_labels_;
        if (name_ == "process_sort_index") process.sort_index = whole(arg_sort_index_, 0);
        if (name_ == "thread_name") lanes_[lane_id()].name = arg_name_;
        if (name_ == "thread_sort_index") lanes_[lane_id()].sort_index = whole(arg_sort_index_, 0);
    }

    static constexpr std::size_t kPerName = 200;  ///< bytes that a name takes in addition to its text
    std::size_t depth_ = 0, event_depth_ = 0;
    std::size_t kept_bytes_ = 0;
    bool in_events_ = false, in_args_ = false, complete_ = false, is_list_ = false;
    std::string root_key_;
    std::string* field_ = nullptr;  ///< destination of the next value
    std::string ph_, name_, cat_, ts_, dur_, pid_, tid_;
    std::string external_id_, correlation_, sequence_, arg_name_, arg_labels_, arg_sort_index_;
    std::string phase_, from_, to_, bytes_, allocated_, device_type_, device_number_;
    const std::array<Field, 7> event_fields_{{{"ph", &ph_},
                                              {"name", &name_},
                                              {"cat", &cat_},
                                              {"ts", &ts_},
                                              {"dur", &dur_},
                                              {"pid", &pid_},
                                              {"tid", &tid_}}};
    const std::array<Field, 15> argument_fields_{{{"External id", &external_id_},
                                                  {"external id", &external_id_},
                                                  {"correlation", &correlation_},
                                                  {"Sequence number", &sequence_},
                                                  {"name", &arg_name_},
                                                  {"labels", &arg_labels_},
                                                  {"sort_index", &arg_sort_index_},
                                                  {"sequence number", &sequence_},
                                                  {"phase", &phase_},
                                                  {"from", &from_},
                                                  {"to", &to_},
                                                  {"bytes", &bytes_},
                                                  {"Total Allocated", &allocated_},
                                                  {"Device Type", &device_type_},
                                                  {"Device Id", &device_number_}}};
    std::string device_id_, device_name_;
    std::map<std::string, std::string> device_names_;  ///< by id
    std::map<std::string, Process> processes_;         ///< by pid
    std::map<LaneKey, std::uint32_t> lane_ids_;
    std::vector<Lane> lanes_;
    std::unordered_map<std::string, std::uint32_t> name_ids_;
};

void TraceReader::finish(const std::stop_token& stop) {
    if (complete_ && trace.broken.empty()) {
        for (const Lane& lane : lanes_) {
            if (lane.begun.empty()) continue;
            name_ = trace.names[lane.begun.back().name];
            bad("begins, but does not end");
            trace.bad += lane.begun.size() - 1;
        }
    }
    const bool ours = trace.is_ours();
    const auto name_of = [&](const std::string& pid) {
        const auto process = processes_.find(pid);
        if (process == processes_.end()) return pid;
        const Process& of = process->second;
        const std::string& name = of.labels.empty() || ours ? of.name : of.labels;
        return name.empty() ? pid : name;
    };
    std::vector<std::uint32_t> order(lanes_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto rank = [&](std::uint32_t id) {
        const LaneKey& key = lanes_[id].key;
        const auto process = processes_.find(key.pid);
        // Numbers in the order of their values, then other texts.
        const auto position_of = [](const std::string& text) {
            return whole(text, std::numeric_limits<std::int64_t>::max());
        };
        return std::tuple(process == processes_.end() ? 0 : process->second.sort_index, position_of(key.pid),
                          key.pid, lanes_[id].sort_index, position_of(key.tid), key.tid);
    };
    std::ranges::sort(order, {}, rank);
    std::vector<std::uint32_t> position(lanes_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        const Lane& lane = lanes_[order[i]];
        position[order[i]] = i;
        TraceLane named;
        const auto process = processes_.find(lane.key.pid);
        if (process != processes_.end()) {
            if (ours) named.model = model_in(process->second.name);
            // Rows of a GPU have its number as their process.
            const auto device = device_names_.find(lane.key.pid);
            if (device != device_names_.end() && process->second.labels.starts_with("GPU"))
                named.model = device->second;
        }
        named.process = name_of(lane.key.pid);
        named.thread = lane.name.empty() ? lane.key.tid : lane.name;
        while (named.thread.ends_with(' ')) named.thread.pop_back();
        trace.lanes.push_back(std::move(named));
    }
    if (trace.events.empty()) return;  // no times are relative to anything; read_trace() refuses it
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    for (TraceEvent& event : trace.events) {
        event.lane = position[event.lane];
        first_ns = std::min(first_ns, event.start_ns);
    }
    for (TraceEvent& event : trace.events) {
        event.start_ns -= first_ns;
        trace.duration_ns = std::max(trace.duration_ns, event.end_ns());
    }
    for (TraceMemory& sample : trace.memory) {
        sample.process = id_of(name_of(std::string(trace.names[sample.process])));
        sample.time_ns -= first_ns;
    }
    std::ranges::stable_sort(trace.memory, {}, &TraceMemory::time_ns);
    // Sorting millions of events takes seconds.
    std::ranges::stable_sort(trace.events, {}, [&](const TraceEvent& event) {
        if (stop.stop_requested()) throw Stopped();
        return std::tuple(event.lane, event.start_ns, -event.duration_ns);
    });
    for (std::size_t begin = 0; begin < trace.events.size();) {
        if (stop.stop_requested()) throw Stopped();
        std::size_t end = begin;
        while (end < trace.events.size() && trace.events[end].lane == trace.events[begin].lane) ++end;
        trace.overlaps += set_rows(std::span(trace.events).subspan(begin, end - begin),
                                   trace.lanes[trace.events[begin].lane]);
        begin = end;
    }
}

}  // namespace

std::vector<std::string> TraceFile::report() const {
    const auto lanes_used = std::ranges::count_if(lanes, [](const TraceLane& lane) { return lane.rows > 0; });
    const auto number = [](std::size_t count, const char* one, const char* many) {
        return std::to_string(count) + ' ' + (count == 1 ? one : many);
    };
    std::vector<std::string> lines;
    lines.push_back(number(events.size(), "event", "events") + " in " +
                    number(static_cast<std::size_t>(lanes_used), "lane", "lanes") + " over " +
                    format_seconds(static_cast<double>(duration_ns) * 1e-9));
    if (!broken.empty()) lines.push_back("the file could be read only in part: " + broken);
    if (bad > 0)
        lines.push_back(number(bad, "invalid event is", "invalid events are") +
                        " left out, the first: " + first_bad);
    if (overlaps > 0)
        lines.push_back(number(overlaps, "event overlaps", "events overlap") +
                        " others on one thread and have rows of their own");
    if (counters > 0)
        lines.push_back(number(counters, "sample of a counter is", "samples of counters are") + " not shown");
    if (others > 0)
        lines.push_back(
            number(others, "flow, instant or other mark is", "flows, instants and other marks are") +
            " not shown");
    return lines;
}

bool is_trace(const Path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return false;
    Unpacked packed(file);
    if (!packed.is_open()) return false;
    constexpr std::size_t kMost = std::size_t{1} << 20;
    std::string begin;
    std::string part(1 << 14, '\0');
    std::streamsize count = 0;
    do {
        count = packed.sgetn(part.data(), static_cast<std::streamsize>(part.size()));
        begin.append(part, 0, static_cast<std::size_t>(count));
    } while (count > 0 && begin.size() < kMost);
    std::string_view text = begin;
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    if (text[first] == '[') {
        const std::size_t item = text.find_first_not_of(" \t\r\n", first + 1);
        return item != std::string_view::npos && text[item] == '{';
    }
    constexpr std::string_view kKey = "\"traceEvents\"";
    std::size_t at = text[first] == '{' ? text.find(kKey) : std::string_view::npos;
    if (at == std::string_view::npos) return false;
    at += kKey.size();
    const auto next_is = [&](char wanted) {
        at = text.find_first_not_of(" \t\r\n", at);
        return at != std::string_view::npos && text[at++] == wanted;
    };
    if (!next_is(':') || !next_is('[')) return false;
    // In a placement, an op of this name may have a list of devices.
    at = text.find_first_not_of(" \t\r\n", at);
    return at == std::string_view::npos || text[at] == '{' || text[at] == ']';
}

TraceFile read_trace(const Path& path, std::stop_token stop) {
    const std::string file = printable(path.string(), 4096);
    regular_file_size(path);  // refuses a pipe, which would block
    Unpacked packed(path, stop);
    if (!packed.is_open()) throw InputError(file, "", std::string("cannot be read: ") + std::strerror(errno));
    std::istream stream(&packed);
    TraceReader reader;
    nlohmann::json::sax_parse(stream, &reader);
    if (!packed.problem().empty()) reader.trace.broken = packed.problem();
    try {
        reader.finish(stop);
    } catch (const Stopped&) {
        return {};
    }
    if (stop.stop_requested()) return {};
    TraceFile& trace = reader.trace;
    if (trace.events.empty()) {
        std::string problem =
            !reader.found_events
                ? "holds no trace, expected a list of events or an object with \"traceEvents\""
                : "holds no events with a duration, expected some of \"ph\": \"X\"";
        if (!trace.broken.empty()) problem += "; reading stopped because of an error: " + trace.broken;
        if (trace.bad > 0)
            problem += "; invalid events: " + std::to_string(trace.bad) + ", the first: " + trace.first_bad;
        throw InputError(file, "", problem);
    }
    trace.file = path;
    return std::move(trace);
}

}  // namespace placewright
