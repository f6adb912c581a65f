// SPDX-License-Identifier: MIT
// The two themes of the window, as palettes. Their accent, violet, is the colour of no device and of no run.
#pragma once

#include <QFont>
#include <QPalette>

namespace placewright {

enum class Theme {
    system,  ///< light or dark as the desktop is, also when that changes
    light,
    dark
};

/// The palette of Theme::light or Theme::dark.
QPalette themePalette(Theme theme);

/// Gives the application the style of the program and the palette of the theme, at once in all windows.
void applyTheme(Theme theme);
/// The theme that was applied last; Theme::system before.
Theme appliedTheme();

/// Returns `font`, or one like it whose digits have one width, for columns of numbers.
QFont tabularFont(const QFont& font);

}  // namespace placewright
