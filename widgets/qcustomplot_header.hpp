// SPDX-License-Identifier: MIT
// qcustomplot.h uses Qt's keywords, which we switch off; this is the one way to include it. For .cpp files only.
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
