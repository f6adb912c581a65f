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
    QStringList parts;
    const auto add = [&](const QString& name, const std::vector<double>& factors) {
        if (std::ranges::all_of(factors, [](double factor) { return factor == 1; })) return;
        const bool same =
            std::ranges::all_of(factors, [&](double factor) { return factor == factors.front(); });
        parts << (same ? tr("%1 ×%2").arg(name).arg(factors.front(), 0, 'f', 2) : tr("%1 of some").arg(name));
    };
    add(tr("bandwidth"), applied->factors.bandwidth);
    add(tr("memory"), applied->factors.memory);
    add(tr("speed"), applied->factors.speed);
    setText(tr("What if: %1").arg(parts.join(QStringLiteral(", "))));
}

}  // namespace placewright
