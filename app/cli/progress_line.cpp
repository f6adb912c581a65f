// SPDX-License-Identifier: MIT
#include "app/cli/progress_line.hpp"

#include <cstdio>
#include <unistd.h>

#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace placewright {

ProgressLine::ProgressLine(std::string place)
    : place_(std::move(place)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
    if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(const std::string& text) const {
    if (terminal_) std::fprintf(stderr, "\r\x1b[K%s", printable(place_ + text).c_str());
}

ComparisonCallback ProgressLine::callback() const {
    if (!terminal_) return {};
    return [this](const ComparisonProgress& progress) {
        std::string text =
            std::to_string(progress.finished) + " of " + std::to_string(progress.runs) + " searches, ";
        if (progress.best_s) text += "best " + format_seconds(*progress.best_s) + ", ";
        show(text + format_clock(progress.eta_s) + " left");
    };
}

}  // namespace placewright
