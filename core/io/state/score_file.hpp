// SPDX-License-Identifier: MIT
// Scores of placements in a file to which a running search appends.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/cost/problem_fingerprint.hpp"
#include "core/io/text/input_error.hpp"
#include "core/search/options.hpp"
#include "core/search/recorded.hpp"

namespace placewright {

/// Definition of a search, in addition to its problem. A search with the same definition that gets the
/// recorded scores takes the same steps.
struct SavedSearch {
    std::string algorithm;
    OptionValues options = {};
    std::uint64_t seed = 1;
    std::optional<std::uint64_t> evaluations = {};  ///< nothing: the limit was a time
    std::vector<Placement> starts = {};  ///< in addition to the starts of every search of this problem

    bool operator==(const SavedSearch&) const = default;
};

/// Conditions of scores as names and values: network, machine, problem_fingerprint(), objective and so on.
/// Scores are valid only if all conditions are equal.
using ScoreConditions = std::vector<std::pair<std::string, std::string>>;

/// The scores in a file are of another network, machine or simulation.
class OtherConditions : public InputError {
public:
    OtherConditions(const std::string& file, std::string name, std::string theirs, std::string ours);

    std::string name, theirs, ours;  ///< the first condition that differs; printable
};

/// A file of JSON lines. The header is an object with "format" placewright.scores, "version" 1, the
/// conditions of the scores, and under "search" the search that created the file. Each further line is a list
/// for one placement: its key as 32 hexadecimal digits, score and step time in seconds, and whether it fits.
/// Each append is a single write, so that after a kill at most the last line is broken; the next opening
/// drops it. Limits: 64 MiB for the header, 1 KiB per line, 50 million scores.
class ScoreFile {
public:
    /// Reads an existing file, or creates one with `search`, and locks it for the lifetime of this object.
    /// Throws InputError for a file that cannot be read or written, is locked, or is not a file of scores,
    /// and OtherConditions for scores of other conditions; the file is unchanged then.
    ScoreFile(const Path& file, const ScoreConditions& conditions,
              const std::optional<SavedSearch>& search = {});

    const std::vector<RecordedScore>& scores() const { return scores_; }

    /// Throws InputError if the file cannot be written.
    void append(std::span<const RecordedScore> scores);

private:
    struct Close {
        void operator()(std::FILE* stream) const { std::fclose(stream); }
    };

    void write(const std::string& text);
    [[noreturn]] void fail_to_write() const;

    Path file_;
    std::vector<RecordedScore> scores_;
    std::unique_ptr<std::FILE, Close> stream_;
};

/// Content of a file of scores.
struct ScoreContent {
    std::optional<SavedSearch> search;  ///< nothing if the header has none
    std::vector<RecordedScore> scores;
    std::uintmax_t whole_bytes =
        0;  ///< length up to the end of the last complete line; 0: the header is incomplete
};

/// Reads a file of scores. Throws what ScoreFile throws.
ScoreContent read_scores(const Path& file, const ScoreConditions& conditions);
/// Reads only the search in the header; nothing if there is no such file. Throws what ScoreFile throws.
std::optional<SavedSearch> read_saved_search(const Path& file, const ScoreConditions& conditions);
/// Writes a complete file in place of an existing one. Throws InputError.
void write_scores(const Path& file, const ScoreConditions& conditions, const SavedSearch& search,
                  std::span<const RecordedScore> scores);

/// Returns whether the file begins like a file of scores; reads only its first bytes.
bool is_score_file(const Path& file);

}  // namespace placewright
