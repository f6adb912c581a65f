// SPDX-License-Identifier: MIT
// Includes qcustomplot.h, which uses the Qt keywords that this project switches off. Include it only through
// this header, and only in .cpp files.
#pragma once

#define signals Q_SIGNALS
#define slots Q_SLOTS
#define emit Q_EMIT
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef signals
#undef slots
#undef emit
#undef foreach
