// SPDX-License-Identifier: MIT
#include "app/window/machine/what_if_badge.hpp"

#include <algorithm>
#include <vector>

#include <QStringList>

#include "app/window/document.hpp"

namespace placewright {

WhatIfBadge::WhatIfBadge(const Document* document, QWidget* parent)
    : QToolButton(parent), m_document(document) {
    setObjectName(QStringLiteral("whatIfBadge"));
    setAccessibleName(tr("What-if factors"));
    setToolTip(
        tr("Step time, timeline and memory are those of a machine with these factors. Click to open the "
           "Machine panel, where Reset sets all factors to 1."));
    connect(document, &Document::problemChanged, this, &WhatIfBadge::showFactors);
    connect(document, &Document::machineChanged, this, &WhatIfBadge::showFactors);
    showFactors();
}

void WhatIfBadge::showFactors() {
    const auto& applied = m_document->scenario()->whatIf;
    setVisible(applied != nullptr);
    if (!applied) return;
    setText(tr("What if: %1").arg(factorsText(applied->factors)));
}

}  // namespace placewright
