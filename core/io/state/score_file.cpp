// SPDX-License-Identifier: MIT
#include "core/io/state/score_file.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <unistd.h>

#include <sys/file.h>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/option_json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr auto kScoreFormat = "placewright.scores";
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

Json search_json(const SavedSearch& search) {
    Json starts = Json::array();
    for (const Placement& start : search.starts) starts.push_back(start);
    return {{"algorithm", search.algorithm},
            {"options", options_json(search.options)},
            {"seed", std::to_string(search.seed)},  // more than many readers of JSON take
            {"evaluations", search.evaluations ? Json(*search.evaluations) : Json(nullptr)},
            {"starts", std::move(starts)}};
}

SavedSearch search_from(const JsonValue& value) {
    SavedSearch search;
    search.algorithm = value.at("algorithm").text();
    value.at("options").for_each_member([&](const std::string& name, const JsonValue& option) {
        search.options[name] = option_from(option);
    });
    const std::string seed = value.at("seed").text();
    const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), search.seed);
    if (error != std::errc() || end != seed.data() + seed.size())
        value.at("seed").fail("is not a whole number");
    if (const JsonValue evaluations = value.at("evaluations"); !evaluations.json().is_null())
        search.evaluations =
            static_cast<std::uint64_t>(evaluations.whole(1, std::numeric_limits<std::int64_t>::max()));
    value.at("starts").for_each_item([&](const JsonValue& item) {
        Placement& start = search.starts.emplace_back();
        item.for_each_item([&](const JsonValue& device) {
            start.push_back(static_cast<DeviceId>(device.whole(0, std::numeric_limits<DeviceId>::max())));
        });
    });
    return search;
}

std::string header_line(const ScoreConditions& conditions, const std::optional<SavedSearch>& search) {
    Json json = {{"format", kScoreFormat}, {"version", 1}};
    for (const auto& [name, value] : conditions) json[name] = value;
    if (search) json["search"] = search_json(*search);
    return json.dump() + '\n';
}

std::string score_line(const RecordedScore& record) {
    const auto& [placement, score] = record;
    return Json::array(
               {hex(placement.first) + hex(placement.second), score.penalised_s, score.value_s, score.fits})
               .dump() +
           '\n';
}

bool parse(const std::string& line, RecordedScore& record) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_array() || json.size() != 4 || !json[0].is_string() || !json[1].is_number() ||
        !json[2].is_number() || !json[3].is_boolean())
        return false;
    const auto& key = json[0].get_ref<const std::string&>();
    if (key.size() != 2 * kHexDigits) return false;
    const std::string_view text = key;
    if (!read_hex(text.substr(0, kHexDigits), record.placement.first) ||
        !read_hex(text.substr(kHexDigits), record.placement.second))
        return false;
    record.score = {json[1].get<double>(), json[2].get<double>(), json[3].get<bool>()};
    return true;
}

/// Reads a file of scores.
class ScoreReader {
    // The header contains initial placements, with one number per group.
    static constexpr std::size_t kMostHeaderBytes = std::size_t{64} << 20, kMostLineBytes = 1024,
                                 kMostScores = 50'000'000;

public:
    ScoreReader(const Path& file, const ScoreConditions& conditions)
        : file_(file), stream_(open_regular_file(file)) {
        std::error_code error;
        if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
            throw InputError(file_.string(), "", "is not a regular file");
        if (!stream_)
            throw InputError(file_.string(), "", "cannot be read: " + std::string(std::strerror(errno)));
        std::string line;
        // Only the newline of the header may be missing: half a header could be the begin of any file, which
        // must not be overwritten.
        if (!read_line(line, kMostHeaderBytes, 1)) return;
        const bool whole = !stream_.eof();
        const Json found = json_value(line);
        if (!found.is_object() || found.value("format", Json()) != kScoreFormat)
            throw InputError(file_.string(), "line 1",
                             "is not a file of scores; expected " + in_quotes(kScoreFormat) +
                                 ", or a file that is not there yet");
        if (found.value("version", Json()) != 1)
            throw InputError(file_.string(), "line 1", "has an unknown version");
        for (const auto& [name, value] : conditions) {
            const Json other = found.value(name, Json());
            if (other != value)
                throw OtherConditions(file_.string(), name,
                                      printable(other.is_string() ? other.get<std::string>() : other.dump()),
                                      printable(value));
        }
        if (!whole) return;
        if (found.contains("search")) {
            const JsonFile checked(file_, line);
            const Json header = checked.parse();
            content_.search = search_from(JsonValue(checked, header).at("search"));
        }
        content_.whole_bytes = line.size() + 1;
    }

    std::optional<SavedSearch> search() && { return std::move(content_.search); }

