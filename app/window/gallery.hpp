// SPDX-License-Identifier: MIT
// What the start page and the menus offer to open: recent files and the networks that ship with the program.
#pragma once

#include <vector>

#include <QString>

#include "core/io/shipped.hpp"
#include "widgets/start_page.hpp"

namespace placewright {

/// Returns the network's title, or its name if it has none.
QString titleOf(const ShippedFile& network);

/// Reads all networks that ship with the program. Those that cannot be read are not available and tell why.
std::vector<StartEntry> galleryEntries();

/// Returns the recent files, the latest first; those that no longer exist are not available.
std::vector<StartEntry> recentEntries();

/// Puts a file at the top of the recent files; returns false, without effect, if it does not exist.
bool rememberFile(const QString& path);

}  // namespace placewright
