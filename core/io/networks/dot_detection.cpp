// SPDX-License-Identifier: MIT
#include <fstream>
#include <string>

#include "core/io/networks/dot_file.hpp"
#include "core/io/networks/dot_tokens.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {

bool is_dot(const Path& file) {
    std::ifstream stream = open_regular_file(file);
    std::string begin(4096, '\0');
    stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(stream.gcount()));
    DotTokens tokens(begin);
    if (tokens.next() != 'a') return false;
    return is_dot_word(tokens.name(), "strict") || is_dot_word(tokens.name(), "digraph") ||
           is_dot_word(tokens.name(), "graph");
}

}  // namespace placewright
