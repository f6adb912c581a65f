// SPDX-License-Identifier: MIT
// The icons of the program, from resources/icons.
#pragma once

#include <QIcon>
#include <QString>

namespace placewright {

/// What colour an icon has while its action can be used and is not checked.
enum class IconTone {
    plain,   ///< that of texts
    accent,  ///< that of what is chosen
    warning  ///< that of errors
};

/// Returns the line icon of this name, such as "play"; null if there is none. It is drawn in the colours of
/// the application's palette at the moment, disabled, selected and checked too, and sharp at any pixel ratio,
/// so that it may be kept when the theme changes.
QIcon lineIcon(const QString& name, IconTone tone = IconTone::plain);

}  // namespace placewright
