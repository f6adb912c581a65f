// SPDX-License-Identifier: MIT
// Texts of the core, which are UTF-8, as QString.
#pragma once

#include <string_view>

#include <QString>

namespace placewright {

inline QString toQString(std::string_view utf8) {
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

}  // namespace placewright
