// SPDX-License-Identifier: MIT
// Scores of placements in a file that grows while a search runs.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/io/files.hpp"
#include "core/search/recorded.hpp"

namespace placewright {

/// JSON lines: first an object with "format" placewright.scores, "version" 1 and what the scores hold for, then one list a placement: its
/// key as 32 hexadecimal digits, score and step time in seconds, whether it fits. Each append is handed to the system as a whole: after a
/// kill at most the last line is broken, which the next opening drops.
class ScoreFile {
public:
    /// What the scores hold for, as names with values: network, machine, objective and the like. All must be the same.
    using Conditions = std::vector<std::pair<std::string, std::string>>;

    /// Reads what is there, or begins a new file; nobody else can open it as long as this is there. Throws InputError for a file that
    /// cannot be read or written, is something else, or was written under other conditions (the message names the first that differs); it
    /// is left as it was then.
    ScoreFile(const Path& file, const Conditions& conditions);

    const std::vector<RecordedScore>& scores() const { return scores_; }

    /// Throws InputError if the file cannot be written.
    void append(std::span<const RecordedScore> scores);

private:
    struct Close {
        void operator()(std::FILE* stream) const { std::fclose(stream); }
    };

    void read(const Conditions& conditions);
    [[noreturn]] void fail_to_write() const;

    Path file_;
    std::vector<RecordedScore> scores_;
    std::uintmax_t whole_bytes_ = 0;  ///< up to the end of the last whole line
    std::unique_ptr<std::FILE, Close> stream_;
};

/// Distinguishes problems for which a placement's score may differ: 16 hexadecimal digits, the same on every run.
std::string problem_fingerprint(const Problem& problem);

}  // namespace placewright
