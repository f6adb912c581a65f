// SPDX-License-Identifier: MIT
#pragma once

#include <QToolButton>

namespace placewright {

class Document;

/// Says in the status bar which what-if factors are on; hidden while there are none.
class WhatIfBadge : public QToolButton {
    Q_OBJECT
public:
    explicit WhatIfBadge(const Document* document, QWidget* parent = nullptr);

private:
    void showFactors();

    const Document* m_document;
};

}  // namespace placewright
