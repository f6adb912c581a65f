// SPDX-License-Identifier: MIT
// Names from files are shown as they are, never as markup: Qt takes text that looks like HTML for rich text,
// and rich text can load files.
#pragma once

#include <QString>

namespace placewright {

/// Returns what a tooltip has to be given to show `text` literally. Text that does not look like markup is
/// returned unchanged.
QString plainToolTip(const QString& text);

/// Makes all labels of the program, also those of message boxes, show their text literally unless they ask
/// for rich text. May be called more than once.
void makeLabelsPlain();

}  // namespace placewright
