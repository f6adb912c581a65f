// SPDX-License-Identifier: MIT
#include "core/io/score_file.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <sys/file.h>

#include "core/io/input_error.hpp"
#include "core/io/json.hpp"

namespace placewright {
namespace {

constexpr auto kFormat = "placewright.scores";
constexpr std::size_t kHexDigits = 16;

std::string hex(std::uint64_t bits) {
    std::array<char, kHexDigits + 1> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(bits));
    return text.data();
}

bool read_hex(std::string_view text, std::uint64_t& bits) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

Json header(const ScoreFile::Conditions& conditions) {
    Json json = {{"format", kFormat}, {"version", 1}};
    for (const auto& [name, value] : conditions) json[name] = value;
    return json;
}

bool parse(const std::string& line, RecordedScore& record) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_array() || json.size() != 4 || !json[0].is_string() || !json[1].is_number() || !json[2].is_number() ||
        !json[3].is_boolean())
        return false;
    const auto& key = json[0].get_ref<const std::string&>();
    if (key.size() != 2 * kHexDigits) return false;
    const std::string_view text = key;
    if (!read_hex(text.substr(0, kHexDigits), record.placement.first) || !read_hex(text.substr(kHexDigits), record.placement.second))
        return false;
    record.score = {json[1].get<double>(), json[2].get<double>(), json[3].get<bool>()};
    return true;
}

/// The finaliser of splitmix64 over everything that is added.
class Fingerprint {
public:
    template <class Number>
    void add(const std::vector<Number>& values) {
        add_bits(values.size());
        for (const Number value : values) {
            if constexpr (std::is_floating_point_v<Number>) {
                add_bits(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
            } else {
                add_bits(static_cast<std::uint64_t>(value));
            }
        }
    }
    void add(std::string_view text) {
        add_bits(text.size());
        for (const char c : text) add_bits(static_cast<unsigned char>(c));
    }
    void add_bits(std::uint64_t bits) { hash_ = mixed_bits(hash_ + 0x9e3779b97f4a7c15ULL + bits); }
    std::uint64_t value() const { return hash_; }

private:
    std::uint64_t hash_ = 0;
};

}  // namespace

ScoreFile::ScoreFile(const Path& file, const Conditions& conditions) : file_(file) {
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) throw InputError(file.string(), "", "cannot be written: it is a folder");
    if (std::filesystem::exists(file, error)) read(conditions);
    if (whole_bytes_ == 0) {
        write_file(file, header(conditions).dump() + '\n');
    } else if (whole_bytes_ < std::filesystem::file_size(file, error)) {
        std::filesystem::resize_file(file, whole_bytes_, error);
        if (error) throw InputError(file.string(), "", "cannot be written: " + error.message());
    }
    errno = 0;
    stream_.reset(std::fopen(file.c_str(), "ab"));
    if (!stream_) fail_to_write();
    if (flock(fileno(stream_.get()), LOCK_EX | LOCK_NB) != 0)
        throw InputError(file.string(), "", "is being written by another search; give another file, or wait for its end");
}

void ScoreFile::read(const Conditions& conditions) {
    std::ifstream stream(file_, std::ios::binary);
    if (!stream) throw InputError(file_.string(), "", "cannot be read: " + std::string(std::strerror(errno)));
    std::string line;
    // Nothing but the end of the header may be missing: half of one might be the begin of anything, which is not ours to overwrite.
    if (!std::getline(stream, line)) return;
    const bool whole = !stream.eof();
    const Json found = Json::parse(line, nullptr, false);
    const Json expected = header(conditions);
    if (!found.is_object() || found.value("format", Json()) != kFormat)
        throw InputError(file_.string(), "line 1",
                         "is not a file of scores; expected " + in_quotes(kFormat) + ", or a file that is not there yet");
    if (found.value("version", Json()) != expected["version"])
        throw InputError(file_.string(), "line 1", "has a version that is not known here");
    for (const auto& [name, value] : expected.items()) {
        const Json other = found.value(name, Json());
        if (other == value) continue;
        throw InputError(file_.string(), "",
                         "holds the scores of another search: its " + name + " is " +
                             printable(other.is_string() ? other.get<std::string>() : other.dump()) + ", not " +
                             printable(value.get<std::string>()) + "; give another file");
    }
    if (!whole) return;
    whole_bytes_ = line.size() + 1;
    for (std::size_t number = 2; std::getline(stream, line) && !stream.eof(); ++number) {
        RecordedScore record;
        if (!parse(line, record)) {
            throw InputError(file_.string(), "line " + std::to_string(number),
                             "is not a score; expected [\"32 hexadecimal digits\", seconds, seconds, true or false]");
        }
        scores_.push_back(record);
        whole_bytes_ += line.size() + 1;
    }
    // Not the end of the file, after which it would be cut.
    if (stream.bad()) throw InputError(file_.string(), "", "cannot be read: " + std::string(std::strerror(errno != 0 ? errno : EIO)));
}

void ScoreFile::append(std::span<const RecordedScore> scores) {
    if (scores.empty()) return;
    std::string text;
    for (const RecordedScore& record : scores) {
        text += Json::array({hex(record.placement.first) + hex(record.placement.second), record.score.seconds, record.score.step_time_s,
                             record.score.fits})
                    .dump();
        text += '\n';
    }
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stream_.get()) != text.size() || std::fflush(stream_.get()) != 0) fail_to_write();
}

void ScoreFile::fail_to_write() const {
    throw InputError(file_.string(), "", "cannot be written: " + std::string(std::strerror(errno != 0 ? errno : EIO)));
}

std::string problem_fingerprint(const Problem& problem) {
    Fingerprint print;
    for (const Op& op : problem.graph->ops()) {
        print.add(op.name);
        // The orders of pipelined batches and accumulation go by the phase.
        print.add_bits(static_cast<std::uint64_t>(op.phase));
    }
    for (const bool together : problem.sends_together) print.add_bits(together ? 1 : 0);
    for (const Device& device : problem.machine->devices()) {
        print.add(device.name);
        print.add_bits(device.streams);
        print.add_bits(device.copy_engines);
    }
    for (const auto* values :
         {&problem.op_time_s, &problem.resident_bytes, &problem.workspace_bytes, &problem.tensor_bytes, &problem.output_bytes,
          &problem.memory_limit_bytes, &problem.accumulate_s, &problem.op_share, &problem.channel_latency_s, &problem.transfer_s})
        print.add(*values);
    for (const auto* values : {&problem.grouping.group_of, &problem.output_begin, &problem.alias_of, &problem.consumer_begin,
                               &problem.consumer, &problem.route_begin, &problem.channel_class, &problem.allowed_begin})
        print.add(*values);
    print.add(problem.route_channel);
    print.add(problem.allowed);
    for (const std::uint64_t bits : {std::uint64_t(problem.memory), std::uint64_t(problem.inference), std::uint64_t(problem.crossing),
                                     std::bit_cast<std::uint64_t>(problem.tick_s)})
        print.add_bits(bits);
    return hex(print.value());
}

}  // namespace placewright
