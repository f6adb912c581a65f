// SPDX-License-Identifier: MIT
// Scores of placements in a file that grows while a search runs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/io/files.hpp"
#include "core/io/input_error.hpp"
#include "core/search/options.hpp"
#include "core/search/recorded.hpp"

namespace placewright {

/// What a search is made from beside its problem. Done again with the scores that it was told, it goes the same way.
struct SavedSearch {
    std::string algorithm;
    OptionValues options = {};
    std::uint64_t seed = 1;
    std::optional<std::uint64_t> evaluations = {};  ///< nothing: time was to end it
    std::vector<Placement> starts = {};             ///< beside those that every search of this problem has

    bool operator==(const SavedSearch&) const = default;
};

/// What scores hold for, as names with values: network, machine, objective and the like. All must be the same.
using ScoreConditions = std::vector<std::pair<std::string, std::string>>;

/// Scores of another network, machine or simulation.
class OtherConditions : public InputError {
public:
    OtherConditions(const std::string& file, std::string name, std::string theirs, std::string ours);

    std::string name, theirs, ours;  ///< the first condition that differs; printable
};

/// JSON lines: first an object with "format" placewright.scores, "version" 1, what the scores hold for, and under "search" the search that
/// began the file; then one list a placement: its key as 32 hexadecimal digits, score and step time in seconds, whether it fits. Each
/// append is handed to the system as a whole: after a kill at most the last line is broken, which the next opening drops. A header has at
/// most 64 MiB, a line 1 KiB, a file 50 million scores.
class ScoreFile {
public:
    /// Reads what is there, or begins a new file with `search`; nobody else can open it as long as this is there. Throws InputError for a
    /// file that cannot be read or written, is something else, or was written under other conditions (OtherConditions); it is left as it
    /// was then.
    ScoreFile(const Path& file, const ScoreConditions& conditions, const std::optional<SavedSearch>& search = {});

    const std::vector<RecordedScore>& scores() const { return scores_; }

    /// Throws InputError if the file cannot be written.
    void append(std::span<const RecordedScore> scores);

private:
    struct Close {
        void operator()(std::FILE* stream) const { std::fclose(stream); }
    };

    [[noreturn]] void fail_to_write() const;

    Path file_;
    std::vector<RecordedScore> scores_;
    std::unique_ptr<std::FILE, Close> stream_;
};

/// A file of scores as it is found.
struct ScoreContent {
    std::optional<SavedSearch> search;  ///< nothing if it does not say
    std::vector<RecordedScore> scores;
    std::uintmax_t whole_bytes = 0;  ///< up to the end of the last whole line; 0: not even the header is whole
};

/// Throws what ScoreFile does.
ScoreContent read_scores(const Path& file, const ScoreConditions& conditions);
/// The same without the scores, and nothing where there is no such file yet.
std::optional<SavedSearch> read_saved_search(const Path& file, const ScoreConditions& conditions);
/// All at once, in place of what is there. Throws InputError.
void write_scores(const Path& file, const ScoreConditions& conditions, const SavedSearch& search, std::span<const RecordedScore> scores);

/// By the first bytes alone.
bool is_score_file(const Path& file);

/// Distinguishes problems for which a placement's score may differ: 16 hexadecimal digits, the same on every run.
std::string problem_fingerprint(const Problem& problem);

}  // namespace placewright
