// SPDX-License-Identifier: MIT
// Tokens of Graphviz's language.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace placewright {

inline bool is_dot_id(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
           static_cast<unsigned char>(c) >= 0x80;
}

/// Splits a DOT text into tokens: names (including strings) and single characters; "->" and "--" are '>'.
/// Skips comments.
class DotTokens {
public:
    explicit DotTokens(std::string_view text) : text_(text) {}

    /// Returns the next token: 0 at the end, 'a' for a name, which name() then returns.
    char next() {
        skip();
        if (at_ >= text_.size()) return 0;
        const std::size_t begin = at_;
        const char c = text_[at_++];
        if (c == '"') {
            while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
            at_ = std::min(at_ + 1, text_.size());
        } else if (c == '<') {
            for (std::size_t depth = 1; at_ < text_.size() && depth > 0; ++at_)
                depth += (text_[at_] == '<') - (text_[at_] == '>');
        } else if (c == '-' && at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '-')) {
            ++at_;
            return '>';
        } else if (is_dot_id(c) || c == '-') {
            while (at_ < text_.size() && is_dot_id(text_[at_])) ++at_;
        } else {
            return c;
        }
        name_ = text_.substr(begin, at_ - begin);
        return 'a';
    }
    std::string_view name() const { return name_; }

private:
    void skip() {
        while (at_ < text_.size()) {
            const std::string_view rest = text_.substr(at_);
            if (std::isspace(static_cast<unsigned char>(rest.front())) != 0 ||
                (at_ == 0 && rest.starts_with("\xef\xbb\xbf"))) {
                at_ += rest.front() == '\xef' ? 3 : 1;
            } else if (rest.starts_with("//") ||
                       (rest.front() == '#' && (at_ == 0 || text_[at_ - 1] == '\n'))) {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (rest.starts_with("/*")) {
                const std::size_t end = text_.find("*/", at_ + 2);
                at_ = end == std::string_view::npos ? text_.size() : end + 2;
            } else {
                return;
            }
        }
    }

    std::string_view text_, name_;
    std::size_t at_ = 0;
};

inline bool is_dot_word(std::string_view name, const char* word) {
    return std::ranges::equal(name, std::string_view(word), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    });
}

}  // namespace placewright
