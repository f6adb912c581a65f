// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include <QWidget>

namespace placewright {

/// Rows above the window's content, each with a text and buttons that do something about it. A row stays
/// until one of its buttons is pressed.
class OfferBar : public QWidget {
    Q_OBJECT
public:
    struct Choice {
        QString text;
        std::function<void()> act;  ///< may be empty
    };

    explicit OfferBar(QWidget* parent = nullptr);
    /// Shows a row in place of the one with the same name.
    void offer(const QString& name, const QString& text, const std::vector<Choice>& choices);
    void withdraw(const QString& name);
    /// The text of a row; empty if there is none.
    QString text(const QString& name) const;
};

}  // namespace placewright