    ScoreContent all() && {
        std::string line;
        for (std::size_t number = 2;
             content_.whole_bytes > 0 && read_line(line, kMostLineBytes, number) && !stream_.eof();
             ++number) {
            if (content_.scores.size() == kMostScores)
                throw InputError(
                    file_.string(), "line " + std::to_string(number),
                    "is one too many: expected at most " + std::to_string(kMostScores) + " scores");
            RecordedScore record;
            if (!parse(line, record)) {
                throw InputError(
                    file_.string(), "line " + std::to_string(number),
                    "is not a score; expected [\"32 hexadecimal digits\", seconds, seconds, true or false]");
            }
            content_.scores.push_back(record);
            content_.whole_bytes += line.size() + 1;
        }
        // A read error must not be taken for the end of the file, after which the file would be cut.
        if (stream_.bad())
            throw InputError(file_.string(), "",
                             "cannot be read: " + std::string(std::strerror(errno != 0 ? errno : EIO)));
        return std::move(content_);
    }

private:
    /// Reads a line like std::getline; throws for a line of more than `most` bytes.
    bool read_line(std::string& line, std::size_t most, std::size_t number) {
        line.clear();
        if (!stream_) return false;
        try {
            std::streambuf& buffer = *stream_.rdbuf();
            for (int c = buffer.sbumpc(); c != '\n'; c = buffer.sbumpc()) {
                if (c == std::char_traits<char>::eof()) {
                    stream_.setstate(std::ios::eofbit);
                    return !line.empty();
                }
                if (line.size() == most)
                    throw InputError(
                        file_.string(), "line " + std::to_string(number),
                        "is longer than " + std::to_string(most) + " bytes; expected a file of scores");
                line.push_back(static_cast<char>(c));
            }
            return true;
        } catch (const std::ios::failure&) {
            stream_.setstate(std::ios::badbit);  // an error of the device, not of the content
            return false;
        }
    }

    Path file_;
    std::ifstream stream_;
    ScoreContent content_;
};

}  // namespace

OtherConditions::OtherConditions(const std::string& file, std::string condition, std::string of_theirs,
                                 std::string of_ours)
    : InputError(file, "",
                 "holds the scores of another search: its " + condition + " is " + of_theirs + ", not " +
                     of_ours + "; give another file"),
      name(std::move(condition)),
      theirs(std::move(of_theirs)),
      ours(std::move(of_ours)) {}

ScoreContent read_scores(const Path& file, const ScoreConditions& conditions) {
    return ScoreReader(file, conditions).all();
}

std::optional<SavedSearch> read_saved_search(const Path& file, const ScoreConditions& conditions) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return {};
    return ScoreReader(file, conditions).search();
}

void write_scores(const Path& file, const ScoreConditions& conditions, const SavedSearch& search,
                  std::span<const RecordedScore> scores) {
    std::string text = header_line(conditions, search);
    for (const RecordedScore& record : scores) text += score_line(record);
    write_file(file, text);
}

bool is_score_file(const Path& file) {
    const std::string begin = std::string(R"({"format":")") + kScoreFormat;
    std::string found(begin.size(), '\0');
    std::ifstream stream = open_regular_file(file);
    return stream.read(found.data(), static_cast<std::streamsize>(found.size())) && found == begin;
}

ScoreFile::ScoreFile(const Path& file, const ScoreConditions& conditions,
                     const std::optional<SavedSearch>& search)
    : file_(file) {
    std::error_code error;
    if (std::filesystem::is_directory(file, error))
        throw InputError(file.string(), "", "cannot be written: it is a folder");
    if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
        throw InputError(file.string(), "", "cannot be written: it is not a regular file");
    errno = 0;
    stream_.reset(std::fopen(file.c_str(), "ab"));
    if (!stream_) fail_to_write();
    // The lock comes first: another search may be writing a line of the file, and what looks like a broken
    // last line is not to be cut then.
    if (flock(fileno(stream_.get()), LOCK_EX | LOCK_NB) != 0)
        throw InputError(file.string(), "",
                         "is being written by another search; give another file, or wait for its end");
    ScoreContent content = read_scores(file, conditions);
    scores_ = std::move(content.scores);
    // Lines are appended, so they follow what is left of the file.
    if (content.whole_bytes < std::filesystem::file_size(file) &&
        ftruncate(fileno(stream_.get()), static_cast<off_t>(content.whole_bytes)) != 0)
        fail_to_write();
    if (content.whole_bytes == 0) write(header_line(conditions, search));
}

void ScoreFile::append(std::span<const RecordedScore> scores) {
    if (scores.empty()) return;
    std::string text;
    for (const RecordedScore& record : scores) text += score_line(record);
    write(text);
}

void ScoreFile::write(const std::string& text) {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stream_.get()) != text.size() ||
        std::fflush(stream_.get()) != 0)
        fail_to_write();
}

void ScoreFile::fail_to_write() const {
    throw InputError(file_.string(), "",
                     "cannot be written: " + std::string(std::strerror(errno != 0 ? errno : EIO)));
}

}  // namespace placewright
